//! Percentiles of response times, by nearest rank.

use core::fmt;
use core::str::FromStr;

use serde::Serialize;

use crate::Error;

/// A part of a sample, above 0 and up to all of it, exact to the millionth.
///
/// Written as people write it: `p50`, `p99`, `p99.9`, `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantile {
    /// 1 to 1,000,000. A whole number, because `ceil` of a rounded product can be one rank too high.
    per_million: u32,
}

impl Quantile {
    /// The median.
    pub const P50: Self = Self {
        per_million: 500_000,
    };
    /// Nine tenths.
    pub const P90: Self = Self {
        per_million: 900_000,
    };
    /// 99 of 100.
    pub const P99: Self = Self {
        per_million: 990_000,
    };
    /// 999 of 1000.
    pub const P999: Self = Self {
        per_million: 999_000,
    };
    /// The largest.
    pub const MAX: Self = Self {
        per_million: 1_000_000,
    };

    /// So many millionths of the sample: 990,000 is p99.
    ///
    /// # Errors
    ///
    /// [`Error::Quantile`] unless it is 1 to 1,000,000.
    pub fn from_millionths(per_million: u32) -> Result<Self, Error> {
        if (1..=1_000_000).contains(&per_million) {
            Ok(Self { per_million })
        } else {
            Err(Error::Quantile {
                given: format!("{per_million} millionths"),
            })
        }
    }

    /// The nearest-rank quantile: the `ceil(p * n)`-th smallest of `n` values, which is always one of
    /// them and never between two. `None` for no values.
    ///
    /// `ascending` must be sorted.
    pub fn of(self, ascending: &[u64]) -> Option<u64> {
        debug_assert!(ascending.is_sorted());
        let rank = (ascending.len() as u128 * u128::from(self.per_million)).div_ceil(1_000_000);
        ascending.get((rank as usize).checked_sub(1)?).copied()
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::MAX {
            return f.write_str("max");
        }
        let (whole, fraction) = (self.per_million / 10_000, self.per_million % 10_000);
        if fraction == 0 {
            write!(f, "p{whole}")
        } else {
            write!(
                f,
                "p{whole}.{}",
                format!("{fraction:04}").trim_end_matches('0')
            )
        }
    }
}

impl FromStr for Quantile {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == "max" {
            return Ok(Self::MAX);
        }
        let refused = || Error::Quantile {
            given: format!("{text:?}"),
        };
        let percentage = text.strip_prefix('p').ok_or_else(refused)?;
        let (whole, fraction) = percentage.split_once('.').unwrap_or((percentage, "0"));
        let digits = |part: &str, most| {
            (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(whole, 3) || !digits(fraction, 4) {
            return Err(refused());
        }
        // Digits only, at most seven: the number fits.
        let per_million = format!("{whole}{fraction:0<4}")
            .parse()
            .map_err(|_| refused())?;
        Self::from_millionths(per_million).map_err(|_| refused())
    }
}

/// Response times of a run, in nanoseconds, by nearest rank ([`Quantile::of`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Percentiles {
    /// Number of responses, at least 1.
    pub n: usize,
    /// Half took at most so long.
    pub p50: u64,
    /// 90 of 100 took at most so long.
    pub p90: u64,
    /// 99 of 100 took at most so long. Of fewer than 100 responses it is the longest.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

impl Percentiles {
    /// The percentiles of these response times, in nanoseconds, in any order; sorts them. `None` for no
    /// response.
    pub fn of(nanos: &mut [u64]) -> Option<Self> {
        nanos.sort_unstable();
        Some(Self {
            n: nanos.len(),
            p50: Quantile::P50.of(nanos)?,
            p90: Quantile::P90.of(nanos)?,
            p99: Quantile::P99.of(nanos)?,
            max: Quantile::MAX.of(nanos)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank_of_the_textbook() {
        // The example of the usual definition: ceil(0.3 * 5) = 2, ceil(0.4 * 5) = 2.
        let ascending = [15, 20, 35, 40, 50];
        let of = |text: &str| text.parse::<Quantile>().unwrap().of(&ascending);
        assert_eq!(of("p5"), Some(15));
        assert_eq!(of("p30"), Some(20));
        assert_eq!(of("p40"), Some(20));
        assert_eq!(of("p50"), Some(35));
        assert_eq!(of("p100"), Some(50));
    }

    #[test]
    fn an_exact_rank_is_not_rounded_up() {
        // In floating point 0.07 * 100 is 7.000000000000001.
        let ascending: Vec<u64> = (1..=100).collect();
        for rank in 1..=100 {
            let quantile = Quantile::from_millionths(rank * 10_000).unwrap();
            assert_eq!(quantile.of(&ascending), Some(u64::from(rank)));
        }
    }

    #[test]
    fn percentiles_of_any_order_one_and_none() {
        let mut nanos: Vec<u64> = (1..=1000).rev().collect();
        let all = Percentiles {
            n: 1000,
            p50: 500,
            p90: 900,
            p99: 990,
            max: 1000,
        };
        assert_eq!(Percentiles::of(&mut nanos), Some(all));
        let one = Percentiles {
            n: 1,
            p50: 7,
            p90: 7,
            p99: 7,
            max: 7,
        };
        assert_eq!(Percentiles::of(&mut [7]), Some(one));
        assert_eq!(Percentiles::of(&mut []), None);
    }

    #[test]
    fn quantiles_read_back_what_they_print() {
        for text in ["p0.0001", "p1", "p50", "p99.9", "p99.99", "max"] {
            assert_eq!(text.parse::<Quantile>().unwrap().to_string(), text);
        }
        assert_eq!("p99.90".parse(), Ok(Quantile::P999));
        assert_eq!("p100".parse(), Ok(Quantile::MAX));
    }

    #[test]
    fn what_is_no_quantile_is_refused() {
        for text in [
            "", "99", "p", "p0", "p101", "p.5", "p99.", "p1.23456", "p+5", "p9 9", "P99",
            "p5\u{e9}",
        ] {
            let refused = Error::Quantile {
                given: format!("{text:?}"),
            };
            assert_eq!(text.parse::<Quantile>(), Err(refused));
        }
        assert!(Quantile::from_millionths(0).is_err());
        assert!(Quantile::from_millionths(1_000_001).is_err());
    }
}
