//! Models A and B: the group entity of a queue that ran out is unlinked, with everything below it.

use super::world::*;
use crate::{GroupId, Kernel, Preemption, TaskId, TaskState};

/// A limited group and its tasks on CPU 0, throttled early, next to `outside` spinners
/// of the root group. The period is a second, so that nothing is released soon.
fn throttled(
    kernel: Kernel,
    tasks: usize,
    outside: usize,
) -> (World, GroupId, std::vec::Vec<TaskId>) {
    let mut world = World::new(kernel, 1);
    let group = world.limited(10, 1000);
    for _ in 0..outside {
        world.spin(GroupId::ROOT, 0);
    }
    let tasks = (0..tasks).map(|_| world.spin(group, 0)).collect();
    world.drive_bounded(1000, |world| world.q(group, 0).throttled);
    (world, group, tasks)
}

#[test]
fn t082_throttle_takes_the_whole_group_off() {
    for kernel in AB {
        let mut world = World::new(kernel, 1);
        let group = world.limited(1, 1000);
        world.spin(GroupId::ROOT, 0);
        for _ in 0..3 {
            world.spin(group, 0);
        }
        assert_eq!(world.rq(0).nr_running, 4, "{kernel}");
        world.drive_bounded(1000, |world| world.q(group, 0).throttled);
        assert_eq!(world.rq(0).nr_running, 1, "{kernel}");
        assert_eq!(world.h_nr(group, 0), 3, "{kernel}");
        assert_eq!(world.h_nr(GroupId::ROOT, 0), 1, "{kernel}");
        assert!(!world.group_entity(group, 0).on_rq, "{kernel}");
    }
}

#[test]
fn t085_a_task_that_wakes_in_a_throttled_group_waits() {
    for kernel in AB {
        let (mut world, group, _) = throttled(kernel, 1, 1);
        let sleeper = world.task(group, 0);
        let (in_group, in_root) = (world.h_nr(group, 0), world.h_nr(GroupId::ROOT, 0));
        let running = world.sched.curr(cpu(0));
        world.wake(sleeper, 0);
        assert_eq!(world.h_nr(group, 0), in_group + 1, "{kernel}");
        assert_eq!(world.h_nr(GroupId::ROOT, 0), in_root, "{kernel}");
        assert_eq!(world.rq(0).nr_running, 1, "{kernel}");
        assert_eq!(world.sched.curr(cpu(0)), running, "{kernel}: no preemption");
        assert_eq!(
            world.sched.need_resched(cpu(0)),
            None,
            "{kernel}: not even asked for"
        );
        world.drive(ms(1000) - ms(1));
        assert_eq!(world.user_time(sleeper), ms(0), "{kernel}");
        world.drive(ms(1000));
        assert_eq!(
            world.h_nr(GroupId::ROOT, 0),
            in_root + 2,
            "{kernel}: both come back"
        );
    }
}

#[test]
fn t088_a_lock_holder_preempted_in_the_kernel_keeps_the_lock_until_release() {
    for kernel in AB {
        let mut world = World::new(kernel, 1);
        let group = world.limited(1, 100);
        let holder = world.spin(group, 0);
        world.enter_kernel(holder);
        world.spin(GroupId::ROOT, 0);
        world.drive_bounded(1000, |world| world.q(group, 0).throttled);
        assert!(world.now < ms(20), "{kernel}");
        assert_eq!(world.state(holder), TaskState::Queued, "{kernel}");
        // Until then it cannot give the lock to whoever waits for it.
        world.drive_bounded(1000, |world| world.state(holder) == TaskState::Running);
        assert!(world.now >= ms(100), "{kernel}: it ran at {}", world.now);
    }
}

#[test]
fn t088_a_lock_holder_that_sleeps_is_stopped_without_kernel_preemption_too() {
    for kernel in AB {
        let mut world = World::with(kernel, 1, Preemption::None);
        let group = world.limited(1, 100);
        let holder = world.spin(group, 0);
        let other = world.spin(group, 0);
        world.drive_bounded(1000, |world| world.state(holder) == TaskState::Running);
        // It waits for the disk with the lock taken; the other one uses the runtime up meanwhile.
        world.block(holder);
        world.drive_bounded(1000, |world| world.q(group, 0).throttled);
        assert_eq!(world.state(other), TaskState::Queued, "{kernel}");
        world.wake(holder, 0);
        assert_eq!(world.state(holder), TaskState::Queued, "{kernel}");
        world.drive_bounded(1000, |world| world.state(holder) == TaskState::Running);
        assert!(world.now >= ms(100), "{kernel}: it ran at {}", world.now);
    }
}

#[test]
fn t095_a_kernel_thread_is_stopped_like_others() {
    for kernel in AB {
        let mut world = World::new(kernel, 1);
        let group = world.limited(10, 100);
        let thread = world.kernel_thread(group, 0);
        world.drive(ms(99));
        assert_eq!(world.state(thread), TaskState::Queued, "{kernel}");
        assert_eq!(world.usage(group), ms(12), "{kernel}");
    }
}

#[test]
fn t097_a_child_forked_in_a_throttled_group_does_not_run() {
    for kernel in AB {
        let (mut world, group, _) = throttled(kernel, 1, 0);
        let child = world.spin(group, 0);
        assert_eq!(world.state(child), TaskState::Queued, "{kernel}");
        world.drive(ms(1000) - ms(1));
        assert_eq!(world.sched.task_runtime(child), ms(0), "{kernel}");
    }
}

