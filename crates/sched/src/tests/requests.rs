//! How much a queue asks for, and what it gets.

use cpumax_bandwidth::{Limit, Nanos, Pool};

use super::world::*;
use crate::{GroupId, Kernel, Preemption, Resched, TaskId, TaskState};

const MILLI: i64 = 1_000_000;

/// A group of 100 ms in 100 ms whose one task runs in user mode on CPU 0 since time 0.
fn running(kernel: Kernel) -> (World, GroupId, TaskId) {
    let mut world = World::new(kernel, 1);
    let group = world.limited(100, 100);
    let task = world.spin(group, 0);
    assert_eq!(world.state(task), TaskState::Running);
    (world, group, task)
}

/// The running queue comes to a balance of `local` by a charge of 1 ms, with `pool` in the pool.
fn charged_down_to(kernel: Kernel, local: i64, pool: u64) -> (World, GroupId, TaskId) {
    let (mut world, group, task) = running(kernel);
    world.charge(0);
    world.set_pool(group, pool);
    world.set_local(group, 0, local + MILLI);
    world.drive(world.now + ms(1));
    world.charge(0);
    (world, group, task)
}

/// A group of 100 ms in 100 ms with a sleeping task, never queued yet, and this balance and pool.
fn asleep(kernel: Kernel, local: i64, pool: u64) -> (World, GroupId, TaskId) {
    let mut world = World::new(kernel, 1);
    let group = world.limited(100, 100);
    let task = world.task(group, 0);
    world.set_pool(group, pool);
    world.set_local(group, 0, local);
    (world, group, task)
}

#[test]
fn t001_a_slice_is_granted_on_top_of_the_debt() {
    for kernel in ALL {
        let (world, group, _) = charged_down_to(kernel, -300_000, 100_000_000);
        assert_eq!(world.local(group, 0), 5_000_000, "{kernel}");
        assert_eq!(world.r(group), 94_700_000, "{kernel}");
    }
}

#[test]
fn t002_a_partial_grant_above_the_debt_is_success() {
    for kernel in ALL {
        let (world, group, task) = charged_down_to(kernel, -300_000, 2_000_000);
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (1_700_000, 0),
            "{kernel}"
        );
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
        assert!(!world.q(group, 0).throttled, "{kernel}");
    }
}

#[test]
fn t003_a_partial_grant_below_the_debt_is_kept_and_fails() {
    for kernel in ALL {
        let (world, group, task) = charged_down_to(kernel, -300_000, 200_000);
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (-100_000, 0),
            "{kernel}"
        );
        assert!(world.q(group, 0).throttled, "{kernel}");
        assert_ne!(world.state(task), TaskState::Running, "{kernel}");
    }
}

#[test]
fn t004_a_balance_of_zero_is_failure() {
    for kernel in ALL {
        let (world, group, _) = charged_down_to(kernel, -300_000, 300_000);
        assert_eq!((world.local(group, 0), world.r(group)), (0, 0), "{kernel}");
        assert!(world.q(group, 0).throttled, "{kernel}");
    }
}

#[test]
fn t005_a_nanosecond_above_the_debt_is_success() {
    for kernel in ALL {
        let (mut world, group, _) = asleep(kernel, -300_000, 300_001);
        let queue = world.sched.queue_of(group, cpu(0));
        // Nothing runs on this queue, so that the last attempt asks for a nanosecond.
        assert!(!world.sched.throttle_cfs_rq(queue), "{kernel}");
        assert_eq!((world.local(group, 0), world.r(group)), (1, 0), "{kernel}");
    }
}

#[test]
fn t006_a_balance_of_exactly_zero_is_out() {
    for kernel in ALL {
        let (world, group, _) = charged_down_to(kernel, 0, 100_000_000);
        assert_eq!(world.local(group, 0), 5_000_000, "{kernel}");
        assert_eq!(world.r(group), 95_000_000, "{kernel}");
    }
}

#[test]
fn t007_a_nanosecond_is_enough() {
    for kernel in ALL {
        let (world, group, _) = charged_down_to(kernel, 1, 100_000_000);
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (1, 100_000_000),
            "{kernel}"
        );
    }
}

#[test]
fn t008_a_throttled_queue_does_not_ask() {
    for kernel in ALL {
        let (mut world, group, _) = charged_down_to(kernel, -MILLI, 0);
        assert!(world.q(group, 0).throttled, "{kernel}");
        world.set_pool(group, 50_000_000);
        let queue = world.sched.queue_of(group, cpu(0));
        world.sched.account_cfs_rq_runtime(queue, 4_000_000);
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (-5 * MILLI, 50_000_000),
            "{kernel}"
        );
    }
}

