//! Times as people write them: `250us`, `1.5ms`, `10s`.

use cpumax_bandwidth::Nanos;
use thiserror::Error;

/// Longest time that a scenario may name: 365 days. It keeps every sum of times far from overflowing.
pub(crate) const LONGEST: Nanos = Nanos::from_secs(365 * 24 * 3600);

/// Units, and how many nanoseconds each has.
const UNITS: [(&str, Nanos); 6] = [
    ("ns", Nanos::NANOSECOND),
    ("us", Nanos::MICROSECOND),
    ("µs", Nanos::MICROSECOND),
    ("ms", Nanos::MILLISECOND),
    ("s", Nanos::SECOND),
    ("min", Nanos::from_secs(60)),
];

/// Why a text is no time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DurationError {
    /// A bare number.
    #[error("`{number}` has no unit")]
    NoUnit {
        /// The number.
        number: String,
    },
    /// A number with something behind it that is no unit.
    #[error("`{unit}` is not a unit of time")]
    UnknownUnit {
        /// The number before it.
        number: String,
        /// What stands where the unit belongs.
        unit: String,
    },
    /// Below zero.
    #[error("`{text}` is negative, and time only goes forward")]
    Negative {
        /// The text.
        text: String,
    },
    /// Not a number with a unit.
    #[error("`{text}` is not a time")]
    NotATime {
        /// The text.
        text: String,
    },
    /// Has a part that is less than a nanosecond.
    #[error("`{text}` is finer than a nanosecond")]
    TooFine {
        /// The text.
        text: String,
    },
    /// More than a scenario can hold.
    #[error("`{text}` is longer than a year")]
    TooLong {
        /// The text.
        text: String,
    },
}

impl DurationError {
    /// What to write instead.
    pub fn help(&self) -> String {
        match self {
            Self::NoUnit { number } => {
                format!("write \"{number}us\", \"{number}ms\" or \"{number}s\"")
            }
            Self::UnknownUnit { number, .. } => {
                format!("units are ns, us, ms, s and min, as in \"{number}ms\"")
            }
            Self::Negative { .. } => "write zero or more, as in \"5ms\"".into(),
            Self::NotATime { .. } => {
                "write a number and a unit, as in \"250us\" or \"1.5ms\"".into()
            }
            Self::TooFine { .. } => "round it to whole nanoseconds".into(),
            Self::TooLong { .. } => "times are at most 365 days".into(),
        }
    }
}

/// Reads a time such as `1.5ms`. White space around it and before the unit is allowed.
///
/// # Errors
/// Anything but a number from zero up with a unit, of whole nanoseconds and at most 365 days.
pub fn parse_duration(text: &str) -> Result<Nanos, DurationError> {
    let trimmed = text.trim();
    let own = || trimmed.to_string();
    if let Some(rest) = trimmed.strip_prefix(['-', '−'])
        && rest.starts_with(|c: char| c.is_ascii_digit() || c == '.')
    {
        return Err(DurationError::Negative { text: own() });
    }
    let number_len = trimmed
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
        .count();
    let (number, unit) = trimmed.split_at(number_len);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
        return Err(DurationError::NotATime { text: own() });
    }
    let unit = unit.trim_start();
    if unit.is_empty() {
        return Err(DurationError::NoUnit {
            number: number.into(),
        });
    }
    let Some(&(_, unit)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(DurationError::UnknownUnit {
            number: number.into(),
            unit: unit.into(),
        });
    };
    let Some(time) = exact(whole, fraction, unit) else {
        return Err(DurationError::TooFine { text: own() });
    };
    if time > u128::from(LONGEST.0) {
        return Err(DurationError::TooLong { text: own() });
    }
    Ok(Nanos(time as u64))
}

/// `whole.fraction` units in nanoseconds, saturating; `None` if that is no whole number.
fn exact(whole: &str, fraction: &str, unit: Nanos) -> Option<u128> {
    let unit = u128::from(unit.0);
    // A unit has at most 60 * 10^9 ns, so that more than 11 digits behind the point are too fine.
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 11 {
        return None;
    }
    let scale = 10_u128.pow(fraction.len() as u32);
    let fraction = fraction.parse().unwrap_or(0_u128) * unit;
    let whole = whole
        .parse()
        .unwrap_or(u128::from(u64::MAX))
        .saturating_mul(unit);
    (fraction % scale == 0).then(|| whole.saturating_add(fraction / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_exactly() {
        let cases = [
            ("0ms", 0),
            ("1ns", 1),
            ("250us", 250_000),
            ("250 µs", 250_000),
            ("1.5ms", 1_500_000),
            ("1.000000ms", 1_000_000),
            ("0.000001ms", 1),
            ("  10s ", 10_000_000_000),
            ("2min", 120_000_000_000),
            ("0.5min", 30_000_000_000),
            ("1.0ns", 1),
            ("1.0000000000000000ns", 1),
        ];
        for (text, nanos) in cases {
            assert_eq!(parse_duration(text), Ok(Nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_says_why() {
        let why = |text: &str| parse_duration(text).unwrap_err();
        assert!(matches!(why("5"), DurationError::NoUnit { .. }));
        assert!(matches!(why("-5ms"), DurationError::Negative { .. }));
        assert!(matches!(why("-5"), DurationError::Negative { .. }));
        assert!(matches!(why("5m"), DurationError::UnknownUnit { .. }));
        assert!(matches!(why("5 weeks"), DurationError::UnknownUnit { .. }));
        assert!(matches!(why("1.5ns"), DurationError::TooFine { .. }));
        assert!(matches!(
            why("1.00000000001s"),
            DurationError::TooFine { .. }
        ));
        assert!(matches!(why("9000h"), DurationError::UnknownUnit { .. }));
        assert!(matches!(why("99999999s"), DurationError::TooLong { .. }));
        assert!(matches!(
            why("99999999999999999999999s"),
            DurationError::TooLong { .. }
        ));
        for text in [
            "", "ms", ".5ms", "5.ms", "1.2.3ms", "soon", "1e3ms", "--5ms", "5-ms", "٣ms",
        ] {
            let error = why(text);
            assert!(
                matches!(
                    error,
                    DurationError::NotATime { .. } | DurationError::UnknownUnit { .. }
                ),
                "{text}: {error}"
            );
        }
    }
}
