//! A task group: a cgroup of the cpu controller.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use cpumax_bandwidth::{Nanos, Pool, Runtime};

use crate::{CfsRqId, GroupId, Weight};

/// Kernel: `struct task_group`.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// `None` of the root group.
    pub parent: Option<GroupId>,
    pub children: Vec<GroupId>,
    /// Groups below it, at any depth.
    pub descendants: u32,
    /// Its weight against its siblings, over all CPUs.
    pub shares: Weight,
    /// Its queues by CPU, each from the first use on.
    pub queues: Vec<Option<CfsRqId>>,
    /// Sum of its queues' published `load_avg`.
    pub load_avg: u64,
    /// Sum of its queues' published `runnable_avg` (7.3).
    pub runnable_avg: u64,
    /// Runtime pool, timers and statistics.
    pub pool: Pool,
    /// Queues that wait for runtime, in order of throttling (kernel: `throttled_cfs_rq`).
    pub throttled: VecDeque<CfsRqId>,
    /// The last boundary that the period timer's handler passed found nothing to do.
    pub period_timer_idle: bool,
    /// What a queue made now would have as its local balance: what the last write of `cpu.max` set.
    pub initial_runtime: Runtime,
    /// CPU time of tasks while they were directly in this group, or in a child that was removed.
    pub usage: Nanos,
    /// Tasks directly in this group.
    pub nr_tasks: u32,
    pub removed: bool,
}

/// Statistics of a group, in nanoseconds. What `cpu.stat` and `cpu.stat.local` show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupStat {
    /// CPU time used by the group and its descendants.
    pub usage: Nanos,
    /// Period boundaries passed while the period timer was armed.
    pub nr_periods: u64,
    /// Boundaries at which a queue of this group waited for runtime.
    pub nr_throttled: u64,
    /// Throttled time summed over CPUs.
    pub throttled_time: Nanos,
    /// Refills at which more than the quota had been granted.
    pub nr_bursts: u64,
    /// By how much.
    pub burst_time: Nanos,
    /// Time in a throttled hierarchy, own or ancestor's, summed over CPUs (`cpu.stat.local`).
    pub throttled_time_self: Nanos,
}
