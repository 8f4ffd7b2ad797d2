//! How near a prediction must be, in one place.
//!
//! | number | within |
//! |---|---|
//! | a limited group's `usage_usec` | the larger of 1 % and one tick per CPU |
//! | `nr_periods` | 1 |
//! | `nr_throttled` | the larger of 2 and 3 % |
//! | `throttled_usec` | 5 % |
//! | a task's `cpu_usec` | 5 % |
//! | response p50, p90, p99, max | the larger of 5 % and one tick |
//!
//! Percentages are of the measured number. Or, for each of them, the measured number lies inside the range
//! that the simulator gives over the timer phases, provided that this range is no wider than what the
//! phase truly decides: a range that spans more than a factor of 3 does not count, unless the kernel's own
//! repetitions span more than that too.

use std::ops::RangeInclusive;

use cpumax_bandwidth::Nanos;

use crate::Metric;

/// How often the larger end of a range may hold the smaller one for the range to count.
pub const WIDEST_RANGE: f64 = 3.0;

/// What the machine decides of the tolerances: how coarsely it accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Time between two ticks of a CPU.
    pub tick: Nanos,
    /// Number of CPUs.
    pub cpus: usize,
}

impl Machine {
    /// A tick in microseconds.
    fn tick_usec(self) -> f64 {
        self.tick.0 as f64 / 1e3
    }
}

/// How far a prediction may be from `measured`, in the metric's unit.
pub fn allowed(metric: Metric, measured: f64, machine: Machine) -> f64 {
    let share = |percent: f64| measured.abs() * percent / 100.0;
    match metric {
        Metric::Usage => share(1.0).max(machine.tick_usec() * machine.cpus as f64),
        Metric::Periods => 1.0,
        Metric::Throttled => share(3.0).max(2.0),
        Metric::ThrottledTime | Metric::CpuTime => share(5.0),
        Metric::ResponseP50 | Metric::ResponseP90 | Metric::ResponseP99 | Metric::ResponseMax => {
            share(5.0).max(machine.tick_usec())
        }
    }
}

/// Whether `measured` lies in the predicted `range`, and the range says something: it spans at most a
/// factor of [`WIDEST_RANGE`], or the kernel's own `repetitions` span more than that too.
pub fn explains(
    range: &RangeInclusive<f64>,
    measured: f64,
    repetitions: &RangeInclusive<f64>,
) -> bool {
    range.contains(&measured) && (!is_wide(range) || is_wide(repetitions))
}

fn is_wide(range: &RangeInclusive<f64>) -> bool {
    *range.end() > WIDEST_RANGE * *range.start()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAB: Machine = Machine {
        tick: Nanos::from_millis(4),
        cpus: 2,
    };

    fn assert_allowed(metric: Metric, measured: f64, expected: f64) {
        let got = allowed(metric, measured, LAB);
        assert!(
            (got - expected).abs() < 1e-6,
            "{metric:?} {measured}: {got}"
        );
    }

    #[test]
    fn the_larger_of_share_and_grain_is_allowed() {
        assert_allowed(Metric::Usage, 600_000.0, 8_000.0);
        assert_allowed(Metric::Usage, 1_000_000.0, 10_000.0);
        assert_allowed(Metric::Periods, 300.0, 1.0);
        assert_allowed(Metric::Throttled, 30.0, 2.0);
        assert_allowed(Metric::Throttled, 100.0, 3.0);
        assert_allowed(Metric::ThrottledTime, 100_000.0, 5_000.0);
        assert_allowed(Metric::ThrottledTime, 0.0, 0.0);
        assert_allowed(Metric::CpuTime, 100_000.0, 5_000.0);
        assert_allowed(Metric::ResponseP50, 30_000.0, 4_000.0);
        assert_allowed(Metric::ResponseMax, 200_000.0, 10_000.0);
    }

    #[test]
    fn a_range_counts_if_it_is_narrow_or_the_kernels_own_is_wide() {
        assert!(explains(&(1.0..=3.0), 2.0, &(2.0..=2.0)));
        assert!(!explains(&(1.0..=3.0), 3.1, &(2.0..=2.0)));
        assert!(!explains(&(1.0..=3.1), 2.0, &(1.0..=3.0)));
        assert!(explains(&(1.0..=3.1), 2.0, &(1.0..=3.1)));
        assert!(!explains(&(0.0..=1.0), 1.0, &(1.0..=1.0)));
        assert!(explains(&(0.0..=1.0), 1.0, &(0.0..=1.0)));
        assert!(explains(&(0.0..=0.0), 0.0, &(0.0..=0.0)));
    }
}
