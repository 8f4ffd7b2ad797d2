//! Tasks that move, change and sleep while CPUs come and go.

use super::world::*;
use crate::{CpuId, CpuMask, Event, GroupId, Kernel, Policy, Preemption, TaskState, Weight};

#[test]
fn a_task_whose_cpus_are_all_offline_wakes_elsewhere() {
    for kernel in ALL {
        let mut world = World::new(kernel, 2);
        let task = world.spin(GroupId::ROOT, 1);
        world.sleep(task);
        world.offline(1);
        let chosen = world.sched.select_cpu(world.now, task, cpu(0), false);
        assert_eq!(chosen, cpu(0), "{kernel}");
        world.wake(task, chosen.index());
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
        assert!(
            world.t(task).affinity.contains(cpu(0)),
            "{kernel}: it may stay there"
        );
    }
}

#[test]
fn a_task_does_not_move_to_a_cpu_that_went_offline_meanwhile() {
    for kernel in ALL {
        // In the kernel it is not preempted, so that the move waits.
        let mut world = World::with(kernel, 2, Preemption::None);
        let task = world.spin(GroupId::ROOT, 0);
        world.enter_kernel(task);
        world.set_affinity(task, 0b10);
        assert_eq!(world.sched.task_cpu(task), cpu(0), "{kernel}");
        world.offline(1);
        world.leave_kernel(task);
        assert_eq!(world.sched.task_cpu(task), cpu(0), "{kernel}");
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
    }
}

#[test]
fn the_tasks_of_an_offline_cpu_go_where_they_may() {
    for kernel in ALL {
        let mut world = World::new(kernel, 3);
        let group = world.group(GroupId::ROOT);
        let tasks = [1, 1, 2].map(|at| world.spin(group, at));
        for task in tasks {
            world.set_affinity(task, 0b110);
        }
        world.offline(1);
        assert_eq!(
            tasks.map(|task| world.sched.task_cpu(task)),
            [cpu(2); 3],
            "{kernel}"
        );
        assert_eq!(
            (world.h_nr(group, 1), world.h_nr(group, 2)),
            (0, 3),
            "{kernel}"
        );
        world.online(1);
        world.set_affinity(tasks[0], 0b10);
        assert_eq!(world.state(tasks[0]), TaskState::Running, "{kernel}");
    }
}

#[test]
fn the_last_cpu_stays_online() {
    for kernel in ALL {
        let mut world = World::new(kernel, 2);
        let task = world.spin(GroupId::ROOT, 1);
        world.offline(0);
        world.offline(1);
        assert!(world.rq(1).online, "{kernel}");
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
    }
}

#[test]
fn a_fifo_task_that_moves_asleep_keeps_its_place() {
    for kernel in ALL {
        for asleep_first in [true, false] {
            let mut world = World::new(kernel, 1);
            // So heavy a group that virtual time outside it goes by far more slowly than inside.
            let weight = Weight::from_cpu_weight(10_000);
            let group = world
                .sched
                .create_group(world.now, GroupId::ROOT, weight, ms(0));
            let busy = world.spin(group, 0);
            world.drive(ms(500));
            let task = world.spin(GroupId::ROOT, 0);
            world.drive_bounded(1000, |world| world.state(task) == TaskState::Running);
            if asleep_first {
                world.sleep(task);
                world.set_policy(task, Policy::Fifo);
            } else {
                world.set_policy(task, Policy::Fifo);
                world.sleep(task);
            }
            world.move_task(task, group);
            world.set_policy(task, Policy::Normal);
            world.wake(task, 0);
            let since = world.now;
            let before = [busy, task].map(|task| world.user_time(task));
            world.drive(since + ms(400));
            for (who, before) in [busy, task].into_iter().zip(before) {
                let ran = (world.user_time(who) - before).as_millis();
                assert!(
                    (180..=220).contains(&ran),
                    "{kernel}: {who} ran for {ran} ms of 400"
                );
            }
        }
    }
}

