//! What to simulate, as plain data: the machine, the groups, the tasks and what happens to them at
//! which time. Scenario files, benchmarks and traces all end up here; nothing in here acts.

use std::sync::Arc;

use cpumax_bandwidth::{Limit, Nanos};
use cpumax_sched::{CpuMask, Kernel, Nice};

use crate::machine::Machine;

/// Index of a group in [`Setup::groups`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupIndex(pub usize);

/// Index of a task in [`Setup::tasks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskIndex(pub usize);

/// Index of a pipe, lock or wait queue; each kind counts on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectIndex(pub usize);

/// Everything one simulation needs except the kernel and the seed.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The CPUs and what things cost on them.
    pub machine: Machine,
    /// Groups in creation order; a parent stands before its children. The root group is implied.
    pub groups: Vec<GroupSpec>,
    /// Tasks in creation order.
    pub tasks: Vec<TaskSpec>,
    /// Changes at run time, in any order; equal times happen in the order given here.
    pub events: Vec<TimedAction>,
    /// Simulated time from T0 to the reading of the statistics.
    pub duration: Nanos,
    /// The run is over, before `duration`, once every task has exited.
    pub ends_with_tasks: bool,
}

/// A task group, named by its cgroup path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// Path from the cgroup root with a leading slash and no trailing one, such as `/kubepods/api`.
    pub path: String,
    /// Parent group; `None` is the root group.
    pub parent: Option<GroupIndex>,
    /// `cpu.max` and `cpu.max.burst`.
    pub limit: Limit,
    /// `cpu.weight`, 1 to 10000.
    pub weight: u32,
    /// `true` if a [`Action::CreateGroup`] event creates it, `false` if it exists from the start.
    pub created_later: bool,
}

/// A task: where it is, how it is scheduled and what it does.
#[derive(Clone, Debug)]
pub struct TaskSpec {
    /// Name in reports.
    pub name: String,
    /// Its group; `None` is the root group.
    pub group: Option<GroupIndex>,
    /// Static priority.
    pub nice: Nice,
    /// Scheduling policy.
    pub policy: Policy,
    /// CPUs it may use; `None` is all.
    pub affinity: Option<CpuMask>,
    /// When it starts.
    pub start: Start,
    /// A kernel thread never returns to user mode.
    pub kernel_thread: bool,
    /// What it does.
    pub program: Arc<Program>,
}

/// When a task starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At this time, counted from T0. It exists from before T0 on and sleeps until then.
    At(Nanos),
    /// When another task forks it ([`Step::Fork`]); it does not exist before.
    Forked,
}

