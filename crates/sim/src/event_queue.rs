//! What happens next: the pending events of the machine, in their total order.
//!
//! # Order
//!
//! Events are ordered by (time, class, CPU, sequence number). The order of equal times has a meaning:
//!
//! * class: work that ends at an instant has ended when an interrupt arrives at that instant; softirqs
//!   follow the interrupts of all CPUs, since the ticks of an instant look at the machine in parallel;
//!   changes from outside come after what the machine does by itself; the end of the run comes last.
//! * CPU: in the measured machine, CPU 0 executes its part of an instant first.
//! * sequence number: timers of one CPU that expire together are handled in the order in which they
//!   were armed, as in the kernel's timer queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cpumax_bandwidth::Nanos;
use cpumax_sched::{CpuId, GroupId};

use crate::setup::TaskIndex;

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// What the CPU does now takes until now. Stale if the CPU's segment number has moved on.
    SegmentEnd { cpu: CpuId, segment: u64 },
    /// The running task's CPU time reaches the end of its user-mode work. Stale if the CPU's alarm
    /// number has moved on.
    UserEnd { cpu: CpuId, alarm: u64 },
    /// An interrupt reaches a CPU.
    Interrupt { cpu: CpuId, interrupt: Interrupt },
    /// The softirq that a CPU's interrupt has raised begins. Stale if the CPU's segment number has
    /// moved on.
    Softirq { cpu: CpuId, segment: u64 },
    /// A timed action of the setup is due, by index.
    Action { index: usize },
    /// The hung-task detector looks at all tasks.
    HungTaskCheck,
    /// Statistics are read.
    End,
}

/// Why a CPU is interrupted. Timers carry the number of their programming: they are stale if they were
/// programmed again since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Interrupt {
    /// The periodic tick.
    Tick,
    /// The high-resolution tick.
    Hrtick { programming: u32 },
    /// A group's period timer.
    PeriodTimer { group: GroupId, programming: u32 },
    /// A group's slack timer.
    SlackTimer { group: GroupId, programming: u32 },
    /// A sleep of this task is over.
    SleepTimer { task: TaskIndex },
    /// A reschedule IPI.
    Reschedule,
    /// An IPI that asks for the unthrottle of queues.
    Unthrottle,
    /// The CPU is taken offline (the kernel uses a stopper thread).
    Stop,
}

impl Event {
    /// Rank among events of one time.
    const fn class(&self) -> u64 {
        match self {
            Self::SegmentEnd { .. } | Self::UserEnd { .. } => 0,
            Self::Interrupt { .. } => 1,
            Self::Softirq { .. } => 2,
            Self::Action { .. } | Self::HungTaskCheck => 3,
            Self::End => 4,
        }
    }

    /// CPU number; events of the whole machine stand at 0.
    const fn cpu(&self) -> u64 {
        match self {
            Self::SegmentEnd { cpu, .. }
            | Self::UserEnd { cpu, .. }
            | Self::Interrupt { cpu, .. }
            | Self::Softirq { cpu, .. } => cpu.index() as u64,
            Self::Action { .. } | Self::HungTaskCheck | Self::End => 0,
        }
    }
}

/// Class, CPU and sequence number in one word: 3, 16 and 45 bits.
const CLASS_SHIFT: u32 = 61;
const CPU_SHIFT: u32 = 45;

/// CPUs that an event queue can tell apart.
pub(crate) const MAX_CPUS: usize = 1 << (CLASS_SHIFT - CPU_SHIFT);

/// The pending events. Time never goes back.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    /// Events ever pushed.
    pushed: u64,
    /// Time of the last event taken.
    now: Nanos,
}

impl EventQueue {
    /// Adds an event. `at` must not be in the past.
    #[inline]
    pub fn push(&mut self, at: Nanos, event: Event) {
        assert!(
            at >= self.now,
            "{event:?} is pushed for {at:?}, before the current time {:?}",
            self.now
        );
        let rank = event.class() << CLASS_SHIFT | event.cpu() << CPU_SHIFT | self.pushed;
        self.pushed += 1;
        debug_assert!(self.pushed < 1 << CPU_SHIFT);
        self.heap.push(Reverse((at, rank, event)));
    }

    /// Takes the next event with its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Nanos, Event)> {
        let Reverse((at, _, event)) = self.heap.pop()?;
        assert!(
            at >= self.now,
            "time goes back from {:?} to {at:?}",
            self.now
        );
        self.now = at;
        Some((at, event))
    }

    /// Time of the next event.
    #[inline]
    pub fn next_time(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(cpu: usize) -> Event {
        Event::Interrupt {
            cpu: CpuId::new(cpu),
            interrupt: Interrupt::Tick,
        }
    }

    fn drain(queue: &mut EventQueue) -> Vec<Event> {
        std::iter::from_fn(|| queue.pop())
            .map(|(_, event)| event)
            .collect()
    }

    #[test]
    fn equal_times_are_ordered_by_class_then_cpu_then_arming() {
        let mut queue = EventQueue::default();
        let end = Event::SegmentEnd {
            cpu: CpuId::new(3),
            segment: 0,
        };
        let timer = |index| Event::Interrupt {
            cpu: CpuId::new(1),
            interrupt: Interrupt::SleepTimer {
                task: TaskIndex(index),
            },
        };
        let softirq = Event::Softirq {
            cpu: CpuId::new(0),
            segment: 0,
        };
        let action = Event::Action { index: 0 };
        for event in [
            Event::End,
            action,
            softirq,
            timer(9),
            timer(2),
            tick(0),
            end,
        ] {
            queue.push(Nanos(10), event);
        }
        queue.push(Nanos(9), tick(7));
        let order = [
            tick(7),
            end,
            tick(0),
            timer(9),
            timer(2),
            softirq,
            action,
            Event::End,
        ];
        assert_eq!(drain(&mut queue), order);
    }

    #[test]
    #[should_panic(expected = "before the current time")]
    fn the_past_is_refused() {
        let mut queue = EventQueue::default();
        queue.push(Nanos(10), tick(0));
        queue.pop();
        queue.push(Nanos(9), tick(0));
    }
}
