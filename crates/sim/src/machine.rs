//! A machine: how many CPUs, what shares what, how often it ticks, and what things cost on it.

use cpumax_bandwidth::Nanos;
use cpumax_sched::{Preemption, Release, Topology};

/// Kernel: the default of `hung_task_timeout_secs`.
pub const HUNG_TASK: Nanos = Nanos::from_secs(120);

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
    /// Speed of a hardware thread while another of its core is busy, in percent of its speed alone.
    pub smt_percent: u32,
    /// What it costs to get data that another CPU has written.
    pub caches: Caches,
    /// What things cost.
    pub costs: Costs,
    /// A task that has waited uninterruptibly for so long is reported (kernel: `hung_task_timeout_secs`).
    pub hung_task: Nanos,
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

/// Time to get one cache line that another CPU wrote last, by where that CPU is, and how many lines an
/// operation shares with the CPU that did the last one on the same object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caches {
    /// From a core under the same last-level cache.
    pub same_llc: Nanos,
    /// From another last-level cache of the node.
    pub same_node: Nanos,
    /// From another node.
    pub other_node: Nanos,
    /// Lines that a pipe's reads and writes share.
    pub pipe_lines: u32,
    /// Lines that the reads and writes of a Unix socket share.
    pub socket_lines: u32,
    /// Lines that sending and receiving a UDP datagram share.
    pub udp_lines: u32,
    /// Lines of the target's run queue that a wakeup of a task on another CPU touches.
    pub wakeup_lines: u32,
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
    /// Writing to a Unix stream socket without waiting or waking, in addition to `syscall`.
    pub socket_write: Nanos,
    /// Reading from one, likewise.
    pub socket_read: Nanos,
    /// Sending a datagram up to the loopback device, in addition to `syscall`.
    pub udp_send: Nanos,
    /// The receive softirq for one datagram, up to the receiver's wakeup.
    pub udp_softirq: Nanos,
    /// Taking a datagram out of the receive buffer, in addition to `syscall`.
    pub udp_receive: Nanos,
    /// Taking or releasing a mutex or a read-write semaphore that nobody else wants.
    pub lock: Nanos,
    /// Starting a task.
    pub fork: Nanos,
    /// Looking at one CPU in a search for an idle or a busy one.
    pub cpu_search: Nanos,
    /// Going to sleep and being put back, kernel side, in addition to `syscall` and the switch.
    pub block: Nanos,
    /// Arming a timer and going to sleep in `nanosleep`.
    pub sleep: Nanos,
    /// The period timer's handler without its distribution.
    pub period_timer: Nanos,
    /// One throttled queue in a distribution walk.
    pub distribute_queue: Nanos,
    /// One queue visited by a walk that throttles or unthrottles a hierarchy.
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
            smt_percent: 100,
            caches: Caches::NONE,
            hung_task: HUNG_TASK,
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
                // Not measured there: about what a pipe costs, and the way through the stack for UDP.
                socket_write: Nanos(1800),
                socket_read: Nanos(1200),
                udp_send: Nanos(2500),
                udp_softirq: Nanos(1500),
                udp_receive: Nanos(1200),
                lock: Nanos::ZERO,
                fork: Nanos::ZERO,
                cpu_search: Nanos::ZERO,
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
            smt_percent: 100,
            caches: Caches::NONE,
            hung_task: HUNG_TASK,
            costs: Costs::ZERO,
            background: Vec::new(),
        }
    }
}

impl Caches {
    /// Data is everywhere at once.
    pub const NONE: Self = Self {
        same_llc: Nanos::ZERO,
        same_node: Nanos::ZERO,
        other_node: Nanos::ZERO,
        pipe_lines: 0,
        socket_lines: 0,
        udp_lines: 0,
        wakeup_lines: 0,
    };
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
        socket_write: Nanos::ZERO,
        socket_read: Nanos::ZERO,
        udp_send: Nanos::ZERO,
        udp_softirq: Nanos::ZERO,
        udp_receive: Nanos::ZERO,
        lock: Nanos::ZERO,
        fork: Nanos::ZERO,
        cpu_search: Nanos::ZERO,
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
