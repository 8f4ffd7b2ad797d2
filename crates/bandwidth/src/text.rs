//! The cgroup files of a limit and of its statistics, read and written as the kernel does.
//!
//! | file | write | read |
//! |---|---|---|
//! | `cpu.max` | [`parse_cpu_max`] | [`Limit::cpu_max`] |
//! | `cpu.max.burst` | [`parse_burst`] | [`Limit::cfs_burst_us`] |
//! | `cpu.cfs_quota_us` (v1) | [`parse_cfs_quota_us`] | [`Limit::cfs_quota_us`] |
//! | `cpu.cfs_period_us` (v1) | [`parse_cfs_period_us`] | [`Limit::cfs_period_us`] |
//! | `cpu.cfs_burst_us` (v1) | [`parse_cfs_burst_us`] | [`Limit::cfs_burst_us`] |
//! | `cpu.stat` | | [`CpuStat`] |
//! | `cpu.stat` (v1) | | [`LegacyCpuStat`] |
//!
//! A write takes the present limit and gives the new one, or an error that leaves the present limit
//! as it is. Times in the limit's files are whole microseconds, rounded down when shown. A text shown
//! here has no newline at its end, a file's has one.

use alloc::string::String;
use core::fmt;
use core::num::{IntErrorKind, ParseIntError};
use core::str::FromStr;

use crate::{BandwidthStat, Limit, LimitError, LimitField, Nanos};

#[cfg(test)]
mod tests;

/// Most characters of the first word of `cpu.max` (kernel: in `cpu_period_quota_parse`).
const CPU_MAX_TOKEN_LEN: usize = 20;

/// A write to `cpu.max` (cgroup v2): `<quota|max> [period]` in microseconds. Without a period the
/// present one stays; the burst stays always (kernel: `cpu_period_quota_parse`).
///
/// As in the kernel, a number ends at its first non-digit and what follows is not looked at: `20000ms`
/// is 20000 us, and a second word that is no number leaves the period (`20000 abc`).
///
/// # Errors
/// [`LimitError::Empty`], [`LimitError::NotANumber`] or [`LimitError::Overflow`] for the text, else
/// those of [`Limit::new`]. Kernels up to 6.12 let an overflow wrap around.
pub fn parse_cpu_max(text: &str, current: &Limit) -> Result<Limit, LimitError> {
    let text = text.trim_ascii_start();
    let token_len = text
        .char_indices()
        .take_while(|&(at, c)| at < CPU_MAX_TOKEN_LEN && !c.is_ascii_whitespace())
        .map(|(at, c)| at + c.len_utf8())
        .last();
    let Some(token_len) = token_len else {
        return Err(LimitError::Empty {
            field: LimitField::Quota,
        });
    };
    let (token, rest) = text.split_at(token_len);
    let quota = match leading_digits(token) {
        Some(digits) => Some(micros(LimitField::Quota, digits)?),
        None if token == "max" => None,
        None => return Err(not_a_number(LimitField::Quota, token)),
    };
    let period = match leading_digits(rest.trim_ascii_start()) {
        Some(digits) => micros(LimitField::Period, digits)?,
        None => current.period(),
    };
    Limit::new(quota, period, current.burst())
}

/// A write to `cpu.max.burst` (cgroup v2), in microseconds (kernel: `tg_set_cfs_burst`).
///
/// # Errors
/// As [`parse_cpu_max`].
pub fn parse_burst(text: &str, current: &Limit) -> Result<Limit, LimitError> {
    let burst = micros(LimitField::Burst, text)?;
    Limit::new(current.quota(), current.period(), burst)
}

/// A write to `cpu.cfs_quota_us` (cgroup v1): microseconds, or any negative number for no limit
/// (kernel: `tg_set_cfs_quota`).
///
/// # Errors
/// As [`parse_cpu_max`]. The check against the parent is
/// [`effective_ratio_v1`](crate::effective_ratio_v1).
pub fn parse_cfs_quota_us(text: &str, current: &Limit) -> Result<Limit, LimitError> {
    let number = number::<i64>(LimitField::Quota, text)?;
    let quota = match u64::try_from(number) {
        Ok(_) => Some(micros(LimitField::Quota, text)?),
        Err(_) => None,
    };
    Limit::new(quota, current.period(), current.burst())
}

