//! Base against head: how much changed, and whether chance explains it.

use serde::Serialize;

use crate::Error;
use crate::significance::{MannWhitney, Welch};
use crate::stats::{Sample, Summary};

/// A change is clear if its p value is below this.
pub const SIGNIFICANCE: f64 = 0.05;

/// Which direction of a metric people want.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less is better: seconds, latency, throttled time.
    Lower,
    /// More is better: throughput.
    Higher,
}

impl Better {
    /// The change from `base` to `head` in percent of `base`'s magnitude: **positive means that head is
    /// better**, whichever direction that is, as in the tables on the mailing list.
    ///
    /// 0 if they are equal; `None` if only `base` is 0.
    pub fn change_percent(self, base: f64, head: f64) -> Option<f64> {
        if base == head {
            return Some(0.0);
        }
        let change = self.gain(base, head) / base.abs() * 100.0;
        change.is_finite().then_some(change)
    }

    /// The change in the metric's unit, positive if head is better.
    fn gain(self, base: f64, head: f64) -> f64 {
        match self {
            Self::Lower => base - head,
            Self::Higher => head - base,
        }
    }
}

/// Whether head is better than base.
///
/// `p` is the probability of a difference at least as large if nothing had changed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Head is better, and chance does not explain it: `p` is below [`SIGNIFICANCE`].
    Better {
        /// See [`Verdict`].
        p: f64,
    },
    /// Head is worse, and chance does not explain it: `p` is below [`SIGNIFICANCE`].
    Worse {
        /// See [`Verdict`].
        p: f64,
    },
    /// Chance explains the difference, or there are too few runs to tell.
    NoClearChange {
        /// See [`Verdict`].
        p: f64,
    },
}

impl Verdict {
    /// The p value, 0 to 1.
    pub fn p(self) -> f64 {
        match self {
            Self::Better { p } | Self::Worse { p } | Self::NoClearChange { p } => p,
        }
    }

    /// In the words of the tables: `better`, `worse`, `no clear change`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Better { .. } => "better",
            Self::Worse { .. } => "worse",
            Self::NoClearChange { .. } => "no clear change",
        }
    }
}

