//! How the pool is given to the queues that wait, and who lets them go.

use cpumax_bandwidth::Nanos;

use super::world::*;
use crate::event::Work;
use crate::{Event, GroupId, Kernel, TaskId, TaskState};

/// A group with a spinner on each CPU, all throttled in the order of their CPUs' numbers given; the
/// pool is empty and the period timer on CPU 0.
fn all_throttled(kernel: Kernel, limit_ms: (u64, u64), order: &[usize]) -> (World, GroupId) {
    let mut world = World::new(kernel, order.len());
    let group = throttle_in_order(&mut world, limit_ms, order);
    (world, group)
}

fn throttle_in_order(
    world: &mut World,
    (quota_ms, period_ms): (u64, u64),
    order: &[usize],
) -> GroupId {
    let kernel = world.kernel();
    let group = world.limited(quota_ms, period_ms);
    for &at in order {
        let task = world.task(group, at);
        world.set_pool(group, 0);
        world.set_local(group, at, 1);
        world.wake(task, at);
    }
    world.drive(Nanos(world.now.0 + 1000));
    for &at in order {
        world.charge(at);
    }
    assert_eq!(world.waiting(group), order, "{kernel}");
    group
}

/// One walk on CPU 0, with nothing else that the period timer does.
fn distribute(world: &mut World, group: GroupId) -> Work {
    let mut work = Work::default();
    world.sched.begin(world.now, cpu(0));
    world.sched.distribute_cfs_runtime(group, cpu(0), &mut work);
    work
}

fn running_on(world: &World, at: usize) -> Option<TaskId> {
    world.sched.curr(cpu(at))
}

#[test]
fn t046_a_queue_gets_its_debt_and_a_nanosecond() {
    for kernel in ALL {
        let (mut world, group) = all_throttled(kernel, (100, 1000), &[0]);
        world.set_local(group, 0, -100_000);
        world.set_pool(group, 100_000_000);
        world.take_events();
        distribute(&mut world, group);
        assert_eq!(world.given(group), (0, 100_001), "{kernel}");
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (1, 99_899_999),
            "{kernel}"
        );
        assert!(!world.q(group, 0).throttled, "{kernel}");
    }
}

#[test]
fn t047_a_partial_grant_is_kept_and_releases_nothing() {
    for kernel in ALL {
        let (mut world, group) = all_throttled(kernel, (100, 1000), &[0]);
        world.set_local(group, 0, -100_000);
        world.set_pool(group, 50_000);
        distribute(&mut world, group);
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (-50_000, 0),
            "{kernel}"
        );
        assert!(world.q(group, 0).throttled, "{kernel}");
        assert_eq!(world.waiting(group), [0], "{kernel}");
    }
}

#[test]
fn t048_a_large_debt_at_the_head_blocks_those_behind() {
    for kernel in ALL {
        for (x, y) in [(0, 1), (1, 0)] {
            let (mut world, group) = all_throttled(kernel, (10, 100), &[x, y]);
            world.set_local(group, x, -12_000_000);
            world.set_local(group, y, 0);
            world.drive(ms(100));
            assert_eq!(
                (world.local(group, x), world.local(group, y)),
                (-2_000_000, 0),
                "{kernel}"
            );
            assert_eq!(world.waiting(group), [x, y], "{kernel}");
            assert_eq!(world.r(group), 0, "{kernel}");
            // What they are given is seen before they run and ask for more.
            world.hold_ipis = true;
            world.take_events();
            world.now = ms(200);
            world.period_timers.remove(&group);
            while world
                .sched
                .period_timer_iteration(world.now, cpu(0), group)
                .is_some()
            {}
            assert_eq!(
                (world.local(group, x), world.local(group, y)),
                (1, 1),
                "{kernel}"
            );
            assert_eq!(world.r(group), 7_999_998, "{kernel}");
            world.hold_ipis = false;
            world.end_of_interrupt(cpu(0));
            assert!(world.waiting(group).is_empty(), "{kernel}");
        }
    }
}

