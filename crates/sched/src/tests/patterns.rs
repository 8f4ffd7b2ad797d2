//! Steady patterns: one user-mode spinner on one CPU, period boundaries on ticks.

use std::vec::Vec;

use super::world::*;
use crate::Kernel;

/// Run time of a spinner under this quota in each of the first periods of 100 ms, in ms.
fn usage_by_period<const N: usize>(kernel: Kernel, quota_ms: u64) -> [u64; N] {
    let mut world = World::new(kernel, 1);
    let group = world.limited(quota_ms, 100);
    world.spin(group, 0);
    let mut before = 0;
    core::array::from_fn(|period| {
        // The boundary itself belongs to the next period: the spinner is throttled there.
        world.drive(ms(100 * (period as u64 + 1)));
        let used = world.usage(group).as_millis();
        let in_period = used - before;
        before = used;
        in_period
    })
}

#[test]
fn t022_a_quota_of_10_ms_in_models_a_and_b() {
    for kernel in AB {
        assert_eq!(
            usage_by_period(kernel, 10),
            [12, 8, 12, 8, 12, 8],
            "{kernel}"
        );
    }
}

#[test]
fn t023_a_quota_of_10_ms_in_models_c_and_d() {
    for kernel in CD {
        assert_eq!(
            usage_by_period(kernel, 10),
            [12, 12, 8, 12, 8, 12],
            "{kernel}"
        );
    }
}

#[test]
fn t024_a_quota_of_20_ms() {
    for kernel in AB {
        assert_eq!(usage_by_period(kernel, 20), [20; 6], "{kernel}");
    }
    for kernel in CD {
        // The nanosecond that the write of the limit left buys a tick, once.
        assert_eq!(
            usage_by_period(kernel, 20),
            [24, 20, 20, 20, 20, 20],
            "{kernel}"
        );
    }
}

#[test]
fn t025_a_quota_of_50_ms() {
    for kernel in AB {
        assert_eq!(
            usage_by_period(kernel, 50),
            [52, 48, 52, 48, 52, 48],
            "{kernel}"
        );
    }
    for kernel in CD {
        assert_eq!(
            usage_by_period(kernel, 50),
            [52, 52, 48, 52, 48, 52],
            "{kernel}"
        );
    }
}

#[test]
fn t026_the_long_run_average_is_the_quota() {
    for kernel in ALL {
        for quota_ms in [1, 3, 10, 20, 37, 50, 99] {
            let used: [u64; 100] = usage_by_period(kernel, quota_ms);
            for periods in 1..=used.len() {
                let total: u64 = used[..periods].iter().sum();
                let fair = quota_ms * periods as u64;
                assert!(
                    total.abs_diff(fair) <= 4,
                    "{kernel}: {total} ms of {fair} ms in {periods} periods"
                );
            }
        }
    }
}

#[test]
fn t026_every_cpu_may_be_a_tick_over() {
    for kernel in ALL {
        let mut world = World::new(kernel, 4);
        let group = world.limited(40, 100);
        let tasks: Vec<_> = (0..4).map(|cpu| world.spin(group, cpu)).collect();
        for period in 1..=50 {
            world.drive(ms(100 * period));
            let used = world.usage(group).as_millis();
            let (fair, slack) = (40 * period, 4 * 4);
            assert!(
                used <= fair + slack,
                "{kernel}: {used} ms of {fair} ms after {period} periods"
            );
            // What is not used sits in the pool and in the four balances.
            assert!(
                used + 20 + slack >= fair,
                "{kernel}: only {used} ms of {fair} ms after {period} periods"
            );
        }
        for task in tasks {
            assert!(world.user_time(task) > ms(50), "{kernel}: {task} starves");
        }
    }
}