#[test]
fn t104_no_task_moves_from_or_to_a_throttled_hierarchy() {
    for kernel in AB {
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
            // It waits behind one that runs before every fair task.
            let fifo = world.task_with(GroupId::ROOT, 0, |params| {
                params.policy = crate::Policy::Fifo;
            });
            world.wake(fifo, 0);
            world.set_pool(group, 0);
            for (at, out) in [(0, src_throttled), (1, dst_throttled)] {
                world.set_local(group, at, 0);
                if out {
                    let queue = world.sched.queue_of(group, cpu(at));
                    assert!(world.sched.throttle_cfs_rq(queue), "{kernel}");
                }
            }
            // Long enough for the caches to cool.
            let may = world.sched.may_run_on(task, cpu(0), cpu(1));
            assert_eq!(
                may,
                !src_throttled && !dst_throttled,
                "{kernel}: {src_throttled} {dst_throttled}"
            );
        }
    }
}

#[test]
fn t106_a_child_of_an_unlinked_group_changes_nothing_above() {
    for kernel in AB {
        let mut world = World::new(kernel, 1);
        let outer = world.limited(100, 1000);
        let inner = world.limited_below(outer, 100, 1000);
        world.spin(GroupId::ROOT, 0);
        world.spin(outer, 0);
        let fifo = world.task_with(GroupId::ROOT, 0, |params| {
            params.policy = crate::Policy::Fifo;
        });
        let tasks = [world.spin(inner, 0), world.spin(inner, 0)];
        // Nothing fair runs, so that both can be throttled in this order.
        world.wake(fifo, 0);
        for group in [outer, inner] {
            world.set_pool(group, 0);
            world.set_local(group, 0, 0);
        }
        assert_eq!(world.h_nr(GroupId::ROOT, 0), 4, "{kernel}");
        let (outer_queue, inner_queue) = (
            world.sched.queue_of(outer, cpu(0)),
            world.sched.queue_of(inner, cpu(0)),
        );
        assert!(world.sched.throttle_cfs_rq(outer_queue), "{kernel}");
        assert_eq!(
            (world.h_nr(GroupId::ROOT, 0), world.h_nr(outer, 0)),
            (1, 3),
            "{kernel}"
        );
        assert_eq!(world.rq(0).nr_running, 2, "{kernel}");
        assert!(world.sched.throttle_cfs_rq(inner_queue), "{kernel}");
        assert_eq!(
            (world.h_nr(GroupId::ROOT, 0), world.h_nr(outer, 0)),
            (1, 1),
            "{kernel}"
        );
        assert_eq!(world.rq(0).nr_running, 2, "{kernel}");
        assert_eq!(
            (
                world.q(outer, 0).throttle_count,
                world.q(inner, 0).throttle_count
            ),
            (1, 2),
            "{kernel}"
        );
        world.check();

        // The child comes back into its parent's queue, which stays unlinked.
        let mut work = crate::Work::default();
        world.set_local(inner, 0, 1);
        world.sched.unthrottle_cfs_rq(inner_queue, &mut work);
        assert_eq!(
            (world.h_nr(GroupId::ROOT, 0), world.h_nr(outer, 0)),
            (1, 3),
            "{kernel}"
        );
        assert_eq!(world.rq(0).nr_running, 2, "{kernel}");
        world.check();
        world.set_local(outer, 0, 1);
        world.sched.unthrottle_cfs_rq(outer_queue, &mut work);
        assert_eq!(
            (world.h_nr(GroupId::ROOT, 0), world.h_nr(outer, 0)),
            (4, 3),
            "{kernel}"
        );
        assert_eq!(world.rq(0).nr_running, 5, "{kernel}");
        world.check();
        for group in [outer, inner] {
            world.set_pool(group, 100_000_000);
        }
        world.sleep(fifo);
        world.drive(ms(100));
        assert!(
            tasks.iter().all(|&task| world.user_time(task) > ms(0)),
            "{kernel}"
        );
    }
}

/// A group's only task sleeps at 3 ms, ahead of its share because it ran alone after another came.
fn sleeps_ahead(kernel: Kernel, out_of_runtime: bool) -> (World, GroupId) {
    let mut world = World::new(kernel, 1);
    let group = world.limited(100, 1000);
    let task = world.spin(group, 0);
    world.spin(GroupId::ROOT, 0);
    world.drive_bounded(1000, |world| {
        world.state(task) == TaskState::Running && world.now > ms(0)
    });
    world.drive(world.now + ms(3));
    assert_eq!(world.state(task), TaskState::Running, "{kernel}");
    if out_of_runtime {
        world.set_pool(group, 0);
        world.set_local(group, 0, 0);
    }
    world.sleep(task);
    (world, group)
}

#[test]
fn t107_throttling_completes_a_delayed_dequeue() {
    // Only EEVDF delays.
    let kernel = Kernel::V6_12;
    let (world, group) = sleeps_ahead(kernel, false);
    assert!(
        world.group_entity(group, 0).sched_delayed,
        "{kernel}: the group waits for its lag"
    );
    assert_eq!(world.q(GroupId::ROOT, 0).nr_queued, 2, "{kernel}");

    let (world, group) = sleeps_ahead(kernel, true);
    assert!(world.q(group, 0).throttled, "{kernel}");
    let entity = world.group_entity(group, 0);
    assert!(
        !entity.sched_delayed && !entity.on_rq,
        "{kernel}: it has left"
    );
    assert_eq!(world.q(GroupId::ROOT, 0).nr_queued, 1, "{kernel}");
}