/// A write to `cpu.cfs_period_us` (cgroup v1), in microseconds (kernel: `tg_set_cfs_period`).
///
/// # Errors
/// As [`parse_cfs_quota_us`].
pub fn parse_cfs_period_us(text: &str, current: &Limit) -> Result<Limit, LimitError> {
    let period = micros(LimitField::Period, text)?;
    Limit::new(current.quota(), period, current.burst())
}

/// A write to `cpu.cfs_burst_us` (cgroup v1), in microseconds (kernel: `tg_set_cfs_burst`).
///
/// # Errors
/// As [`parse_cpu_max`].
pub fn parse_cfs_burst_us(text: &str, current: &Limit) -> Result<Limit, LimitError> {
    parse_burst(text, current)
}

impl Limit {
    /// The content of `cpu.max`: `<quota|max> <period>` in microseconds.
    pub const fn cpu_max(&self) -> CpuMax {
        CpuMax(*self)
    }

    /// The content of `cpu.cfs_quota_us`: microseconds, -1 without a limit.
    pub fn cfs_quota_us(&self) -> i64 {
        self.quota().map_or(-1, |quota| quota.as_micros() as i64)
    }

    /// The content of `cpu.cfs_period_us`, in microseconds.
    pub const fn cfs_period_us(&self) -> u64 {
        self.period().as_micros()
    }

    /// The content of `cpu.cfs_burst_us` and of `cpu.max.burst`, in microseconds.
    pub const fn cfs_burst_us(&self) -> u64 {
        self.burst().as_micros()
    }
}

/// The content of `cpu.max`; see [`Limit::cpu_max`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuMax(Limit);

impl fmt::Display for CpuMax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.quota() {
            Some(quota) => write!(f, "{}", quota.as_micros())?,
            None => f.write_str("max")?,
        }
        write!(f, " {}", self.0.period().as_micros())
    }
}

/// The content of a group's `cpu.stat` on cgroup v2. All times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuStat {
    /// CPU time used.
    pub usage_usec: u64,
    /// The part of it in user mode.
    pub user_usec: u64,
    /// The part of it in the kernel.
    pub system_usec: u64,
    /// See [`BandwidthStat::nr_periods`].
    pub nr_periods: u64,
    /// See [`BandwidthStat::nr_throttled`].
    pub nr_throttled: u64,
    /// See [`BandwidthStat::throttled_time`].
    pub throttled_usec: u64,
    /// See [`BandwidthStat::nr_bursts`].
    pub nr_bursts: u64,
    /// See [`BandwidthStat::burst_time`].
    pub burst_usec: u64,
}

impl CpuStat {
    /// Reads the file. Lines with other names (kernels have more of them) are passed over; a name that
    /// is missing, as where the cpu controller is off, reads as zero.
    ///
    /// # Errors
    /// A line that is not `name number`.
    pub fn parse(text: &str) -> Result<Self, StatError> {
        let mut stat = Self::default();
        for_each_counter(text, |name, value| {
            let field = match name {
                "usage_usec" => &mut stat.usage_usec,
                "user_usec" => &mut stat.user_usec,
                "system_usec" => &mut stat.system_usec,
                "nr_periods" => &mut stat.nr_periods,
                "nr_throttled" => &mut stat.nr_throttled,
                "throttled_usec" => &mut stat.throttled_usec,
                "nr_bursts" => &mut stat.nr_bursts,
                "burst_usec" => &mut stat.burst_usec,
                _ => return,
            };
            *field = value;
        })?;
        Ok(stat)
    }
}

/// The pool's part of the file; usage is zero.
impl From<BandwidthStat> for CpuStat {
    fn from(stat: BandwidthStat) -> Self {
        Self {
            usage_usec: 0,
            user_usec: 0,
            system_usec: 0,
            nr_periods: stat.nr_periods,
            nr_throttled: stat.nr_throttled,
            throttled_usec: stat.throttled_time.as_micros(),
            nr_bursts: stat.nr_bursts,
            burst_usec: stat.burst_time.as_micros(),
        }
    }
}

