//! Models C and D: queues are marked, and each task takes itself off when it returns to user mode.

use std::vec::Vec;

use cpumax_bandwidth::{Limit, Nanos};

use super::world::*;
use crate::event::Work;
use crate::{Event, GroupId, Kernel, Policy, Preemption, TaskId, TaskState};

/// Empties the pool and the balance of a group on CPU 0 and charges it: it is throttled if it runs.
fn run_out(world: &mut World, group: GroupId) {
    world.charge(0);
    world.set_pool(group, 0);
    world.set_local(group, 0, 1);
    world.drive(Nanos(world.now.0 + 10_000));
    world.charge(0);
    // A kernel that does not preempt itself gets to its scheduling point here.
    if let Some(task) = world.sched.curr(cpu(0))
        && world.sched.need_resched(cpu(0)).is_some()
    {
        world.cond_resched(task);
    }
}

/// A group whose tasks are in limbo on CPU 0, taken off in this order, next to a spinner of the root
/// group. The period is a second.
fn in_limbo<const N: usize>(kernel: Kernel) -> (World, GroupId, [TaskId; N]) {
    let mut world = World::new(kernel, 1);
    let group = world.limited(100, 1000);
    world.spin(GroupId::ROOT, 0);
    let tasks: [_; N] = core::array::from_fn(|_| world.spin(group, 0));
    world.drive_bounded(1000, |world| {
        tasks.contains(&world.sched.curr(cpu(0)).unwrap())
    });
    run_out(&mut world, group);
    world.drive_bounded(1000, |world| {
        tasks
            .iter()
            .all(|&task| world.state(task) == TaskState::Limbo)
    });
    let mut order = world.limbo(group, 0);
    order.reverse();
    (world, group, order.try_into().unwrap())
}

/// A throttled group on CPU 0 whose only task never left the kernel: it blocked there. The period is a
/// second.
fn drained_in_the_kernel(world: &mut World) -> (GroupId, TaskId) {
    let group = world.limited(100, 1000);
    let task = world.spin(group, 0);
    world.drive_bounded(1000, |world| world.state(task) == TaskState::Running);
    world.enter_kernel(task);
    run_out(world, group);
    world.drive_bounded(1000, |world| {
        world.state(task) == TaskState::Running && world.q(group, 0).throttled
    });
    world.block(task);
    // The task of a group that used more than its share may stand there for a while.
    world.drive_bounded(1000, |world| world.h_nr(group, 0) == 0);
    (group, task)
}

/// What a release of all that is throttled in a group looks like: its limit is lifted.
fn lift_limit(world: &mut World, group: GroupId) {
    world.set_limit(group, Limit::UNLIMITED);
}

#[test]
fn t083_throttled_tasks_leave_one_by_one() {
    for kernel in CD {
        let mut world = World::new(kernel, 1);
        let group = world.limited(100, 1000);
        world.spin(GroupId::ROOT, 0);
        let tasks = [(); 3].map(|()| world.spin(group, 0));
        for task in tasks {
            world.drive_bounded(1000, |world| world.state(task) == TaskState::Running);
            world.enter_kernel(task);
        }
        run_out(&mut world, group);
        assert!(world.q(group, 0).throttled, "{kernel}");
        assert_eq!(world.rq(0).nr_running, 4, "{kernel}");
        assert_eq!(
            (world.h_nr(group, 0), world.h_nr(GroupId::ROOT, 0)),
            (3, 4),
            "{kernel}"
        );
        for left in [2, 1, 0] {
            world.drive_bounded(1000, |world| {
                tasks.contains(&world.sched.curr(cpu(0)).unwrap())
            });
            let task = world.sched.curr(cpu(0)).unwrap();
            world.leave_kernel(task);
            assert_eq!(world.state(task), TaskState::Limbo, "{kernel}");
            assert_eq!(world.rq(0).nr_running, left + 1, "{kernel}");
            assert_eq!(
                (world.h_nr(group, 0), world.h_nr(GroupId::ROOT, 0)),
                (left, left + 1),
                "{kernel}"
            );
        }
    }
}

