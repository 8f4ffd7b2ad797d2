//! A task's program, flattened: nested repeats become jumps, so that a place in a program is one number
//! and a counter for each depth of nesting. Steps are sorted by where they run: user mode or a call
//! into the kernel.

use cpumax_bandwidth::Nanos;

use crate::objects::Mode;
use crate::setup::{ObjectIndex, Program, Step, TaskIndex};

/// What a task does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instruction {
    /// Use so much CPU time.
    Run(Nanos),
    /// Use so much CPU time, measured by reading the clock.
    RunByClock(Nanos),
    /// Use CPU time for ever.
    Spin,
    /// Call the kernel.
    Call(Call),
}

/// What a task wants from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Nothing.
    Nothing,
    /// Read the own CPU clock.
    ReadClock,
    /// CPU time in kernel mode.
    Run(Nanos),
    /// Sleep for so long.
    Sleep(Nanos),
    /// Sleep until the next multiple of this period.
    Timer(Nanos),
    /// Write so many bytes.
    PipeWrite { pipe: ObjectIndex, bytes: u32 },
    /// Read up to so many bytes in one call; if `all`, call again until they have arrived.
    PipeRead {
        pipe: ObjectIndex,
        bytes: u32,
        all: bool,
    },
    /// Write a message to a Unix stream socket.
    SocketWrite { socket: ObjectIndex, bytes: u32 },
    /// Read so many bytes from one, with as many calls as it takes.
    SocketRead { socket: ObjectIndex, bytes: u32 },
    /// Send a datagram to a UDP socket.
    UdpSend { socket: ObjectIndex, bytes: u32 },
    /// Receive a datagram.
    UdpReceive(ObjectIndex),
    /// Wait for a wakeup.
    Wait(ObjectIndex),
    /// Wake one waiter, or all.
    Wake { queue: ObjectIndex, all: bool },
    /// Take a mutex.
    Lock(ObjectIndex),
    /// Release it.
    Unlock(ObjectIndex),
    /// Take a read-write semaphore.
    Acquire(ObjectIndex, Mode),
    /// Release it.
    Release(ObjectIndex, Mode),
    /// Start a task.
    Fork(TaskIndex),
    /// Let others run.
    Yield,
    /// End.
    Exit,
}

impl Call {
    /// Bytes that it transfers, if it can wait in the middle of that.
    pub fn bytes(self) -> Option<u32> {
        match self {
            Self::PipeWrite { bytes, .. }
            | Self::PipeRead { bytes, .. }
            | Self::SocketWrite { bytes, .. }
            | Self::SocketRead { bytes, .. } => Some(bytes),
            Self::UdpReceive(_) => Some(0),
            _ => None,
        }
    }

    /// A wait in it ends a job, and what it waits for releases the next.
    pub fn waits_for_data(self) -> bool {
        matches!(
            self,
            Self::PipeRead { .. } | Self::SocketRead { .. } | Self::UdpReceive(_)
        )
    }
}

/// A program with its repeats turned into jumps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CompiledProgram {
    code: Vec<Op>,
    /// Deepest nesting of repeats: counters that a place needs.
    depth: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Do(Instruction),
    /// A repeat begins: its counter is set.
    Begin {
        counter: usize,
        times: u64,
    },
    /// A repeat's body is over: back to `body` unless it was the last time.
    Again {
        counter: usize,
        body: usize,
    },
    /// The program's steps are over once more.
    Round,
    /// Back to the first step, for ever.
    Restart {
        first: usize,
    },
}

/// A place in a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    next: usize,
    /// How often the program's steps have been gone through.
    pub rounds: u64,
    /// Times left, the current one included, of each repeat around this place.
    left: Vec<u64>,
}