#[test]
fn t008_a_kernel_mode_runner_deepens_the_debt() {
    for kernel in CD {
        let (mut world, group, task) = running(kernel);
        world.charge(0);
        world.set_pool(group, 0);
        world.set_local(group, 0, 3 * MILLI);
        world.enter_kernel(task);
        world.drive(ms(4));
        assert!(world.q(group, 0).throttled, "{kernel}");
        assert_eq!(world.local(group, 0), -MILLI, "{kernel}");
        world.set_pool(group, 50_000_000);
        world.drive(ms(8));
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (-5 * MILLI, 50_000_000),
            "{kernel}"
        );
    }
}

#[test]
fn t009_without_a_limit_nothing_is_accounted() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        // Somebody else's limit turns accounting on.
        world.limited(10, 100);
        let group = world.group(GroupId::ROOT);
        world.spin(group, 0);
        world.drive(ms(50));
        assert!(world.sched.bandwidth_used(), "{kernel}");
        assert_eq!(world.usage(group), ms(50), "{kernel}");
        assert_eq!((world.local(group, 0), world.r(group)), (0, 0), "{kernel}");
    }
}

#[test]
fn t010_the_first_entity_takes_a_slice() {
    for kernel in ABC {
        let (mut world, group, task) = asleep(kernel, 0, 100_000_000);
        world.wake(task, 0);
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (5_000_000, 95_000_000),
            "{kernel}"
        );
    }
}

#[test]
fn t011_the_first_entity_takes_a_nanosecond() {
    for kernel in D {
        let (mut world, group, task) = asleep(kernel, 0, 100_000_000);
        world.wake(task, 0);
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (1, 99_999_999),
            "{kernel}"
        );
    }
}

#[test]
fn t012_the_first_entity_pays_the_debt_and_takes_a_slice() {
    for kernel in ABC {
        let (mut world, group, task) = asleep(kernel, -300_000, 100_000_000);
        world.wake(task, 0);
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (5_000_000, 94_700_000),
            "{kernel}"
        );
    }
}

#[test]
fn t013_the_first_entity_pays_the_debt_and_takes_a_nanosecond() {
    for kernel in D {
        let (mut world, group, task) = asleep(kernel, -300_000, 100_000_000);
        world.wake(task, 0);
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (1, 99_699_999),
            "{kernel}"
        );
        world.drive(ms(4));
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (5_000_000, 90_700_000),
            "{kernel}"
        );
    }
}

#[test]
fn t014_a_nanosecond_is_enough_to_be_queued() {
    for kernel in ALL {
        let (mut world, group, task) = asleep(kernel, 1, 100_000_000);
        world.wake(task, 0);
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (1, 100_000_000),
            "{kernel}"
        );
    }
}

/// CPU 0 is at -2 ms at the tick of 4 ms with an empty pool, in the kernel, where it is not preempted;
/// CPU 1 then goes idle with 4 ms.
fn slack_between_tick_and_schedule(kernel: Kernel) -> (World, GroupId, TaskId) {
    let mut world = World::with(kernel, 2, Preemption::None);
    let group = world.limited(100, 100);
    let task = world.spin(group, 0);
    let other = world.spin(group, 1);
    world.enter_kernel(task);
    world.drive(ms(3));
    world.charge(0);
    world.charge(1);
    world.set_pool(group, 0);
    world.set_local(group, 0, -MILLI);
    world.set_local(group, 1, 5 * MILLI);
    world.drive(ms(4));
    assert_eq!(
        (world.local(group, 0), world.r(group)),
        (-2 * MILLI, 0),
        "{kernel}"
    );
    assert_eq!(world.local(group, 1), 4 * MILLI, "{kernel}");
    world.sleep(other);
    (world, group, task)
}

#[test]
fn t015_runtime_that_comes_back_before_the_schedule_saves_from_throttling() {
    for kernel in ABC {
        let (mut world, group, task) = slack_between_tick_and_schedule(kernel);
        assert_eq!(world.r(group), 3_000_000, "{kernel}");
        assert_eq!(
            world.sched.need_resched(cpu(0)),
            Some(Resched::Immediate),
            "{kernel}"
        );
        world.leave_kernel(task);
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (1, 999_999),
            "{kernel}"
        );
        assert!(!world.q(group, 0).throttled, "{kernel}");
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
    }
}

