//! Randomness: every random choice of a run, derived from its seed.
//!
//! Each kind of choice has a stream of its own, so that adding a task does not change the phases of
//! the timers.

use cpumax_bandwidth::Nanos;
use cpumax_sched::{CpuId, CpuMask};
use rand_core::Rng;
use rand_pcg::Lcg64Xsh32;

/// The seed of one run, with its streams.
#[derive(Clone, Debug)]
pub(crate) struct Seed {
    timer_phases: Lcg64Xsh32,
    last_cpus: Lcg64Xsh32,
    scheduler: Lcg64Xsh32,
}

/// The period that a group has when its timer's phase is drawn: the limit is written later (kernel:
/// `init_cfs_bandwidth`).
const DEFAULT_PERIOD: Nanos = Nanos::from_millis(100);

impl Seed {
    /// The streams of `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            timer_phases: Lcg64Xsh32::new(seed, 1),
            last_cpus: Lcg64Xsh32::new(seed, 2),
            scheduler: Lcg64Xsh32::new(seed, 3),
        }
    }

    /// First expiry of the next group's period timer, in [0, 100 ms).
    pub fn timer_phase(&mut self) -> Nanos {
        Nanos(u64::from(below(&mut self.timer_phases, DEFAULT_PERIOD.0 as u32)))
    }

    /// The CPU that the next task last ran on: one of `allowed`, which must not be empty.
    pub fn last_cpu(&mut self, allowed: &CpuMask) -> Option<CpuId> {
        let count = allowed.count();
        if count == 0 {
            return None;
        }
        let chosen = below(&mut self.last_cpus, count as u32);
        allowed.iter().nth(chosen as usize)
    }

    /// Seed of the scheduler's own random choices.
    pub fn scheduler(&mut self) -> u64 {
        self.scheduler.next_u64()
    }
}

/// A number in [0, `bound`) by multiplication; the bias of at most `bound` / 2^32 does not matter here.
fn below(generator: &mut Lcg64Xsh32, bound: u32) -> u32 {
    ((u64::from(generator.next_u32()) * u64::from(bound)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_independent_and_repeatable() {
        let mut one = Seed::new(7);
        let mut two = Seed::new(7);
        two.last_cpu(&CpuMask::all(8));
        let phases: Vec<Nanos> = (0..5).map(|_| one.timer_phase()).collect();
        assert_eq!(phases, (0..5).map(|_| two.timer_phase()).collect::<Vec<_>>());
        assert!(phases.iter().all(|&phase| phase < DEFAULT_PERIOD));
        assert_ne!(phases[0], Seed::new(8).timer_phase());
    }

    #[test]
    fn the_last_cpu_is_an_allowed_one() {
        let mut seed = Seed::new(1);
        let allowed = CpuMask::from_bits(0b1010);
        for _ in 0..50 {
            let cpu = seed.last_cpu(&allowed).unwrap();
            assert!(allowed.contains(cpu));
        }
        assert_eq!(seed.last_cpu(&CpuMask::empty(4)), None);
    }
}
