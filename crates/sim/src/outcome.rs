//! What a run has shown.

use cpumax_bandwidth::{CpuStat, Nanos};
use cpumax_sched::Kernel;

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
    /// Whether its program came to its end.
    pub exited: bool,
}
