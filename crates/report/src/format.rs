//! Numbers for people: the same text on every machine.
//!
//! Spaces stand between number and unit, commas between thousands, a point before decimals. Whole
//! numbers round half up; `f64` rounds its exact binary value, as `format!` does.

/// What stands in place of a number that does not exist.
pub const ABSENT: &str = "-";

/// A duration in nanoseconds, with three significant digits: `999 ns`, `1.23 us`, `12.3 ms`, `100 s`,
/// `1,234 s`. Below 1 us and from 1000 s on it is exact to the unit.
pub fn duration(nanos: u64) -> String {
    if nanos < 1_000 {
        return format!("{nanos} ns");
    }
    for (unit, scale) in [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)] {
        for decimals in [2, 1, 0] {
            let divisor = 10_u64.pow(decimals);
            let digits = divide_half_up(nanos, scale / divisor);
            if digits < 1_000 {
                let (whole, fraction) = (digits / divisor, digits % divisor);
                return match decimals as usize {
                    0 => format!("{whole} {unit}"),
                    width => format!("{whole}.{fraction:0width$} {unit}"),
                };
            }
        }
    }
    format!("{} s", count(divide_half_up(nanos, 1_000_000_000)))
}

fn divide_half_up(number: u64, divisor: u64) -> u64 {
    number / divisor
        + u64::from(number % divisor >= divisor.div_ceil(2) && !number.is_multiple_of(divisor))
}

/// A count with a comma between thousands: `1,234,567`.
pub fn count(number: u64) -> String {
    group_thousands(&number.to_string())
}

/// A number with so many decimals and a comma between thousands: `83,567.00`, `-0.25`. What rounds to
/// zero has no sign. [`ABSENT`] if it is not finite.
pub fn decimal(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let sign = if value < 0.0 && !is_zero { "-" } else { "" };
    format!("{sign}{}{fraction}", group_thousands(whole))
}

/// How many decimals show a value of this magnitude as the mailing list does: none from 1000 on, two from
/// 1 on, below so many that three digits count, up to 12.
pub fn decimals_for(magnitude: f64) -> usize {
    let mut decimals = 2;
    let mut scaled = magnitude.abs();
    if scaled >= 1_000.0 {
        return 0;
    }
    while scaled > 0.0 && scaled < 1.0 && decimals < 12 {
        scaled *= 10.0;
        decimals += 1;
    }
    decimals
}

/// A percentage with two decimals: `2.40 %`. [`ABSENT`] if it is not finite.
pub fn percent(percentage: f64) -> String {
    if percentage.is_finite() {
        format!("{} %", decimal(percentage, 2))
    } else {
        ABSENT.to_owned()
    }
}

/// A change in percent with its sign: `+0.28 %`, `-2.34 %`, and `0.00 %` for what rounds to zero.
/// [`ABSENT`] if it is not finite.
pub fn signed_percent(percentage: f64) -> String {
    let text = percent(percentage);
    if percentage > 0.0 && percentage.is_finite() && text != "0.00 %" {
        format!("+{text}")
    } else {
        text
    }
}

/// A p value with three decimals: `0.034`, `<0.001`.
pub fn p_value(p: f64) -> String {
    if p < 0.001 {
        "<0.001".to_owned()
    } else {
        decimal(p, 3)
    }
}

fn group_thousands(digits: &str) -> String {
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        let cases = [
            (0, "0 ns"),
            (1, "1 ns"),
            (999, "999 ns"),
            (1_000, "1.00 us"),
            (1_234, "1.23 us"),
            (1_235, "1.24 us"),
            (12_345, "12.3 us"),
            (123_456, "123 us"),
            (1_590_000, "1.59 ms"),
            (12_300_000, "12.3 ms"),
            (67_300_000, "67.3 ms"),
            (100_000_000, "100 ms"),
            (1_500_000_000, "1.50 s"),
            (100_000_000_000, "100 s"),
            (1_234_000_000_000, "1,234 s"),
            (u64::MAX, "18,446,744,074 s"),
        ];
        for (nanos, text) in cases {
            assert_eq!(duration(nanos), text);
        }
    }

    #[test]
    fn rounding_carries_into_the_next_digit_and_unit() {
        assert_eq!(duration(9_994), "9.99 us");
        assert_eq!(duration(9_995), "10.0 us");
        assert_eq!(duration(99_949), "99.9 us");
        assert_eq!(duration(99_950), "100 us");
        assert_eq!(duration(999_499), "999 us");
        assert_eq!(duration(999_500), "1.00 ms");
        assert_eq!(duration(999_500_000_000), "1,000 s");
    }

    #[test]
    fn thousands_have_commas() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (422_784, "422,784"),
        ] {
            assert_eq!(count(number), text);
        }
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn decimals_round_and_lose_the_sign_of_zero() {
        assert_eq!(decimal(83_567.0, 2), "83,567.00");
        assert_eq!(decimal(-1_234.5, 1), "-1,234.5");
        assert_eq!(decimal(999.999, 2), "1,000.00");
        assert_eq!(decimal(-0.004, 2), "0.00");
        assert_eq!(decimal(-0.0, 0), "0");
        assert_eq!(decimal(f64::NAN, 2), "-");
    }

    #[test]
    fn decimals_fit_the_magnitude() {
        for (magnitude, decimals) in [
            (83_567.0, 0),
            (1_000.0, 0),
            (999.9, 2),
            (18.35, 2),
            (1.0, 2),
            (0.5, 3),
            (-0.012, 4),
            (0.0, 2),
            (1e-99, 12),
        ] {
            assert_eq!(decimals_for(magnitude), decimals, "{magnitude}");
        }
    }

    #[test]
    fn percentages() {
        assert_eq!(percent(2.4), "2.40 %");
        assert_eq!(signed_percent(0.276), "+0.28 %");
        assert_eq!(signed_percent(-2.343), "-2.34 %");
        assert_eq!(signed_percent(0.004), "0.00 %");
        assert_eq!(signed_percent(-0.004), "0.00 %");
        assert_eq!(signed_percent(12_345.0), "+12,345.00 %");
        assert_eq!(signed_percent(f64::INFINITY), "-");
    }

    #[test]
    fn p_values() {
        assert_eq!(p_value(0.034_2), "0.034");
        assert_eq!(p_value(1.0), "1.000");
        assert_eq!(p_value(0.0), "<0.001");
        assert_eq!(p_value(0.000_999), "<0.001");
        assert_eq!(p_value(0.001), "0.001");
    }
}
