//! Finding the costs under which a simulation shows what was measured.
//!
//! A simulation is no smooth function of its costs: a nanosecond more can change the order of two wakeups and
//! with it everything that follows. So the search uses no derivatives. It is the pattern search of Hooke and
//! Jeeves ("Direct search solution of numerical and statistical problems", J. ACM 8, 1961) in the logarithm of
//! each parameter, with steps that shrink.

/// A number that is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The machine file's key, with the table before it: `costs.pipe-read`.
    pub key: &'static str,
    /// Where the search starts.
    pub start: u64,
    /// It is at least this.
    pub least: u64,
    /// It is at most this.
    pub most: u64,
}

impl Parameter {
    /// The value a factor away, at least one off and within the bounds.
    fn scaled(self, value: u64, factor: f64) -> u64 {
        let scaled = (value as f64 * factor).round() as u64;
        let moved = if scaled != value {
            scaled
        } else if factor > 1.0 {
            value + 1
        } else {
            value.saturating_sub(1)
        };
        moved.clamp(self.least, self.most)
    }
}

/// Factors of the search's steps, the widest first.
const STEPS: [f64; 3] = [1.3, 1.1, 1.04];

/// The values for which `misfit` is smallest, and that misfit. The search ends when no step of the smallest size
/// to either side of any parameter is an improvement, or after `budget` calls of `misfit`.
///
/// # Errors
/// The first error of `misfit`.
pub fn search<E>(
    parameters: &[Parameter],
    budget: usize,
    mut misfit: impl FnMut(&[u64]) -> Result<f64, E>,
) -> Result<(Vec<u64>, f64), E> {
    let mut best: Vec<u64> = parameters.iter().map(|parameter| parameter.start).collect();
    let mut least = misfit(&best)?;
    let mut calls = 1;
    for step in STEPS {
        loop {
            let before = best.clone();
            for (at, parameter) in parameters.iter().enumerate() {
                for factor in [step, 1.0 / step] {
                    let mut tried = best.clone();
                    tried[at] = parameter.scaled(best[at], factor);
                    if tried[at] == best[at] {
                        continue;
                    }
                    if calls == budget {
                        return Ok((best, least));
                    }
                    calls += 1;
                    let found = misfit(&tried)?;
                    if found < least {
                        (best, least) = (tried, found);
                        break;
                    }
                }
            }
            if best == before {
                break;
            }
        }
    }
    Ok((best, least))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const fn parameter(start: u64, least: u64, most: u64) -> Parameter {
        Parameter {
            key: "costs.pipe-read",
            start,
            least,
            most,
        }
    }

    /// Distance from a place, in logarithms, with an interplay of the two.
    fn bowl(at: &[u64], place: [f64; 2]) -> f64 {
        let off = |index: usize| (at[index] as f64 / place[index]).ln();
        off(0).powi(2) + off(1).powi(2) + 0.5 * off(0) * off(1)
    }

    #[test]
    fn the_lowest_place_is_found() {
        let start = [parameter(100, 1, 100_000), parameter(9000, 1, 100_000)];
        let (found, misfit) = search(&start, 1000, |at| {
            Ok::<_, Infallible>(bowl(at, [2500.0, 700.0]))
        })
        .unwrap();
        assert!((2400..2600).contains(&found[0]), "{found:?}");
        assert!((670..730).contains(&found[1]), "{found:?}");
        assert!(misfit < 0.005);
    }

    #[test]
    fn bounds_hold() {
        let start = [parameter(100, 50, 200), parameter(3, 0, 5)];
        let (found, _) = search(&start, 1000, |at| {
            assert!((50..=200).contains(&at[0]) && at[1] <= 5, "{at:?}");
            Ok::<_, Infallible>(bowl(&[at[0], at[1] + 1], [1000.0, 100.0]))
        })
        .unwrap();
        assert_eq!(found, [200, 5]);
    }

    #[test]
    fn small_numbers_move_by_one() {
        let (found, _) = search(&[parameter(1, 0, 100)], 1000, |at| {
            Ok::<_, Infallible>((at[0] as f64 - 7.0).abs())
        })
        .unwrap();
        assert_eq!(found, [7]);
    }

    #[test]
    fn the_budget_holds() {
        let mut calls = 0;
        search(&[parameter(1, 0, 1_000_000)], 5, |at| {
            calls += 1;
            Ok::<_, Infallible>(1.0 / (at[0] + 1) as f64)
        })
        .unwrap();
        assert_eq!(calls, 5);
    }
}