#[test]
fn cfs_keeps_the_vruntime_of_a_fifo_task_relative() {
    for kernel in [Kernel::V6_1, V6_5] {
        let mut world = World::new(kernel, 2);
        let task = world.spin(GroupId::ROOT, 0);
        world.set_affinity(task, 0b11);
        world.sleep(task);
        for (at, min_vruntime) in [(0, 1_000_000_000), (1, 5_000_000_000)] {
            world.q_mut(GroupId::ROOT, at).min_vruntime = min_vruntime;
        }
        world.e_mut(task).vruntime = 900_000_000;
        // It leaves with the credit of a sleeper, half of the latency of 12 ms.
        world.set_policy(task, Policy::Fifo);
        assert_eq!(world.e(task).vruntime, -6_000_000, "{kernel}");
        world.set_policy(task, Policy::Normal);
        assert_eq!(world.e(task).vruntime, 994_000_000, "{kernel}");
        world.set_policy(task, Policy::Fifo);
        world.wake(task, 1);
        assert_eq!(world.sched.task_cpu(task), cpu(1), "{kernel}");
        world.sleep(task);
        world.set_policy(task, Policy::Normal);
        assert_eq!(world.e(task).vruntime, 4_994_000_000, "{kernel}");
    }
}

#[test]
fn a_changed_task_in_a_throttled_queue_is_tagged_by_its_own_model_only() {
    for kernel in ABC {
        let mut world = World::with(kernel, 1, Preemption::None);
        let group = world.limited(1, 1000);
        let task = world.spin(group, 0);
        world.enter_kernel(task);
        world.drive(ms(20));
        // Off its queue and back, which throttles on the way.
        world.set_nice(task, 1);
        assert!(world.q(group, 0).throttled, "{kernel}");
        assert!(!world.t(task).has_work, "{kernel}");
        world.leave_kernel(task);
        let stopped = if world.per_task() {
            TaskState::Limbo
        } else {
            TaskState::Queued
        };
        assert_eq!(world.state(task), stopped, "{kernel}");
    }
}

#[test]
fn a_removed_group_leaves_its_usage_to_its_parent() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let parent = world.group(GroupId::ROOT);
        let child = world.group(parent);
        let task = world.spin(child, 0);
        world.drive(ms(10));
        world.exit(task);
        assert_eq!(world.usage(parent), ms(10), "{kernel}");
        world.sched.remove_group(world.now, child).unwrap();
        assert_eq!(world.usage(parent), ms(10), "{kernel}");
        world.check();
    }
}

#[test]
fn a_woken_task_goes_to_an_idle_cpu_it_may_use() {
    for kernel in ALL {
        let mut world = World::new(kernel, 3);
        let task = world.spin(GroupId::ROOT, 1);
        world.sleep(task);
        world.set_affinity(task, 0b110);
        world.spin(GroupId::ROOT, 1);
        let chosen = world
            .sched
            .select_cpu(world.now, task, CpuId::new(1), false);
        assert_eq!(chosen, cpu(2), "{kernel}");
        world.wake(task, 2);
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
        let moved = Event::Migrated {
            task,
            from: cpu(1),
            to: cpu(2),
        };
        assert_eq!(world.count(|event| *event == moved), 1, "{kernel}");
    }
}

#[test]
fn a_running_task_moves_at_its_next_stop() {
    for kernel in ALL {
        let mut world = World::with(kernel, 2, Preemption::None);
        let task = world.spin(GroupId::ROOT, 0);
        world.enter_kernel(task);
        world.set_affinity(task, 0b10);
        world.drive(ms(10));
        assert_eq!(world.sched.task_cpu(task), cpu(0), "{kernel}");
        world.leave_kernel(task);
        assert_eq!(world.sched.task_cpu(task), cpu(1), "{kernel}");
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
        assert_eq!(world.t(task).affinity, CpuMask::from_bits(0b10), "{kernel}");
    }
}

#[test]
fn a_kernel_compiled_without_bandwidth_control_limits_nobody() {
    let kernel = Kernel::from_model(crate::ThrottleModel::None);
    let mut world = World::new(kernel, 1);
    let group = world.limited(10, 100);
    world.spin(group, 0);
    world.drive(ms(500));
    assert_eq!(world.usage(group), ms(500));
    assert_eq!(
        world.count(|event| matches!(event, Event::Throttled { .. } | Event::Granted { .. })),
        0
    );
}