#[test]
fn t049_two_nanoseconds_release_two_queues() {
    for kernel in ALL {
        let (mut world, group) = all_throttled(kernel, (10, 1000), &[0, 1, 2]);
        for at in 0..3 {
            world.set_local(group, at, 0);
        }
        world.set_pool(group, 2);
        world.hold_ipis = true;
        distribute(&mut world, group);
        let locals = [0, 1, 2].map(|at| world.local(group, at));
        assert_eq!((locals, world.r(group)), ([1, 1, 0], 0), "{kernel}");
        world.hold_ipis = false;
        world.end_of_interrupt(cpu(0));
        let unthrottled = |event: &Event| matches!(event, Event::Unthrottled { .. });
        assert_eq!(world.count(unthrottled), 2, "{kernel}");
        assert!(world.q(group, 2).throttled, "{kernel}");
    }
}

#[test]
fn t050_first_throttled_first_served() {
    for kernel in ALL {
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let (mut world, group) = all_throttled(kernel, (10, 1000), &order);
            for (at, debt) in [(0, -3000), (1, -1000), (2, -2000)] {
                world.set_local(group, at, debt);
            }
            world.set_pool(group, 10_000_000);
            world.take_events();
            world.hold_ipis = true;
            distribute(&mut world, group);
            let served: std::vec::Vec<_> = world
                .take_events()
                .into_iter()
                .filter_map(|event| {
                    if let Event::Distributed { cpu, .. } = event {
                        Some(cpu.index())
                    } else {
                        None
                    }
                })
                .collect();
            assert_eq!(served, order, "{kernel}");
        }
    }
}

#[test]
fn t051_a_pending_queue_is_not_granted_twice() {
    for kernel in BCD {
        let (mut world, group) = all_throttled(kernel, (10, 1000), &[0, 1]);
        world.set_pool(group, 10_000_000);
        world.set_local(group, 1, 0);
        world.hold_ipis = true;
        distribute(&mut world, group);
        let left = world.r(group);
        assert_eq!(
            (world.local(group, 1), world.pending(1)),
            (1, std::vec![group]),
            "{kernel}"
        );
        let work = distribute(&mut world, group);
        assert_eq!(
            (world.local(group, 1), world.r(group)),
            (1, left),
            "{kernel}"
        );
        assert_eq!((work.queues_walked, work.ipis), (1, 0), "{kernel}");
        world.hold_ipis = false;
        world.end_of_interrupt(cpu(0));
        assert!(
            world.waiting(group).is_empty() && world.pending(1).is_empty(),
            "{kernel}"
        );
    }
}

#[test]
fn t052_a_walk_ends_with_an_empty_list_or_an_empty_pool() {
    for kernel in A {
        for quota_ms in 1..20 {
            let (mut world, group) = all_throttled(kernel, (quota_ms, 100), &[0, 1, 2]);
            for (at, debt) in [(0, -4_000_000), (1, -7_000_000), (2, 0)] {
                world.set_local(group, at, debt);
            }
            world.now = ms(100);
            world.period_timers.remove(&group);
            while world
                .sched
                .period_timer_iteration(world.now, cpu(0), group)
                .is_some()
            {}
            assert!(
                world.waiting(group).is_empty() || world.r(group) == 0,
                "{kernel}: {quota_ms} ms"
            );
            assert_eq!(
                world.waiting(group).is_empty(),
                quota_ms >= 12,
                "{kernel}: {quota_ms} ms"
            );
        }
    }
}

