//! The period timer: when it fires next, and how many periods have passed.

use crate::Nanos;

/// The period timer of one pool (kernel: `cfs_bandwidth::period_timer` with `period_active`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeriodTimer {
    /// When it fires, or, while it is off, when it would have; absolute. It stays on the grid
    /// `phase + k * period`, also while the timer is off, so that the phase outlives idleness.
    pub expires: Nanos,
    /// Whether the timer is to be considered armed. Stays true while its callback runs.
    pub active: bool,
    /// Loop iterations of the running callback since it began or last found the period too short;
    /// `None` while no callback runs.
    pub iterations: Option<u32>,
}

impl PeriodTimer {
    /// An inactive timer on the grid of `phase`.
    pub const fn new(phase: Nanos) -> Self {
        Self {
            expires: phase,
            active: false,
            iterations: None,
        }
    }

    /// Starts the timer at the first grid point after `now`, unless it is active (kernel:
    /// `start_cfs_bandwidth`).
    pub fn start(&mut self, now: Nanos, period: Nanos) -> Option<Nanos> {
        if self.active {
            return None;
        }
        self.active = true;
        self.forward(now, period);
        Some(self.expires)
    }

    /// Moves the expiry by whole periods until it lies after `now`; returns by how many, zero if it
    /// did already (kernel: `hrtimer_forward_now`). An expiry at the end of time stays there.
    pub fn forward(&mut self, now: Nanos, period: Nanos) -> u64 {
        if now < self.expires || self.expires == Nanos::MAX {
            return 0;
        }
        let overruns = (now - self.expires).0 / period.0 + 1;
        self.expires = self.expires.saturating_add(period.saturating_mul(overruns));
        overruns
    }

    /// Whether the callback runs, or fires in less than `span` (kernel: `runtime_refresh_within`).
    pub fn fires_within(&self, now: Nanos, span: Nanos) -> bool {
        self.iterations.is_some() || self.expires.saturating_sub(now) < span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t35_overruns_of_a_late_callback() {
        let period = Nanos::from_millis(100);
        for (late, overruns) in [(0, 1), (99, 1), (100, 2), (250, 3)] {
            let mut timer = PeriodTimer::new(Nanos::from_millis(100));
            assert_eq!(
                timer.forward(Nanos::from_millis(100 + late), period),
                overruns
            );
        }
    }

    #[test]
    fn forwarding_is_stepping_period_by_period() {
        for expires in 0..12 {
            for now in 0..60 {
                for period in 1..15 {
                    let (mut slow, mut overruns) = (expires, 0);
                    while slow <= now {
                        slow += period;
                        overruns += 1;
                    }
                    let mut timer = PeriodTimer::new(Nanos(expires));
                    assert_eq!(timer.forward(Nanos(now), Nanos(period)), overruns);
                    assert_eq!(timer.expires, Nanos(slow));
                }
            }
        }
    }

    #[test]
    fn the_end_of_time_is_never_reached() {
        let mut timer = PeriodTimer::new(Nanos(u64::MAX - 1));
        assert_eq!(timer.forward(Nanos::MAX, Nanos(100)), 1);
        assert_eq!(timer.expires, Nanos::MAX);
        assert_eq!(timer.forward(Nanos::MAX, Nanos(100)), 0);
    }
}
