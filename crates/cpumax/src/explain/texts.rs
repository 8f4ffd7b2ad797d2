//! The texts of `cpumax explain`.

use cpumax_sched::ThrottleModel;

/// What a throttle model does, in a sentence or two.
pub fn model_text(model: ThrottleModel) -> &'static str {
    match model {
        ThrottleModel::HierarchySync => {
            "when a group has used up its runtime on a CPU, its whole subtree is dequeued there, tasks in \
             kernel mode included. The period timer's CPU unthrottles all CPUs itself, one after the other. \
             Up to 6.2."
        }
        ThrottleModel::HierarchyAsync => {
            "as hierarchy-sync, but the period timer only grants runtime; each CPU unthrottles itself, told \
             by an inter-processor interrupt. 6.3 to 6.17."
        }
        ThrottleModel::Task => {
            "when a group has used up its runtime on a CPU, its queue there is only marked; each task takes \
             itself off on its way back to user mode, so that no task is stopped while it holds a lock of \
             the kernel. 6.18 to 7.1."
        }
        ThrottleModel::Unified => {
            "as task, but the charge itself requests more runtime and marks the queue when there is none. \
             7.2 and later."
        }
        ThrottleModel::None => {
            "bandwidth control is compiled out (CONFIG_CFS_BANDWIDTH=n): limits have no effect and nothing \
             is accounted."
        }
    }
}

/// What a number means, by its name in tables and JSON.
pub const NUMBERS: [(&str, &str); 13] = [
    (
        "usage_usec",
        "CPU time of a group and all groups below it, in microseconds.",
    ),
    (
        "user_usec",
        "the part of usage_usec in user mode. The kernel samples it by ticks; the simulator is exact.",
    ),
    (
        "system_usec",
        "the part of usage_usec in kernel mode. The kernel samples it by ticks; the simulator is exact.",
    ),
    (
        "nr_periods",
        "periods of cpu.max that have passed while the group was active. A group that does nothing stops \
         its timer, and its periods are not counted.",
    ),
    (
        "nr_throttled",
        "periods at whose end a queue of the group was throttled. nr_throttled / nr_periods says how \
         often the limit was felt, not for how long.",
    ),
    (
        "throttled_usec",
        "time that the group's queues were throttled, in microseconds, summed over CPUs: on 8 CPUs it can \
         grow by 8 seconds a second.",
    ),
    (
        "nr_bursts",
        "periods in which the group used more than its quota, from what it had saved up to cpu.max.burst.",
    ),
    (
        "burst_usec",
        "what the group used beyond its quota in such periods, in microseconds.",
    ),
    ("cpu_usec", "CPU time of a task, in microseconds."),
    ("wakeups", "how often a task was woken."),
    (
        "response",
        "time of a job: from the moment at which it should start (a sleep or timer ends, another task \
         wakes it) until the task waits again. p50, p90 and p99 are by nearest rank: so many of 100 jobs \
         took at most so long.",
    ),
    (
        "p99",
        "99 of 100 jobs took at most so long; with fewer than 100 jobs it is the longest. See response.",
    ),
    (
        "seed",
        "decides all that is random in the kernel: the phases of period timers, and where each task ran \
         last. The same seed gives the same result.",
    ),
];
