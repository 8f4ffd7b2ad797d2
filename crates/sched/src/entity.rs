//! The scheduling entity: a task, or a group on one CPU, as its queue sees it.

use cpumax_bandwidth::Nanos;

use crate::pelt::SchedAvg;
use crate::{CfsRqId, EntityId, TaskId, Weight};

/// What an entity stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A task.
    Task(TaskId),
    /// A group on one CPU, by the queue that it owns there.
    Group(CfsRqId),
}

/// Kernel: `struct sched_entity`.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags, as in the kernel"
)]
pub(crate) struct Entity {
    pub owner: Owner,
    /// Entity of the group it is in, on the same CPU; `None` below the root.
    pub parent: Option<EntityId>,
    /// The queue it is queued on, or was last.
    pub cfs_rq: CfsRqId,
    /// Queued, the running one included.
    pub on_rq: bool,
    /// Went to sleep while not eligible: still queued, to pay its lag back (EEVDF).
    pub sched_delayed: bool,
    /// `deadline` is relative to `vruntime`, because it left its queue without sleeping.
    pub rel_deadline: bool,
    /// `slice` was set from outside and is not reset to the base slice.
    pub custom_slice: bool,
    /// Own weight: nice, or the group's share on this CPU.
    pub weight: Weight,
    /// The weight with which it competes in its timeline: `weight`, except under the flat pick, where
    /// it is flattened over the hierarchy (kernel: `h_load`).
    pub h_load: Weight,
    /// Position in virtual time.
    pub vruntime: i64,
    /// Virtual time by which its current request is to be served.
    pub deadline: i64,
    /// Lag at the time it left its queue: how much virtual time it is owed.
    pub vlag: i64,
    /// While it runs: virtual time up to which it is protected from wakeup preemption. Under the 6.12
    /// rule a copy of the deadline, valid while equal to it.
    pub vprot: i64,
    /// Length of its request, in ns of run time.
    pub slice: u64,
    /// Task clock up to which it was charged.
    pub exec_start: Nanos,
    /// Total run time.
    pub sum_exec_runtime: u64,
    /// `sum_exec_runtime` when it last became current.
    pub prev_sum_exec_runtime: u64,
    /// Load tracking.
    pub avg: SchedAvg,
}

impl Entity {
    pub fn new(owner: Owner, cfs_rq: CfsRqId, parent: Option<EntityId>, weight: Weight) -> Self {
        Self {
            owner,
            parent,
            cfs_rq,
            on_rq: false,
            sched_delayed: false,
            rel_deadline: false,
            custom_slice: false,
            weight,
            h_load: weight,
            vruntime: 0,
            deadline: 0,
            vlag: 0,
            vprot: 0,
            slice: 0,
            exec_start: Nanos::ZERO,
            sum_exec_runtime: 0,
            prev_sum_exec_runtime: 0,
            avg: SchedAvg::default(),
        }
    }

    /// The queue that a group entity owns.
    #[inline]
    pub fn owned_queue(&self) -> Option<CfsRqId> {
        match self.owner {
            Owner::Group(queue) => Some(queue),
            Owner::Task(_) => None,
        }
    }

    /// The task, if it is one.
    #[inline]
    pub fn task(&self) -> Option<TaskId> {
        match self.owner {
            Owner::Task(task) => Some(task),
            Owner::Group(_) => None,
        }
    }
}
