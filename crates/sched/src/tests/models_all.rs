//! What all models share: nested limits, groups made while throttled, and what a release asks for.

use cpumax_bandwidth::Nanos;

use super::world::*;
use crate::{GroupId, Kernel, TaskId, TaskState};

/// Both limits of a nested pair are used up on CPU 0, the inner one first. The periods: a second
/// outside, 0.9 s inside.
fn nested(kernel: Kernel) -> (World, GroupId, GroupId, TaskId) {
    let mut world = World::new(kernel, 1);
    let outer = world.limited(100, 1000);
    let inner = world.limited_below(outer, 100, 900);
    let task = world.spin(inner, 0);
    world.drive(ms(3));
    world.charge(0);
    for group in [outer, inner] {
        world.set_pool(group, 0);
        world.set_local(group, 0, 1);
    }
    world.drive(ms(4));
    (world, outer, inner, task)
}

#[test]
fn t098_nested_throttles_count() {
    for kernel in ALL {
        for outer_first in [true, false] {
            let (mut world, outer, inner, task) = nested(kernel);
            let counts = |world: &World| {
                (
                    world.q(outer, 0).throttle_count,
                    world.q(inner, 0).throttle_count,
                )
            };
            assert_eq!(counts(&world), (1, 2), "{kernel}");
            let stopped = world.user_time(task);
            let (first, second) = if outer_first {
                (outer, inner)
            } else {
                (inner, outer)
            };
            world.set_limit(first, quota(100, 1000));
            assert_eq!(
                counts(&world),
                if outer_first { (0, 1) } else { (1, 1) },
                "{kernel}"
            );
            world.drive(ms(100));
            assert_eq!(
                world.user_time(task),
                stopped,
                "{kernel}: one limit is enough"
            );
            world.set_limit(second, quota(100, 1000));
            assert_eq!(counts(&world), (0, 0), "{kernel}");
            assert_eq!(world.state(task), TaskState::Running, "{kernel}");
            world.drive(ms(110));
            assert_eq!(
                world.user_time(task),
                Nanos(stopped.0 + 10_000_000),
                "{kernel}"
            );
        }
    }
}

#[test]
fn t099_a_group_made_below_a_throttled_queue() {
    for kernel in ALL {
        let (mut world, outer, inner, _) = nested(kernel);
        let new = world.group(inner);
        let task = world.task(new, 0);
        assert_eq!(world.q(new, 0).throttle_count, 2, "{kernel}");
        let since = world
            .sched
            .clock_pelt(world.sched.groups[new].queues[0].unwrap());
        world.drive(ms(40));
        let queue = world.sched.groups[new].queues[0].unwrap();
        assert_eq!(
            world.sched.clock_pelt(queue),
            since,
            "{kernel}: its clock stands still"
        );
        if world.per_task() {
            assert!(world.q(new, 0).pelt_clock_throttled, "{kernel}");
            world.set_mode(task, Mode::Kernel);
            world.wake(task, 0);
            assert!(
                !world.q(new, 0).pelt_clock_throttled,
                "{kernel}: until the first enqueue"
            );
            world.drive(ms(41));
            world.charge(0);
            assert_eq!(world.sched.clock_pelt(queue), since + 1_000_000, "{kernel}");
        } else {
            world.set_limit(inner, quota(100, 1000));
            world.set_limit(outer, quota(100, 1000));
            world.wake(task, 0);
            world.drive(ms(41));
            world.charge(0);
            assert_eq!(
                world.sched.clock_pelt(queue),
                since + 1_000_000,
                "{kernel}: until the release"
            );
        }
        world.check();
    }
}

#[test]
fn t099_a_release_thaws_a_group_that_never_ran() {
    for kernel in CD {
        let (mut world, outer, inner, _) = nested(kernel);
        let new = world.group(inner);
        world.task(new, 0);
        assert!(world.q(new, 0).pelt_clock_throttled, "{kernel}");
        world.set_limit(inner, quota(100, 1000));
        assert!(
            world.q(new, 0).pelt_clock_throttled,
            "{kernel}: the outer limit holds"
        );
        world.set_limit(outer, quota(100, 1000));
        assert!(!world.q(new, 0).pelt_clock_throttled, "{kernel}");
    }
}

#[test]
fn t105_a_release_wakes_an_idle_cpu() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let group = world.limited(10, 100);
        let task = world.spin(group, 0);
        world.drive(ms(99));
        assert_eq!(world.sched.curr(cpu(0)), None, "{kernel}");
        world.drive(ms(100));
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
    }
}

#[test]
fn t105_a_release_does_not_preempt() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let group = world.limited(10, 100);
        let task = world.spin(group, 0);
        let other = world.spin(GroupId::ROOT, 0);
        world.drive_bounded(1000, |world| {
            world.q(group, 0).throttled && world.state(task) != TaskState::Running
        });
        world.drive(ms(99));
        assert_eq!(world.sched.curr(cpu(0)), Some(other), "{kernel}");
        // No tick falls together with the boundary.
        world.now = Nanos(99_500_000);
        world.sched.groups[group].pool.refill();
        let mut work = crate::Work::default();
        world.sched.begin(world.now, cpu(0));
        world.sched.distribute_cfs_runtime(group, cpu(0), &mut work);
        assert!(!world.q(group, 0).throttled, "{kernel}");
        assert_eq!(world.state(task), TaskState::Queued, "{kernel}");
        assert_eq!(world.sched.need_resched(cpu(0)), None, "{kernel}");
        assert_eq!(world.sched.poll_effect(), None, "{kernel}");
    }
}
