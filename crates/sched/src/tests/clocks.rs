//! What is counted as throttled time, and when the load-tracking clock stands still.

use cpumax_bandwidth::{Limit, Nanos};

use super::world::*;
use crate::{GroupId, Kernel, TaskId, TaskState};

/// A group on CPU 0 whose balance reaches 0 exactly at this time, with an empty pool and its period
/// timer a second away.
fn out_at(world: &mut World, group: GroupId, at: Nanos) {
    world.drive(Nanos(at.0 - 1_000_000));
    world.charge(0);
    world.set_pool(group, 0);
    world.set_local(group, 0, 1_000_000);
}

/// The limit is lifted, which releases the group at any time.
fn release(world: &mut World, group: GroupId) {
    world.set_limit(group, Limit::UNLIMITED);
}

/// A group throttled at 20 ms because its only task goes to sleep then, out of runtime.
fn throttled_empty(kernel: Kernel) -> (World, GroupId, TaskId) {
    let mut world = World::new(kernel, 1);
    let group = world.limited(100, 1000);
    let task = world.spin(group, 0);
    out_at(&mut world, group, Nanos(20_000_001));
    world.drive(ms(20));
    world.set_local(group, 0, 0);
    world.sleep(task);
    if !world.q(group, 0).throttled {
        // D noticed nothing, since nothing was left to charge: somebody looks in.
        world.set_mode(task, Mode::Kernel);
        world.wake(task, 0);
        world.block(task);
    }
    assert!(world.q(group, 0).throttled, "{kernel}");
    assert_eq!(world.h_nr(group, 0), 0, "{kernel}");
    (world, group, task)
}

#[test]
fn t109_throttled_with_nobody_there() {
    for kernel in ALL {
        let (mut world, group, _) = throttled_empty(kernel);
        world.drive(ms(100));
        release(&mut world, group);
        let counted = if A.contains(&kernel) { ms(80) } else { ms(0) };
        assert_eq!(world.stat(group).throttled_time, counted, "{kernel}");
    }
}

#[test]
fn t110_throttled_time_counts_from_the_first_who_waits() {
    for kernel in B {
        let (mut world, group, task) = throttled_empty(kernel);
        world.drive(ms(60));
        world.wake(task, 0);
        assert_eq!(world.state(task), TaskState::Queued, "{kernel}");
        world.drive(ms(100));
        release(&mut world, group);
        assert_eq!(world.stat(group).throttled_time, ms(40), "{kernel}");
        assert_eq!(world.stat(group).throttled_time_self, ms(40), "{kernel}");
    }
}

#[test]
fn t111_throttled_time_counts_from_when_a_task_stops() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let group = world.limited(100, 1000);
        let task = world.spin(group, 0);
        out_at(&mut world, group, ms(20));
        world.enter_kernel(task);
        world.drive(ms(20));
        assert!(world.q(group, 0).throttled, "{kernel}");
        world.drive(ms(45));
        if world.per_task() {
            world.leave_kernel(task);
            assert_eq!(world.state(task), TaskState::Limbo, "{kernel}");
        } else {
            assert_eq!(world.state(task), TaskState::Queued, "{kernel}");
        }
        world.drive(ms(100));
        release(&mut world, group);
        let counted = if world.per_task() { ms(55) } else { ms(80) };
        assert_eq!(world.stat(group).throttled_time, counted, "{kernel}");
    }
}

#[test]
fn t112_throttled_time_adds_up_over_cpus() {
    for kernel in ALL {
        let mut world = World::new(kernel, 4);
        let group = world.limited(100, 1000);
        for at in 0..4 {
            world.spin(group, at);
        }
        world.drive(ms(10));
        for at in 0..4 {
            world.charge(at);
            world.set_local(group, at, 2_000_000);
        }
        world.set_pool(group, 0);
        world.drive(ms(12));
        assert_eq!(world.waiting(group).len(), 4, "{kernel}");
        world.drive(ms(62));
        release(&mut world, group);
        assert_eq!(world.stat(group).throttled_time, ms(200), "{kernel}");
    }
}

