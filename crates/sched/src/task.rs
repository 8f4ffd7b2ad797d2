//! A task, as the core of the scheduler sees it.

use cpumax_bandwidth::Nanos;

use crate::{CpuId, CpuMask, EntityId, GroupId, Nice, TaskId};

/// Scheduling policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// `SCHED_OTHER`.
    #[default]
    Normal,
    /// `SCHED_BATCH`: does not preempt at wakeup.
    Batch,
    /// `SCHED_IDLE`: weight 3, is preempted by everything.
    Idle,
    /// `SCHED_FIFO`: outside the fair class; runs before every fair task.
    Fifo,
}

/// What a new task is.
#[derive(Clone, Debug)]
pub struct TaskParams {
    /// Its group.
    pub group: GroupId,
    /// Static priority.
    pub nice: Nice,
    /// Policy.
    pub policy: Policy,
    /// CPUs it may use; at least one of them must exist.
    pub affinity: CpuMask,
    /// It never returns to user mode and so is never taken off by models C and D.
    pub kernel_thread: bool,
}

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// On a CPU.
    Running,
    /// Waits in a queue; possibly one that is throttled.
    Queued,
    /// Took itself off at return to user mode and waits for its group's unthrottle (models C, D).
    Limbo,
    /// Waits for a wakeup.
    Sleeping,
    /// Has exited.
    Gone,
}

/// Kernel: `struct task_struct`, the parts that scheduling needs.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags, as in the kernel"
)]
pub(crate) struct Task {
    pub entity: EntityId,
    pub group: GroupId,
    pub cpu: CpuId,
    pub nice: Nice,
    pub policy: Policy,
    pub affinity: CpuMask,
    pub kernel_thread: bool,
    pub exiting: bool,
    /// The core regards it as runnable: queued, running, or in limbo.
    pub on_rq: bool,
    /// On a CPU now.
    pub on_cpu: bool,
    /// Blocked: waits for a wakeup. A delayed task is asleep and still on its queue.
    pub asleep: bool,
    pub gone: bool,
    /// Taken off by throttling; also while it moves between queues (kernel: `p->throttled`).
    pub throttled: bool,
    /// On its queue's limbo list.
    pub in_limbo: bool,
    /// Has a return-to-user work item.
    pub has_work: bool,
    /// Its affinity excludes its CPU: it moves to this one at the next switch.
    pub migrate_to: Option<CpuId>,
    /// A CPU that it used recently (kernel: `recent_used_cpu`).
    pub recent_used_cpu: CpuId,
    /// Who it woke last, how often that changed, and when that count was last halved.
    pub last_wakee: Option<TaskId>,
    pub wakee_flips: u32,
    pub wakee_flip_decay: Nanos,
}