impl CompiledProgram {
    /// Flattens a program. A repeat without steps in it, or of no times, is left out; a program without
    /// any steps exits at once, however often it is to be repeated.
    pub fn new(program: &Program) -> Self {
        let mut compiled = Self {
            code: Vec::new(),
            depth: 0,
        };
        compiled.append(&program.prelude, 0);
        match program.times {
            None => {
                let first = compiled.code.len();
                compiled.append(&program.steps, 0);
                if compiled.code.len() == first {
                    compiled.code.push(EXIT);
                } else {
                    compiled.code.extend([Op::Round, Op::Restart { first }]);
                }
            }
            Some(times) => {
                compiled.append_repeat(times, &program.steps, 0, Some(Op::Round));
                compiled.code.push(EXIT);
            }
        }
        compiled
    }

    fn append(&mut self, steps: &[Step], depth: usize) {
        for step in steps {
            let instruction = match *step {
                Step::Repeat(times, ref inner) => {
                    self.append_repeat(times, inner, depth, None);
                    continue;
                }
                Step::Run(time) => Instruction::Run(time),
                Step::RunByClock(time) => Instruction::RunByClock(time),
                Step::Spin => Instruction::Spin,
                Step::RunKernel(time) => Instruction::Call(Call::Run(time)),
                Step::Sleep(time) => Instruction::Call(Call::Sleep(time)),
                Step::Timer(period) => Instruction::Call(Call::Timer(period)),
                Step::Syscall => Instruction::Call(Call::Nothing),
                Step::PipeWrite(pipe, bytes) => Instruction::Call(Call::PipeWrite { pipe, bytes }),
                Step::PipeRead(pipe, bytes) => Instruction::Call(Call::PipeRead {
                    pipe,
                    bytes,
                    all: false,
                }),
                Step::PipeReadAll(pipe, bytes) => Instruction::Call(Call::PipeRead {
                    pipe,
                    bytes,
                    all: true,
                }),
                Step::Wait(queue) => Instruction::Call(Call::Wait(queue)),
                Step::WakeAll(queue) => Instruction::Call(Call::Wake { queue, all: true }),
                Step::WakeOne(queue) => Instruction::Call(Call::Wake { queue, all: false }),
                Step::Lock(mutex) => Instruction::Call(Call::Lock(mutex)),
                Step::Unlock(mutex) => Instruction::Call(Call::Unlock(mutex)),
                Step::Yield => Instruction::Call(Call::Yield),
                Step::Fork(task) => Instruction::Call(Call::Fork(task)),
                Step::SocketWrite(socket, bytes) => {
                    Instruction::Call(Call::SocketWrite { socket, bytes })
                }
                Step::SocketReadAll(socket, bytes) => {
                    Instruction::Call(Call::SocketRead { socket, bytes })
                }
                Step::UdpSend(socket, bytes) => Instruction::Call(Call::UdpSend { socket, bytes }),
                Step::UdpReceive(socket) => Instruction::Call(Call::UdpReceive(socket)),
                Step::ReadLock(semaphore) => {
                    Instruction::Call(Call::Acquire(semaphore, Mode::Read))
                }
                Step::ReadUnlock(semaphore) => {
                    Instruction::Call(Call::Release(semaphore, Mode::Read))
                }
                Step::WriteLock(semaphore) => {
                    Instruction::Call(Call::Acquire(semaphore, Mode::Write))
                }
                Step::WriteUnlock(semaphore) => {
                    Instruction::Call(Call::Release(semaphore, Mode::Write))
                }
            };
            self.code.push(Op::Do(instruction));
        }
    }

    fn append_repeat(&mut self, times: u64, steps: &[Step], depth: usize, each: Option<Op>) {
        if times == 0 {
            return;
        }
        let begin = self.code.len();
        self.code.push(Op::Begin {
            counter: depth,
            times,
        });
        self.append(steps, depth + 1);
        if self.code.len() == begin + 1 {
            self.code.pop();
            return;
        }
        self.code.extend(each);
        self.code.push(Op::Again {
            counter: depth,
            body: begin + 1,
        });
        self.depth = self.depth.max(depth + 1);
    }

