//! Why a setup cannot be simulated.

use cpumax_bandwidth::{LimitError, Nanos};
use cpumax_sched::{InvariantViolation, RemoveGroupError};
use thiserror::Error;

/// A setup that is wrong, or a run that failed.
#[derive(Debug, Error)]
pub enum Error {
    /// The machine has no CPU, or more than the simulator can number.
    #[error("a machine has 1 to {max} CPUs, not {given}")]
    CpuCount {
        /// CPUs of the machine.
        given: usize,
        /// Most CPUs.
        max: usize,
    },
    /// The machine does not tick.
    #[error("the machine's tick is 0 ns; a tick is 1 to 10 ms")]
    NoTick,
    /// A group stands before its parent.
    #[error("group {group} stands before its parent; a parent comes first")]
    ParentLater {
        /// Path of the group.
        group: String,
    },
    /// `cpu.weight` is out of range.
    #[error("weight {weight} of group {group} is not in 1 to 10000")]
    Weight {
        /// Path of the group.
        group: String,
        /// The weight.
        weight: u32,
    },
    /// A group, task or CPU number is too large.
    #[error("the setup names a {what} that it does not have (number {index})")]
    OutOfRange {
        /// What kind of thing.
        what: &'static str,
        /// Its index.
        index: usize,
    },
    /// A task may use no CPU of the machine.
    #[error("task {task} may use none of the machine's {cpus} CPUs")]
    NoAllowedCpu {
        /// Name of the task.
        task: String,
        /// CPUs of the machine.
        cpus: usize,
    },
    /// A group is used while it does not exist: before its creation or after its removal.
    #[error("{at} after T0{}: group {group} does not exist then", line_note(*.line))]
    NoSuchGroup {
        /// Path of the group.
        group: String,
        /// When, from T0.
        at: Nanos,
        /// Line of the scenario.
        line: Option<usize>,
    },
    /// A group is created a second time, or was there from the start.
    #[error("{at} after T0{}: group {group} exists already", line_note(*.line))]
    GroupExists {
        /// Path of the group.
        group: String,
        /// When, from T0.
        at: Nanos,
        /// Line of the scenario.
        line: Option<usize>,
    },
    /// The kernel refuses a limit.
    #[error("{at} after T0{}: the limit of group {group} is refused: {source}", line_note(*.line))]
    Limit {
        /// Path of the group.
        group: String,
        /// When, from T0.
        at: Nanos,
        /// Line of the scenario.
        line: Option<usize>,
        /// Why.
        source: LimitError,
    },
    /// The kernel refuses to remove a group.
    #[error("{at} after T0{}: group {group} cannot be removed: {source}", line_note(*.line))]
    Remove {
        /// Path of the group.
        group: String,
        /// When, from T0.
        at: Nanos,
        /// Line of the scenario.
        line: Option<usize>,
        /// Why.
        source: RemoveGroupError,
    },
    /// The last CPU is to go offline.
    #[error("{at} after T0{}: the last CPU cannot go offline", line_note(*.line))]
    LastCpu {
        /// When, from T0.
        at: Nanos,
        /// Line of the scenario.
        line: Option<usize>,
    },
    /// A task uses a mutex or a semaphore in a way that no correct program does.
    #[error("{at} after T0: task {task} {misuse}")]
    Lock {
        /// Name of the task.
        task: String,
        /// When, from T0.
        at: Nanos,
        /// What it did.
        misuse: LockMisuse,
    },
    /// A task is forked that starts by itself, or for a second time.
    #[error(
        "{at} after T0: task {task} cannot be forked: it has started already, or it starts by itself"
    )]
    Fork {
        /// Name of the task that was to start.
        task: String,
        /// When, from T0.
        at: Nanos,
    },
    /// So much happens at one instant that time does not go on.
    #[error(
        "{at} after T0: time does not go on: {steps} things happened at that instant, the last to task {task}; \
         a program that repeats needs a step that takes time"
    )]
    NoProgress {
        /// When, from T0.
        at: Nanos,
        /// Steps and events at that instant.
        steps: u64,
        /// Name of the task that came last; empty if it was none.
        task: String,
    },
    /// The scheduler's state broke one of its invariants: a defect of cpumax.
    #[error("{at} after T0, after {event}: {violation}; this is a defect of cpumax")]
    Invariant {
        /// When, from T0.
        at: Nanos,
        /// The event after which it was found.
        event: String,
        /// The invariant.
        violation: InvariantViolation,
    },
}

/// A wrong use of a mutex or a semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LockMisuse {
    /// It would wait for itself.
    #[error("takes a mutex that it holds already")]
    Relock,
    /// The mutex is free or someone else's.
    #[error("releases a mutex that it does not hold")]
    NotOwner,
    /// Nobody would release it.
    #[error("exits with a mutex or semaphore held")]
    ExitHolding,
    /// The semaphore is free or someone else's.
    #[error("releases a semaphore that it does not hold")]
    NotHolder,
}

/// Where in the scenario, for messages.
fn line_note(line: Option<usize>) -> String {
    line.map(|line| format!(" (line {line})"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_when_and_where() {
        let error = Error::LastCpu {
            at: Nanos::from_millis(5),
            line: Some(7),
        };
        assert!(
            error.to_string().contains("(line 7): the last CPU"),
            "{error}"
        );
        let error = Error::Lock {
            task: "w".into(),
            at: Nanos::ZERO,
            misuse: LockMisuse::NotOwner,
        };
        assert!(
            error
                .to_string()
                .ends_with("task w releases a mutex that it does not hold"),
            "{error}"
        );
    }
}