#[test]
fn t084_every_task_is_switched_to_and_taken_off() {
    for kernel in CD {
        let mut world = World::new(kernel, 1);
        let group = world.limited(100, 1000);
        let tasks = [(); 5].map(|()| world.spin(group, 0));
        world.drive(ms(9));
        world.charge(0);
        world.set_pool(group, 0);
        world.set_local(group, 0, 1);
        world.drive(Nanos(world.now.0 + 10_000));
        world.take_events();
        let running = world.sched.curr(cpu(0)).unwrap();
        let before = tasks.map(|task| world.user_time(task));
        world.charge(0);
        assert_eq!(
            world.limbo(group, 0).len(),
            5,
            "{kernel}: all at once, because nothing else runs"
        );

        let events = world.take_events();
        let limbo = |event: &Event| match *event {
            Event::Limbo { task } => Some(task),
            _ => None,
        };
        assert_eq!(events.iter().filter_map(limbo).count(), 5, "{kernel}");
        let mut current = Some(running);
        for event in &events {
            if let Event::Switched { next, .. } = *event {
                current = next;
            }
            if let Some(task) = limbo(event) {
                assert_eq!(current, Some(task), "{kernel}: a task takes itself off");
            }
        }
        let switches = events
            .iter()
            .filter(|event| matches!(event, Event::Switched { .. }))
            .count();
        assert_eq!(switches, 5, "{kernel}: to the four others and to idleness");
        assert_eq!(
            events.iter().find_map(limbo),
            Some(running),
            "{kernel}: the running one without a switch"
        );
        world.drive(ms(900));
        assert_eq!(
            tasks.map(|task| world.user_time(task)),
            before,
            "{kernel}: nobody ran in user mode"
        );
    }
}

#[test]
fn t086_a_task_that_wakes_runs_its_kernel_part() {
    for kernel in CD {
        let mut world = World::new(kernel, 1);
        let (group, task) = drained_in_the_kernel(&mut world);
        world.spin(GroupId::ROOT, 0);
        assert_eq!(world.h_nr(GroupId::ROOT, 0), 1, "{kernel}");
        let before = world.user_time(task);
        world.wake(task, 0);
        assert_eq!(
            (world.h_nr(group, 0), world.h_nr(GroupId::ROOT, 0)),
            (1, 2),
            "{kernel}"
        );
        world.drive_bounded(100, |world| world.state(task) == TaskState::Running);
        world.drive(Nanos(world.now.0 + 50_000));
        world.leave_kernel(task);
        assert_eq!(world.state(task), TaskState::Limbo, "{kernel}");
        assert_eq!(
            (world.h_nr(group, 0), world.h_nr(GroupId::ROOT, 0)),
            (0, 1),
            "{kernel}"
        );
        assert_eq!(world.user_time(task), before, "{kernel}");
    }
}

#[test]
fn t086_a_task_that_wakes_may_preempt() {
    for kernel in CD {
        let mut world = World::new(kernel, 1);
        let (_, task) = drained_in_the_kernel(&mut world);
        let idle = world.task_with(GroupId::ROOT, 0, |params| params.policy = Policy::Idle);
        world.fork(idle, 0);
        assert_eq!(world.state(idle), TaskState::Running, "{kernel}");
        world.wake(task, 0);
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
    }
}

#[test]
fn t087_a_task_that_blocks_again_is_never_in_limbo() {
    for kernel in CD {
        let mut world = World::new(kernel, 1);
        let (group, task) = drained_in_the_kernel(&mut world);
        world.drive(ms(500));
        for _ in 0..3 {
            world.wake(task, 0);
            world.drive(world.now + ms(1));
            assert_eq!(world.state(task), TaskState::Running, "{kernel}");
            world.block(task);
            world.drive(world.now + ms(5));
        }
        lift_limit(&mut world, group);
        assert!(!world.q(group, 0).throttled, "{kernel}");
        assert_eq!(
            world.count(|event| matches!(event, Event::Limbo { .. })),
            0,
            "{kernel}"
        );
        let stat = world.stat(group);
        assert_eq!(
            (stat.throttled_time, stat.throttled_time_self),
            (ms(0), ms(0)),
            "{kernel}"
        );
    }
}