/// One metric on two versions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Comparison {
    /// The version compared with.
    pub base: Summary,
    /// The version in question.
    pub head: Summary,
    /// Which direction is better.
    pub better: Better,
    /// Change of the arithmetic mean by [`Better::change_percent`]: positive means that head is better.
    pub change_percent: Option<f64>,
    /// Welch's t-test. `None` if a side has one run or neither varies.
    pub welch: Option<Welch>,
    /// The Mann-Whitney U test.
    pub mann_whitney: MannWhitney,
    /// The conclusion.
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl Comparison {
    /// Compares the runs of two versions.
    ///
    /// A change is clear only if both tests say so and agree on its direction; the verdict's p value is
    /// the larger of the two, or 1 if the directions differ. The U test cannot say so with fewer than
    /// four runs on each side. If neither side varies over at least two runs each, as in deterministic
    /// simulation, there is no chance to rule out: equal values are no change (`p` is 1) and different
    /// ones are a clear change (`p` is 0).
    ///
    /// # Errors
    ///
    /// [`Error::EmptySample`] if a side has no run.
    pub fn new(base: &Sample, head: &Sample, better: Better) -> Result<Self, Error> {
        let mann_whitney =
            |base: &Sample, head: &Sample| MannWhitney::test(base.values(), head.values());
        let base_summary = base.summary().ok_or(Error::EmptySample { side: "base" })?;
        let head_summary = head.summary().ok_or(Error::EmptySample { side: "head" })?;
        let mut comparison = Self {
            base: base_summary,
            head: head_summary,
            better,
            change_percent: better.change_percent(base_summary.amean, head_summary.amean),
            welch: Welch::test(&base_summary, &head_summary),
            mann_whitney: mann_whitney(base, head),
            verdict: Verdict::NoClearChange { p: 1.0 },
        };
        comparison.verdict = comparison.judge();
        Ok(comparison)
    }

    fn judge(&self) -> Verdict {
        let gain = self.better.gain(self.base.amean, self.head.amean);
        let p = self.p_of_both();
        if p >= SIGNIFICANCE || gain == 0.0 {
            Verdict::NoClearChange { p }
        } else if gain > 0.0 {
            Verdict::Better { p }
        } else {
            Verdict::Worse { p }
        }
    }

    fn p_of_both(&self) -> f64 {
        if self.base.is_constant() && self.head.is_constant() {
            return if self.base.amean == self.head.amean {
                1.0
            } else {
                0.0
            };
        }
        let Some(welch) = self.welch else {
            // One run on a side says nothing of how runs vary; the ranks alone are not enough.
            return 1.0;
        };
        let tendency = self.mann_whitney.tendency(&self.base, &self.head);
        if welch.t * tendency < 0.0 {
            1.0
        } else {
            welch.p.max(self.mann_whitney.p)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn compare(base: &[f64], head: &[f64], better: Better) -> Comparison {
        Comparison::new(
            &Sample::new(base).unwrap(),
            &Sample::new(head).unwrap(),
            better,
        )
        .unwrap()
    }

    #[test]
    fn changes_as_published() {
        // Experiment E1: hackbench in seconds, netperf in transactions.
        let rounded = |better: Better, base, head| {
            crate::format::signed_percent(better.change_percent(base, head).unwrap())
        };
        assert_eq!(rounded(Better::Lower, 18.35, 18.78), "-2.34 %");
        assert_eq!(rounded(Better::Lower, 8.06, 7.88), "+2.23 %");
        assert_eq!(rounded(Better::Higher, 83_567.0, 84_298.0), "+0.87 %");
        assert_eq!(rounded(Better::Higher, 25_532.0, 26_772.0), "+4.86 %");
    }

    #[test]
    fn change_from_zero_and_from_below() {
        assert_eq!(Better::Lower.change_percent(0.0, 0.0), Some(0.0));
        assert_eq!(Better::Lower.change_percent(0.0, 1.0), None);
        assert_eq!(Better::Higher.change_percent(-2.0, -1.0), Some(50.0));
        assert_eq!(Better::Lower.change_percent(-2.0, -1.0), Some(-50.0));
        assert_eq!(Better::Lower.change_percent(1.0, f64::NAN), None);
    }

    #[test]
    fn a_clear_change_is_better_or_worse_by_the_direction() {
        let (base, head) = ([1.0, 1.1, 1.2, 1.3], [2.0, 2.1, 2.2, 2.3]);
        let comparison = compare(&base, &head, Better::Higher);
        // The U test's 2 / 70 is larger than Welch's p.
        assert_eq!(comparison.verdict, Verdict::Better { p: 2.0 / 70.0 });
        assert_eq!(
            compare(&base, &head, Better::Lower).verdict,
            Verdict::Worse { p: 2.0 / 70.0 }
        );
    }

    #[test]
    fn three_runs_are_too_few() {
        let comparison = compare(&[1.0, 1.1, 1.2], &[2.0, 2.1, 2.2], Better::Lower);
        assert!(comparison.welch.unwrap().p < 0.001);
        assert_eq!(comparison.verdict, Verdict::NoClearChange { p: 0.1 });
    }

    #[test]
    fn one_run_says_nothing_of_chance() {
        let comparison = compare(&[1.0], &[2.0], Better::Lower);
        assert_eq!(comparison.verdict, Verdict::NoClearChange { p: 1.0 });
        assert_eq!(comparison.change_percent, Some(-100.0));
    }

    #[test]
    fn what_never_varies_differs_for_certain_or_not_at_all() {
        let constant = |base, head| compare(&[base; 2], &[head; 2], Better::Lower);
        assert_eq!(
            constant(5.0, 5.0).verdict,
            Verdict::NoClearChange { p: 1.0 }
        );
        assert_eq!(constant(5.0, 4.0).verdict, Verdict::Better { p: 0.0 });
        assert_eq!(constant(5.0, 6.0).verdict, Verdict::Worse { p: 0.0 });
        assert_eq!(constant(0.0, 6.0).verdict, Verdict::Worse { p: 0.0 });
    }

    #[test]
    fn tests_that_contradict_each_other_are_no_evidence() {
        // Head is mostly a little larger and once in a hundred much smaller.
        let base: Vec<f64> = (0..100).map(f64::from).collect();
        let mut head: Vec<f64> = (0..100).map(|i| f64::from(i) + 30.5).collect();
        head[0] = -1e6;
        let comparison = compare(&base, &head, Better::Lower);
        assert!(comparison.mann_whitney.p < 0.001);
        assert_eq!(comparison.verdict, Verdict::NoClearChange { p: 1.0 });
    }

    #[test]
    fn a_side_without_runs_is_named() {
        let (some, none) = (Sample::new([1.0]).unwrap(), Sample::default());
        let error = |base, head| Comparison::new(base, head, Better::Lower).unwrap_err();
        assert_eq!(error(&none, &some), Error::EmptySample { side: "base" });
        assert_eq!(error(&some, &none), Error::EmptySample { side: "head" });
    }

    #[test]
    fn serialises_with_the_verdict_beside_the_numbers() {
        let json = serde_json::to_value(compare(&[4.0, 4.0], &[2.0, 2.0], Better::Lower)).unwrap();
        assert_eq!(json["better"], "lower");
        assert_eq!(json["verdict"], "better");
        assert_eq!(json["p"], 0.0);
        assert_eq!(json["change_percent"], 50.0);
        assert_eq!(json["welch"], serde_json::Value::Null);
        assert_eq!(json["base"]["coefvar_percent"], 0.0);
    }

    proptest! {
        #[test]
        fn any_samples_compare_and_the_opposite_wish_turns_the_verdict(
            base in prop::collection::vec(-1e3..1e3_f64, 1..12),
            head in prop::collection::vec(-1e3..1e3_f64, 1..12),
        ) {
            let lower = compare(&base, &head, Better::Lower).verdict;
            let higher = compare(&base, &head, Better::Higher).verdict;
            prop_assert!((0.0..=1.0).contains(&lower.p()));
            let turned = match lower {
                Verdict::Better { p } => Verdict::Worse { p },
                Verdict::Worse { p } => Verdict::Better { p },
                Verdict::NoClearChange { .. } => lower,
            };
            prop_assert_eq!(higher, turned);
        }
    }
}
