//! Summary of a sample: one number per run of an experiment.

use serde::Serialize;

use crate::Error;
use crate::special::{exp, ln};

/// Least magnitude of a value that is not 0. Squares and reciprocals stay in the range of `f64`.
pub const SMALLEST: f64 = 1e-100;

/// Largest magnitude of a value. Squares and sums stay in the range of `f64`.
pub const LARGEST: f64 = 1e100;

/// The results of repeated runs, in any unit: finite numbers, ascending.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sample {
    /// Ascending. Each is 0 or of magnitude [`SMALLEST`] to [`LARGEST`].
    values: Vec<f64>,
}

impl Sample {
    /// A sample of these values, in any order. No value is a sample too.
    ///
    /// # Errors
    ///
    /// [`Error::NotFinite`] for NaN and infinities, [`Error::OutOfRange`] for a magnitude outside
    /// [`SMALLEST`] to [`LARGEST`] other than 0.
    pub fn new(values: impl Into<Vec<f64>>) -> Result<Self, Error> {
        let mut values = values.into();
        for (index, &value) in values.iter().enumerate() {
            if !value.is_finite() {
                return Err(Error::NotFinite { index, value });
            }
            if value != 0.0 && !(SMALLEST..=LARGEST).contains(&value.abs()) {
                return Err(Error::OutOfRange { index, value });
            }
        }
        values.sort_unstable_by(f64::total_cmp);
        Ok(Self { values })
    }

    /// The values, ascending.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The summary, in the sample's unit. `None` for an empty sample.
    pub fn summary(&self) -> Option<Summary> {
        let (&min, &max) = (self.values.first()?, self.values.last()?);
        let n = self.values.len();
        let amean = arithmetic_mean(&self.values).clamp(min, max);
        let stddev = standard_deviation(&self.values, amean);
        Some(Summary {
            n,
            min,
            max,
            median: f64::midpoint(self.values[(n - 1) / 2], self.values[n / 2]),
            amean,
            gmean: (min > 0.0).then(|| geometric_mean(&self.values).clamp(min, max)),
            hmean: (min > 0.0).then(|| harmonic_mean(&self.values).clamp(min, max)),
            stddev,
            coefvar_percent: stddev
                .filter(|_| amean != 0.0)
                .map(|sd| sd / amean.abs() * 100.0),
        })
    }
}

/// What a sample looks like. All but `n` and the coefficient of variation are in the sample's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Number of runs, at least 1.
    pub n: usize,
    /// Least value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// The middle value; the mean of the two middle ones if `n` is even.
    pub median: f64,
    /// Arithmetic mean.
    pub amean: f64,
    /// Geometric mean. `None` unless all values are above 0.
    pub gmean: Option<f64>,
    /// Harmonic mean. `None` unless all values are above 0.
    pub hmean: Option<f64>,
    /// Sample standard deviation about the arithmetic mean, with divisor `n - 1`. `None` for one run.
    pub stddev: Option<f64>,
    /// Coefficient of variation, in percent: `stddev` by the magnitude of `amean`. `None` where there
    /// is no `stddev` or the mean is 0.
    pub coefvar_percent: Option<f64>,
}

impl Summary {
    /// Whether there were several runs and all gave the same number, as deterministic simulation does.
    pub fn is_constant(&self) -> bool {
        self.n >= 2 && self.min == self.max
    }
}

// Rounding can put a mean an ulp outside the sample's range, where no mean can be; the caller clamps.
// A constant sample thus has exactly its value as each mean, and 0 as its deviation.

fn arithmetic_mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn geometric_mean(values: &[f64]) -> f64 {
    exp(values.iter().map(|&value| ln(value)).sum::<f64>() / values.len() as f64)
}

fn harmonic_mean(values: &[f64]) -> f64 {
    values.len() as f64 / values.iter().map(|value| value.recip()).sum::<f64>()
}

