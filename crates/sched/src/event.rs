//! What the core leaves for its host: effects to carry out, and events to observe.

use cpumax_bandwidth::Nanos;

use crate::{CpuId, GroupId, TaskId};

/// How urgent a reschedule request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resched {
    /// At the next return to user mode; the next tick makes it immediate.
    Lazy,
    /// At the next preemption point.
    Immediate,
}

/// Something the host must do. Taken with [`Sched::poll_effect`](crate::Sched::poll_effect), in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A reschedule was requested on this CPU. An idle CPU acts on it at once, a busy one at its next
    /// preemption point; another CPU than the calling one needs an IPI to notice.
    Resched {
        /// The CPU to reschedule.
        cpu: CpuId,
        /// How urgent.
        kind: Resched,
    },
    /// Send this CPU an IPI whose handler calls
    /// [`Sched::handle_unthrottle_ipi`](crate::Sched::handle_unthrottle_ipi).
    UnthrottleIpi {
        /// The CPU that has queues to unthrottle.
        cpu: CpuId,
    },
    /// Program the group's period timer on this CPU, replacing what was programmed.
    ArmPeriodTimer {
        /// Whose timer.
        group: GroupId,
        /// The CPU on which it fires.
        cpu: CpuId,
        /// When.
        expires: Nanos,
    },
    /// Program the group's slack timer on this CPU.
    ArmSlackTimer {
        /// Whose timer.
        group: GroupId,
        /// The CPU on which it fires.
        cpu: CpuId,
        /// When.
        expires: Nanos,
    },
    /// Program the CPU's high-resolution tick, replacing what was programmed.
    ArmHrtick {
        /// The CPU.
        cpu: CpuId,
        /// When.
        expires: Nanos,
    },
    /// Turn the CPU's high-resolution tick off.
    CancelHrtick {
        /// The CPU.
        cpu: CpuId,
    },
    /// Work waits for the end of the CPU's interrupt handler: call
    /// [`Sched::handle_softirq`](crate::Sched::handle_softirq) there.
    RaiseSoftirq {
        /// The CPU.
        cpu: CpuId,
    },
    /// The task got a return-to-user work item: before it next returns to user mode, call
    /// [`Sched::return_to_user_work`](crate::Sched::return_to_user_work).
    AddTaskWork {
        /// The task.
        task: TaskId,
    },
}

/// How much an interrupt handler had to do, for hosts that charge time for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Throttled queues looked at by a distribution.
    pub queues_walked: u32,
    /// Queues visited while unthrottling hierarchies.
    pub queues_unthrottled: u32,
    /// Tasks and group entities put back.
    pub entities_enqueued: u32,
    /// IPIs sent.
    pub ipis: u32,
}

impl core::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        self.queues_walked += other.queues_walked;
        self.queues_unthrottled += other.queues_unthrottled;
        self.entities_enqueued += other.entities_enqueued;
        self.ipis += other.ipis;
    }
}

/// Something that happened in the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The CPU switched tasks; `None` is its idle task.
    Switched {
        /// Where.
        cpu: CpuId,
        /// Who ran.
        prev: Option<TaskId>,
        /// Who runs.
        next: Option<TaskId>,
    },
    /// A sleeping task was woken.
    Woken {
        /// Who.
        task: TaskId,
        /// Where it was queued.
        cpu: CpuId,
    },
    /// A task changed CPUs.
    Migrated {
        /// Who.
        task: TaskId,
        /// From where.
        from: CpuId,
        /// To where.
        to: CpuId,
    },
    /// A group ran out of runtime on a CPU and could get none.
    Throttled {
        /// Which group.
        group: GroupId,
        /// On which CPU.
        cpu: CpuId,
    },
    /// A group was let run again on a CPU.
    Unthrottled {
        /// Which group.
        group: GroupId,
        /// On which CPU.
        cpu: CpuId,
        /// Throttled time that this added to `cpu.stat`.
        counted: Nanos,
    },
    /// An unthrottle came too late and was refused: the queue had used its grant up (models C, D).
    UnthrottleRefused {
        /// Which group.
        group: GroupId,
        /// On which CPU.
        cpu: CpuId,
    },
    /// A task got a return-to-user work item (models C, D).
    Tagged {
        /// Who.
        task: TaskId,
    },
    /// A task took itself off at return to user mode (models C, D).
    Limbo {
        /// Who.
        task: TaskId,
    },
    /// A task left limbo: it was put back on its queue.
    LimboReleased {
        /// Who.
        task: TaskId,
    },
    /// A queue asked the pool for runtime and got this much (0: nothing).
    Granted {
        /// Which group.
        group: GroupId,
        /// On which CPU.
        cpu: CpuId,
        /// How much.
        amount: Nanos,
    },
    /// A throttled queue was given runtime by a distribution.
    Distributed {
        /// Which group.
        group: GroupId,
        /// On which CPU.
        cpu: CpuId,
        /// How much.
        amount: Nanos,
    },
    /// The pool was refilled.
    Refilled {
        /// Which group.
        group: GroupId,
        /// Runtime in the pool afterwards.
        runtime: Nanos,
    },
    /// A queue that went idle returned runtime to the pool.
    SlackReturned {
        /// Which group.
        group: GroupId,
        /// From which CPU.
        cpu: CpuId,
        /// How much.
        amount: Nanos,
    },
    /// The period timer could not keep up: quota, period and burst were doubled.
    PeriodDoubled {
        /// Which group.
        group: GroupId,
    },
}

/// Sees every event of the core. [`NoObserver`] compiles away.
pub trait Observer {
    /// `event` happened at `now`.
    #[inline]
    fn event(&mut self, now: Nanos, event: Event) {
        let _ = (now, event);
    }
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}