#[test]
fn t016_runtime_that_comes_back_after_the_charge_is_too_late() {
    for kernel in D {
        let (mut world, group, task) = slack_between_tick_and_schedule(kernel);
        assert!(world.q(group, 0).throttled, "{kernel}");
        assert_eq!(world.r(group), 3_000_000, "{kernel}");
        // Not more than a slice.
        assert!(world.slack_timers.is_empty(), "{kernel}");
        world.leave_kernel(task);
        assert_eq!(world.state(task), TaskState::Limbo, "{kernel}");
        world.drive(Nanos(99_999_999));
        assert_eq!(world.state(task), TaskState::Limbo, "{kernel}");
        world.drive(ms(100));
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
    }
}

#[test]
fn t017_an_unlimited_pool_gives_what_is_asked() {
    for kernel in ALL {
        let (mut world, group, _) = running(kernel);
        world.set_pool(group, 40_000_000);
        // Between the write of the limit and that of the queue's switch.
        let before = world.pool(group).period_expires();
        assert_eq!(
            world.sched.groups[group]
                .pool
                .configure(Nanos::ZERO, Limit::UNLIMITED),
            None,
            "{kernel}"
        );
        assert!(world.q(group, 0).runtime_enabled, "{kernel}");
        world.set_local(group, 0, 0);
        let queue = world.sched.queue_of(group, cpu(0));
        world.sched.account_cfs_rq_runtime(queue, 7_000_000);
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (5_000_000, 40_000_000),
            "{kernel}"
        );
        assert_eq!(world.pool(group).period_expires(), before, "{kernel}");
        assert_eq!(
            world.sched.poll_effect(),
            None,
            "{kernel}: the timer is not started"
        );
    }
}

#[test]
fn t018_a_failed_request_starts_the_period_timer() {
    for kernel in ALL {
        let (mut world, group, _) = running(kernel);
        // An empty pool whose timer is off.
        world.sched.groups[group].pool = Pool::new(quota(100, 100), Nanos::ZERO);
        world.period_timers.clear();
        world.drive(ms(1));
        world.set_local(group, 0, MILLI);
        world.charge(0);
        assert_eq!(world.r(group), 0, "{kernel}");
        assert!(world.q(group, 0).throttled, "{kernel}");
        assert_eq!(world.period_timers[&group].expires, ms(100), "{kernel}");
        assert!(!world.pool(group).is_idle(), "{kernel}");
    }
}

#[test]
fn t019_a_grant_clears_the_idle_mark() {
    for kernel in ALL {
        for (debt, success) in [(0, true), (-100_200_000, false)] {
            let mut world = World::new(kernel, 1);
            let group = world.limited(100, 100);
            let task = world.task(group, 0);
            // A boundary at which nobody waits.
            world.drive(ms(100));
            assert!(world.pool(group).is_idle(), "{kernel}");
            world.set_local(group, 0, debt);
            world.wake(task, 0);
            assert_eq!(world.q(group, 0).throttled, !success, "{kernel}");
            assert!(
                !world.pool(group).is_idle(),
                "{kernel}: a partial grant is a grant"
            );
        }
    }
}

#[test]
fn t020_a_switch_takes_a_slice() {
    for kernel in D {
        let mut world = World::new(kernel, 1);
        let group = world.limited(100, 100);
        let first = world.spin(GroupId::ROOT, 0);
        let task = world.task(group, 0);
        world.set_local(group, 0, 1);
        world.wake(task, 0);
        assert_eq!(world.state(task), TaskState::Queued, "{kernel}");
        world.set_pool(group, 10_000_000);
        world.set_local(group, 0, -100);
        world.sleep(first);
        assert_eq!(world.state(task), TaskState::Running, "{kernel}");
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (5_000_000, 4_999_900),
            "{kernel}"
        );
    }
}

#[test]
fn t021_the_slice_is_read_at_every_use() {
    for kernel in ALL {
        let (mut world, group, _) = running(kernel);
        world.charge(0);
        world.set_pool(group, 100_000_000);
        world.set_local(group, 0, MILLI);
        world.sched.config.tunables.slice = ms(20);
        world.drive(ms(1));
        world.charge(0);
        assert_eq!(
            (world.local(group, 0), world.r(group)),
            (20_000_000, 80_000_000),
            "{kernel}"
        );
    }
}
