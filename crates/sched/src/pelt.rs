//! Per-entity load tracking: exponentially decaying averages of load, runnable and running time.
//!
//! Units: a *unit* of PELT time is 1024 ns; a *segment* is 1024 units (1.048576 ms); a contribution
//! halves in 32 segments. Sums grow to at most [`LOAD_AVG_MAX`] times their rate; an average is a sum
//! divided by what a constant rate of one would have reached.
//!
//! Kernel: `kernel/sched/pelt.c`.

/// What a sum of one per unit converges to.
pub const LOAD_AVG_MAX: u64 = 47742;
/// Units in a segment.
const SEGMENT: u64 = 1024;
/// Segments after which a contribution has halved.
const HALF_LIFE: u64 = 32;

/// `floor((2^32 - 1) * 2^(-k/32))`: the decay over `k` segments in 32-bit fixed point.
#[expect(clippy::unreadable_literal, reason = "as in the kernel's table")]
const DECAY: [u64; 32] = [
    0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb, 0xdbfbb796,
    0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9, 0xbd08a39e, 0xb8fbaf46,
    0xb504f333, 0xb123f581, 0xad583ee9, 0xa9a15ab4, 0xa5fed6a9, 0xa2704302, 0x9ef5325f, 0x9b8d39b9,
    0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a, 0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
];

/// A value after `segments` segments of decay (kernel: `decay_load`).
///
/// The fixed-point one is 2^32 - 1, so that no decay still takes one off.
#[inline]
pub fn decay(value: u64, segments: u64) -> u64 {
    if segments > HALF_LIFE * 63 {
        return 0;
    }
    let halved = value >> (segments / HALF_LIFE);
    ((u128::from(halved) * u128::from(DECAY[(segments % HALF_LIFE) as usize])) >> 32) as u64
}

/// What a rate of one contributes over whole segments and the parts before and after them
/// (kernel: `__accumulate_pelt_segments`).
fn accumulate_segments(segments: u64, before: u64, after: u64) -> u64 {
    decay(before, segments) + LOAD_AVG_MAX - decay(LOAD_AVG_MAX, segments) - SEGMENT + after
}

/// The averages of one entity or one queue (kernel: `struct sched_avg`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedAvg {
    /// PELT time up to which the sums are current, in ns; 0 while not attached to a queue.
    pub last_update_time: u64,
    /// Time times load; of a queue, load is its total unscaled weight, of an entity 1.
    pub load_sum: u64,
    /// Time times runnable tasks, times 1024.
    pub runnable_sum: u64,
    /// Running time times 1024.
    pub util_sum: u64,
    /// Units passed of the current segment, 0 to 1023.
    pub period_contrib: u64,
    /// Average load, weight included.
    pub load_avg: u64,
    /// Average number of runnable tasks, times 1024.
    pub runnable_avg: u64,
    /// Average share of a CPU used, times 1024.
    pub util_avg: u64,
}

impl SchedAvg {
    /// What a constant rate of one would have summed up to by now (kernel: `get_pelt_divider`).
    #[inline]
    pub const fn divider(&self) -> u64 {
        LOAD_AVG_MAX - SEGMENT + self.period_contrib
    }

    /// Brings the sums up to PELT time `now` with constant rates since the last update; returns
    /// whether a segment was crossed, that is whether averages are due (kernel: `___update_load_sum`).
    #[inline]
    pub fn update_sums(&mut self, now: u64, load: u64, runnable: u64, running: bool) -> bool {
        if now < self.last_update_time {
            self.last_update_time = now;
            return false;
        }
        let mut units = (now - self.last_update_time) >> 10;
        if units == 0 {
            return false;
        }
        self.last_update_time += units << 10;
        // What is not queued cannot be running or runnable.
        let (runnable, running) = if load == 0 {
            (0, false)
        } else {
            (runnable, running)
        };

        let mut contribution = units;
        units += self.period_contrib;
        let segments = units / SEGMENT;
        if segments > 0 {
            self.load_sum = decay(self.load_sum, segments);
            self.runnable_sum = decay(self.runnable_sum, segments);
            self.util_sum = decay(self.util_sum, segments);
            units %= SEGMENT;
            if load > 0 {
                contribution = accumulate_segments(segments, SEGMENT - self.period_contrib, units);
            }
        }
        self.period_contrib = units;
        self.load_sum += load * contribution;
        self.runnable_sum += (runnable * contribution) << 10;
        if running {
            self.util_sum += contribution << 10;
        }
        segments > 0
    }

    /// Derives the averages from the sums; `weight` multiplies the load (kernel: `___update_load_avg`).
    #[inline]
    pub fn update_averages(&mut self, weight: u64) {
        let divider = self.divider();
        self.load_avg = weight * self.load_sum / divider;
        self.runnable_avg = self.runnable_sum / divider;
        self.util_avg = self.util_sum / divider;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t126_decay() {
        assert_eq!(decay(1024, 32), 511);
        assert_eq!(decay(1024, 0), 1023);
        assert_eq!(decay(1024, 1), 1002);
        assert_eq!(decay(47742, 32), 23870);
        assert_eq!(decay(u64::MAX >> 1, 2017), 0);
    }

    #[test]
    fn t127_running_from_zero_for_32_aligned_segments() {
        let mut avg = SchedAvg {
            last_update_time: 1024,
            ..SchedAvg::default()
        };
        assert!(avg.update_sums(1024 + (32 << 20), 1, 1, true));
        avg.update_averages(1024);
        assert_eq!(avg.util_sum / 1024, 23359);
        assert_eq!(avg.util_avg, 512);
    }
}
