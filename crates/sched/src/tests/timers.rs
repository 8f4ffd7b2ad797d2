//! The period timer: what it counts, when it stops, on which grid it fires, and what it does when it
//! cannot keep up.

use cpumax_bandwidth::{Limit, Nanos, PeriodTooShort};

use super::world::*;
use crate::{Event, GroupId, Kernel, TaskId, TaskState, Weight};

/// A group of 50 ms in 100 ms whose task ran for 1 ms at 3 ms and sleeps since.
fn ran_once(kernel: Kernel) -> (World, GroupId, TaskId) {
    let mut world = World::new(kernel, 1);
    let group = world.limited(50, 100);
    let task = world.task(group, 0);
    world.drive(ms(3));
    // So that it asks for runtime in every model.
    world.set_local(group, 0, 0);
    world.wake(task, 0);
    world.drive(ms(4));
    world.sleep(task);
    (world, group, task)
}

#[test]
fn t036_missed_periods_are_counted_and_not_refilled() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let group = world.limited(10, 100);
        world.spin(group, 0);
        world.drive(ms(99));
        assert!(world.q(group, 0).throttled, "{kernel}");
        world.set_pool(group, 0);
        world.set_local(group, 0, -50_000_000);
        // The callback comes 250 ms late.
        world.period_timers.get_mut(&group).unwrap().expires = ms(350);
        world.drive(ms(350));
        let stat = world.stat(group);
        assert_eq!((stat.nr_periods, stat.nr_throttled), (3, 3), "{kernel}");
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (-40_000_000, 0),
            "{kernel}: one quota"
        );
        assert_eq!(world.period_timers[&group].expires, ms(400), "{kernel}");
    }
}

#[test]
fn t037_the_timer_stops_at_the_second_idle_boundary() {
    for kernel in ALL {
        let (mut world, group, _) = ran_once(kernel);
        world.drive(ms(99));
        assert_eq!(world.stat(group).nr_periods, 0, "{kernel}");
        world.drive(ms(100));
        assert!(
            world.pool(group).is_idle() && world.pool(group).period_active(),
            "{kernel}"
        );
        world.drive(ms(200));
        assert_eq!(world.stat(group).nr_periods, 2, "{kernel}");
        assert_eq!(
            world.r(group),
            50_000_000,
            "{kernel}: it refills as it stops"
        );
        let refilled = Event::Refilled {
            group,
            runtime: ms(50),
        };
        assert_eq!(world.count(|event| *event == refilled), 2, "{kernel}");
        assert!(
            !world.pool(group).period_active() && world.period_timers.is_empty(),
            "{kernel}"
        );
        world.drive(ms(1000));
        assert_eq!(world.stat(group).nr_periods, 2, "{kernel}");
    }
}

#[test]
fn t038_a_grant_between_the_boundaries_keeps_the_timer() {
    for kernel in ALL {
        let (mut world, group, task) = ran_once(kernel);
        world.drive(ms(150));
        assert!(world.pool(group).is_idle(), "{kernel}");
        world.set_local(group, 0, 0);
        world.wake(task, 0);
        world.sleep(task);
        assert!(!world.pool(group).is_idle(), "{kernel}");
        world.drive(ms(200));
        assert!(world.pool(group).period_active(), "{kernel}");
        world.drive(ms(300));
        assert!(!world.pool(group).period_active(), "{kernel}");
        assert_eq!(world.stat(group).nr_periods, 3, "{kernel}");
    }
}

#[test]
fn t039_an_idle_pool_with_a_throttled_queue_does_not_stop() {
    for kernel in ALL {
        let (mut world, group, _) = ran_once(kernel);
        world.drive(ms(150));
        assert!(world.pool(group).is_idle(), "{kernel}");
        // No grant leads here, so the queue is marked by hand.
        let queue = world.sched.queue_of(group, cpu(0));
        world.sched.groups[group].throttled.push_back(queue);
        let q = world.q_mut(group, 0);
        (q.throttled, q.throttle_count, q.runtime_remaining.0) = (true, 1, 0);
        world.drive(ms(200));
        assert!(
            world.pool(group).period_active() && !world.pool(group).is_idle(),
            "{kernel}"
        );
        assert!(!world.q(group, 0).throttled, "{kernel}");
        assert_eq!(world.stat(group).nr_throttled, 1, "{kernel}");
    }
}

#[test]
fn t040_the_grid_outlives_idleness() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let group = world
            .sched
            .create_group(ms(0), GroupId::ROOT, Weight::NICE_0, ms(37));
        world.set_limit(group, quota(100, 100));
        let task = world.task(group, 0);
        world.drive(ms(1523));
        assert!(!world.pool(group).period_active(), "{kernel}");
        world.set_local(group, 0, 0);
        world.wake(task, 0);
        assert_eq!(world.period_timers[&group].expires, ms(1537), "{kernel}");
    }
}

