//! The numbers that are compared.

use serde::{Serialize, Serializer};

/// A number that the kernel and the simulator both give for a group or a task.
///
/// All times are in microseconds; the rest are counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// CPU time of a limited group.
    Usage,
    /// Periods in which a limited group was active.
    Periods,
    /// Periods in which a limited group was throttled.
    Throttled,
    /// Time that a limited group's CPUs were throttled, summed over CPUs.
    ThrottledTime,
    /// CPU time of a task.
    CpuTime,
    /// Half of a task's jobs took at most so long.
    ResponseP50,
    /// 90 of 100 of a task's jobs took at most so long.
    ResponseP90,
    /// 99 of 100 of a task's jobs took at most so long.
    ResponseP99,
    /// The longest response time of a task.
    ResponseMax,
}

impl Metric {
    /// What is compared of a limited group, in the order of the rows.
    pub const OF_GROUP: [Self; 4] = [
        Self::Usage,
        Self::Periods,
        Self::Throttled,
        Self::ThrottledTime,
    ];

    /// The name in tables and JSON: a group's as in the kernel's `cpu.stat`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage_usec",
            Self::Periods => "nr_periods",
            Self::Throttled => "nr_throttled",
            Self::ThrottledTime => "throttled_usec",
            Self::CpuTime => "cpu_usec",
            Self::ResponseP50 => "resp_p50",
            Self::ResponseP90 => "resp_p90",
            Self::ResponseP99 => "resp_p99",
            Self::ResponseMax => "resp_max",
        }
    }

    /// Whether it is a time in microseconds, and not a count.
    pub const fn is_time(self) -> bool {
        !matches!(self, Self::Periods | Self::Throttled)
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
