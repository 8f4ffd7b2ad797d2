//! Randomness: every random choice of a run, derived from its seed.
//!
//! Each kind of choice has a stream of its own, so that adding a task does not change the phases of
//! the timers.

use cpumax_bandwidth::Nanos;
use cpumax_sched::CpuId;
use rand_core::Rng;
use rand_pcg::Lcg64Xsh32;

/// The seed of one run, with its streams.
#[derive(Clone, Debug)]
pub(crate) struct Seed {
    timer_phases: Lcg64Xsh32,
    last_cpus: Lcg64Xsh32,
    scheduler: Lcg64Xsh32,
    background: Lcg64Xsh32,
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
            background: Lcg64Xsh32::new(seed, 4),
        }
    }

    /// First expiry of the next group's period timer, in [0, 100 ms).
    pub fn timer_phase(&mut self) -> Nanos {
        Nanos(u64::from(below(
            &mut self.timer_phases,
            DEFAULT_PERIOD.0 as u32,
        )))
    }

    /// The order in which the CPUs of a machine get new tasks.
    ///
    /// Whoever starts the tasks one after the other runs on a CPU, and each new task goes to the next idle
    /// one. As measured: upwards from CPU 1, past the CPU of the one who starts them; then CPU 0, which
    /// is busiest with interrupts; then that CPU.
    pub fn start_order(&mut self, cpus: usize) -> Vec<CpuId> {
        let starter = below(&mut self.last_cpus, cpus as u32) as usize;
        let upwards = (1..cpus).filter(|&cpu| cpu != starter);
        let last = (starter != 0).then_some(starter);
        upwards.chain([0]).chain(last).map(CpuId::new).collect()
    }

    /// When a background thread that sleeps for so long between its runs first wakes.
    pub fn background_phase(&mut self, sleep: Nanos) -> Nanos {
        Nanos(u64::from(below(
            &mut self.background,
            sleep.0.min(u64::from(u32::MAX)) as u32,
        )))
    }

    /// The CPU of a task that is started when each CPU has had one: all are idle again, and which of them
    /// is taken shows no order in the measurements.
    pub fn any_cpu(&mut self, cpus: usize) -> CpuId {
        CpuId::new(below(&mut self.last_cpus, cpus as u32) as usize)
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
        two.start_order(8);
        let phases: Vec<Nanos> = (0..5).map(|_| one.timer_phase()).collect();
        assert_eq!(
            phases,
            (0..5).map(|_| two.timer_phase()).collect::<Vec<_>>()
        );
        assert!(phases.iter().all(|&phase| phase < DEFAULT_PERIOD));
        assert_ne!(phases[0], Seed::new(8).timer_phase());
    }

    #[test]
    fn tasks_start_round_the_cpus_with_the_starter_last() {
        let order = |seed| -> Vec<usize> {
            Seed::new(seed)
                .start_order(4)
                .iter()
                .map(|cpu| cpu.index())
                .collect()
        };
        let seen: std::collections::BTreeSet<Vec<usize>> = (0..100).map(order).collect();
        let expected = [[1, 2, 0, 3], [1, 2, 3, 0], [1, 3, 0, 2], [2, 3, 0, 1]];
        assert_eq!(seen, expected.iter().map(|order| order.to_vec()).collect());
    }
}
