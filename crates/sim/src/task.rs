//! A task as the machine sees it: where it is in its program, and where its CPU is in the work for it.

use std::sync::Arc;

use cpumax_bandwidth::Nanos;
use cpumax_sched::{CpuId, TaskId};

use crate::objects::Waiters;
use crate::program::{Call, CompiledProgram, Place};
use crate::setup::{GroupIndex, TaskIndex};

/// Run-time state of a task.
#[derive(Debug)]
pub(crate) struct Task {
    /// Its number in the scheduler.
    pub id: TaskId,
    /// Its group now; `None` is the root group.
    pub group: Option<GroupIndex>,
    /// It never returns to user mode.
    pub kernel_thread: bool,
    pub program: Arc<CompiledProgram>,
    pub place: Place,
    pub activity: Activity,
    /// What it does in user mode; valid in any activity, as what it returns to.
    pub user: UserWork,
    /// The run by the clock that goes on.
    pub clocked: Option<ClockedRun>,
    /// The call it is in; valid if its activity is in the kernel.
    pub call: Call,
    /// Progress of a call that reads or writes.
    pub transfer: Transfer,
    /// Wakeups that the call still has to do, in order.
    pub wakes: [Option<WakeTarget>; 2],
    /// What the call does after these.
    pub after_wakes: AfterWakes,
    /// Mutexes and semaphores that it holds; it stays in kernel mode while it holds one.
    pub locks_held: u32,
    /// CPU time until it last left a CPU.
    pub cpu_time: Nanos,
    /// CPU time in user mode.
    pub user_time: Nanos,
    /// Where it last ran.
    pub last_cpu: Option<CpuId>,
    pub jobs: Jobs,
    /// The uninterruptible wait that goes on.
    pub blocked: Option<Blocked>,
    /// Another task has started it.
    pub forked: bool,
    /// When it exited.
    pub exited: Option<Nanos>,
    /// Times it was woken.
    pub wakeups: u64,
    /// Times it left a CPU for another task or for idleness.
    pub switches: u64,
}

/// Where a task is. A task that is off the CPU goes on from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// In user mode or on the way back to it. Only if its CPU is in [`State::User`](crate::cpu::State)
    /// does it execute instructions of its own; otherwise the checks of the return path are ahead.
    User,
    /// In the kernel, in this phase of a call, with so much left of the phase.
    Kernel(Phase, Work),
    /// Waits for a wakeup.
    Asleep,
    /// Has exited.
    Gone,
}

/// What a task does in user mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserWork {
    /// Goes on to the next instruction.
    Next,
    /// Runs until its CPU time is this much.
    Until(Nanos),
    /// Waits in a busy loop until it is this late.
    WallUntil(Nanos),
    /// Runs for ever.
    Forever,
}

/// A run that is measured by reading the CPU clock ([`Step::RunByClock`](crate::setup::Step)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockedRun {
    /// CPU time that it wants to use.
    pub time: Nanos,
    /// What the clock must show in the end; `None` before the first reading.
    pub target: Option<Nanos>,
    /// What was missing at the last reading; waited for since, if `None`.
    pub missing: Option<Nanos>,
}

/// How much is left of a phase in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// So much work; interrupts do none of it.
    Cost(Nanos),
    /// Until the task's CPU time is this much; interrupts count as its time.
    Until(Nanos),
    /// No end.
    Forever,
}

/// The phases of a call, each with what happens at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// From user mode to where the call takes effect.
    Enter,
    /// CPU time inside a call ([`Call::Run`]).
    Body,
    /// A datagram on its way to its receiver, in the receive softirq of the sender's CPU, which is not preempted.
    Softirq,
    /// CPU time of a task that has no user mode; then the next instruction.
    Run,
    /// A wakeup; at its end the waiter is woken.
    Wake,
    /// On the way to sleep; at its end the condition is checked again before sleeping.
    Park,
    /// Awake again; at its end the condition is checked.
    Unpark,
    /// From the call's end to the return path.
    Exit,
    /// The call ended, and the task stays in kernel mode for its next instruction.
    Stay,
    /// The return-to-user work that may take the task off (models C and D).
    TakeOff,
}

