//! A machine: how many CPUs, what shares what, how often it ticks, and what things cost on it.

use cpumax_bandwidth::Nanos;
use cpumax_sched::{Preemption, Release, Topology};

/// A machine description.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Name in reports.
    pub name: String,
    /// CPUs and the domains they share.
    pub topology: Topology,
    /// Time between two ticks of a busy CPU (4 ms at HZ = 250).
    pub tick: Nanos,
    /// Preemption mode; `None` takes what the simulated kernel is shipped with.
    pub preemption: Option<Preemption>,
    /// What things cost.
    pub costs: Costs,
    /// Kernel threads that run beside any workload. They matter in small ways: they end ties, and an idle
    /// CPU that one of them wakes looks for work when it goes idle again.
    pub background: Vec<BackgroundThread>,
}

/// A kernel thread of the root group that wakes up now and then, at a phase that the seed draws.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundThread {
    /// Its name.
    pub name: String,
    /// Kernels before this release do not have it.
    pub since: Release,
    /// One on each CPU, or one that may run on any.
    pub per_cpu: bool,
    /// CPU time that it uses each time.
    pub run: Nanos,
    /// Sleep between two times.
    pub sleep: Nanos,
}

/// Time that a CPU spends on kernel work, in nanoseconds. Each is charged to whoever runs on that CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// From a timer's expiry to the first instruction of its handler.
    pub interrupt_entry: Nanos,
    /// From an inter-processor interrupt's sending to its handler on the other CPU.
    pub ipi_latency: Nanos,
    /// Work of the periodic tick.
    pub tick: Nanos,
    /// The softirq that balances load after a tick that found it due.
    pub softirq: Nanos,
    /// A wakeup, paid by the waker (system call or interrupt).
    pub wakeup: Nanos,
    /// From the decision to switch until the next task runs.
    pub context_switch: Nanos,
    /// A pass through the scheduler that goes on with the same task.
    pub pick: Nanos,
    /// From an interrupt or wakeup on an idle CPU until it is in the scheduler.
    pub idle_exit: Nanos,
    /// Entry and exit of the cheapest system call.
    pub syscall: Nanos,
    /// A pipe read without waiting or waking, in addition to `syscall`.
    pub pipe_read: Nanos,
    /// A pipe write without waiting or waking, in addition to `syscall`.
    pub pipe_write: Nanos,
    /// Going to sleep and being put back, kernel side, in addition to `syscall` and the switch.
    pub block: Nanos,
    /// Arming a timer and going to sleep in `nanosleep`.
    pub sleep: Nanos,
    /// The period timer's handler without its distribution.
    pub period_timer: Nanos,
    /// One throttled queue in a distribution walk.
    pub distribute_queue: Nanos,
    /// One queue visited by an unthrottle walk.
    pub unthrottle_queue: Nanos,
    /// One task put back by an unthrottle.
    pub unthrottle_task: Nanos,
    /// The task-work that takes one task off (models C and D).
    pub throttle_work: Nanos,
    /// What the first run on another CPU costs (cold caches).
    pub migration: Nanos,
    /// From the time of a timed action, or of the final reading of the statistics, until the process that
    /// does it has woken up and does it.
    pub monitor: Nanos,
}

impl Machine {
    /// The machine that the oracle's kernels were measured on: one instruction a nanosecond, so kernel
    /// code costs what it has in instructions; HZ 250; every CPU alike under one cache.
    ///
    /// The costs are read off the ftrace recordings in the oracle's `traces/`; each says where.
    pub fn lab(cpus: usize) -> Self {
        Self {
            name: format!("lab-{cpus}"),
            topology: Topology::flat(cpus),
            tick: Nanos::from_millis(4),
            preemption: None,
            costs: Costs {
                // A tick due at 1.404000000 s reads the clock at 1.404000256 s.
                interrupt_entry: Nanos(300),
                ipi_latency: Nanos::from_micros(2),
                // From a tick to the switch that it causes: 6 to 7 us, of which 2 are the scheduler's.
                tick: Nanos::from_micros(4),
                softirq: Nanos::from_micros(1),
                // Two timers of one interrupt expire 3.5 us apart on an idle CPU.
                wakeup: Nanos(1500),
                // Two switches in a row (6.18, tasks taken off one after the other) are 5 us apart.
                context_switch: Nanos::from_micros(3),
                pick: Nanos::from_micros(1),
                // From the last timer's wakeup on an idle CPU to the switch: 5 us.
                idle_exit: Nanos::from_micros(5),
                syscall: Nanos(400),
                // hackbench's receivers take 1.4 us a message, its senders 1.9 us (6.12).
                pipe_read: Nanos(900),
                pipe_write: Nanos(1400),
                block: Nanos::from_micros(1),
                sleep: Nanos::from_micros(2),
                period_timer: Nanos::from_micros(1),
                distribute_queue: Nanos(500),
                unthrottle_queue: Nanos(500),
                unthrottle_task: Nanos(1000),
                throttle_work: Nanos::from_micros(2),
                // Caches are not modelled there.
                migration: Nanos::ZERO,
                // Events and the final reading are stamped 4 to 10 us late.
                monitor: Nanos::from_micros(6),
            },
            // How often, and for how long, the recordings show each switched to.
            background: vec![
                background("kworker", Release::V6_1, true, 7, 400),
                background("rcu_preempt", Release::V6_1, false, 5, 180),
                background("kcompactd0", Release::V6_1, false, 5, 500),
                // Their configuration has DAMON on.
                background("kdamond.0", Release::V6_18, false, 170, 10),
            ],
        }
    }

    /// A machine on which nothing costs anything, to see the rules alone.
    pub fn ideal(cpus: usize) -> Self {
        Self {
            name: format!("ideal-{cpus}"),
            topology: Topology::flat(cpus),
            tick: Nanos::from_millis(4),
            preemption: None,
            costs: Costs::ZERO,
            background: Vec::new(),
        }
    }
}

impl Costs {
    /// Nothing costs anything.
    pub const ZERO: Self = Self {
        interrupt_entry: Nanos::ZERO,
        ipi_latency: Nanos::ZERO,
        tick: Nanos::ZERO,
        softirq: Nanos::ZERO,
        wakeup: Nanos::ZERO,
        context_switch: Nanos::ZERO,
        pick: Nanos::ZERO,
        idle_exit: Nanos::ZERO,
        syscall: Nanos::ZERO,
        pipe_read: Nanos::ZERO,
        pipe_write: Nanos::ZERO,
        block: Nanos::ZERO,
        sleep: Nanos::ZERO,
        period_timer: Nanos::ZERO,
        distribute_queue: Nanos::ZERO,
        unthrottle_queue: Nanos::ZERO,
        unthrottle_task: Nanos::ZERO,
        throttle_work: Nanos::ZERO,
        migration: Nanos::ZERO,
        monitor: Nanos::ZERO,
    };
}

fn background(
    name: &str,
    since: Release,
    per_cpu: bool,
    run_micros: u64,
    sleep_millis: u64,
) -> BackgroundThread {
    BackgroundThread {
        name: name.to_string(),
        since,
        per_cpu,
        run: Nanos::from_micros(run_micros),
        sleep: Nanos::from_millis(sleep_millis),
    }
}
