//! Writes to a group's files: `cpu.max`, `cpu.max.burst`, `cpu.weight`.
//!
//! What is a right limit, the kernel's rules decide ([`cpumax_bandwidth`]). One thing is stricter here:
//! the kernel does not look at what follows a number (`20000ms` sets 20000 us), which in a file that a
//! person wrote is always a mistake.

use cpumax_bandwidth::{Limit, parse_burst, parse_cpu_max};
use cpumax_sched::Nice;

use crate::problem::Problem;

/// Names of the files, which are also the keys in TOML.
pub(crate) const FILES: [&str; 3] = ["cpu.max", "cpu.max.burst", "cpu.weight"];

/// A write that changes a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LimitWrite {
    /// To `cpu.max`.
    Max(String),
    /// To `cpu.max.burst`.
    Burst(String),
}

impl LimitWrite {
    /// The limit after the write.
    pub fn apply(&self, group: &str, current: &Limit) -> Result<Limit, Problem> {
        let (file, written) = match self {
            Self::Max(text) => {
                if let Some(read) = beginning(text) {
                    return Err(Problem::LimitHasMore {
                        text: text.clone(),
                        read,
                    });
                }
                ("cpu.max", parse_cpu_max(text, current))
            }
            Self::Burst(text) => ("cpu.max.burst", parse_burst(text, current)),
        };
        written.map_err(|source| Problem::Limit {
            file,
            group: group.to_string(),
            source,
        })
    }

    /// Whether the write names a period; one that does not keeps the present one.
    pub fn names_period(&self) -> bool {
        matches!(self, Self::Max(text) if text.split_ascii_whitespace().nth(1).is_some())
    }
}

/// What the kernel reads of a text for `cpu.max`, if that is a quota and there is more.
fn beginning(text: &str) -> Option<String> {
    let mut words = text.split_ascii_whitespace();
    let (quota, period) = (words.next()?, words.next());
    let (quota_digits, quota_rest) = digits(quota);
    let (period_digits, period_rest) = digits(period.unwrap_or_default());
    let is_quota = quota == "max" || !quota_digits.is_empty();
    let has_more = (quota != "max" && !quota_rest.is_empty())
        || !period_rest.is_empty()
        || words.next().is_some();
    let read = if quota == "max" { quota } else { quota_digits };
    (is_quota && has_more).then(|| format!("{read} {period_digits}").trim_end().to_string())
}

/// The digits at the beginning of a word, and the rest.
fn digits(word: &str) -> (&str, &str) {
    word.split_at(word.bytes().take_while(u8::is_ascii_digit).count())
}

/// Reads a `cpu.weight`.
pub(crate) fn parse_weight(text: &str) -> Result<u32, Problem> {
    let weight = text.trim().parse().ok();
    weight
        .filter(|weight| (1..=10_000).contains(weight))
        .ok_or_else(|| Problem::Weight {
            text: text.trim().to_string(),
        })
}

/// Reads a nice value.
pub(crate) fn parse_nice(text: &str) -> Result<Nice, Problem> {
    let nice = text.trim().parse().ok();
    nice.and_then(Nice::new).ok_or_else(|| Problem::Nice {
        text: text.trim().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_would_pass_over_is_refused() {
        let read = |text: &str| match LimitWrite::Max(text.into()).apply("/a", &Limit::UNLIMITED) {
            Err(Problem::LimitHasMore { read, .. }) => read,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(read("20000us 100000"), "20000 100000");
        assert_eq!(read("20000 100ms"), "20000 100");
        assert_eq!(read("20000 abc"), "20000");
        assert_eq!(read("max 50000 1"), "max 50000");
        for text in ["max", " max 50000 ", "20000", "20000\t100000\n"] {
            assert!(
                LimitWrite::Max(text.into())
                    .apply("/a", &Limit::UNLIMITED)
                    .is_ok(),
                "{text}"
            );
        }
        for text in ["", "maximum", "-1", "abc 100000"] {
            let error = LimitWrite::Max(text.into()).apply("/a", &Limit::UNLIMITED);
            assert!(
                matches!(error, Err(Problem::Limit { .. })),
                "{text}: {error:?}"
            );
        }
    }
}