/// An uninterruptible wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocked {
    /// Since when.
    pub since: Nanos,
    /// When the hung-task detector saw it first.
    pub seen: Option<Nanos>,
}

/// How far a call that reads or writes has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// Bytes to go.
    pub remaining: u32,
    /// The call has waited already.
    pub waited: bool,
}

/// Whom to wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeTarget {
    /// So many of those who wait, the first ones.
    Waiters(Waiters, u32),
    /// One task.
    Task(TaskIndex),
}

/// What follows the wakeups of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterWakes {
    /// The call is over.
    Leave,
    /// It waits.
    Park,
}

impl Task {
    /// Whether it stays in kernel mode between its instructions.
    pub fn stays_in_kernel(&self) -> bool {
        self.kernel_thread || self.locks_held > 0
    }
}

/// Releases and responses of a task's jobs. See [`Program`](crate::setup::Program) for what a job is.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    /// When the task starts; multiples of a timer's period count from here.
    pub start: Nanos,
    /// The moment that the last timer step waited for.
    pub timer: Nanos,
    /// When the instruction that may end the job began.
    pub instruction_began: Nanos,
    /// When the wait that goes on now was or will be over: the next job's release, if it becomes one.
    pub next_release: Nanos,
    /// Release of the job that goes on.
    released: Option<Nanos>,
    /// The job has not run yet.
    first_run_due: bool,
    pub responses: Vec<Nanos>,
    pub wake_latencies: Vec<Nanos>,
}

impl Jobs {
    /// The jobs of a task that starts at `start`, which releases the first.
    pub fn new(start: Nanos) -> Self {
        Self {
            start,
            timer: start,
            next_release: start,
            ..Self::default()
        }
    }

    /// The task starts at `now`, which releases the first job.
    pub fn starts(&mut self, now: Nanos) {
        (self.start, self.timer, self.next_release) = (now, now, now);
    }

    /// The next job begins, counted from `next_release`.
    pub fn begin(&mut self) {
        self.released = Some(self.next_release);
        self.first_run_due = true;
    }

    /// The next job begins, unless the wait was over before it had ended the last one.
    pub fn go_on(&mut self) {
        if self.released.is_none() {
            self.begin();
        }
    }

    /// The job's first instruction begins at `now`, if it has not yet.
    #[inline]
    pub fn run(&mut self, now: Nanos) {
        if self.first_run_due {
            self.first_run_due = false;
            if let Some(released) = self.released {
                self.wake_latencies.push(now.saturating_sub(released));
            }
        }
    }

    /// The job ended when the current instruction, which waits, began.
    pub fn end(&mut self) {
        if let Some(released) = self.released.take() {
            self.responses
                .push(self.instruction_began.saturating_sub(released));
        }
    }

    /// The next multiple of `period`, counted from the start, after the last moment that a timer step
    /// waited for.
    pub fn next_timer(&mut self, period: Nanos) -> Nanos {
        let since_start = self.timer.0 - self.start.0;
        let period = period.0.max(1);
        self.timer = Nanos(self.start.0 + (since_start / period + 1) * period);
        self.timer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_step_through_the_multiples_of_their_period() {
        let mut jobs = Jobs::new(Nanos(5));
        assert_eq!(jobs.next_timer(Nanos(10)), Nanos(15));
        assert_eq!(jobs.next_timer(Nanos(10)), Nanos(25));
        assert_eq!(
            jobs.next_timer(Nanos(15)),
            Nanos(35),
            "multiple of 15 after 25, counted from 5"
        );
    }

    #[test]
    fn a_job_is_measured_from_its_release() {
        let mut jobs = Jobs::new(Nanos(100));
        jobs.begin();
        jobs.run(Nanos(103));
        jobs.run(Nanos(200));
        jobs.instruction_began = Nanos(250);
        jobs.end();
        jobs.end();
        assert_eq!(
            (jobs.wake_latencies, jobs.responses),
            (vec![Nanos(3)], vec![Nanos(150)])
        );
    }
}
