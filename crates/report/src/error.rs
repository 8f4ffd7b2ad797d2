//! What a caller can hand in that has no statistics.

use core::fmt;

use crate::stats::{LARGEST, SMALLEST};

/// Why a sample, a comparison or a quantile is refused.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// A value is NaN or infinite.
    NotFinite {
        /// Place of the value in the sample as given, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A value is so large or so near to zero that its square would not be a number.
    OutOfRange {
        /// Place of the value in the sample as given, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A side of a comparison has no run.
    EmptySample {
        /// `base` or `head`.
        side: &'static str,
    },
    /// A quantile is not written as `p50`, `p99.9` or `max`, or is not above 0 and up to 100 %.
    Quantile {
        /// What was given.
        given: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite { index, value } => {
                write!(
                    f,
                    "value {} of the sample is {value}, not a finite number",
                    index + 1
                )
            }
            Self::OutOfRange { index, value } => write!(
                f,
                "value {} of the sample is {value:e}; a value is 0 or of magnitude {SMALLEST:e} to {LARGEST:e}",
                index + 1
            ),
            Self::EmptySample { side } => {
                write!(
                    f,
                    "{side} has no run; a comparison takes at least one on each side"
                )
            }
            Self::Quantile { given } => write!(
                f,
                "{given} is not a quantile; write p and a percentage above 0 and up to 100 with at most \
                 four decimals, as p50 or p99.9, or max"
            ),
        }
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_count_from_one_and_say_what_would_be_right() {
        let error = Error::NotFinite {
            index: 0,
            value: f64::NAN,
        };
        assert_eq!(
            error.to_string(),
            "value 1 of the sample is NaN, not a finite number"
        );
        let error = Error::OutOfRange {
            index: 2,
            value: 1e200,
        };
        assert_eq!(
            error.to_string(),
            "value 3 of the sample is 1e200; a value is 0 or of magnitude 1e-100 to 1e100"
        );
    }
}
