//! Slack: what a queue that goes idle gives back, and who gets it.

use cpumax_bandwidth::Nanos;

use super::world::*;
use crate::{CpuId, Event, GroupId, Kernel, TaskId};

/// A group of 300 ms in 100 ms that waits on CPU 1 and runs on CPU 0, since an instant of the first
/// period, with an empty pool.
fn one_waits(kernel: Kernel, at: Nanos) -> (World, GroupId, TaskId) {
    let mut world = World::new(kernel, 2);
    let group = world.limited(300, 100);
    let task = world.spin(group, 0);
    let other = world.spin(group, 1);
    world.drive(Nanos(at.0 - 10));
    world.charge(0);
    world.charge(1);
    world.set_pool(group, 0);
    world.set_local(group, 0, 1_000_000);
    world.set_local(group, 1, 1);
    world.drive(at);
    world.charge(1);
    world.charge(0);
    assert_eq!(world.waiting(group), [1], "{kernel}");
    assert_ne!(world.sched.curr(cpu(1)), Some(other), "{kernel}");
    (world, group, task)
}

/// The task on CPU 0 goes to sleep, so that its queue returns this much.
fn return_slack(world: &mut World, group: GroupId, task: TaskId, amount: i64) {
    world.set_local(group, 0, 1_000_000 + amount);
    world.sleep(task);
}

fn returned(world: &World) -> usize {
    world.count(|event| matches!(event, Event::SlackReturned { .. }))
}

#[test]
fn t057_the_last_entity_leaves_a_millisecond() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let group = world.limited(100, 100);
        let task = world.spin(group, 0);
        world.set_pool(group, 50_000_000);
        return_slack(&mut world, group, task, 2_200_000);
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (1_000_000, 52_200_000),
            "{kernel}"
        );
        assert_eq!(returned(&world), 1, "{kernel}");
    }
}

#[test]
fn t058_a_millisecond_or_a_debt_is_kept() {
    for kernel in ALL {
        for local in [1_000_000, 1, -5] {
            let mut world = World::new(kernel, 1);
            let group = world.limited(100, 100);
            let task = world.spin(group, 0);
            world.set_pool(group, 0);
            world.set_local(group, 0, local);
            world.sleep(task);
            assert_eq!(
                (world.local(group, 0), world.r(group)),
                (local, 0),
                "{kernel}"
            );
            assert_eq!(returned(&world), 0, "{kernel}");
        }
    }
}

#[test]
fn t058_only_the_last_entity_returns() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let group = world.limited(100, 100);
        let tasks = [world.spin(group, 0), world.spin(group, 0)];
        world.set_pool(group, 50_000_000);
        world.set_local(group, 0, 3_200_000);
        world.sleep(world.sched.curr(cpu(0)).unwrap());
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (3_200_000, 50_000_000),
            "{kernel}"
        );
        world.sleep(world.sched.curr(cpu(0)).unwrap());
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (1_000_000, 52_200_000),
            "{kernel}"
        );
        assert!(tasks.iter().all(|&task| world.t(task).asleep), "{kernel}");
    }
}

#[test]
fn t059_more_than_a_slice_arms_the_slack_timer() {
    for kernel in ALL {
        for (pool, armed) in [(5_000_000, false), (5_000_001, true)] {
            let (mut world, group, task) = one_waits(kernel, ms(50));
            return_slack(&mut world, group, task, pool);
            assert_eq!(world.r(group), pool as u64, "{kernel}");
            let expires = world.slack_timers.get(&group).map(|timer| timer.expires);
            assert_eq!(expires, armed.then_some(ms(55)), "{kernel}");
        }
    }
}

#[test]
fn t060_no_slack_timer_just_before_a_boundary() {
    for kernel in ALL {
        for (left, armed) in [(6_999_999, false), (7_000_000, true)] {
            let now = Nanos(100_000_000 - left);
            let (mut world, group, task) = one_waits(kernel, now);
            return_slack(&mut world, group, task, 10_000_000);
            let expires = world.slack_timers.get(&group).map(|timer| timer.expires);
            assert_eq!(expires, armed.then_some(now + ms(5)), "{kernel}");
        }
    }
}

#[test]
fn t061_an_armed_slack_timer_stays() {
    for kernel in ALL {
        let (mut world, group, task) = one_waits(kernel, ms(50));
        return_slack(&mut world, group, task, 6_000_000);
        assert_eq!(world.slack_timers[&group].expires, ms(55), "{kernel}");
        world.drive(ms(52));
        world.wake(task, 0);
        return_slack(&mut world, group, task, 2_000_000);
        assert!(world.r(group) > 6_000_000, "{kernel}");
        assert_eq!(world.slack_timers[&group].expires, ms(55), "{kernel}");
    }
}

#[test]
fn t062_the_slack_timer_leaves_the_last_two_milliseconds() {
    for kernel in ALL {
        for (left, runtime, distributes) in [
            (1_999_999, 5_000_001, false),
            (2_000_000, 5_000_001, true),
            (2_000_000, 5_000_000, false),
        ] {
            let (mut world, group, task) = one_waits(kernel, ms(50));
            return_slack(&mut world, group, task, 0);
            world.drive(Nanos(100_000_000 - left));
            world.set_pool(group, runtime);
            world
                .sched
                .handle_slack_timer(world.now, CpuId::new(0), group);
            world.end_of_interrupt(cpu(0));
            assert_eq!(
                !world.q(group, 1).throttled,
                distributes,
                "{kernel}: {left} ns left, {runtime} ns"
            );
        }
    }
}

#[test]
fn t063_what_slack_releases_is_not_counted_as_throttled() {
    for kernel in ALL {
        let (mut world, group, task) = one_waits(kernel, ms(50));
        return_slack(&mut world, group, task, 90_000_000);
        world.drive(ms(55));
        assert!(world.waiting(group).is_empty(), "{kernel}");
        world.drive(ms(100));
        let stat = world.stat(group);
        assert_eq!((stat.nr_periods, stat.nr_throttled), (1, 0), "{kernel}");
    }
}

#[test]
fn t064_without_a_waiting_queue_there_is_no_slack_timer() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let group = world.limited(100, 100);
        let task = world.spin(group, 0);
        world.set_pool(group, 20_000_000);
        return_slack(&mut world, group, task, 20_000_000);
        assert_eq!(world.r(group), 40_000_000, "{kernel}");
        assert!(world.slack_timers.is_empty(), "{kernel}");
    }
}

#[test]
fn t065_slack_lifts_the_pool_above_its_quota_until_the_refill() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let group = world.limited(100, 100);
        let task = world.spin(group, 0);
        world.set_pool(group, 98_000_000);
        return_slack(&mut world, group, task, 4_000_000);
        assert_eq!(world.r(group), 102_000_000, "{kernel}");
        world.drive(ms(99));
        assert_eq!(world.r(group), 102_000_000, "{kernel}");
        world.drive(ms(100));
        assert_eq!(world.r(group), 100_000_000, "{kernel}");
    }
}
