//! Ready-made programs, and what a program must do so that time goes on.

use std::sync::Arc;

use cpumax_bandwidth::Nanos;
use cpumax_sim::machine::Costs;
use cpumax_sim::setup::{ObjectIndex, Program, Step};

/// Instructions of `sysspin` in user mode between two system calls, one a nanosecond.
const SYSSPIN_RUN: Nanos = Nanos(400);

/// A program that goes on for ever.
pub(crate) fn for_ever(steps: Vec<Step>) -> Arc<Program> {
    Arc::new(Program {
        prelude: vec![],
        steps,
        times: None,
    })
}

/// Uses CPU time in user mode for ever.
pub(crate) fn spin() -> Arc<Program> {
    for_ever(vec![Step::Spin])
}

/// A little user mode and the cheapest system call, for ever.
pub(crate) fn sysspin() -> Arc<Program> {
    for_ever(vec![Step::Run(SYSSPIN_RUN), Step::Syscall])
}

/// Two tasks that send one byte there and back, with so much work at each side. The first begins.
pub(crate) fn pingpong(work: Nanos, there: ObjectIndex, back: ObjectIndex) -> [Arc<Program>; 2] {
    let after = |mut steps: Vec<Step>, at: usize| {
        if work > Nanos::ZERO {
            steps.insert(at, Step::Run(work));
        }
        for_ever(steps)
    };
    [
        after(vec![Step::PipeWrite(there, 1), Step::PipeRead(back, 1)], 2),
        after(vec![Step::PipeRead(there, 1), Step::PipeWrite(back, 1)], 1),
    ]
}

/// A receiver of hackbench: reads messages of so many bytes from its pipe for ever.
pub(crate) fn hack_receiver(pipe: ObjectIndex, bytes: u32) -> Arc<Program> {
    for_ever(vec![Step::PipeReadAll(pipe, bytes)])
}

/// A sender of hackbench: writes a message to one receiver after the other.
pub(crate) fn hack_sender(pipes: &[ObjectIndex], bytes: u32) -> Arc<Program> {
    for_ever(
        pipes
            .iter()
            .map(|&pipe| Step::PipeWrite(pipe, bytes))
            .collect(),
    )
}

/// Whether one round through the steps uses time or can wait, on a machine of these costs.
pub(crate) fn takes_time(steps: &[Step], costs: &Costs) -> bool {
    steps.iter().any(|step| match step {
        Step::Run(time) | Step::RunKernel(time) | Step::RunByClock(time) | Step::Sleep(time)
            if *time > Nanos::ZERO =>
        {
            true
        }
        Step::Run(_) => false,
        Step::Repeat(_, inner) => takes_time(inner, costs),
        Step::Spin
        | Step::Timer(_)
        | Step::PipeWrite(..)
        | Step::PipeRead(..)
        | Step::PipeReadAll(..)
        | Step::Wait(_)
        | Step::SocketWrite(..)
        | Step::SocketReadAll(..)
        | Step::UdpReceive(_) => true,
        Step::RunKernel(_)
        | Step::RunByClock(_)
        | Step::Sleep(_)
        | Step::Syscall
        | Step::WakeAll(_)
        | Step::WakeOne(_)
        | Step::Lock(_)
        | Step::Unlock(_)
        | Step::Fork(_)
        | Step::UdpSend(..)
        | Step::ReadLock(_)
        | Step::ReadUnlock(_)
        | Step::WriteLock(_)
        | Step::WriteUnlock(_)
        | Step::Yield => costs.syscall > Nanos::ZERO,
    })
}

/// Number of steps, those inside repeats once.
pub(crate) fn count_steps(steps: &[Step]) -> usize {
    let inner = |step: &Step| match step {
        Step::Repeat(_, inner) => 1 + count_steps(inner),
        _ => 1,
    };
    steps.iter().map(inner).sum()
}
