//! A limit that the kernel would accept, and why it would not.

use alloc::string::String;
use core::fmt;

use crate::Nanos;

/// Period of a new group (kernel: `default_cfs_period`).
pub const DEFAULT_PERIOD: Nanos = Nanos::from_millis(100);
/// Shortest period (kernel: `min_cfs_quota_period`).
pub const MIN_PERIOD: Nanos = Nanos::from_millis(1);
/// Longest period, and the bound of its doubling (kernel: `max_cfs_quota_period`).
pub const MAX_PERIOD: Nanos = Nanos::from_secs(1);
/// Smallest quota (kernel: `min_cfs_quota_period`).
pub const MIN_QUOTA: Nanos = Nanos::from_millis(1);
/// Largest quota, and largest sum of quota and burst: 2^44 - 1 us, about 203.6 days (kernel:
/// `MAX_BW`, the largest time whose ratio fits in 64 bits).
pub const MAX_QUOTA: Nanos = Nanos::from_micros((1 << 44) - 1);
/// One CPU as a ratio (kernel: `BW_UNIT`).
pub const RATIO_ONE: u64 = 1 << RATIO_SHIFT;
const RATIO_SHIFT: u32 = 20;

/// Quota, period and burst of a group, validated as the kernel does.
///
/// Times are exact nanoseconds; the kernel's files take and show whole microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// CPU time added per period; `None` is unlimited. 1 ms to [`MAX_QUOTA`].
    quota: Option<Nanos>,
    /// 1 ms to 1 s.
    period: Nanos,
    /// Unused time that may be carried above the quota; with a finite quota at most the quota.
    burst: Nanos,
}

impl Limit {
    /// What a new group has: no quota, a period of 100 ms, no burst.
    pub const UNLIMITED: Self = Self {
        quota: None,
        period: DEFAULT_PERIOD,
        burst: Nanos::ZERO,
    };

    /// Validates a limit (kernel: `tg_set_cfs_bandwidth`). A `quota` of `None` is unlimited; any
    /// burst goes with it and is kept, but it then binds the next finite quota.
    ///
    /// # Errors
    /// One variant per rule, the first that is broken in this order:
    /// [`QuotaTooSmall`](LimitError::QuotaTooSmall), [`PeriodTooSmall`](LimitError::PeriodTooSmall),
    /// [`PeriodTooLarge`](LimitError::PeriodTooLarge), [`QuotaTooLarge`](LimitError::QuotaTooLarge),
    /// [`BurstExceedsQuota`](LimitError::BurstExceedsQuota),
    /// [`BurstPlusQuotaTooLarge`](LimitError::BurstPlusQuotaTooLarge).
    /// The kernel says `EINVAL` for each.
    pub fn new(quota: Option<Nanos>, period: Nanos, burst: Nanos) -> Result<Self, LimitError> {
        if let Some(quota) = quota
            && quota < MIN_QUOTA
        {
            return Err(LimitError::QuotaTooSmall { quota });
        }
        if period < MIN_PERIOD {
            return Err(LimitError::PeriodTooSmall { period });
        }
        if period > MAX_PERIOD {
            return Err(LimitError::PeriodTooLarge { period });
        }
        if let Some(quota) = quota {
            if quota > MAX_QUOTA {
                return Err(LimitError::QuotaTooLarge { quota });
            }
            if burst > quota {
                return Err(LimitError::BurstExceedsQuota { burst, quota });
            }
            if burst + quota > MAX_QUOTA {
                return Err(LimitError::BurstPlusQuotaTooLarge { burst, quota });
            }
        }
        Ok(Self {
            quota,
            period,
            burst,
        })
    }

    /// CPU time added to the pool in each period; `None` is unlimited.
    pub const fn quota(&self) -> Option<Nanos> {
        self.quota
    }

    /// Length of a period.
    pub const fn period(&self) -> Nanos {
        self.period
    }

    /// How much unused time may be carried above the quota.
    pub const fn burst(&self) -> Nanos {
        self.burst
    }

    /// Whether there is a quota.
    pub const fn is_finite(&self) -> bool {
        self.quota.is_some()
    }

    /// Quota over period in 1 / [`RATIO_ONE`] of one CPU, from whole microseconds and rounded down;
    /// `None` is unlimited (kernel: `normalize_cfs_quota`, `to_ratio`).
    pub fn ratio(&self) -> Option<u64> {
        // The kernel's product fits in 64 bits up to MAX_QUOTA; a quota that a slow timer doubled
        // may be above.
        let quota = u128::from(self.quota?.as_micros()) << RATIO_SHIFT;
        let ratio = quota / u128::from(self.period.as_micros());
        Some(u64::try_from(ratio).unwrap_or(u64::MAX))
    }

