//! Writes of a limit, and CPUs that come and go.

use cpumax_bandwidth::{Limit, Nanos};

use super::world::*;
use crate::{Event, TaskState};

#[test]
fn t077_a_write_resets_every_balance_and_releases() {
    for kernel in ALL {
        let mut world = World::new(kernel, 3);
        let group = world.limited(10, 100);
        for at in 0..3 {
            world.spin(group, at);
        }
        world.drive(ms(50));
        assert_eq!(world.waiting(group).len(), 3, "{kernel}");
        world.set_local(group, 2, -30_000_000);
        // Seen before anybody runs and asks for more.
        world
            .sched
            .set_limit(world.now, cpu(0), group, quota(20, 100))
            .unwrap();
        let balance = i64::from(world.per_task());
        assert_eq!(
            [0, 1, 2].map(|at| world.local(group, at)),
            [balance; 3],
            "{kernel}"
        );
        assert!(world.waiting(group).is_empty(), "{kernel}");
        assert_eq!(world.r(group), 20_000_000, "{kernel}");
        world.end_of_interrupt(cpu(0));
        assert!(
            (0..3).all(|at| world.sched.curr(cpu(at)).is_some()),
            "{kernel}"
        );
    }
}

#[test]
fn t078_a_write_does_not_release_where_the_kernel_runs_for_the_group() {
    for kernel in D {
        for (limit, released) in [(quota(20, 100), false), (Limit::UNLIMITED, true)] {
            let mut world = World::new(kernel, 1);
            let group = world.limited(10, 100);
            let task = world.spin(group, 0);
            world.enter_kernel(task);
            world.drive(ms(40));
            world.charge(0);
            assert!(world.q(group, 0).throttled, "{kernel}");
            world.drive(Nanos(40_050_000));
            world.set_limit(group, limit);
            assert_eq!(world.q(group, 0).throttled, !released, "{kernel}");
            if !released {
                assert_eq!(world.local(group, 0), 1 - 50_000, "{kernel}");
                assert_eq!(world.waiting(group), [0], "{kernel}");
            }
            assert_eq!(world.state(task), TaskState::Running, "{kernel}");
        }
    }
}

#[test]
fn t079_what_a_cpu_holds_is_lost_when_it_goes_offline() {
    for kernel in ALL {
        let mut world = World::new(kernel, 2);
        let group = world.limited(100, 100);
        let task = world.spin(group, 1);
        world.sleep(task);
        world.set_local(group, 1, 3_000_000);
        let pool = world.r(group);
        world.offline(1);
        assert!(!world.q(group, 1).runtime_enabled, "{kernel}");
        assert_eq!(world.r(group), pool, "{kernel}");
        let left = if world.per_task() { 3_000_000 } else { 1 };
        assert_eq!(world.local(group, 1), left, "{kernel}");
    }
}

#[test]
fn t080_a_throttled_queue_is_released_when_its_cpu_goes_offline() {
    for kernel in ALL {
        let mut world = World::new(kernel, 2);
        let group = world.limited(10, 1000);
        let task = world.spin(group, 1);
        world.drive(ms(50));
        assert_eq!(world.waiting(group), [1], "{kernel}");
        let pool = world.r(group);
        world.offline(1);
        assert!(
            !world.q(group, 1).throttled && !world.q(group, 1).runtime_enabled,
            "{kernel}"
        );
        assert_eq!(world.local(group, 1), 1, "{kernel}");
        assert!(!world.waiting(group).contains(&1), "{kernel}");
        assert_eq!(world.h_nr(group, 1), 0, "{kernel}");
        assert_eq!(
            world.sched.task_cpu(task),
            cpu(0),
            "{kernel}: it goes elsewhere"
        );
        assert!(pool <= world.r(group) + 1, "{kernel}: nothing comes back");
    }
}

#[test]
fn t081_a_cpu_that_comes_online_is_accounted_again() {
    for kernel in ALL {
        for finite in [true, false] {
            let mut world = World::new(kernel, 2);
            let group = world.limited(100, 100);
            // So that accounting stays on whatever happens to the group.
            world.limited(10, 100);
            let task = world.spin(group, 1);
            world.sleep(task);
            world.offline(1);
            if !finite {
                world.set_limit(group, Limit::UNLIMITED);
            }
            world.set_local(group, 1, 2_500_000);
            world.online(1);
            assert_eq!(world.q(group, 1).runtime_enabled, finite, "{kernel}");
            assert_eq!(world.local(group, 1), 2_500_000, "{kernel}");
        }
    }
}

#[test]
fn offline_cpus_are_left_out_by_a_write() {
    for kernel in ALL {
        let mut world = World::new(kernel, 2);
        let group = world.limited(100, 100);
        let task = world.spin(group, 1);
        world.sleep(task);
        world.offline(1);
        world.set_local(group, 1, 7);
        world.set_limit(group, quota(20, 100));
        assert_eq!(world.local(group, 1), 7, "{kernel}");
        assert!(!world.q(group, 1).runtime_enabled, "{kernel}");
    }
}

#[test]
fn a_write_releases_a_queue_whose_ipi_is_under_way() {
    for kernel in BCD {
        let mut world = World::new(kernel, 2);
        let group = world.limited(10, 100);
        let task = world.spin(group, 1);
        world.drive(ms(99));
        world.hold_ipis = true;
        world.drive(ms(100));
        assert_eq!(world.pending(1), [group], "{kernel}");
        world.set_limit(group, quota(20, 100));
        assert!(!world.q(group, 1).throttled, "{kernel}");
        assert_eq!(
            world.pending(1),
            [group],
            "{kernel}: nobody takes it off that list"
        );
        // The IPI finds nothing to do.
        world.take_events();
        world.deliver_ipis();
        assert_eq!(
            world.count(|event| matches!(event, Event::Unthrottled { .. })),
            0,
            "{kernel}"
        );
        assert!(world.pending(1).is_empty(), "{kernel}");
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
    }
}

#[test]
fn the_root_group_takes_no_limit() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let refused = world
            .sched
            .set_limit(ms(0), cpu(0), crate::GroupId::ROOT, quota(10, 100));
        assert_eq!(refused, Err(crate::LimitError::RootGroup), "{kernel}");
    }
}