#[test]
fn t113_a_child_waits_for_its_parent() {
    for kernel in BCD {
        let mut world = World::new(kernel, 1);
        let parent = world.limited(100, 1000);
        let child = world.group(parent);
        world.spin(child, 0);
        out_at(&mut world, parent, ms(20));
        world.drive(ms(100));
        assert_eq!(
            world.q(child, 0).throttled_clock,
            None,
            "{kernel}: it is not throttled itself"
        );
        release(&mut world, parent);
        let (above, below) = (world.stat(parent), world.stat(child));
        assert_eq!(
            (above.throttled_time, below.throttled_time),
            (ms(80), ms(0)),
            "{kernel}"
        );
        assert_eq!(
            (above.throttled_time_self, below.throttled_time_self),
            (ms(80), ms(80)),
            "{kernel}"
        );
    }
}

#[test]
fn t114_a_stretch_counts_when_it_is_over() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let group = world.limited(100, 1000);
        world.spin(group, 0);
        out_at(&mut world, group, ms(20));
        world.drive(ms(99));
        let stat = world.stat(group);
        assert_eq!(
            (stat.throttled_time, stat.throttled_time_self),
            (ms(0), ms(0)),
            "{kernel}"
        );
        world.drive(ms(100));
        release(&mut world, group);
        assert_eq!(world.stat(group).throttled_time, ms(80), "{kernel}");
    }
}

/// The PELT clock of a group on CPU 0, in ns since it began.
fn pelt(world: &mut World, group: GroupId) -> u64 {
    let queue = world.sched.queue_of(group, cpu(0));
    world.sched.begin(world.now, cpu(0));
    world.sched.clock_pelt(queue)
}

/// A group that is throttled on CPU 0 at 1000 ms with one task there, and its timer far away.
fn throttled_at_1000(kernel: Kernel) -> (World, GroupId, TaskId) {
    let mut world = World::new(kernel, 1);
    world.drive(ms(990));
    let group = world
        .sched
        .create_group(world.now, GroupId::ROOT, crate::Weight::NICE_0, ms(950));
    world.set_limit(group, quota(100, 1000));
    let task = world.spin(group, 0);
    out_at(&mut world, group, ms(1000));
    world.enter_kernel(task);
    world.drive(ms(1000));
    assert!(world.q(group, 0).throttled, "{kernel}");
    (world, group, task)
}

#[test]
fn t115_the_pelt_clock_stands_still_while_throttled() {
    for kernel in AB {
        let (mut world, group, _) = throttled_at_1000(kernel);
        for at in [1000, 1200, 1600] {
            world.drive(ms(at));
            assert_eq!(
                pelt(&mut world, group),
                1_000_000_000,
                "{kernel}: at {at} ms"
            );
        }
        release(&mut world, group);
        assert_eq!(pelt(&mut world, group), 1_000_000_000, "{kernel}");
        world.drive(ms(2000));
        assert_eq!(pelt(&mut world, group), 1_400_000_000, "{kernel}");
    }
}

#[test]
fn t116_the_pelt_clock_stands_still_while_throttled_and_empty() {
    for kernel in CD {
        let (mut world, group, task) = throttled_at_1000(kernel);
        let frozen = |world: &World| world.q(group, 0).pelt_clock_throttled;
        world.drive(ms(1200));
        assert!(!frozen(&world), "{kernel}: it still runs");
        assert_eq!(pelt(&mut world, group), 1_200_000_000, "{kernel}");
        world.block(task);
        assert!(frozen(&world), "{kernel}");
        world.drive(ms(1300));
        assert_eq!(pelt(&mut world, group), 1_200_000_000, "{kernel}");
        world.wake(task, 0);
        assert!(!frozen(&world), "{kernel}");
        world.drive(ms(1350));
        world.block(task);
        assert!(frozen(&world), "{kernel}");
        world.drive(ms(1600));
        release(&mut world, group);
        assert!(!frozen(&world), "{kernel}");
        assert_eq!(
            world.q(group, 0).throttled_clock_pelt_time,
            350_000_000,
            "{kernel}"
        );
        assert_eq!(pelt(&mut world, group), 1_250_000_000, "{kernel}");
    }
}