#[test]
fn t053_one_ipi_for_the_queues_of_two_groups() {
    for kernel in BCD {
        let mut world = World::new(kernel, 2);
        let first = throttle_in_order(&mut world, (10, 1000), &[1]);
        let second = throttle_in_order(&mut world, (10, 1000), &[1]);
        for group in [first, second] {
            world.set_pool(group, 10_000_000);
        }
        world.hold_ipis = true;
        let ipis = distribute(&mut world, first).ipis + distribute(&mut world, second).ipis;
        world.end_of_interrupt(cpu(0));
        assert_eq!(ipis, 1, "{kernel}");
        assert_eq!(world.ipis, [(cpu(1), Ipi::Unthrottle)], "{kernel}");
        assert_eq!(world.pending(1), [first, second], "{kernel}");
        assert!(
            world.q(first, 1).throttled && world.q(second, 1).throttled,
            "{kernel}"
        );
        world.take_events();
        world.deliver_ipis();
        let released: std::vec::Vec<_> = world
            .take_events()
            .into_iter()
            .filter_map(|event| {
                if let Event::Unthrottled { group, .. } = event {
                    Some(group)
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(released, [first, second], "{kernel}");
        assert!(running_on(&world, 1).is_some(), "{kernel}");
    }
}

#[test]
fn t054_the_own_queue_is_released_last_and_in_the_same_callback() {
    for kernel in BCD {
        let (mut world, group) = all_throttled(kernel, (10, 100), &[0, 1, 2]);
        world.hold_ipis = true;
        world.take_events();
        world.drive(ms(100));
        let events = world.take_events();
        let position = |wanted: &dyn Fn(&Event) -> bool| events.iter().position(wanted);
        let own =
            position(&|event| matches!(event, Event::Unthrottled { cpu, .. } if cpu.index() == 0));
        let last =
            position(&|event| matches!(event, Event::Distributed { cpu, .. } if cpu.index() == 2));
        assert!(
            own.expect("released in the callback") > last.expect("served"),
            "{kernel}"
        );
        assert_eq!(
            world.ipis,
            [(cpu(1), Ipi::Unthrottle), (cpu(2), Ipi::Unthrottle)],
            "{kernel}"
        );
        assert_eq!(
            [0, 1, 2].map(|at| world.q(group, at).throttled),
            [false, true, true],
            "{kernel}"
        );
        assert!(world.pending(0).is_empty(), "{kernel}");
        world.deliver_ipis();
        assert!(world.waiting(group).is_empty(), "{kernel}");
    }
}

#[test]
fn t055_a_pending_list_that_waits_for_its_ipi_is_left_to_it() {
    for kernel in D {
        let mut world = World::new(kernel, 2);
        let other = throttle_in_order(&mut world, (10, 100), &[0]);
        let group = throttle_in_order(&mut world, (10, 100), &[0]);
        // The other group's timer is on CPU 1, which hands its queue to CPU 0.
        world.period_timers.get_mut(&other).unwrap().cpu = cpu(1);
        world.hold_ipis = true;
        world.drive(ms(100));
        assert_eq!(world.pending(0), [other, group], "{kernel}");
        assert!(
            world.q(group, 0).throttled && world.q(other, 0).throttled,
            "{kernel}: not flushed"
        );
        assert_eq!(world.ipis, [(cpu(0), Ipi::Unthrottle)], "{kernel}");
        world.deliver_ipis();
        assert!(
            !world.q(group, 0).throttled && !world.q(other, 0).throttled,
            "{kernel}"
        );
        assert!(running_on(&world, 0).is_some(), "{kernel}");
    }
}

#[test]
fn t056_what_runs_in_the_kernel_is_charged_before_the_grant() {
    for kernel in D {
        for at in [0, 1] {
            let mut world = World::new(kernel, 2);
            let group = world.limited(100, 1000);
            let task = world.spin(group, at);
            world.enter_kernel(task);
            world.drive(ms(5));
            world.charge(at);
            world.set_pool(group, 0);
            world.set_local(group, at, 1);
            world.drive(Nanos(5_000_002));
            world.charge(at);
            assert!(world.q(group, at).throttled, "{kernel}");
            world.set_local(group, at, -100_000);
            world.set_pool(group, 100_000_000);
            world.drive(Nanos(6_000_002));
            world.take_events();
            distribute(&mut world, group);
            assert_eq!(world.given(group), (0, 1_100_001), "{kernel}");
            assert_eq!(world.local(group, at), 1, "{kernel}");
            world.end_of_interrupt(cpu(0));
            assert!(!world.q(group, at).throttled, "{kernel}");
            assert_eq!(world.state(task), TaskState::Running, "{kernel}");
        }
    }
}