    /// The place before the first step.
    pub fn start(&self) -> Place {
        Place {
            next: 0,
            rounds: 0,
            left: vec![0; self.depth],
        }
    }

    /// The instruction at a place; the place moves behind it. Ends, since between two jumps back there
    /// is an instruction. The end of the program is [`Call::Exit`], again and again.
    #[inline]
    pub fn advance(&self, place: &mut Place) -> Instruction {
        loop {
            match self.code[place.next] {
                EXIT => return Instruction::Call(Call::Exit),
                Op::Do(instruction) => {
                    place.next += 1;
                    return instruction;
                }
                Op::Begin { counter, times } => {
                    place.left[counter] = times;
                    place.next += 1;
                }
                Op::Again { counter, body } => {
                    let left = &mut place.left[counter];
                    *left -= 1;
                    place.next = if *left > 0 { body } else { place.next + 1 };
                }
                Op::Round => {
                    place.rounds += 1;
                    place.next += 1;
                }
                Op::Restart { first } => place.next = first,
            }
        }
    }

    /// All calls, each once.
    pub fn calls(&self) -> impl Iterator<Item = Call> {
        self.code.iter().filter_map(|op| match *op {
            Op::Do(Instruction::Call(call)) => Some(call),
            _ => None,
        })
    }
}

const EXIT: Op = Op::Do(Instruction::Call(Call::Exit));

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program does, by the lengths of its runs, up to so many steps; `None` is the exit.
    fn trace(program: &Program, limit: usize) -> Vec<Option<u64>> {
        let compiled = CompiledProgram::new(program);
        let mut place = compiled.start();
        let mut seen = Vec::new();
        while seen.len() < limit {
            match compiled.advance(&mut place) {
                Instruction::Run(length) => seen.push(Some(length.0)),
                Instruction::Call(Call::Exit) => {
                    seen.push(None);
                    break;
                }
                other => panic!("unexpected {other:?}"),
            }
        }
        seen
    }

    fn run(length: u64) -> Step {
        Step::Run(Nanos(length))
    }

    #[test]
    fn nested_repeats_run_in_order() {
        let program = Program {
            prelude: vec![],
            steps: vec![
                run(1),
                Step::Repeat(
                    2,
                    vec![
                        run(2),
                        Step::Repeat(2, vec![run(3)]),
                        Step::Repeat(0, vec![run(9)]),
                    ],
                ),
            ],
            times: Some(2),
        };
        let once = [1, 2, 3, 3, 2, 3, 3];
        let expected: Vec<Option<u64>> = once
            .iter()
            .chain(&once)
            .map(|&length| Some(length))
            .chain([None])
            .collect();
        assert_eq!(trace(&program, 100), expected);
    }

    #[test]
    fn a_program_repeats_for_ever() {
        let program = Program {
            prelude: vec![],
            steps: vec![run(1), run(2)],
            times: None,
        };
        assert_eq!(
            trace(&program, 5),
            [Some(1), Some(2), Some(1), Some(2), Some(1)]
        );
    }

    #[test]
    fn nothing_to_do_is_an_exit() {
        let hollow = vec![Step::Repeat(u64::MAX, vec![Step::Repeat(3, vec![])])];
        for times in [None, Some(0), Some(u64::MAX)] {
            assert_eq!(
                trace(
                    &Program {
                        prelude: vec![],
                        steps: hollow.clone(),
                        times
                    },
                    10
                ),
                [None]
            );
            assert_eq!(
                trace(
                    &Program {
                        prelude: vec![],
                        steps: vec![],
                        times
                    },
                    10
                ),
                [None]
            );
        }
        assert_eq!(
            trace(
                &Program {
                    prelude: vec![],
                    steps: vec![run(1)],
                    times: Some(0)
                },
                10
            ),
            [None]
        );
    }
}