#[test]
fn t088_a_lock_holder_in_the_kernel_goes_on_to_release_it() {
    for kernel in CD {
        let mut world = World::new(kernel, 1);
        let group = world.limited(1, 100);
        let holder = world.spin(group, 0);
        world.enter_kernel(holder);
        world.spin(GroupId::ROOT, 0);
        world.drive_bounded(1000, |world| {
            world.q(group, 0).throttled && world.state(holder) == TaskState::Queued
        });
        world.drive_bounded(1000, |world| world.state(holder) == TaskState::Running);
        assert!(world.now < ms(20), "{kernel}: it ran only at {}", world.now);
        world.leave_kernel(holder);
        assert_eq!(world.state(holder), TaskState::Limbo, "{kernel}");
    }
}

#[test]
fn t089_the_last_taken_off_is_the_first_back() {
    for kernel in CD {
        let (mut world, group, [t1, t2, t3]) = in_limbo(kernel);
        let taken_off: Vec<_> = world
            .take_events()
            .into_iter()
            .filter_map(|event| {
                if let Event::Limbo { task } = event {
                    Some(task)
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(taken_off, [t1, t2, t3], "{kernel}");
        assert_eq!(world.limbo(group, 0), [t3, t2, t1], "{kernel}");
        world.drive(ms(1000));
        let released: Vec<_> = world
            .take_events()
            .into_iter()
            .filter_map(|event| {
                if let Event::LimboReleased { task } = event {
                    Some(task)
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(released, [t3, t2, t1], "{kernel}");
        assert!(world.limbo(group, 0).is_empty(), "{kernel}");
    }
}

#[test]
fn t089_children_are_released_before_their_parents() {
    for kernel in CD {
        let mut world = World::new(kernel, 1);
        let outer = world.limited(100, 1000);
        let inner = world.group(outer);
        let innermost = world.group(inner);
        let tasks = [outer, inner, innermost].map(|group| world.spin(group, 0));
        world.drive(ms(9));
        run_out(&mut world, outer);
        // 7.2 does not see the limit where it switches below it.
        world.spin(GroupId::ROOT, 0);
        world.drive_bounded(1000, |world| {
            tasks
                .iter()
                .all(|&task| world.state(task) == TaskState::Limbo)
        });
        world.take_events();
        lift_limit(&mut world, outer);
        let released: Vec<_> = world
            .take_events()
            .into_iter()
            .filter_map(|event| {
                if let Event::LimboReleased { task } = event {
                    Some(task)
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(released, [tasks[2], tasks[1], tasks[0]], "{kernel}");
    }
}

#[test]
fn a_queue_throttled_on_arrival_tags_nobody() {
    for kernel in D {
        let mut world = World::new(kernel, 1);
        let group = world.limited(100, 1000);
        let other = world.spin(GroupId::ROOT, 0);
        let task = world.task(group, 0);
        world.set_pool(group, 0);
        world.set_local(group, 0, 0);
        world.sched.wake(world.now, task, cpu(0));
        assert!(world.q(group, 0).throttled, "{kernel}");
        assert!(
            !world.t(other).has_work && !world.t(task).has_work,
            "{kernel}"
        );
        world.end_of_interrupt(cpu(0));
        world.drive_bounded(100, |world| world.state(task) == TaskState::Limbo);
        assert_eq!(world.user_time(task), ms(0), "{kernel}");
    }
}

#[test]
fn t090_an_outer_limit_that_throttles_during_the_release() {
    for kernel in CD {
        let mut world = World::new(kernel, 1);
        let outer = world.limited(100, 1000);
        let inner = world.limited_below(outer, 20, 100);
        let tasks = [(); 3].map(|()| world.spin(inner, 0));
        run_out(&mut world, inner);
        let [t3, t2, t1] = world.limbo(inner, 0).try_into().unwrap();
        assert_eq!(
            tasks.map(|task| world.state(task)),
            [TaskState::Limbo; 3],
            "{kernel}"
        );
        // Unnoticed, since the outer queue is empty.
        world.set_pool(outer, 0);
        world.set_local(outer, 0, -1000);
        // Each task that comes back runs in the kernel, so that they can be told apart.
        for task in tasks {
            world.set_mode(task, Mode::Kernel);
        }
        world.drive(ms(100));
        assert!(
            !world.q(inner, 0).throttled && world.q(outer, 0).throttled,
            "{kernel}"
        );
        assert_eq!(world.q(inner, 0).throttle_count, 1, "{kernel}");
        if world.unified() {
            assert_eq!(world.limbo(inner, 0), [t2, t1], "{kernel}");
            assert_eq!(world.h_nr(inner, 0), 1, "{kernel}");
            assert_eq!(world.state(t3), TaskState::Running, "{kernel}");
        } else {
            assert!(world.limbo(inner, 0).is_empty(), "{kernel}");
            assert_eq!(world.h_nr(inner, 0), 3, "{kernel}");
        }
    }
}

#[test]
fn t091_a_limbo_task_that_may_stay_moves_to_the_head() {
    for kernel in CD {
        let (mut world, group, [t1, t2, t3]) = in_limbo(kernel);
        world.set_affinity(t1, 0b11);
        assert_eq!(world.limbo(group, 0), [t1, t3, t2], "{kernel}");
    }
}

#[test]
fn t092_a_limbo_task_moved_to_another_cpu_is_enqueued_there() {
    for kernel in CD {
        let mut world = World::new(kernel, 2);
        let group = world.limited(100, 1000);
        let task = world.spin(group, 0);
        run_out(&mut world, group);
        assert_eq!(world.state(task), TaskState::Limbo, "{kernel}");
        // There the group has runtime.
        world.set_pool(group, 10_000_000);
        world.set_affinity(task, 0b10);
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
        assert_eq!(world.sched.task_cpu(task), cpu(1), "{kernel}");
        assert!(!world.t(task).throttled, "{kernel}");
        assert_eq!(
            (world.h_nr(group, 0), world.h_nr(group, 1)),
            (0, 1),
            "{kernel}"
        );
        assert!(world.limbo(group, 0).is_empty(), "{kernel}");
        world.drive(world.now + ms(2));
        assert!(world.user_time(task) >= ms(2), "{kernel}");
    }
}

#[test]
fn t092_there_it_is_taken_off_again_if_there_is_no_runtime() {
    for kernel in CD {
        let mut world = World::new(kernel, 2);
        let group = world.limited(100, 1000);
        let task = world.spin(group, 0);
        run_out(&mut world, group);
        let before = world.user_time(task);
        world.set_local(group, 1, 0);
        world.set_affinity(task, 0b10);
        assert_eq!(world.state(task), TaskState::Limbo, "{kernel}");
        assert_eq!(
            (world.limbo(group, 0), world.limbo(group, 1)),
            (std::vec![], std::vec![task]),
            "{kernel}"
        );
        world.drive(ms(900));
        assert_eq!(world.user_time(task), before, "{kernel}");
    }
}

#[test]
fn t093_a_limbo_task_moved_to_a_throttled_group_stays_in_limbo() {
    for kernel in CD {
        let mut world = World::new(kernel, 1);
        let (target, _) = drained_in_the_kernel(&mut world);
        let below = world.group(target);
        let group = world.limited(100, 1000);
        let task = world.spin(group, 0);
        run_out(&mut world, group);
        assert_eq!(world.state(task), TaskState::Limbo, "{kernel}");
        for to in [target, below] {
            world.move_task(task, to);
            assert_eq!(world.state(task), TaskState::Limbo, "{kernel}");
            assert_eq!(world.limbo(to, 0), [task], "{kernel}");
            assert_eq!(
                (world.h_nr(to, 0), world.rq(0).nr_running),
                (0, 0),
                "{kernel}"
            );
            let q = world.q(to, 0);
            assert_eq!(
                (q.throttled_clock, q.throttled_clock_self),
                (None, None),
                "{kernel}: no clock is started"
            );
        }
        assert!(
            world.limbo(group, 0).is_empty() && world.limbo(target, 0).is_empty(),
            "{kernel}"
        );
        lift_limit(&mut world, target);
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
    }
}

#[test]
fn t093_a_limbo_task_moved_to_a_free_group_is_enqueued() {
    for kernel in CD {
        let (mut world, group, [t1, t2]) = in_limbo(kernel);
        let free = world.group(GroupId::ROOT);
        world.move_task(t1, free);
        assert_eq!(world.state(t1), TaskState::Queued, "{kernel}");
        assert!(!world.t(t1).throttled, "{kernel}");
        assert_eq!(
            (world.h_nr(free, 0), world.limbo(group, 0)),
            (1, std::vec![t2]),
            "{kernel}"
        );
        world.drive(world.now + ms(20));
        assert!(world.user_time(t1) > ms(5), "{kernel}");
    }
}

#[test]
fn t094_the_running_task_is_enqueued_even_if_flagged() {
    for kernel in CD {
        let mut world = World::with(kernel, 1, Preemption::None);
        let (target, _) = drained_in_the_kernel(&mut world);
        let group = world.limited(100, 1000);
        let task = world.spin(group, 0);
        world.enter_kernel(task);
        run_out(&mut world, group);
        // It has just been taken off, and the switch is still to come.
        assert!(
            world.sched.return_to_user_work(world.now, cpu(0)),
            "{kernel}"
        );
        assert!(world.t(task).throttled && world.t(task).on_cpu, "{kernel}");
        world.sched.move_task(world.now, task, target);
        assert!(
            !world.t(task).throttled && !world.t(task).in_limbo,
            "{kernel}"
        );
        assert!(world.e(task).on_rq, "{kernel}");
        assert_eq!(
            (world.h_nr(target, 0), world.rq(0).nr_running),
            (1, 1),
            "{kernel}"
        );
        world.check();
    }
}

#[test]
fn t095_a_kernel_thread_runs_on() {
    for kernel in CD {
        let mut world = World::new(kernel, 1);
        let group = world.limited(10, 1000);
        let thread = world.kernel_thread(group, 0);
        world.drive(ms(400));
        assert!(world.q(group, 0).throttled, "{kernel}");
        assert_eq!(world.state(thread), TaskState::Running, "{kernel}");
        let before = world.local(group, 0);
        world.drive(ms(800));
        assert_eq!(world.local(group, 0), before - 400_000_000, "{kernel}");
        assert_eq!(world.usage(group), ms(800), "{kernel}");
        assert_eq!(
            world.count(|event| matches!(event, Event::Tagged { .. })),
            0,
            "{kernel}"
        );
    }
}

#[test]
fn t096_an_exiting_task_is_never_in_limbo() {
    for kernel in CD {
        for tagged in [false, true] {
            let mut world = World::with(kernel, 1, Preemption::None);
            let group = world.limited(100, 1000);
            let task = world.spin(group, 0);
            world.enter_kernel(task);
            if !tagged {
                world.sched.set_exiting(task);
            }
            run_out(&mut world, group);
            assert!(world.q(group, 0).throttled, "{kernel}");
            assert_eq!(world.t(task).has_work, tagged, "{kernel}");
            world.sched.set_exiting(task);
            world.leave_kernel(task);
            assert_eq!(
                world.state(task),
                TaskState::Running,
                "{kernel}: it runs to its end"
            );
            world.exit(task);
            assert_eq!(world.state(task), TaskState::Gone, "{kernel}");
            assert_eq!(
                world.count(|event| matches!(event, Event::Limbo { .. })),
                0,
                "{kernel}"
            );
        }
    }
}

#[test]
fn t097_a_child_is_taken_off_before_its_first_instruction() {
    for kernel in CD {
        let (mut world, group, [parent]) = in_limbo(kernel);
        let child = world.spin(group, 0);
        assert!(
            !world.t(child).has_work && !world.t(child).throttled,
            "{kernel}: it begins untouched"
        );
        world.drive_bounded(100, |world| world.state(child) == TaskState::Limbo);
        world.drive(ms(900));
        assert_eq!(world.user_time(child), ms(0), "{kernel}");
        assert_eq!(world.limbo(group, 0), [child, parent], "{kernel}");
    }
}

#[test]
fn t100_a_grant_used_up_before_the_ipi_releases_nothing() {
    for kernel in CD {
        let mut world = World::new(kernel, 2);
        // The timer's CPU.
        let group = world.limited(100, 100);
        let task = world.spin(group, 1);
        world.enter_kernel(task);
        world.drive(ms(96));
        world.charge(1);
        world.set_pool(group, 0);
        world.set_local(group, 1, 1);
        world.drive(ms(98));
        world.charge(1);
        assert!(world.q(group, 1).throttled, "{kernel}");

        // Model C does not charge before it grants, so the runner's last charge is made just before.
        world.hold_ipis = true;
        world.drive(Nanos(99_999_999));
        world.charge(1);
        let debt = world.local(group, 1);
        world.sched.groups[group].pool.refill();
        let mut work = Work::default();
        world.sched.distribute_cfs_runtime(group, cpu(0), &mut work);
        assert_eq!(world.local(group, 1), 1, "{kernel}");
        assert_eq!(world.r(group), (100_000_000 + debt - 1) as u64, "{kernel}");
        assert_eq!(world.pending(1), [group], "{kernel}");

        // The periodic boundary finds it pending already; it runs on in the kernel for 30 us.
        world.charge(1);
        world.take_events();
        world.drive(Nanos(99_999_999 + 30_000));
        if !world.unified() {
            world.charge(1);
            assert_eq!(world.local(group, 1), -29_999, "{kernel}");
        }
        let pool = world.r(group);
        world.deliver_ipis();
        assert_eq!(world.local(group, 1), -29_999, "{kernel}");
        assert_eq!(
            world.count(|event| matches!(event, Event::UnthrottleRefused { .. })),
            1,
            "{kernel}"
        );
        assert!(world.q(group, 1).throttled, "{kernel}");
        assert_eq!(world.waiting(group), [1], "{kernel}");
        assert!(world.pending(1).is_empty(), "{kernel}");

        world.sched.distribute_cfs_runtime(group, cpu(0), &mut work);
        assert_eq!(
            (world.local(group, 1), world.r(group)),
            (1, pool - 30_000),
            "{kernel}"
        );
        world.hold_ipis = false;
        world.end_of_interrupt(cpu(0));
        assert!(!world.q(group, 1).throttled, "{kernel}");
    }
}

#[test]
fn t101_a_tick_in_user_mode_takes_the_task_off() {
    for kernel in CD {
        let mut world = World::new(kernel, 1);
        let group = world.limited(100, 1000);
        let task = world.spin(group, 0);
        world.drive(ms(3));
        world.charge(0);
        world.set_pool(group, 0);
        world.set_local(group, 0, 1);
        world.take_events();
        let schedules = world.schedules;
        world.drive(ms(4));
        assert_eq!(world.state(task), TaskState::Limbo, "{kernel}");
        assert_eq!(world.user_time(task), ms(4), "{kernel}");
        // D leaves once; C picks the task once more, to tag it.
        let points = if world.unified() { 1 } else { 2 };
        assert_eq!(world.schedules - schedules, points, "{kernel}");
        let switches = world.count(|event| matches!(event, Event::Switched { .. }));
        assert_eq!(switches, 1, "{kernel}: only to idleness");
    }
}

/// A limit above the group of two spinners that have the CPU for themselves: 7.2 does not see it when
/// it switches between them.
fn limit_above_both(kernel: Kernel) -> (World, GroupId, TaskId, TaskId) {
    let mut world = World::new(kernel, 1);
    let outer = world.limited(20, 100);
    let group = world.group(outer);
    let tasks = [world.spin(group, 0), world.spin(group, 0)];
    world.drive_bounded(1000, |world| {
        tasks
            .iter()
            .any(|&task| world.state(task) == TaskState::Limbo)
    });
    let [first, second] = if world.state(tasks[0]) == TaskState::Limbo {
        tasks
    } else {
        [tasks[1], tasks[0]]
    };
    (world, outer, first, second)
}

#[test]
fn t102_untagged_switch_below_the_limit() {
    let kernel = Kernel::V7_2;
    let (mut world, outer, first, second) = limit_above_both(kernel);
    assert_eq!(world.state(first), TaskState::Limbo, "{kernel}");
    let since = world.now;
    assert!(since < ms(40), "{kernel}");
    let before = world.user_time(second);
    world.drive(ms(99));
    assert!(world.q(outer, 0).throttled, "{kernel}");
    assert_eq!(world.state(second), TaskState::Running, "{kernel}");
    assert_eq!(
        world.user_time(second) - before,
        ms(99) - since,
        "{kernel}: in user mode all the time"
    );
}

#[test]
fn t102_tagged_switch_below_the_limit() {
    for kernel in [Kernel::V6_18, Kernel::V7_3] {
        let (mut world, _, first, second) = limit_above_both(kernel);
        let before = world.user_time(second);
        assert_eq!(
            world.state(second),
            TaskState::Limbo,
            "{kernel}: at the same instant as the first"
        );
        world.drive(ms(99));
        assert_eq!(world.user_time(second), before, "{kernel}");
        assert_eq!(world.state(first), TaskState::Limbo, "{kernel}");
    }
}

#[test]
fn t103_a_tag_without_a_throttle_has_no_effect() {
    for kernel in CD {
        let mut world = World::with(kernel, 1, Preemption::None);
        let group = world.limited(100, 1000);
        let task = world.spin(group, 0);
        world.enter_kernel(task);
        run_out(&mut world, group);
        assert!(world.t(task).has_work, "{kernel}");
        lift_limit(&mut world, group);
        assert!(!world.q(group, 0).throttled, "{kernel}");
        world.take_events();
        world.leave_kernel(task);
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
        assert!(!world.t(task).has_work, "{kernel}: the tag is used up");
        assert_eq!(world.take_events(), [], "{kernel}");
    }
}

#[test]
fn t104_a_draining_task_moves_but_not_into_a_throttled_hierarchy() {
    for kernel in CD {
        for (src_throttled, dst_throttled) in
            [(false, false), (true, false), (false, true), (true, true)]
        {
            let mut world = World::new(kernel, 2);
            let group = world.limited(100, 1000);
            let child = world.group(group);
            let task = world.spin(child, 0);
            world.spin(child, 1);
            world.set_affinity(task, 0b11);
            world.drive(ms(3));
            let fifo = world.task_with(GroupId::ROOT, 0, |params| params.policy = Policy::Fifo);
            world.wake(fifo, 0);
            world.set_pool(group, 0);
            for (at, out) in [(0, src_throttled), (1, dst_throttled)] {
                world.set_local(group, at, 0);
                if out {
                    let queue = world.sched.queue_of(group, cpu(at));
                    assert!(world.sched.throttle_cfs_rq(queue), "{kernel}");
                }
            }
            let may = world.sched.may_run_on(task, cpu(0), cpu(1));
            assert_eq!(
                may, !dst_throttled,
                "{kernel}: {src_throttled} {dst_throttled}"
            );
        }
    }
}

#[test]
fn t108_a_large_debt_is_paid_quota_by_quota() {
    for kernel in CD {
        let mut world = World::new(kernel, 1);
        let group = world.limited(20, 100);
        let task = world.spin(group, 0);
        world.drive(ms(95));
        assert_eq!(world.state(task), TaskState::Limbo, "{kernel}");
        world.set_pool(group, 0);
        world.set_local(group, 0, -250_000_000);
        world.take_events();
        world.drive(ms(1299));
        assert_eq!(
            world.count(|event| matches!(event, Event::Refilled { .. })),
            12,
            "{kernel}"
        );
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (-10_000_000, 0),
            "{kernel}"
        );
        assert_eq!(world.state(task), TaskState::Limbo, "{kernel}");
        world.drive(ms(1300));
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (1, 9_999_999),
            "{kernel}"
        );
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
    }
}
