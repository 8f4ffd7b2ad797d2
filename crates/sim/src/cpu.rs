//! A CPU: what it executes now, until when, and what waits for it.

use std::collections::VecDeque;

use cpumax_bandwidth::Nanos;
use cpumax_sched::CpuId;

use crate::event_queue::Interrupt;
use crate::setup::TaskIndex;

/// Run-time state of a CPU.
#[derive(Debug)]
pub(crate) struct Cpu {
    pub id: CpuId,
    pub state: State,
    /// Number of the current segment: a stretch of time in which the CPU does one thing. An end that
    /// was announced for an earlier segment is stale.
    pub segment: u64,
    /// When the current segment ends; `None` is open.
    pub ends: Option<Nanos>,
    /// The running task; `None` is the idle task.
    pub curr: Option<TaskIndex>,
    /// Since when it has been running.
    pub since: Nanos,
    /// Since when it has been in user mode; valid in [`State::User`].
    pub user_since: Nanos,
    /// Interrupts that wait until the CPU takes interrupts again, in order of arrival.
    pub pending: VecDeque<Interrupt>,
    /// The tick runs (the CPU is not idle).
    pub ticking: bool,
    /// A tick is among the events, for this time; it has no effect if the tick does not run then.
    pub tick_queued: Option<Nanos>,
    /// Number of the current programming of the end of user-mode work.
    pub alarm: u64,
    /// The end of user-mode work is among the events, for this time.
    pub alarm_at: Option<Nanos>,
    /// Number of the current programming of the high-resolution tick.
    pub hrtick: u32,
    /// A softirq follows the interrupt that is being handled.
    pub softirq_raised: bool,
    /// A reschedule IPI is on its way.
    pub reschedule_sent: bool,
    /// Time for what it has done beside what it was charged for, to be added to what it does next.
    pub owed: Nanos,
    /// When it began with the handler that it is in.
    pub handler_began: Nanos,
}

/// What a CPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Takes no part.
    Offline,
    /// Waits for an interrupt.
    Idle,
    /// On the way from idleness to the scheduler. Interrupts wait.
    IdleExit,
    /// Executes its task's own instructions.
    User,
    /// Executes kernel work for its task ([`Activity::Kernel`](crate::task::Activity)).
    Kernel,
    /// In the scheduler or between two tasks. Interrupts wait.
    Switch,
    /// About to handle an interrupt. Others wait.
    Entering(Interrupt),
    /// Handles an interrupt, whose effect has taken place. Others wait.
    Handling {
        interrupt: Interrupt,
        /// The handler goes round its loop once more.
        again: bool,
    },
    /// Between an interrupt and its softirq. Interrupts wait.
    SoftirqDue,
    /// Executes a softirq, whose effect has taken place. Interrupts wait.
    Softirq,
}

impl Cpu {
    /// An idle CPU.
    pub fn new(id: CpuId) -> Self {
        Self {
            id,
            state: State::Idle,
            segment: 0,
            ends: None,
            curr: None,
            since: Nanos::ZERO,
            user_since: Nanos::ZERO,
            pending: VecDeque::with_capacity(16),
            ticking: false,
            tick_queued: None,
            alarm: 0,
            alarm_at: None,
            hrtick: 0,
            softirq_raised: false,
            reschedule_sent: false,
            owed: Nanos::ZERO,
            handler_began: Nanos::ZERO,
        }
    }
}
