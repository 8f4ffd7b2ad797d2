//! Read-write semaphores whose readers share nothing while there is no writer (kernel: `percpu_rwsem`).

use std::collections::VecDeque;

use cpumax_bandwidth::Nanos;

use crate::outcome::SemaphoreOutcome;
use crate::setup::TaskIndex;

/// How a task wants a semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// With other readers.
    Read,
    /// Alone.
    Write,
}

/// A read-write semaphore. A writer first shuts the door, behind which later readers and writers queue in order,
/// and then waits for the readers that are inside. The RCU grace period by which the kernel tells readers of the
/// door is left out.
#[derive(Debug, Default)]
pub(crate) struct Semaphore {
    /// Readers inside.
    readers: Vec<TaskIndex>,
    /// The writer who has shut the door: inside if there are no readers, otherwise waiting for them.
    writer: Option<TaskIndex>,
    /// Who waits before the door, in order, and since when.
    queue: VecDeque<Waiter>,
    /// Since when the writer that shut the door has wanted to.
    writer_since: Nanos,
    waiting_readers: u32,
    /// Who has it and has not been woken yet, in order.
    pub granted: VecDeque<TaskIndex>,
    pub outcome: SemaphoreOutcome,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    task: TaskIndex,
    mode: Mode,
    since: Nanos,
}

impl Semaphore {
    /// Takes the semaphore, or queues for it; whether the task has it now.
    pub fn acquire(&mut self, now: Nanos, task: TaskIndex, mode: Mode) -> bool {
        if self.writer.is_some() {
            self.queue.push_back(Waiter {
                task,
                mode,
                since: now,
            });
            if mode == Mode::Read {
                self.waiting_readers += 1;
                let most = &mut self.outcome.most_waiting_readers;
                *most = (*most).max(self.waiting_readers);
            }
            return false;
        }
        match mode {
            Mode::Read => {
                self.readers.push(task);
                true
            }
            Mode::Write => {
                self.writer = Some(task);
                self.writer_since = now;
                self.writer_enters(now).is_some()
            }
        }
    }

    /// Gives the semaphore back; who has it now stands in `granted`, to be woken. `false`: the task did not have it.
    pub fn release(&mut self, now: Nanos, task: TaskIndex, mode: Mode) -> bool {
        match mode {
            Mode::Read => {
                let Some(at) = self.readers.iter().position(|&reader| reader == task) else {
                    return false;
                };
                self.readers.swap_remove(at);
                if self.writer.is_some() {
                    let writer = self.writer_enters(now);
                    self.granted.extend(writer);
                }
            }
            Mode::Write => {
                if self.writer != Some(task) || !self.readers.is_empty() {
                    return false;
                }
                self.writer = None;
                self.open_door(now);
            }
        }
        true
    }

    /// Lets those before the door in, up to the first writer (kernel: `percpu_rwsem_wake_function`).
    fn open_door(&mut self, now: Nanos) {
        while let Some(waiter) = self.queue.pop_front() {
            match waiter.mode {
                Mode::Read => {
                    self.readers.push(waiter.task);
                    self.waiting_readers -= 1;
                    self.outcome.reader_waits.push(now - waiter.since);
                    self.granted.push_back(waiter.task);
                }
                Mode::Write => {
                    self.writer = Some(waiter.task);
                    self.writer_since = waiter.since;
                    let writer = self.writer_enters(now);
                    self.granted.extend(writer);
                    return;
                }
            }
        }
    }

    /// The writer that shut the door, if no reader is inside any more.
    fn writer_enters(&mut self, now: Nanos) -> Option<TaskIndex> {
        if !self.readers.is_empty() {
            return None;
        }
        self.outcome.writer_waits.push(now - self.writer_since);
        self.writer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(semaphore: &mut Semaphore, now: u64, task: usize, mode: Mode) -> Vec<usize> {
        assert!(semaphore.release(Nanos(now), TaskIndex(task), mode));
        semaphore.granted.drain(..).map(|task| task.0).collect()
    }

    fn acquire(semaphore: &mut Semaphore, now: u64, task: usize, mode: Mode) -> bool {
        semaphore.acquire(Nanos(now), TaskIndex(task), mode)
    }

    #[test]
    fn a_writer_waits_for_readers_and_later_readers_for_it() {
        let mut semaphore = Semaphore::default();
        assert!(acquire(&mut semaphore, 0, 1, Mode::Read));
        assert!(acquire(&mut semaphore, 0, 2, Mode::Read));
        assert!(!acquire(&mut semaphore, 10, 3, Mode::Write));
        assert!(!acquire(&mut semaphore, 20, 4, Mode::Read));
        assert!(!acquire(&mut semaphore, 30, 5, Mode::Read));
        assert_eq!(release(&mut semaphore, 40, 1, Mode::Read), [] as [usize; 0]);
        assert_eq!(release(&mut semaphore, 50, 2, Mode::Read), [3]);
        assert_eq!(release(&mut semaphore, 60, 3, Mode::Write), [4, 5]);
        assert_eq!(
            semaphore.outcome,
            SemaphoreOutcome {
                writer_waits: vec![Nanos(40)],
                reader_waits: vec![Nanos(40), Nanos(30)],
                most_waiting_readers: 2,
            }
        );
    }

    #[test]
    fn the_door_stays_open_up_to_the_next_writer() {
        let mut semaphore = Semaphore::default();
        assert!(acquire(&mut semaphore, 0, 1, Mode::Write));
        for (task, mode) in [
            (2, Mode::Read),
            (3, Mode::Write),
            (4, Mode::Read),
            (5, Mode::Write),
        ] {
            assert!(!acquire(&mut semaphore, 1, task, mode));
        }
        assert_eq!(release(&mut semaphore, 2, 1, Mode::Write), [2]);
        assert_eq!(release(&mut semaphore, 3, 2, Mode::Read), [3]);
        assert_eq!(release(&mut semaphore, 4, 3, Mode::Write), [4]);
        assert_eq!(release(&mut semaphore, 5, 4, Mode::Read), [5]);
        assert_eq!(release(&mut semaphore, 6, 5, Mode::Write), [] as [usize; 0]);
        assert!(acquire(&mut semaphore, 7, 6, Mode::Read));
    }

    #[test]
    fn who_does_not_have_it_cannot_release_it() {
        let mut semaphore = Semaphore::default();
        let try_release = |semaphore: &mut Semaphore, task, mode| {
            semaphore.release(Nanos(0), TaskIndex(task), mode)
        };
        assert!(!try_release(&mut semaphore, 1, Mode::Read));
        assert!(!try_release(&mut semaphore, 1, Mode::Write));
        acquire(&mut semaphore, 0, 2, Mode::Read);
        acquire(&mut semaphore, 0, 3, Mode::Write);
        assert!(
            !try_release(&mut semaphore, 3, Mode::Write),
            "it only waits"
        );
    }
}