/// Scheduling policies that the simulator knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_OTHER`.
    #[default]
    Normal,
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_FIFO`: runs before every fair task, outside every CPU limit.
    Fifo,
}

/// What a task does: a list of steps, once, a number of times, or for ever.
///
/// A *job* begins when the task is released (a sleep or timer ends, or another task wakes it from a
/// `Wait` or an empty pipe) and ends when it next waits for such a release. The time from the release
/// to the end is the job's response time.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Program {
    /// What it does once, before the steps.
    pub prelude: Vec<Step>,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// How often to go through them; `None` is for ever. After the last time the task exits.
    pub times: Option<u64>,
}

/// One step of a program. Times are task time (what the CPU clock of the thread shows) unless said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Use so much CPU time in user mode.
    Run(Nanos),
    /// Use so much CPU time in kernel mode, inside one system call.
    RunKernel(Nanos),
    /// Use so much CPU time in user mode, as a program does that measures itself: wait in a busy loop for
    /// what is left by the wall clock, then read the thread's CPU clock, until it shows enough. The
    /// kernel charges a task when its clock is read, so such a task can be throttled at the end of its
    /// burst and not only at a tick.
    RunByClock(Nanos),
    /// Use CPU time in user mode for ever.
    Spin,
    /// Sleep for so much wall time.
    Sleep(Nanos),
    /// Wait for the next multiple of this period, counted from the task's start. If that moment has
    /// passed already, go on at once; the job then counts from the moment that has passed.
    Timer(Nanos),
    /// The cheapest system call.
    Syscall,
    /// Write so many bytes; waits while the pipe is full.
    PipeWrite(ObjectIndex, u32),
    /// Read up to so many bytes in one call; waits while the pipe is empty.
    PipeRead(ObjectIndex, u32),
    /// Read exactly so many bytes, with as many calls as it takes.
    PipeReadAll(ObjectIndex, u32),
    /// Wait on a queue until another task wakes it (rt-app `suspend`/`wait`).
    Wait(ObjectIndex),
    /// Wake all waiters of a queue (rt-app `resume`/`broad`).
    WakeAll(ObjectIndex),
    /// Wake one waiter of a queue (rt-app `signal`).
    WakeOne(ObjectIndex),
    /// Take a sleeping mutex of the kernel; held across the following steps, in kernel mode, until `Unlock`.
    Lock(ObjectIndex),
    /// Release it.
    Unlock(ObjectIndex),
    /// `sched_yield`.
    Yield,
    /// Start this task, which must be [`Start::Forked`] and not started yet.
    Fork(TaskIndex),
    /// Write so many bytes to a Unix stream socket; waits while its buffer is full.
    SocketWrite(ObjectIndex, u32),
    /// Read exactly so many bytes from a Unix stream socket, with as many calls as it takes; waits while
    /// it is empty.
    SocketReadAll(ObjectIndex, u32),
    /// Send a datagram of so many bytes to a UDP socket of this machine. The sender's CPU carries it
    /// through the receive softirq before the call returns; one that finds the receive buffer full is
    /// dropped.
    UdpSend(ObjectIndex, u32),
    /// Receive one datagram from a UDP socket; waits while there is none.
    UdpReceive(ObjectIndex),
    /// `percpu_down_read`: held across the following steps, in kernel mode, until `ReadUnlock`.
    ReadLock(ObjectIndex),
    /// `percpu_up_read`.
    ReadUnlock(ObjectIndex),
    /// `percpu_down_write`: waits for all readers; readers that come after it wait for it.
    WriteLock(ObjectIndex),
    /// `percpu_up_write`.
    WriteUnlock(ObjectIndex),
    /// Repeat inner steps.
    Repeat(u64, Vec<Step>),
}

/// A change at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedAction {
    /// Time from T0.
    pub at: Nanos,
    /// What to do.
    pub action: Action,
    /// Line of the scenario file it came from, for reports.
    pub line: Option<usize>,
}

/// What can be changed while the machine runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write `cpu.max` (quota and period; burst is kept).
    SetMax {
        /// The group.
        group: GroupIndex,
        /// New quota; `None` is `max`.
        quota: Option<Nanos>,
        /// New period; `None` keeps it.
        period: Option<Nanos>,
    },
    /// Write `cpu.max.burst`.
    SetBurst(GroupIndex, Nanos),
    /// Write `cpu.weight`.
    SetWeight(GroupIndex, u32),
    /// Write the task to a group's `cgroup.threads`; `None` is the root group.
    MoveTask(TaskIndex, Option<GroupIndex>),
    /// `sched_setaffinity`.
    SetAffinity(TaskIndex, CpuMask),
    /// `setpriority`.
    SetNice(TaskIndex, Nice),
    /// `sched_setscheduler`.
    SetPolicy(TaskIndex, Policy),
    /// `mkdir` of a group that is marked `created_later`.
    CreateGroup(GroupIndex),
    /// `rmdir`.
    RemoveGroup(GroupIndex),
    /// Take a CPU offline.
    CpuOffline(usize),
    /// Bring a CPU online.
    CpuOnline(usize),
}

/// What varies between two runs of one setup.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Which kernel to simulate.
    pub kernel: Kernel,
    /// Decides timer phases, the CPU each task last ran on, and every other random choice.
    pub seed: u64,
    /// Check the scheduler's invariants after every event.
    pub check: bool,
}
