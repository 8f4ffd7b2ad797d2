//! Two tests of whether two samples differ by more than chance.
//!
//! Welch's t-test asks whether the means differ and trusts them to be about normally distributed; the
//! Mann-Whitney U test asks whether one side tends to be larger and trusts nothing, but sees only ranks.
//! Both are two-sided. Samples are ascending and not empty.

use serde::Serialize;

use crate::special::{erfc, student_t_two_sided};
use crate::stats::Summary;

/// Most runs on both sides together for which the exact distribution of U is counted. The number of
/// arrangements, C(50, 25) = 1.26e14, is then exact in `f64` too.
const EXACT_RUNS: usize = 50;

/// Welch's t-test: difference of the means, without equal variances.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Welch {
    /// Head's mean minus base's, in standard errors.
    pub t: f64,
    /// Degrees of freedom by Welch and Satterthwaite, not a whole number.
    pub df: f64,
    /// Probability of a `t` at least as far from 0 if the means were equal.
    pub p: f64,
}

impl Welch {
    /// The test. `None` if a side has one run, or if neither varies: then there is no standard error.
    pub(crate) fn test(base: &Summary, head: &Summary) -> Option<Self> {
        let error_square = |side: &Summary| side.stddev.map(|sd| sd * sd / side.n as f64);
        let (of_base, of_head) = (error_square(base)?, error_square(head)?);
        let both = of_base + of_head;
        if both == 0.0 {
            return None;
        }
        let t = (head.amean - base.amean) / both.sqrt();
        let (base_part, head_part) = (of_base / both, of_head / both);
        let df = 1.0
            / (base_part * base_part / (base.n - 1) as f64
                + head_part * head_part / (head.n - 1) as f64);
        Some(Self {
            t,
            df,
            p: student_t_two_sided(t, df),
        })
    }
}

/// Mann-Whitney U test: whether a run of one side tends to be larger than a run of the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MannWhitney {
    /// Number of pairs of a head and a base run in which head's is larger; an equal pair counts a half.
    pub u: f64,
    /// Probability of a `u` at least as far from its middle if both sides were alike.
    pub p: f64,
    /// Whether `p` is counted, which it is up to 50 runs without ties. Otherwise it is the normal
    /// approximation with corrections for ties and continuity.
    pub exact: bool,
}

impl MannWhitney {
    /// The test of two ascending samples, neither empty.
    pub(crate) fn test(base: &[f64], head: &[f64]) -> Self {
        debug_assert!(!base.is_empty() && !head.is_empty());
        let Ranks { twice_u, ties } = rank(base, head);
        let exact = ties == 0.0 && base.len() + head.len() <= EXACT_RUNS;
        let p = if exact {
            exact_p(base.len(), head.len(), twice_u / 2)
        } else {
            approximate_p(
                base.len() as f64,
                head.len() as f64,
                twice_u as f64 / 2.0,
                ties,
            )
        };
        Self {
            u: twice_u as f64 / 2.0,
            p,
            exact,
        }
    }

    /// How far `u` is from its middle: positive if head tends to be larger.
    pub(crate) fn tendency(&self, base: &Summary, head: &Summary) -> f64 {
        self.u - (base.n * head.n) as f64 / 2.0
    }
}

/// What the U test needs of the two samples put together.
struct Ranks {
    /// Twice U of head: an equal pair counts 1, so it is a whole number.
    twice_u: u64,
    /// Sum over each value that occurs `t` times of `t^3 - t`.
    ties: f64,
}

fn rank(base: &[f64], head: &[f64]) -> Ranks {
    let (mut below, mut next) = (0, 0);
    let mut ranks = Ranks {
        twice_u: 0,
        ties: 0.0,
    };
    while below < base.len() || next < head.len() {
        let value = match (base.get(below), head.get(next)) {
            (Some(&b), Some(&h)) => b.min(h),
            (Some(&only), None) | (None, Some(&only)) => only,
            (None, None) => break,
        };
        let equal = |side: &[f64]| side.iter().take_while(|&&other| other == value).count();
        let (in_base, in_head) = (equal(&base[below..]), equal(&head[next..]));
        ranks.twice_u += (in_head * (2 * below + in_base)) as u64;
        let tied = (in_base + in_head) as f64;
        ranks.ties += tied * tied * tied - tied;
        below += in_base;
        next += in_head;
    }
    ranks
}

/// Part of all orders of the runs in which U is as far from its middle as `u`, or farther.
fn exact_p(base: usize, head: usize, u: u64) -> f64 {
    let orders = orders_by_u(base, head);
    // The distribution is symmetric: twice the smaller tail.
    let tail = (u as usize).min(base * head - u as usize);
    let as_far: u64 = orders[..=tail].iter().sum();
    let all: u64 = orders.iter().sum();
    (2.0 * as_far as f64 / all as f64).min(1.0)
}

/// How many orders of `m` and `n` runs give each U from 0 to `m * n`.
///
/// These are the coefficients of the Gaussian binomial, the product over `i = 1..=m` of
/// `(1 - q^(n + i)) / (1 - q^i)`.
fn orders_by_u(m: usize, n: usize) -> Vec<u64> {
    let mut coefficients = vec![0_i64; m * n + 1];
    coefficients[0] = 1;
    for i in 1..=m {
        for u in (n + i..=m * n).rev() {
            coefficients[u] -= coefficients[u - n - i];
        }
        for u in i..=m * n {
            coefficients[u] += coefficients[u - i];
        }
    }
    coefficients.into_iter().map(|count| count as u64).collect()
}