    /// The most that the pool holds after a refill: quota plus burst; `None` is unlimited.
    pub(crate) fn cap(&self) -> Option<Nanos> {
        Some(self.quota?.saturating_add(self.burst))
    }

    /// The same rate over twice the period, or `None` if that would not be below [`MAX_PERIOD`]
    /// (kernel: in `sched_cfs_period_timer`). The doubled quota may exceed [`MAX_QUOTA`].
    pub(crate) fn doubled(&self) -> Option<Self> {
        let period = self.period * 2;
        (period < MAX_PERIOD).then(|| Self {
            quota: self.quota.map(|quota| quota.saturating_mul(2)),
            period,
            burst: self.burst.saturating_mul(2),
        })
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self::UNLIMITED
    }
}

/// Which part of a limit a text set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitField {
    /// The quota.
    Quota,
    /// The period.
    Period,
    /// The burst.
    Burst,
}

impl fmt::Display for LimitField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Quota => "quota",
            Self::Period => "period",
            Self::Burst => "burst",
        })
    }
}

/// Why a limit is refused. The kernel answers each with `EINVAL` and no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitError {
    /// The root group cannot be limited.
    RootGroup,
    /// The quota is below [`MIN_QUOTA`].
    QuotaTooSmall {
        /// The refused quota.
        quota: Nanos,
    },
    /// The period is below [`MIN_PERIOD`].
    PeriodTooSmall {
        /// The refused period.
        period: Nanos,
    },
    /// The period is above [`MAX_PERIOD`].
    PeriodTooLarge {
        /// The refused period.
        period: Nanos,
    },
    /// The quota is above [`MAX_QUOTA`].
    QuotaTooLarge {
        /// The refused quota.
        quota: Nanos,
    },
    /// The burst is above the quota.
    BurstExceedsQuota {
        /// The burst.
        burst: Nanos,
        /// The quota.
        quota: Nanos,
    },
    /// Burst and quota together are above [`MAX_QUOTA`].
    BurstPlusQuotaTooLarge {
        /// The burst.
        burst: Nanos,
        /// The quota.
        quota: Nanos,
    },
    /// A written number of microseconds does not fit in 64 bits of nanoseconds.
    Overflow {
        /// What the number is.
        field: LimitField,
        /// The number as written.
        text: String,
    },
    /// Something else was written where a number belongs.
    NotANumber {
        /// What the number should be.
        field: LimitField,
        /// What was written.
        text: String,
    },
    /// Nothing was written.
    Empty {
        /// What should have been written.
        field: LimitField,
    },
    /// cgroup v1: the group would have a larger ratio than its parent.
    ChildExceedsParent {
        /// The group's ratio, in 1 / [`RATIO_ONE`] of one CPU.
        child: u64,
        /// The parent's effective ratio, in the same unit.
        parent: u64,
    },
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RootGroup => {
                f.write_str("the root group cannot be limited; limit a group below it")
            }
            Self::QuotaTooSmall { quota } => write!(
                f,
                "a quota of {quota} is below the kernel's minimum of {MIN_QUOTA}; give at least \
                 {} us, or a longer period with a larger quota",
                MIN_QUOTA.as_micros()
            ),
            Self::PeriodTooSmall { period } => write!(
                f,
                "a period of {period} is below the kernel's minimum of {MIN_PERIOD}; give at least \
                 {} us",
                MIN_PERIOD.as_micros()
            ),
            Self::PeriodTooLarge { period } => write!(
                f,
                "a period of {period} is above the kernel's maximum of {MAX_PERIOD}; give at most \
                 {} us, and a quota in proportion",
                MAX_PERIOD.as_micros()
            ),
            Self::QuotaTooLarge { quota } => write!(
                f,
                "a quota of {quota} is above the kernel's maximum of 2^44 - 1 us; give at most {} \
                 us, or no limit (`max`)",
                MAX_QUOTA.as_micros()
            ),
            Self::BurstExceedsQuota { burst, quota } => write!(
                f,
                "a burst of {burst} is above the quota of {quota}, and the kernel allows at most \
                 the quota; lower the burst first, or raise the quota"
            ),
            Self::BurstPlusQuotaTooLarge { burst, quota } => write!(
                f,
                "a burst of {burst} and a quota of {quota} are together above the kernel's maximum \
                 of 2^44 - 1 us; lower the burst to at most {}",
                MAX_QUOTA.saturating_sub(*quota)
            ),
            Self::Overflow { field, text } => write!(
                f,
                "a {field} of {text} us does not fit in 64 bits of nanoseconds; give at most {} us",
                Nanos::MAX.as_micros()
            ),
            Self::NotANumber {
                field: LimitField::Quota,
                text,
            } => write!(
                f,
                "`{text}` is not a quota; give a whole number of microseconds, or no limit (`max` \
                 in cpu.max, -1 in cpu.cfs_quota_us)"
            ),
            Self::NotANumber { field, text } => {
                write!(
                    f,
                    "`{text}` is not a {field}; give a whole number of microseconds"
                )
            }
            Self::Empty { field } => {
                write!(
                    f,
                    "no {field} is written; give a whole number of microseconds"
                )
            }
            Self::ChildExceedsParent { child, parent } => write!(
                f,
                "on cgroup v1 a group may not have more than its parent: quota over period is {} \
                 of a CPU, the parent's {}; lower the group's quota, or raise the parent's first",
                Percent(*child),
                Percent(*parent)
            ),
        }
    }
}

