//! What a run has shown.

use cpumax_bandwidth::{CpuStat, Nanos};
use cpumax_sched::Kernel;

use crate::setup::TaskIndex;

/// The result of a simulation, as far as it has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The kernel that was simulated.
    pub kernel: Kernel,
    /// The seed.
    pub seed: u64,
    /// Time since T0.
    pub elapsed: Nanos,
    /// Groups in the order of the setup.
    pub groups: Vec<GroupOutcome>,
    /// Tasks in the order of the setup.
    pub tasks: Vec<TaskOutcome>,
    /// Read-write semaphores by their number.
    pub semaphores: Vec<SemaphoreOutcome>,
    /// Tasks that waited uninterruptibly for longer than the machine's `hung_task`, in the order of the
    /// reports.
    pub hung: Vec<HungTask>,
    /// How long interrupt handlers took.
    pub handlers: HandlerTimes,
    /// Events of the machine that were handled.
    pub events: u64,
    /// Calls of the scheduler core.
    pub operations: u64,
}

/// Statistics of a group since T0.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupOutcome {
    /// Its path.
    pub path: String,
    /// `cpu.stat`. User and system time are exact, not sampled by ticks.
    pub stat: CpuStat,
    /// `throttled_usec` of `cpu.stat.local`, where the kernel has that file.
    pub local_throttled_usec: Option<u64>,
}

/// What a task did since T0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskOutcome {
    /// Its name.
    pub name: String,
    /// Path of its group at the end; `/` is the root group.
    pub group: String,
    /// CPU time.
    pub cpu_time: Nanos,
    /// The part of it in user mode.
    pub user_time: Nanos,
    /// Times it was woken.
    pub wakeups: u64,
    /// Times it left a CPU for another task or for idleness.
    pub switches: u64,
    /// Response time of each job that ended, in order.
    pub responses: Vec<Nanos>,
    /// From each job's release to its first instruction, in order.
    pub wake_latencies: Vec<Nanos>,
    /// When it exited, counted from T0; `None` if it has not.
    pub exited: Option<Nanos>,
    /// How often it went through the steps of its program to the end.
    pub rounds: u64,
}

/// What happened at a read-write semaphore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SemaphoreOutcome {
    /// How long each writer waited until it had the semaphore, in order.
    pub writer_waits: Vec<Nanos>,
    /// How long each reader that had to wait did, in order.
    pub reader_waits: Vec<Nanos>,
    /// The most readers that waited at one time.
    pub most_waiting_readers: u32,
}

/// A report of the hung-task detector (kernel: `check_hung_task`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HungTask {
    /// Which task.
    pub task: TaskIndex,
    /// When it was reported, counted from T0.
    pub reported: Nanos,
    /// For how long it had waited then.
    pub blocked: Nanos,
}

/// Durations of bandwidth control's handlers, in order, from the first instruction to the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandlerTimes {
    /// `sched_cfs_period_timer`.
    pub period_timer: Vec<Nanos>,
    /// `distribute_cfs_runtime`, from the period timer or the slack timer.
    pub distribute: Vec<Nanos>,
    /// The IPI handler that unthrottles a CPU's queues (`__cfsb_csd_unthrottle`).
    pub unthrottle: Vec<Nanos>,
}
