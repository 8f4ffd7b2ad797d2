//! How fast the scheduler is: calls of its core per second, beside a bare binary heap on the same
//! machine in the same run.
//!
//! ```text
//! cargo bench -p cpumax-sim --bench throughput [-- KERNEL...]
//! ```
//!
//! # What is counted
//!
//! * An *operation* is one call of a method of `Sched` that changes its state: `select_cpu`, `wake`
//!   (enqueue), `schedule` (pick, and the dequeue of who goes to sleep), `handle_tick` and
//!   `read_task_runtime` (charge), `return_to_user_work` (a throttled task's dequeue), the handlers of
//!   the period, slack and high-resolution timers, of the unthrottle IPI and of the balancing softirq.
//!   Whatever a call does inside, such as letting twenty tasks go, it counts as one.
//! * A *heap operation* is one pop of the earliest key and one push of a later one, as an event loop
//!   does for each event. The keys are (time, sequence number) in a `BinaryHeap`; there are as many of
//!   them as the scenario has tasks.
//!
//! Two subjects: the *core*, driven by a host that is next to nothing (`host`, `spinners`,
//! `messages`), and the *simulator* with its event loop, interrupts, programs and statistics
//! (`machines`). Two scenarios: 4 spinning tasks with a quota on 2 CPUs, and 640 tasks in 16 clubs of
//! senders and receivers on 384 CPUs, half of them with a quota.
//!
//! Subject and heap take turns, a few milliseconds each. The table shows the median over the turns, of
//! the ratios as well: the ratio of two neighbouring turns.

mod heap;
mod host;
mod machines;
mod messages;
mod spinners;

use std::time::{Duration, Instant};

use cpumax_bandwidth::Nanos;
use cpumax_sched::Kernel;

use crate::heap::HeapLoop;
use crate::machines::Machines;
use crate::messages::Messages;
use crate::spinners::Spinners;

/// Turns of each subject, and of the heap beside it.
const TURNS: usize = 15;
/// Length of a turn.
const TURN: Duration = Duration::from_millis(20);
/// Length of the first turn, which is not counted: caches fill, vectors grow, groups begin to throttle.
const WARM_UP: Duration = Duration::from_millis(200);

/// Something that can work on from where it stands.
trait Subject {
    /// A piece of work that takes much longer than reading a clock, and much shorter than a turn.
    fn work(&mut self);
    /// Operations so far.
    fn operations(&self) -> u64;
    /// Virtual time so far.
    fn virtual_time(&self) -> Nanos;
}

/// What a subject did in a turn, per second.
#[derive(Clone, Copy)]
struct Rate {
    operations: f64,
    virtual_seconds: f64,
}

fn turn(subject: &mut dyn Subject, length: Duration) -> Rate {
    let (operations, virtual_time) = (subject.operations(), subject.virtual_time());
    let start = Instant::now();
    while start.elapsed() < length {
        subject.work();
    }
    let seconds = start.elapsed().as_secs_f64();
    Rate {
        operations: (subject.operations() - operations) as f64 / seconds,
        virtual_seconds: (subject.virtual_time() - virtual_time).0 as f64 / 1e9 / seconds,
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Lets a subject and a heap of so many keys take turns, and prints a row.
fn compare(name: &str, kernel: Kernel, subject: &mut dyn Subject, keys: usize) {
    let mut heap = HeapLoop::new(keys);
    turn(subject, WARM_UP);
    turn(&mut heap, TURN);
    let turns: Vec<(Rate, Rate)> = (0..TURNS)
        .map(|_| (turn(subject, TURN), turn(&mut heap, TURN)))
        .collect();
    println!(
        "{name:<32} {kernel:>6} {:>14.2} {:>14.2} {:>7.3} {:>14.1}",
        median(turns.iter().map(|(subject, _)| subject.operations)) / 1e6,
        median(turns.iter().map(|(_, heap)| heap.operations)) / 1e6,
        median(
            turns
                .iter()
                .map(|(subject, heap)| subject.operations / heap.operations)
        ),
        median(turns.iter().map(|(subject, _)| subject.virtual_seconds)),
    );
}

fn main() {
    // `cargo bench` passes `--bench`.
    let named: Vec<Kernel> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .map(|argument| argument.parse().unwrap_or_else(|error| panic!("{error}")))
        .collect();
    let kernels = if named.is_empty() {
        Kernel::MEASURED.to_vec()
    } else {
        named
    };
    println!(
        "{:<32} {:>6} {:>14} {:>14} {:>7} {:>14}",
        "subject", "kernel", "million ops/s", "heap, million", "ratio", "virtual s / s"
    );
    for &kernel in &kernels {
        compare(
            "core, 2 CPUs, 4 tasks",
            kernel,
            &mut Spinners::new(kernel),
            4,
        );
    }
    for &kernel in &kernels {
        compare(
            "simulator, 2 CPUs, 4 tasks",
            kernel,
            &mut Machines::spinners(kernel),
            4,
        );
    }
    for &kernel in &kernels {
        compare(
            "core, 384 CPUs, 640 tasks",
            kernel,
            &mut Messages::new(kernel),
            640,
        );
    }
    for &kernel in &kernels {
        compare(
            "simulator, 384 CPUs, 640 tasks",
            kernel,
            &mut Machines::messages(kernel),
            640,
        );
    }
}
