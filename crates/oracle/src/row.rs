//! A measured number beside its prediction.

use cpumax_sched::Kernel;
use serde::{Serialize, Serializer};

use crate::experiment::Subject;
use crate::tolerance::{Machine, allowed, explains};
use crate::{Experiment, Metric};

/// The low end of a predicted range, in percent of the phases, by nearest rank.
pub const LOW_PERCENTILE: u32 = 5;
/// The high end of a predicted range. Between the two are the central nine tenths of the phases.
pub const HIGH_PERCENTILE: u32 = 95;

/// A measured number beside its prediction. Times are in microseconds, the rest are counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Name of the scenario.
    pub scenario: String,
    /// The kernel, as `6.12`.
    #[serde(serialize_with = "as_text")]
    pub kernel: Kernel,
    /// Path of a limited group, which begins with a slash, or name of a task, which does not.
    pub subject: String,
    /// Which number.
    pub metric: Metric,
    /// Median of the repetitions on the kernel.
    pub measured: f64,
    /// Median over the phases.
    pub predicted: f64,
    /// The [`LOW_PERCENTILE`] of the phases.
    pub low: f64,
    /// The [`HIGH_PERCENTILE`] of the phases.
    pub high: f64,
    /// `predicted` minus `measured`, as a fraction of `measured` (0.05 is 5 % too much); the plain
    /// difference, in the metric's unit, where 0 was measured.
    pub error: f64,
    /// Whether the two are as near as [`tolerance`](crate::tolerance) wants.
    pub ok: bool,
}

impl Row {
    /// `predicted` has a value per phase, in any order, and at least one.
    pub(crate) fn new(
        experiment: &Experiment,
        subject: &Subject,
        mut predicted: Vec<f64>,
        machine: Machine,
    ) -> Self {
        let mut repetitions = subject.measured.clone();
        repetitions.sort_unstable_by(f64::total_cmp);
        predicted.sort_unstable_by(f64::total_cmp);

        let measured = median(&repetitions);
        let median = median(&predicted);
        let range =
            nearest_rank(&predicted, LOW_PERCENTILE)..=nearest_rank(&predicted, HIGH_PERCENTILE);
        let of_kernel = repetitions[0]..=repetitions[repetitions.len() - 1];
        let difference = median - measured;
        Self {
            scenario: experiment.scenario.clone(),
            kernel: experiment.kernel,
            subject: experiment.name_of(subject.of).to_owned(),
            metric: subject.metric,
            measured,
            predicted: median,
            low: *range.start(),
            high: *range.end(),
            error: if measured == 0.0 {
                difference
            } else {
                difference / measured
            },
            ok: difference.abs() <= allowed(subject.metric, measured, machine)
                || explains(&range, measured, &of_kernel),
        }
    }
}

/// The middle of ascending values, or the mean of the two in the middle.
fn median(ascending: &[f64]) -> f64 {
    let n = ascending.len();
    f64::midpoint(ascending[(n - 1) / 2], ascending[n / 2])
}

/// The `ceil(percent * n / 100)`-th of `n` ascending values.
fn nearest_rank(ascending: &[f64], percent: u32) -> f64 {
    let rank = (ascending.len() * percent as usize).div_ceil(100);
    ascending[rank - 1]
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde wants"
)]
fn as_text<S: Serializer>(kernel: &Kernel, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_the_central_nine_tenths_by_nearest_rank() {
        let values: Vec<f64> = (1..=64).map(f64::from).collect();
        let ends = |phases| [5, 95].map(|percent| nearest_rank(&values[..phases], percent) as u32);
        assert_eq!(ends(64), [4, 61]);
        assert_eq!(ends(32), [2, 31]);
        assert_eq!(ends(1), [1, 1]);
    }

    #[test]
    fn the_median_of_an_even_number_is_between_two() {
        assert_eq!(median(&[1.0, 2.0, 9.0]).to_bits(), 2.0_f64.to_bits());
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]).to_bits(), 3.0_f64.to_bits());
    }
}
