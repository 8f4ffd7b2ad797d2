//! Limits in the ideal machine: the rules that do not depend on costs. Numbers in test names are those
//! of the testable statements (`kernel/testable.md`).

mod world;

use cpumax_bandwidth::{Limit, Nanos};
use cpumax_sched::{Kernel, ThrottleModel};
use cpumax_sim::setup::{Action, GroupIndex, Step};
use world::{World, forever, in_group, ms, object, on_cpu, once, spin, task_index, us};

/// A throttle model with period timers of phase 0, so that boundaries are on ticks.
fn with_phase_0(model: ThrottleModel) -> Kernel {
    let mut kernel = Kernel::V6_1;
    kernel.throttle = model;
    kernel
}

const HIERARCHY: [ThrottleModel; 2] = [ThrottleModel::HierarchySync, ThrottleModel::HierarchyAsync];
const PER_TASK: [ThrottleModel; 2] = [ThrottleModel::Task, ThrottleModel::Unified];

/// What one pinned spinner uses in each of the first periods of 100 ms, in ms.
fn usage_per_period(quota: u64, model: ThrottleModel) -> Vec<u64> {
    let mut simulation = World::ideal(1)
        .kernel(with_phase_0(model))
        .group("/a", quota, 100)
        .task_with("s", spin(), in_group(0))
        .duration(ms(600))
        .simulation()
        .unwrap();
    let mut used = vec![Nanos::ZERO];
    for period in 1..=6 {
        simulation.run_until(ms(100 * period)).unwrap();
        used.push(simulation.outcome().tasks[0].cpu_time);
    }
    used.windows(2)
        .map(|pair| (pair[1] - pair[0]).as_micros() / 1000)
        .collect()
}

#[test]
fn t22_t23_quota_10() {
    for model in HIERARCHY {
        assert_eq!(
            usage_per_period(10, model),
            [12, 8, 12, 8, 12, 8],
            "{model:?}"
        );
    }
    for model in PER_TASK {
        assert_eq!(
            usage_per_period(10, model),
            [12, 12, 8, 12, 8, 12],
            "{model:?}"
        );
    }
}

#[test]
fn t24_quota_20() {
    for model in HIERARCHY {
        assert_eq!(usage_per_period(20, model), [20; 6], "{model:?}");
    }
    for model in PER_TASK {
        assert_eq!(
            usage_per_period(20, model),
            [24, 20, 20, 20, 20, 20],
            "{model:?}"
        );
    }
}

#[test]
fn t25_quota_50() {
    for model in HIERARCHY {
        assert_eq!(
            usage_per_period(50, model),
            [52, 48, 52, 48, 52, 48],
            "{model:?}"
        );
    }
    for model in PER_TASK {
        assert_eq!(
            usage_per_period(50, model),
            [52, 52, 48, 52, 48, 52],
            "{model:?}"
        );
    }
}

#[test]
fn without_bandwidth_control_there_is_no_limit() {
    assert_eq!(usage_per_period(10, ThrottleModel::None), [100; 6]);
}

#[test]
fn t26_the_average_is_the_quota_within_a_tick_per_cpu() {
    for kernel in Kernel::MEASURED {
        for seed in 0..5 {
            let outcome = World::ideal(4)
                .kernel(kernel)
                .seed(seed)
                .group("/a", 30, 50)
                .task_with("s0", spin(), in_group(0))
                .task_with("s1", spin(), in_group(0))
                .task_with("s2", spin(), in_group(0))
                .duration(ms(2000))
                .run();
            let stat = &outcome.groups[0].stat;
            // The first period can be short, and 4 CPUs can be a tick and a slice ahead.
            let expected = 30_000 * 40;
            assert!(
                stat.usage_usec.abs_diff(expected) <= 30_000 + 4 * 9_000,
                "{kernel}, seed {seed}: {stat:?}"
            );
            assert!(
                stat.nr_periods.abs_diff(40) <= 1 && stat.nr_throttled.abs_diff(40) <= 1,
                "{stat:?}"
            );
            let tasks: u64 = outcome
                .tasks
                .iter()
                .map(|task| task.cpu_time.as_micros())
                .sum();
            assert!(
                tasks.abs_diff(stat.usage_usec) <= 3,
                "{kernel}: {outcome:?}"
            );
        }
    }
}

