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
//!   the period, slack and high-resolution timers and of the unthrottle IPI. Whatever a call does inside,
//!   such as letting twenty tasks go, it counts as one. The core's balancing softirq, which is cheap
//!   where there is nothing to balance, is part of the tick that raised it and counts as none. The
//!   simulator's own count is a little generous: it has softirqs and reschedule IPIs in it.
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
    /// Events of a simulated machine so far: ends of work and interrupts, each one pop and about one push
    /// of its event queue.
    fn events(&self) -> Option<u64> {
        None
    }
    /// Virtual time so far.
    fn virtual_time(&self) -> Nanos;
    /// Which operations they were.
    fn mix(&self) -> Option<String> {
        None
    }
}

/// What a subject did in a turn, per second.
#[derive(Clone, Copy)]
struct Rate {
    operations: f64,
    /// 0 of what has none.
    events: f64,
    virtual_seconds: f64,
}

fn turn(subject: &mut dyn Subject, length: Duration) -> Rate {
    let (operations, events) = (subject.operations(), subject.events());
    let virtual_time = subject.virtual_time();
    let start = Instant::now();
    while start.elapsed() < length {
        subject.work();
    }
    let seconds = start.elapsed().as_secs_f64();
    Rate {
        operations: (subject.operations() - operations) as f64 / seconds,
        events: match (subject.events(), events) {
            (Some(after), Some(before)) => (after - before) as f64 / seconds,
            _ => 0.0,
        },
        virtual_seconds: (subject.virtual_time() - virtual_time).0 as f64 / 1e9 / seconds,
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Lets a subject and a heap of so many keys take turns, and prints a row. Returns a line that says
/// which operations they were.
fn compare(name: &str, kernel: Kernel, subject: &mut dyn Subject, keys: usize) -> Option<String> {
    let mut heap = HeapLoop::new(keys);
    turn(subject, WARM_UP);
    turn(&mut heap, TURN);
    let turns: Vec<(Rate, Rate)> = (0..TURNS)
        .map(|_| (turn(subject, TURN), turn(&mut heap, TURN)))
        .collect();
    let events = median(turns.iter().map(|(subject, _)| subject.events)) / 1e6;
    println!(
        "{name:<32} {kernel:>6} {:>14.2} {:>14.2} {:>7.3} {:>14} {:>14}",
        median(turns.iter().map(|(subject, _)| subject.operations)) / 1e6,
        median(turns.iter().map(|(_, heap)| heap.operations)) / 1e6,
        median(
            turns
                .iter()
                .map(|(subject, heap)| subject.operations / heap.operations)
        ),
        if events > 0.0 {
            format!("{events:.2}")
        } else {
            String::new()
        },
        with_three_digits(median(
            turns.iter().map(|(subject, _)| subject.virtual_seconds)
        )),
    );
    subject.mix().map(|mix| format!("{name}, {kernel}: {mix}"))
}

/// A positive number below a million, with three digits that count.
fn with_three_digits(value: f64) -> String {
    let places = (2.0 - value.log10().floor()).max(0.0);
    format!("{value:.0$}", places as usize)
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
        "{:<32} {:>6} {:>14} {:>14} {:>7} {:>14} {:>14}",
        "subject",
        "kernel",
        "million ops/s",
        "heap, million",
        "ratio",
        "million evts/s",
        "virtual s / s"
    );
    let mut mixes = Vec::new();
    for &kernel in &kernels {
        let subject = &mut Spinners::new(kernel);
        mixes.extend(compare("core, 2 CPUs, 4 tasks", kernel, subject, 4));
    }
    for &kernel in &kernels {
        let subject = &mut Machines::spinners(kernel);
        mixes.extend(compare("simulator, 2 CPUs, 4 tasks", kernel, subject, 4));
    }
    for &kernel in &kernels {
        let subject = &mut Messages::new(kernel);
        mixes.extend(compare("core, 384 CPUs, 640 tasks", kernel, subject, 640));
    }
    for &kernel in &kernels {
        let subject = &mut Machines::messages(kernel);
        mixes.extend(compare(
            "simulator, 384 CPUs, 640 tasks",
            kernel,
            subject,
            640,
        ));
    }
    println!("\nThe operations were:\n{}", mixes.join("\n"));
}