impl fmt::Display for CpuStat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "usage_usec {}", self.usage_usec)?;
        writeln!(f, "user_usec {}", self.user_usec)?;
        writeln!(f, "system_usec {}", self.system_usec)?;
        writeln!(f, "nr_periods {}", self.nr_periods)?;
        writeln!(f, "nr_throttled {}", self.nr_throttled)?;
        writeln!(f, "throttled_usec {}", self.throttled_usec)?;
        writeln!(f, "nr_bursts {}", self.nr_bursts)?;
        write!(f, "burst_usec {}", self.burst_usec)
    }
}

/// The content of a group's `cpu.stat` on cgroup v1. Times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LegacyCpuStat {
    /// The pool's statistics.
    pub bandwidth: BandwidthStat,
    /// Time that the group's entities waited for a CPU; a line of its own, there only if the kernel
    /// collects scheduler statistics.
    pub wait_sum: Option<Nanos>,
}

impl LegacyCpuStat {
    /// Reads the file; other names and missing ones as [`CpuStat::parse`].
    ///
    /// # Errors
    /// A line that is not `name number`.
    pub fn parse(text: &str) -> Result<Self, StatError> {
        let mut stat = Self::default();
        for_each_counter(text, |name, value| match name {
            "nr_periods" => stat.bandwidth.nr_periods = value,
            "nr_throttled" => stat.bandwidth.nr_throttled = value,
            "throttled_time" => stat.bandwidth.throttled_time = Nanos(value),
            "wait_sum" => stat.wait_sum = Some(Nanos(value)),
            "nr_bursts" => stat.bandwidth.nr_bursts = value,
            "burst_time" => stat.bandwidth.burst_time = Nanos(value),
            _ => (),
        })?;
        Ok(stat)
    }
}

impl From<BandwidthStat> for LegacyCpuStat {
    fn from(bandwidth: BandwidthStat) -> Self {
        Self {
            bandwidth,
            wait_sum: None,
        }
    }
}

impl fmt::Display for LegacyCpuStat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stat = &self.bandwidth;
        writeln!(f, "nr_periods {}", stat.nr_periods)?;
        writeln!(f, "nr_throttled {}", stat.nr_throttled)?;
        writeln!(f, "throttled_time {}", stat.throttled_time.0)?;
        if let Some(wait_sum) = self.wait_sum {
            writeln!(f, "wait_sum {}", wait_sum.0)?;
        }
        writeln!(f, "nr_bursts {}", stat.nr_bursts)?;
        write!(f, "burst_time {}", stat.burst_time.0)
    }
}

/// A line of `cpu.stat` that is not `name number`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatError {
    /// Number of the line, from 1.
    pub line: usize,
    /// The line.
    pub text: String,
}

impl fmt::Display for StatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, text } = self;
        write!(
            f,
            "line {line} of cpu.stat is `{text}`; each line is a name and a whole number"
        )
    }
}

impl core::error::Error for StatError {}

/// Calls `set` with the name and value of each line that is not blank.
fn for_each_counter(text: &str, mut set: impl FnMut(&str, u64)) -> Result<(), StatError> {
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_ascii_whitespace();
        let Some(name) = words.next() else { continue };
        let value = words.next().and_then(|value| value.parse().ok());
        let (Some(value), None) = (value, words.next()) else {
            return Err(StatError {
                line: index + 1,
                text: line.into(),
            });
        };
        set(name, value);
    }
    Ok(())
}

/// The digits that the text begins with, if any.
fn leading_digits(text: &str) -> Option<&str> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    (len > 0).then(|| &text[..len])
}

/// A whole number of microseconds, white space around it allowed.
fn micros(field: LimitField, text: &str) -> Result<Nanos, LimitError> {
    let micros = number::<u64>(field, text)?;
    match micros.checked_mul(Nanos::MICROSECOND.0) {
        Some(nanos) => Ok(Nanos(nanos)),
        None => Err(LimitError::Overflow {
            field,
            text: text.trim_ascii().into(),
        }),
    }
}

fn number<T: FromStr<Err = ParseIntError>>(field: LimitField, text: &str) -> Result<T, LimitError> {
    let text = text.trim_ascii();
    text.parse()
        .map_err(|error: ParseIntError| match error.kind() {
            IntErrorKind::Empty => LimitError::Empty { field },
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => LimitError::Overflow {
                field,
                text: text.into(),
            },
            _ => not_a_number(field, text),
        })
}

fn not_a_number(field: LimitField, text: &str) -> LimitError {
    LimitError::NotANumber {
        field,
        text: text.into(),
    }
}
