//! How often a duration fell between one power of two and the next, as bpftrace's `hist()` shows it.

use core::fmt;

use serde::Serialize;

/// Cells of the bar of the fullest bucket. With the label and the count a line has 80 columns.
/// (bpftrace `src/output.cpp`)
const BAR: u64 = 52;

/// The unit in which durations are put into buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum TimeUnit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanos,
    /// Microseconds.
    #[serde(rename = "us")]
    Micros,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Millis,
}

impl TimeUnit {
    /// Its length in nanoseconds.
    fn nanos(self) -> u64 {
        match self {
            Self::Nanos => 1,
            Self::Micros => 1_000,
            Self::Millis => 1_000_000,
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Nanos => "ns",
            Self::Micros => "us",
            Self::Millis => "ms",
        }
    }
}

/// A histogram of durations with a bucket per power of two.
///
/// `Display` draws the buckets from the first to the last that is not empty, a line each; nothing if all
/// are empty. Numbers in labels are as bpftrace writes them: `1K` is 1024.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    unit: TimeUnit,
    /// Bucket 0 counts 0, bucket `i` counts `2^(i - 1)` up to but not including `2^i` units.
    counts: [u64; 65],
}

/// One bucket of a histogram, in the histogram's unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// Least duration that counts here: 0 or a power of two.
    pub low: u64,
    /// Largest duration that counts here: 0, or one less than twice `low`.
    pub last: u64,
    /// Number of durations.
    pub count: u64,
}

impl Histogram {
    /// An empty histogram whose buckets are powers of two of `unit`.
    pub fn new(unit: TimeUnit) -> Self {
        Self {
            unit,
            counts: [0; 65],
        }
    }

    /// Counts a duration in nanoseconds. What is left over of a whole unit is cut off, as by the usual
    /// `hist(nsecs / 1000)`.
    pub fn record(&mut self, nanos: u64) {
        let units = nanos / self.unit.nanos();
        self.counts[(u64::BITS - units.leading_zeros()) as usize] += 1;
    }

    /// The unit of the buckets.
    pub fn unit(&self) -> TimeUnit {
        self.unit
    }

    /// Number of durations in all buckets.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The buckets from the first to the last that is not empty, with the empty ones between.
    pub fn buckets(&self) -> Vec<Bucket> {
        let is_filled = |count: &u64| *count > 0;
        let Some(first) = self.counts.iter().position(is_filled) else {
            return Vec::new();
        };
        let last = self.counts.iter().rposition(is_filled).unwrap_or(first);
        (first..=last)
            .map(|index| {
                let low: u64 = if index == 0 { 0 } else { 1 << (index - 1) };
                Bucket {
                    low,
                    last: low + low.saturating_sub(1),
                    count: self.counts[index],
                }
            })
            .collect()
    }
}

impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let buckets = self.buckets();
        let fullest = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
        for Bucket { low, last, count } in buckets {
            let unit = self.unit.symbol();
            let label = if low == last {
                format!("[{low}] {unit}")
            } else {
                format!(
                    "[{}, {}) {unit}",
                    binary(u128::from(low)),
                    binary(u128::from(last) + 1)
                )
            };
            let cells = (u128::from(count) * u128::from(BAR) / u128::from(fullest)) as usize;
            writeln!(
                f,
                "{label:<16} {count:>8} |{:<width$}|",
                "@".repeat(cells),
                width = BAR as usize
            )?;
        }
        Ok(())
    }
}

/// A power of two with the largest binary prefix that divides it: 512, 1K, 32M.
fn binary(mut number: u128) -> String {
    for prefix in ["", "K", "M", "G", "T", "P"] {
        if number < 1024 {
            return format!("{number}{prefix}");
        }
        number /= 1024;
    }
    format!("{number}E")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(unit: TimeUnit, nanos: &[u64]) -> Histogram {
        let mut histogram = Histogram::new(unit);
        for &duration in nanos {
            histogram.record(duration);
        }
        histogram
    }

    #[test]
    fn a_power_of_two_opens_its_bucket() {
        let edges = histogram(TimeUnit::Micros, &[127_999, 128_000, 255_999, 256_000]);
        let bucket = |low, last, count| Bucket { low, last, count };
        assert_eq!(
            edges.buckets(),
            [bucket(64, 127, 1), bucket(128, 255, 2), bucket(256, 511, 1)]
        );
        assert_eq!(edges.total(), 4);
    }

    #[test]
    fn the_ends_of_the_range_have_buckets() {
        let ends = histogram(TimeUnit::Nanos, &[0, u64::MAX]);
        let buckets = ends.buckets();
        assert_eq!(buckets.len(), 65);
        assert_eq!(
            buckets[0],
            Bucket {
                low: 0,
                last: 0,
                count: 1
            }
        );
        assert_eq!(
            buckets[64],
            Bucket {
                low: 1 << 63,
                last: u64::MAX,
                count: 1
            }
        );
        assert!(ends.to_string().ends_with("@|\n"));
        assert!(ends.to_string().contains("\n[8E, 16E) ns "));
    }

    #[test]
    fn nothing_recorded_draws_nothing() {
        assert_eq!(Histogram::new(TimeUnit::Micros).to_string(), "");
    }

    #[test]
    fn serialises_by_bucket() {
        let json =
            serde_json::to_string(&histogram(TimeUnit::Millis, &[2_500_000]).buckets()).unwrap();
        assert_eq!(json, r#"[{"low":2,"last":3,"count":1}]"#);
        assert_eq!(serde_json::to_string(&TimeUnit::Millis).unwrap(), r#""ms""#);
    }

    #[test]
    fn bars_as_bpftrace_draws_them() {
        let mut timer = histogram(TimeUnit::Micros, &[300, 1_700, 600_000]);
        for micros in 200..250 {
            timer.record(micros * 1_000);
        }
        for micros in 256..281 {
            timer.record(micros * 1_000);
        }
        timer.record(1_100_000);
        insta::assert_snapshot!(timer);
    }
}