impl core::error::Error for LimitError {}

/// A ratio in per cent, rounded down to the third place, which tells all of a person's ratios apart.
struct Percent(u64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thousandths = u128::from(self.0) * 100_000 / u128::from(RATIO_ONE);
        write!(f, "{}.{:03} %", thousandths / 1_000, thousandths % 1_000)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use super::*;

    fn limit(quota: u64, period: u64, burst: u64) -> Result<Limit, LimitError> {
        let us = Nanos::from_micros;
        Limit::new(Some(us(quota)), us(period), us(burst))
    }

    #[test]
    fn t66_bounds_of_quota_and_period() {
        let us = Nanos::from_micros;
        assert_eq!(
            limit(999, 100_000, 0),
            Err(LimitError::QuotaTooSmall { quota: us(999) })
        );
        assert!(limit(1_000, 100_000, 0).is_ok());
        assert_eq!(
            limit(5_000, 999, 0),
            Err(LimitError::PeriodTooSmall { period: us(999) })
        );
        assert!(limit(5_000, 1_000, 0).is_ok());
        assert!(limit(5_000, 1_000_000, 0).is_ok());
        assert_eq!(
            limit(5_000, 1_000_001, 0),
            Err(LimitError::PeriodTooLarge {
                period: us(1_000_001)
            })
        );
        // No bound to a quota that more CPUs than any machine has could not use up.
        assert!(limit(10_000_000_000, 1_000, 0).is_ok());
    }

    #[test]
    fn t67_largest_quota() {
        let us = Nanos::from_micros;
        let most = 17_592_186_044_415;
        assert!(limit(most, 100_000, 0).is_ok());
        assert_eq!(
            limit(most + 1, 100_000, 0),
            Err(LimitError::QuotaTooLarge {
                quota: us(most + 1)
            })
        );
        assert_eq!(
            limit(most, 100_000, 1),
            Err(LimitError::BurstPlusQuotaTooLarge {
                burst: us(1),
                quota: us(most)
            })
        );
    }

    #[test]
    fn t68_largest_burst() {
        let us = Nanos::from_micros;
        assert!(limit(50_000, 100_000, 50_000).is_ok());
        assert_eq!(
            limit(50_000, 100_000, 50_001),
            Err(LimitError::BurstExceedsQuota {
                burst: us(50_001),
                quota: us(50_000)
            })
        );
        assert!(Limit::new(None, DEFAULT_PERIOD, Nanos::from_secs(5)).is_ok());
        assert!(Limit::new(None, DEFAULT_PERIOD, Nanos::MAX).is_ok());
        assert!(Limit::new(Some(Nanos::MAX), DEFAULT_PERIOD, Nanos::MAX).is_err());
    }

    #[test]
    fn t69_a_quota_below_the_burst_is_refused() {
        let old = limit(100_000, 100_000, 50_000).unwrap();
        let new = Limit::new(Some(Nanos::from_millis(40)), old.period(), old.burst());
        assert!(matches!(new, Err(LimitError::BurstExceedsQuota { .. })));
    }

    #[test]
    fn a_limit_is_valid_exactly_within_the_rules() {
        let most = MAX_QUOTA.0;
        let edges = [
            0,
            1,
            500_000,
            999_999,
            1_000_000,
            1_000_000_000,
            1_000_000_001,
            most / 2,
        ];
        let edges = edges
            .into_iter()
            .chain([most / 2 + 1, most - 1, most, most + 1, u64::MAX]);
        for quota in edges.clone() {
            for period in edges.clone() {
                for burst in edges.clone() {
                    let valid = (1_000_000..=most).contains(&quota)
                        && (1_000_000..=1_000_000_000).contains(&period)
                        && burst <= quota
                        && u128::from(burst) + u128::from(quota) <= u128::from(most);
                    let limit = Limit::new(Some(Nanos(quota)), Nanos(period), Nanos(burst));
                    assert_eq!(limit.is_ok(), valid, "{quota} {period} {burst}");
                }
            }
        }
    }

    #[test]
    fn ratio_is_quota_over_period_rounded_down() {
        let ratio = |quota, period| limit(quota, period, 0).unwrap().ratio();
        assert_eq!(ratio(50_000, 100_000), Some(524_288));
        assert_eq!(ratio(60_000, 100_000), Some(629_145));
        assert_eq!(ratio(25_000, 50_000), Some(524_288));
        assert_eq!(ratio(1_000, 1_000_000), Some(1_048));
        assert_eq!(
            ratio(MAX_QUOTA.as_micros(), 1_000),
            Some(((1 << 44) - 1) * 1_048_576 / 1_000)
        );
        assert_eq!(Limit::UNLIMITED.ratio(), None);
    }

    #[test]
    fn doubling_stops_below_a_second() {
        let period = |us| {
            limit(1_000, us, 0)
                .unwrap()
                .doubled()
                .map(|limit| limit.period())
        };
        assert_eq!(period(499_999), Some(Nanos::from_micros(999_998)));
        assert_eq!(period(500_000), None);
        // From the shortest period and the largest quota to the end: nothing overflows.
        let mut limit = limit(MAX_QUOTA.as_micros() / 2, 1_000, MAX_QUOTA.as_micros() / 2).unwrap();
        let rate = limit.ratio();
        while let Some(doubled) = limit.doubled() {
            limit = doubled;
        }
        assert_eq!(limit.period(), Nanos::from_millis(512));
        assert_eq!(limit.ratio(), rate);
        assert_eq!(limit.cap(), Some(Nanos(512 * 1_000 * ((1 << 44) - 2))));
    }

    #[test]
    fn messages_name_the_rule_the_value_and_the_mend() {
        let us = Nanos::from_micros;
        let text = |text| String::from(text);
        let cases = [
            (
                LimitError::RootGroup,
                "the root group cannot be limited; limit a group below it",
            ),
            (
                LimitError::QuotaTooSmall { quota: us(999) },
                "a quota of 999 us is below the kernel's minimum of 1 ms; give at least 1000 us, \
                 or a longer period with a larger quota",
            ),
            (
                LimitError::PeriodTooSmall { period: us(999) },
                "a period of 999 us is below the kernel's minimum of 1 ms; give at least 1000 us",
            ),
            (
                LimitError::PeriodTooLarge {
                    period: Nanos::from_secs(2),
                },
                "a period of 2 s is above the kernel's maximum of 1 s; give at most 1000000 us, \
                 and a quota in proportion",
            ),
            (
                LimitError::QuotaTooLarge {
                    quota: Nanos::from_micros(1 << 44),
                },
                "a quota of 17592186.044416 s is above the kernel's maximum of 2^44 - 1 us; give \
                 at most 17592186044415 us, or no limit (`max`)",
            ),
            (
                LimitError::BurstExceedsQuota {
                    burst: us(50_000),
                    quota: us(40_000),
                },
                "a burst of 50 ms is above the quota of 40 ms, and the kernel allows at most the \
                 quota; lower the burst first, or raise the quota",
            ),
            (
                LimitError::BurstPlusQuotaTooLarge {
                    burst: us(2),
                    quota: Nanos(MAX_QUOTA.0 - 1_000),
                },
                "a burst of 2 us and a quota of 17592186.044414 s are together above the kernel's \
                 maximum of 2^44 - 1 us; lower the burst to at most 1 us",
            ),
            (
                LimitError::Overflow {
                    field: LimitField::Period,
                    text: text("18446744073709552"),
                },
                "a period of 18446744073709552 us does not fit in 64 bits of nanoseconds; give at \
                 most 18446744073709551 us",
            ),
            (
                LimitError::NotANumber {
                    field: LimitField::Quota,
                    text: text("50ms"),
                },
                "`50ms` is not a quota; give a whole number of microseconds, or no limit (`max` in \
                 cpu.max, -1 in cpu.cfs_quota_us)",
            ),
            (
                LimitError::NotANumber {
                    field: LimitField::Burst,
                    text: text("-1"),
                },
                "`-1` is not a burst; give a whole number of microseconds",
            ),
            (
                LimitError::Empty {
                    field: LimitField::Quota,
                },
                "no quota is written; give a whole number of microseconds",
            ),
            (
                LimitError::ChildExceedsParent {
                    child: 629_145,
                    parent: 524_288,
                },
                "on cgroup v1 a group may not have more than its parent: quota over period is \
                 59.999 % of a CPU, the parent's 50.000 %; lower the group's quota, or raise the \
                 parent's first",
            ),
        ];
        for (error, message) in cases {
            assert_eq!(error.to_string(), message);
        }
    }
}