#[test]
fn a_group_that_was_never_used_has_no_statistics() {
    for kernel in Kernel::MEASURED {
        let outcome = World::ideal(1)
            .kernel(kernel)
            .group("/a", 10, 1000)
            .task("s", spin())
            .run();
        let stat = &outcome.groups[0].stat;
        assert_eq!(
            (stat.usage_usec, stat.nr_periods, stat.nr_throttled),
            (0, 0, 0),
            "{kernel}"
        );
    }
}

#[test]
fn t88_a_lock_holder_is_stopped_by_hierarchy_models_only() {
    let mutex = object(0);
    let waits = |kernel: Kernel| {
        let holder = once(vec![
            Step::Lock(mutex),
            Step::RunKernel(ms(15)),
            Step::RunKernel(ms(5)),
            Step::Unlock(mutex),
            Step::Spin,
        ]);
        let waiter = forever(vec![
            Step::Sleep(ms(1)),
            Step::Lock(mutex),
            Step::Unlock(mutex),
            Step::Run(us(1)),
            Step::Sleep(ms(1000)),
        ]);
        let outcome = World::ideal(2)
            .kernel(kernel)
            .seed(3)
            .group("/a", 10, 100)
            .task_with("holder", holder, |spec| {
                in_group(0)(spec);
                on_cpu(0)(spec);
            })
            .task_with("waiter", waiter, on_cpu(1))
            .duration(ms(400))
            .run();
        outcome.tasks[1].responses[1]
    };
    for kernel in [Kernel::V6_1, Kernel::V6_12] {
        assert!(waits(kernel) > ms(21), "{kernel}: {}", waits(kernel));
    }
    for kernel in [Kernel::V6_18, Kernel::V7_3] {
        assert_eq!(waits(kernel), ms(19) + us(1), "{kernel}");
    }
}

#[test]
fn a_kernel_thread_is_stopped_by_hierarchy_models_only() {
    for kernel in Kernel::MEASURED {
        let outcome = World::ideal(1)
            .kernel(kernel)
            .group("/a", 10, 100)
            .task_with("k", spin(), |spec| {
                in_group(0)(spec);
                spec.kernel_thread = true;
            })
            .run();
        let used = outcome.tasks[0].cpu_time;
        if kernel.throttle.per_task() {
            assert_eq!(used, ms(100), "{kernel}");
        } else {
            assert!(used < ms(40), "{kernel}: {used}");
        }
    }
}

#[test]
fn limits_change_at_run_time() {
    let set = |quota| Action::SetMax {
        group: GroupIndex(0),
        quota,
        period: None,
    };
    for kernel in Kernel::MEASURED {
        let outcome = World::ideal(1)
            .kernel(kernel)
            .group("/a", 10, 100)
            .task_with("s", spin(), in_group(0))
            .event(ms(500), set(None))
            .event(ms(700), set(Some(ms(50))))
            .duration(ms(1000))
            .run();
        // About 5 x 10, then 200 without a limit, then 3 x 50, each with its start-up.
        let used = outcome.tasks[0].cpu_time;
        assert!(used > ms(380) && used < ms(480), "{kernel}: {used}");
    }
}

#[test]
fn tasks_leave_and_enter_limited_groups() {
    for kernel in Kernel::MEASURED {
        // A stopped task that leaves its group is queued on an idle CPU that is not told: the kernel
        // requests no reschedule there. Someone else's wakeup makes it run.
        let background = forever(vec![Step::Run(us(1)), Step::Sleep(ms(5))]);
        let outcome = World::ideal(1)
            .kernel(kernel)
            .group("/a", 10, 100)
            .task_with("s", spin(), in_group(0))
            .task("background", background)
            .event(ms(250), Action::MoveTask(task_index(0), None))
            .event(
                ms(450),
                Action::MoveTask(task_index(0), Some(GroupIndex(0))),
            )
            .duration(ms(950))
            .run();
        // Three periods limited, 200 ms free, five periods limited.
        let used = outcome.tasks[0].cpu_time;
        assert!(used > ms(260) && used < ms(330), "{kernel}: {used}");
        assert_eq!(outcome.tasks[0].group, "/a");
    }
}

