//! Nanoseconds: of time, and of a local balance that may be in debt.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};

/// A span of time, a point in time, or an amount of CPU time, in nanoseconds.
///
/// The operators are those of `u64`: an overflow panics in a debug build. The constructors from
/// larger units saturate at [`Nanos::MAX`]. `Display` writes the value exactly, in the largest unit
/// that keeps it at or above one: `5.3 ms`, `100.001 us`, `1 ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The largest value, about 584 years; as a point in time, never.
    pub const MAX: Self = Self(u64::MAX);
    /// 1 ns.
    pub const NANOSECOND: Self = Self(1);
    /// 1 us.
    pub const MICROSECOND: Self = Self(1_000);
    /// 1 ms.
    pub const MILLISECOND: Self = Self(1_000_000);
    /// 1 s.
    pub const SECOND: Self = Self(1_000_000_000);

    /// So many microseconds; saturating.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(Self::MICROSECOND.0))
    }

    /// So many milliseconds; saturating.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(Self::MILLISECOND.0))
    }

    /// So many seconds; saturating.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(Self::SECOND.0))
    }

    /// Whole microseconds, rounded down as the kernel's files do.
    pub const fn as_micros(self) -> u64 {
        self.0 / Self::MICROSECOND.0
    }

    /// Whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / Self::MILLISECOND.0
    }

    /// The sum, at most [`Nanos::MAX`].
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, at least zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The product, at most [`Nanos::MAX`].
    #[must_use]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// The sum, or `None` where it overflows.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// The difference, or `None` where it would be below zero.
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(difference) => Some(Self(difference)),
            None => None,
        }
    }
}

impl Add for Nanos {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Nanos {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Nanos {
    type Output = Self;

    #[inline]
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}

impl Div<u64> for Nanos {
    type Output = Self;

    #[inline]
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl Rem for Nanos {
    type Output = Self;

    #[inline]
    fn rem(self, divisor: Self) -> Self {
        Self(self.0 % divisor.0)
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name, digits) = match *self {
            time if time >= Self::SECOND => (Self::SECOND, "s", 9),
            time if time >= Self::MILLISECOND => (Self::MILLISECOND, "ms", 6),
            time if time >= Self::MICROSECOND => (Self::MICROSECOND, "us", 3),
            _ => (Self::NANOSECOND, "ns", 0),
        };
        write!(f, "{}", self.0 / unit.0)?;
        let (mut fraction, mut digits) = (self.0 % unit.0, digits);
        if fraction != 0 {
            while fraction % 10 == 0 {
                fraction /= 10;
                digits -= 1;
            }
            write!(f, ".{fraction:0digits$}")?;
        }
        write!(f, " {name}")
    }
}

/// L: the local balance of one queue, in nanoseconds of CPU time (kernel:
/// `cfs_rq::runtime_remaining`).
///
/// Below zero it is a debt, which the next grant pays first. Exactly zero counts as used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Runtime(pub i64);

impl Runtime {
    /// Whether nothing is left: zero or below.
    pub const fn is_out(self) -> bool {
        self.0 <= 0
    }

    /// Takes time that was used off the balance, and returns whether nothing is left now (kernel:
    /// the first half of `__account_cfs_rq_runtime`). Saturates at `i64::MIN`.
    pub const fn charge(&mut self, used: Nanos) -> bool {
        self.0 = self.0.saturating_sub_unsigned(used.0);
        self.is_out()
    }

    /// What it takes to bring this balance up to `target`, the debt included; zero if it is there
    /// already.
    pub(crate) fn need(self, target: Nanos) -> Nanos {
        let target = i64::try_from(target.0).unwrap_or(i64::MAX);
        Nanos(u64::try_from(target.saturating_sub(self.0)).unwrap_or(0))
    }

    /// Adds a grant. Its caller takes it from [`Runtime::need`], so that it never saturates.
    pub(crate) fn credit(&mut self, amount: Nanos) {
        self.0 = self.0.saturating_add_unsigned(amount.0);
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_str("-")?;
        }
        Nanos(self.0.unsigned_abs()).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn display_is_exact_in_the_largest_unit() {
        let cases = [
            (0, "0 ns"),
            (1, "1 ns"),
            (999, "999 ns"),
            (1_000, "1 us"),
            (100_001, "100.001 us"),
            (5_300_000, "5.3 ms"),
            (4_999_900, "4.9999 ms"),
            (100_000_000, "100 ms"),
            (1_000_000_001, "1.000000001 s"),
            (u64::MAX, "18446744073.709551615 s"),
        ];
        for (nanos, text) in cases {
            assert_eq!(Nanos(nanos).to_string(), text);
        }
        assert_eq!(Runtime(-300_000).to_string(), "-300 us");
        assert_eq!(Runtime(i64::MIN).to_string(), "-9223372036.854775808 s");
    }

    #[test]
    fn units_round_down_and_saturate() {
        assert_eq!(Nanos(1_999).as_micros(), 1);
        assert_eq!(Nanos(1_999_999).as_millis(), 1);
        assert_eq!(Nanos::from_micros(u64::MAX), Nanos::MAX);
        assert_eq!(Nanos::from_secs(3), Nanos::from_millis(3_000));
        assert_eq!(Nanos(3).checked_sub(Nanos(4)), None);
        assert_eq!(Nanos::MAX.checked_add(Nanos(1)), None);
        assert_eq!([Nanos(1), Nanos(2)].into_iter().sum::<Nanos>(), Nanos(3));
        assert_eq!(Nanos(1_537) % Nanos(100), Nanos(37));
    }

    #[test]
    fn t06_a_balance_of_exactly_zero_is_out() {
        let mut local = Runtime(1_000_000);
        assert!(local.charge(Nanos(1_000_000)));
        assert_eq!(local, Runtime(0));
    }

    #[test]
    fn t07_one_nanosecond_is_not_out() {
        let mut local = Runtime(1_000_001);
        assert!(!local.charge(Nanos(1_000_000)));
        assert_eq!(local, Runtime(1));
    }

    #[test]
    fn t08_debt_grows_while_throttled() {
        let mut local = Runtime(-1_000_000);
        assert!(local.charge(Nanos::from_millis(4)));
        assert_eq!(local, Runtime(-5_000_000));
    }

    #[test]
    fn a_balance_saturates_instead_of_wrapping() {
        let mut local = Runtime(-1);
        local.charge(Nanos::MAX);
        assert_eq!(local, Runtime(i64::MIN));
        assert_eq!(local.need(Nanos::MAX), Nanos(i64::MAX as u64));
        assert_eq!(Runtime(5).need(Nanos(3)), Nanos::ZERO);
    }
}