fn approximate_p(base: f64, head: f64, u: f64, ties: f64) -> f64 {
    let all = base + head;
    let variance = base * head / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    // All runs equal: the formula gives 0, or its rounding.
    if variance <= base * head * f64::EPSILON {
        return 1.0;
    }
    // Half a step for continuity.
    let distance = ((u - base * head / 2.0).abs() - 0.5).max(0.0);
    erfc(distance / (2.0 * variance).sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Sample;

    // References: scipy 1.17, `ttest_ind(equal_var=False)` and `mannwhitneyu`.

    const A: [f64; 15] = [
        27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4,
    ];
    const B: [f64; 15] = [
        27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 24.4,
    ];

    fn welch(base: &[f64], head: &[f64]) -> Option<Welch> {
        let summary = |values: &[f64]| Sample::new(values).unwrap().summary().unwrap();
        Welch::test(&summary(base), &summary(head))
    }

    fn mann_whitney(base: &[f64], head: &[f64]) -> MannWhitney {
        MannWhitney::test(
            Sample::new(base).unwrap().values(),
            Sample::new(head).unwrap().values(),
        )
    }

    #[track_caller]
    fn assert_close(got: f64, expected: f64) {
        assert!(
            (got - expected).abs() <= 1e-12 * expected.abs(),
            "{got} is not {expected}"
        );
    }

    #[test]
    fn welch_of_known_samples() {
        let test = welch(&A, &B).unwrap();
        assert_close(test.t, 2.852_954_870_171_521_5);
        assert_close(test.df, 27.887_303_988_420_12);
        assert_close(test.p, 0.008_071_938_172_194_903);

        let test = welch(&[1.1, 2.2, 3.3, 4.4, 5.5], &[3.0, 4.0, 6.0, 7.0, 8.0, 9.0]).unwrap();
        assert_close(test.df, 8.939_254_835_177_678);
        assert_close(test.p, 0.044_127_370_020_716_03);
    }

    #[test]
    fn welch_needs_a_standard_error() {
        assert_eq!(welch(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]), None);
        // One side varies: the t-test of a mean against a constant. t = 1 / sqrt(2 / 2), df = 1.
        let test = welch(&[0.0, 2.0], &[2.0, 2.0]).unwrap();
        assert_close(test.t, 1.0);
        assert_close(test.df, 1.0);
        assert_close(test.p, 0.5);
    }

    #[test]
    fn counted_orders() {
        // Two of four places: 6 orders. U is 0, 1, 2 (twice), 3, 4.
        assert_eq!(orders_by_u(2, 2), [1, 1, 2, 1, 1]);
        assert_eq!(orders_by_u(1, 3), [1, 1, 1, 1]);
        assert_eq!(orders_by_u(3, 2), orders_by_u(2, 3));
        // C(50, 25), the most that is ever counted.
        assert_eq!(orders_by_u(25, 25).iter().sum::<u64>(), 126_410_606_437_752);
    }

    #[test]
    fn exact_for_few_runs_without_ties() {
        let test = mann_whitney(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]);
        assert_eq!((test.u, test.exact), (16.0, true));
        // Two of the C(8, 4) = 70 orders are as extreme.
        assert_close(test.p, 2.0 / 70.0);

        let test = mann_whitney(&[1.1, 2.2, 3.3, 4.4, 5.5], &[3.0, 4.0, 6.0, 7.0, 8.0, 9.0]);
        assert_eq!(test.u, 25.0);
        assert_close(test.p, 0.082_251_082_251_082_26);

        assert_eq!(mann_whitney(&[1.0], &[2.0]).p, 1.0);
    }

    #[test]
    fn approximate_with_ties_or_many_runs() {
        let test = mann_whitney(&A, &B);
        assert_eq!((test.u, test.exact), (179.5, false));
        assert_close(test.p, 0.005_788_641_486_744_119);

        let test = mann_whitney(&[2.0, 3.0, 5.0, 5.0, 6.0], &[1.0, 2.0, 2.0, 3.0, 4.0]);
        assert_eq!(test.u, 4.5);
        assert_close(test.p, 0.110_492_024_055_668_02);
    }

    #[test]
    fn exact_ends_at_fifty_runs() {
        let shifted = |n: u32| {
            let base: Vec<f64> = (0..n).map(|i| f64::from(2 * i)).collect();
            let head: Vec<f64> = (0..n).map(|i| f64::from(2 * i + 7)).collect();
            mann_whitney(&base, &head)
        };
        let test = shifted(25);
        assert_eq!((test.u, test.exact), (394.0, true));
        assert_close(test.p, 0.116_638_811_264_326_38);
        let test = shifted(26);
        assert_eq!((test.u, test.exact), (423.0, false));
        assert_close(test.p, 0.121_995_783_748_453_81);
    }

    #[test]
    fn all_runs_equal_is_no_evidence() {
        for n in [1, 2, 3, 7, 100] {
            let test = mann_whitney(&vec![0.3; n], &vec![0.3; 2 * n]);
            assert_eq!(test.p, 1.0);
        }
        // Zero has two signs and one value.
        assert_eq!(mann_whitney(&[0.0, -0.0], &[-0.0, 0.0]).p, 1.0);
    }

    proptest! {
        #[test]
        fn swapping_the_sides_keeps_p(
            base in prop::collection::vec(0..30_i32, 1..40),
            head in prop::collection::vec(0..30_i32, 1..40),
        ) {
            let values = |side: &[i32]| side.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
            let (base, head) = (values(&base), values(&head));
            let (one, other) = (mann_whitney(&base, &head), mann_whitney(&head, &base));
            prop_assert_eq!(one.p, other.p);
            prop_assert_eq!(one.u + other.u, (base.len() * head.len()) as f64);
            prop_assert!((0.0..=1.0).contains(&one.p));
        }
    }
}