#[test]
fn t041_a_full_pool_on_both_sides_of_a_boundary() {
    for kernel in ALL {
        let mut world = World::new(kernel, 10);
        let group = world
            .sched
            .create_group(ms(0), GroupId::ROOT, Weight::NICE_0, ms(37));
        world.set_limit(group, quota(100, 100));
        world.drive(ms(1523));
        world.take_events();
        for at in 0..10 {
            world.set_local(group, at, 0);
            world.spin(group, at);
        }
        world.drive(Nanos(1_536_999_999));
        let (before, _) = world.given(group);
        assert_eq!(before, 100_000_000, "{kernel}: a quota within 14 ms");
        assert_eq!(world.r(group), 0, "{kernel}");
        world.drive(ms(1600));
        let (requested, distributed) = world.given(group);
        assert_eq!(
            requested + distributed,
            200_000_000,
            "{kernel}: and another right after"
        );
    }
}

/// A callback that takes a period for each of so many passes of its loop; the group's queue is so far
/// in debt that it waits all the time.
fn overrunning_callback(world: &mut World, group: GroupId, passes: u64) {
    assert!(world.q(group, 0).throttled);
    world.set_local(group, 0, -10_000_000_000);
    let timer = world.period_timers.remove(&group).unwrap();
    for pass in 0..passes {
        world.now = timer.expires + world.sched.limit(group).period() * pass;
        assert!(
            world
                .sched
                .period_timer_iteration(world.now, cpu(0), group)
                .is_some()
        );
    }
}

#[test]
fn t042_the_fourth_pass_of_a_callback_doubles() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let group = world.group(GroupId::ROOT);
        world.set_limit(group, Limit::new(Some(ms(50)), ms(100), ms(10)).unwrap());
        world.spin(group, 0);
        world.drive(ms(99));
        overrunning_callback(&mut world, group, 3);
        assert_eq!(
            world.sched.limit(group),
            Limit::new(Some(ms(50)), ms(100), ms(10)).unwrap(),
            "{kernel}"
        );
        assert_eq!(
            world.count(|event| matches!(event, Event::PeriodDoubled { .. })),
            0,
            "{kernel}"
        );
        world.now = ms(400);
        assert!(
            world
                .sched
                .period_timer_iteration(world.now, cpu(0), group)
                .is_some(),
            "{kernel}"
        );
        assert_eq!(
            world.sched.limit(group),
            Limit::new(Some(ms(100)), ms(200), ms(20)).unwrap(),
            "{kernel}"
        );
        assert_eq!(
            world.count(|event| *event == Event::PeriodDoubled { group }),
            1,
            "{kernel}"
        );
        assert!(
            world
                .sched
                .period_timer_iteration(world.now, cpu(0), group)
                .is_none(),
            "{kernel}"
        );
    }
}

#[test]
fn t043_half_a_second_is_not_doubled() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let group = world.limited(50, 500);
        world.spin(group, 0);
        world.drive(ms(499));
        overrunning_callback(&mut world, group, 4);
        assert_eq!(world.sched.limit(group), quota(50, 500), "{kernel}");
        assert_eq!(
            world.pool(group).period_too_short(),
            Some(PeriodTooShort::AtMaximum),
            "{kernel}"
        );
        assert_eq!(
            world.count(|event| matches!(event, Event::PeriodDoubled { .. })),
            0,
            "{kernel}"
        );
    }
}

#[test]
fn t044_a_lifted_limit_stops_the_timer_at_its_next_expiry() {
    for kernel in ALL {
        let (mut world, group, task) = ran_once(kernel);
        world.wake(task, 0);
        world.drive(ms(150));
        let periods = world.stat(group).nr_periods;
        world.set_limit(group, Limit::UNLIMITED);
        assert_eq!(
            world.period_timers[&group].expires,
            ms(200),
            "{kernel}: it is not stopped at once"
        );
        world.drive(ms(500));
        assert_eq!(world.stat(group).nr_periods, periods, "{kernel}");
        assert!(
            !world.pool(group).period_active() && world.period_timers.is_empty(),
            "{kernel}"
        );
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
    }
}

#[test]
fn t045_a_new_period_counts_from_the_next_expiry_on() {
    for kernel in ALL {
        let (mut world, group, task) = ran_once(kernel);
        world.wake(task, 0);
        world.drive(ms(50));
        world.set_limit(group, quota(10, 30));
        assert_eq!(world.period_timers[&group].expires, ms(100), "{kernel}");
        world.drive(ms(100));
        assert_eq!(world.stat(group).nr_periods, 1, "{kernel}");
        assert_eq!(world.period_timers[&group].expires, ms(130), "{kernel}");
    }
}