#[test]
fn nested_limits_bind_at_the_tighter_one() {
    let limit = |quota| Limit::new(Some(ms(quota)), ms(100), Nanos::ZERO).unwrap();
    for kernel in Kernel::MEASURED {
        for (outer, inner) in [(20, 60), (60, 20)] {
            let outcome = World::ideal(2)
                .kernel(kernel)
                .group_with("/o", None, limit(outer))
                .group_with("/o/i", Some(0), limit(inner))
                .task_with("s0", spin(), in_group(1))
                .task_with("s1", spin(), in_group(1))
                .duration(ms(1000))
                .run();
            let used = outcome.groups[0].stat.usage_usec;
            assert!(
                used.abs_diff(200_000) < 45_000,
                "{kernel} {outer}/{inner}: {used}"
            );
            assert_eq!(outcome.groups[1].stat.usage_usec, used, "{kernel}");
        }
    }
}

#[test]
fn seeds_differ_only_in_phases() {
    let world = |kernel, seed| {
        let mut outcome = World::ideal(1)
            .kernel(kernel)
            .seed(seed)
            .group("/a", 15, 100)
            .task_with("s", spin(), in_group(0))
            .duration(ms(500))
            .run();
        outcome.seed = 0;
        outcome
    };
    assert_eq!(
        world(Kernel::V6_1, 1),
        world(Kernel::V6_1, 2),
        "one CPU, and no random phase"
    );
    assert_eq!(world(Kernel::V6_12, 1), world(Kernel::V6_12, 1));
    assert_ne!(world(Kernel::V6_12, 1), world(Kernel::V6_12, 2));
}

#[test]
fn a_loaded_machine_stays_sound() {
    for kernel in Kernel::MEASURED {
        for seed in 0..3 {
            let cycle = |run, sleep| forever(vec![Step::Run(us(run)), Step::Sleep(us(sleep))]);
            let pipe = [object(0), object(1)];
            let ping = forever(vec![
                Step::PipeWrite(pipe[0], 1),
                Step::PipeRead(pipe[1], 1),
            ]);
            let pong = forever(vec![
                Step::PipeRead(pipe[0], 1),
                Step::PipeWrite(pipe[1], 1),
            ]);
            let mut world = World::lab(4)
                .kernel(kernel)
                .seed(seed)
                .group("/a", 20, 50)
                .group_with(
                    "/a/b",
                    Some(0),
                    Limit::new(Some(ms(3)), ms(10), ms(3)).unwrap(),
                )
                .group_with("/c", None, Limit::UNLIMITED)
                .task_with("ping", ping, in_group(1))
                .task_with("pong", pong, in_group(0))
                .duration(ms(500));
            for index in 0..6 {
                let group = index % 3;
                world = world
                    .task_with(&format!("s{index}"), spin(), in_group(group))
                    .task_with(&format!("u{index}"), spin(), in_group(2))
                    .task_with(
                        &format!("c{index}"),
                        cycle(300 + 400 * index as u64, 900),
                        in_group(group),
                    );
            }
            let outcome = world.run();
            let used: u64 = outcome
                .tasks
                .iter()
                .map(|task| task.cpu_time.as_micros())
                .sum();
            assert!(
                used > 1_980_000 && used <= 2_000_000,
                "{kernel} {seed}: the machine is full: {used}"
            );
            assert!(
                outcome.groups[0].stat.usage_usec < 320_000,
                "{kernel} {seed}: {:?}",
                outcome.groups[0]
            );
        }
    }
}