fn standard_deviation(values: &[f64], mean: f64) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let (mut sum, mut squares) = (0.0, 0.0);
    for value in values {
        let deviation = value - mean;
        sum += deviation;
        squares += deviation * deviation;
    }
    // The mean is rounded, so `sum` is not quite 0; the second term takes the error out.
    Some(((squares - sum * sum / n).max(0.0) / (n - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn summary(values: &[f64]) -> Summary {
        Sample::new(values).unwrap().summary().unwrap()
    }

    fn assert_close(got: f64, expected: f64) {
        assert!(
            (got - expected).abs() <= 1e-14 * expected.abs(),
            "{got} is not {expected}"
        );
    }

    #[test]
    fn one_two_four_by_hand() {
        let s = summary(&[4.0, 1.0, 2.0]);
        assert_eq!((s.n, s.min, s.max, s.median), (3, 1.0, 4.0, 2.0));
        assert_close(s.amean, 7.0 / 3.0);
        assert_close(s.gmean.unwrap(), 2.0);
        assert_close(s.hmean.unwrap(), 12.0 / 7.0);
        assert_close(s.stddev.unwrap(), (7.0_f64 / 3.0).sqrt());
        assert_close(
            s.coefvar_percent.unwrap(),
            300.0 / 7.0 * (7.0_f64 / 3.0).sqrt(),
        );
    }

    #[test]
    fn median_of_an_even_number_is_between_the_two_middle_values() {
        assert_eq!(summary(&[1.0, 10.0, 2.0, 4.0]).median, 3.0);
    }

    #[test]
    fn an_empty_sample_has_no_summary() {
        assert_eq!(Sample::new([]).unwrap().summary(), None);
        assert!(Sample::default().values().is_empty());
    }

    #[test]
    fn one_run_has_means_but_no_deviation() {
        let s = summary(&[208.29]);
        assert_eq!(
            (s.min, s.max, s.median, s.amean),
            (208.29, 208.29, 208.29, 208.29)
        );
        assert_eq!((s.gmean, s.hmean), (Some(208.29), Some(208.29)));
        assert_eq!((s.stddev, s.coefvar_percent), (None, None));
        assert!(!s.is_constant());
    }

    #[test]
    fn a_constant_sample_is_exact() {
        let s = summary(&[0.1; 7]);
        assert_eq!((s.amean, s.gmean, s.hmean), (0.1, Some(0.1), Some(0.1)));
        assert_eq!((s.stddev, s.coefvar_percent), (Some(0.0), Some(0.0)));
        assert!(s.is_constant());
    }

    #[test]
    fn zeros_and_negative_values_have_no_geometric_and_harmonic_mean() {
        let s = summary(&[0.0, 2.0, 4.0]);
        assert_eq!(
            (s.amean, s.gmean, s.hmean, s.stddev),
            (2.0, None, None, Some(2.0))
        );
        let s = summary(&[-3.0, -1.0]);
        assert_eq!((s.amean, s.gmean, s.hmean), (-2.0, None, None));
        assert_close(s.coefvar_percent.unwrap(), 50.0 * 2.0_f64.sqrt());
        assert_eq!(summary(&[-1.0, 1.0]).coefvar_percent, None);
    }

    #[test]
    fn a_small_spread_about_a_large_mean_is_kept() {
        assert_eq!(
            summary(&[1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0]).stddev,
            Some(1.0)
        );
    }

    #[test]
    fn unusable_values_are_refused_where_they_stand() {
        assert!(matches!(
            Sample::new([1.0, f64::NAN]),
            Err(Error::NotFinite { index: 1, .. })
        ));
        let infinite = Error::NotFinite {
            index: 0,
            value: f64::INFINITY,
        };
        assert_eq!(Sample::new([f64::INFINITY]), Err(infinite));
        assert_eq!(
            Sample::new([1e101]),
            Err(Error::OutOfRange {
                index: 0,
                value: 1e101
            })
        );
        assert_eq!(
            Sample::new([-1e-101]),
            Err(Error::OutOfRange {
                index: 0,
                value: -1e-101
            })
        );
    }

    proptest! {
        #[test]
        fn means_are_ordered_and_the_order_of_runs_does_not_matter(
            mut values in prop::collection::vec(1e-100..1e100_f64, 1..20),
        ) {
            let forward = summary(&values);
            let (gmean, hmean) = (forward.gmean.unwrap(), forward.hmean.unwrap());
            let slack = 1.0 + 1e-12;
            prop_assert!(forward.min <= hmean && hmean <= gmean * slack);
            prop_assert!(gmean <= forward.amean * slack && forward.amean <= forward.max);
            prop_assert!(forward.stddev.is_none_or(f64::is_finite));
            values.reverse();
            prop_assert_eq!(summary(&values), forward);
        }
    }
}
