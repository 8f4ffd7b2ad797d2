//! The numbered tests are the statements of the specification of the same number. Times named without
//! a unit are milliseconds; the pool has a period of 100 ms unless a test says otherwise.

extern crate std;

use super::*;

/// The slice.
const S: Nanos = Nanos::from_millis(5);
const ONE: Nanos = Nanos::NANOSECOND;

const fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn limit_of(quota: u64, period: u64, burst: u64) -> Limit {
    Limit::new(Some(ms(quota)), ms(period), ms(burst)).unwrap()
}

/// A pool that holds `runtime` after a refill, its timer off and on the grid of 0.
fn pool(runtime: Nanos, quota: u64, burst: u64) -> Pool {
    let mut pool = Pool::new(limit_of(quota, 100, burst), Nanos::ZERO);
    pool.runtime = runtime;
    pool.runtime_snap = runtime.min(pool.limit.cap().unwrap());
    pool
}

/// The same with its timer armed for the boundary at 100 ms.
fn running(runtime: Nanos, quota: u64, burst: u64) -> Pool {
    let mut pool = pool(runtime, quota, burst);
    assert_eq!(pool.start_period_timer(Nanos::ZERO), Some(ms(100)));
    pool
}

fn request(pool: &mut Pool, local: &mut Runtime, target: Nanos) -> Request {
    pool.request(Nanos::ZERO, local, target)
}

/// Takes `amount` out of the pool at `now`, as a queue with an empty balance does.
fn grant(pool: &mut Pool, now: Nanos, amount: Nanos) {
    assert_eq!(pool.request(now, &mut Runtime(0), amount).granted, amount);
}

/// Runs the whole callback in no time, with a distribution to nobody if somebody waits.
fn fire(pool: &mut Pool, now: Nanos, had_throttled: bool) -> Option<Nanos> {
    pool.enter_period_timer();
    let stop = loop {
        match pool.period_iteration(now, had_throttled) {
            PeriodIteration::Done => break false,
            PeriodIteration::Stop => break true,
            PeriodIteration::Continue => (),
            PeriodIteration::Distribute => pool.after_distribution(),
        }
    };
    pool.leave_period_timer(stop)
}

// ---- requests ---------------------------------------------------------------------------------

#[test]
fn t01_request_pays_debt_and_takes_a_slice() {
    let (mut pool, mut local) = (pool(ms(100), 100, 0), Runtime(-300_000));
    let request = request(&mut pool, &mut local, S);
    assert_eq!(request.granted, Nanos(5_300_000));
    assert!(request.success);
    assert_eq!(
        (pool.runtime(), local),
        (Nanos(94_700_000), Runtime(5_000_000))
    );
}

#[test]
fn t02_request_takes_all_there_is() {
    let (mut pool, mut local) = (pool(Nanos(2_000_000), 100, 0), Runtime(-300_000));
    assert!(request(&mut pool, &mut local, S).success);
    assert_eq!((pool.runtime(), local), (Nanos::ZERO, Runtime(1_700_000)));
}

#[test]
fn t03_partial_grant_is_kept_by_a_queue_still_in_debt() {
    let (mut pool, mut local) = (pool(Nanos(200_000), 100, 0), Runtime(-300_000));
    let request = request(&mut pool, &mut local, S);
    assert_eq!((request.granted, request.success), (Nanos(200_000), false));
    assert_eq!((pool.runtime(), local), (Nanos::ZERO, Runtime(-100_000)));
}

#[test]
fn t04_zero_after_the_grant_is_a_failure() {
    let (mut pool, mut local) = (pool(Nanos(300_000), 100, 0), Runtime(-300_000));
    assert!(!request(&mut pool, &mut local, S).success);
    assert_eq!((pool.runtime(), local), (Nanos::ZERO, Runtime(0)));
}

#[test]
fn t05_one_nanosecond_above_the_debt_is_a_success() {
    let (mut pool, mut local) = (pool(Nanos(300_001), 100, 0), Runtime(-300_000));
    assert!(request(&mut pool, &mut local, ONE).success);
    assert_eq!((pool.runtime(), local), (Nanos::ZERO, Runtime(1)));
}

#[test]
fn t10_to_t13_targets_at_the_first_enqueue() {
    let cases = [
        (0, S, 5_000_000, 95_000_000),
        (0, ONE, 1, 99_999_999),
        (-300_000, S, 5_000_000, 94_700_000),
        (-300_000, ONE, 1, 99_699_999),
    ];
    for (local, target, local_after, runtime) in cases {
        let (mut pool, mut local) = (pool(ms(100), 100, 0), Runtime(local));
        assert!(request(&mut pool, &mut local, target).success);
        assert_eq!(
            (pool.runtime(), local),
            (Nanos(runtime), Runtime(local_after))
        );
    }
}

#[test]
fn t13_the_tick_after_an_enqueue_with_one_nanosecond() {
    let (mut pool, mut local) = (pool(Nanos(99_699_999), 100, 0), Runtime(1));
    assert!(local.charge(ms(4)));
    assert_eq!(local, Runtime(-3_999_999));
    assert_eq!(request(&mut pool, &mut local, S).granted, Nanos(8_999_999));
    assert_eq!(
        (pool.runtime(), local),
        (Nanos(90_700_000), Runtime(5_000_000))
    );
}

#[test]
fn t15_returned_slack_saves_the_queue_at_its_throttle_attempt() {
    let (mut pool, mut local) = (running(Nanos::ZERO, 100, 0), Runtime(-2_000_000));
    assert!(!request(&mut pool, &mut local, S).success);
    assert_eq!(
        pool.return_slack(ms(4), &mut Runtime(4_000_000), false, S),
        None
    );
    let request = request(&mut pool, &mut local, ONE);
    assert_eq!((request.granted, request.success), (Nanos(2_000_001), true));
    assert_eq!((pool.runtime(), local), (Nanos(999_999), Runtime(1)));
}

#[test]
fn t16_three_milliseconds_of_slack_start_no_slack_timer() {
    let mut pool = running(Nanos::ZERO, 100, 0);
    assert_eq!(
        pool.return_slack(ms(4), &mut Runtime(4_000_000), true, S),
        None
    );
    assert_eq!(pool.runtime(), ms(3));
    assert!(!pool.slack_started());
}

#[test]
fn t17_a_pool_without_quota_gives_all_and_starts_no_timer() {
    let mut pool = pool(ms(40), 100, 0);
    assert_eq!(pool.configure(Nanos::ZERO, Limit::UNLIMITED), None);
    let mut local = Runtime(-7_000_000);
    let request = request(&mut pool, &mut local, S);
    assert_eq!(
        request,
        Request {
            granted: ms(12),
            success: true,
            arm_period: None
        }
    );
    assert_eq!((pool.runtime(), local), (ms(40), Runtime(5_000_000)));
    assert!(!pool.period_active());
}

#[test]
fn t18_a_failing_request_starts_the_timer_and_leaves_idle() {
    for idle in [false, true] {
        let mut pool = pool(Nanos::ZERO, 100, 0);
        pool.idle = idle;
        let first = pool.request(ms(30), &mut Runtime(0), S);
        assert_eq!(
            first,
            Request {
                granted: Nanos::ZERO,
                success: false,
                arm_period: Some(ms(100))
            }
        );
        assert!(pool.period_active());
        assert_eq!(pool.is_idle(), idle);
        assert_eq!(pool.request(ms(31), &mut Runtime(0), S).arm_period, None);
    }
}

#[test]
fn t19_a_grant_clears_idle_even_if_it_is_partial() {
    for (runtime, success) in [(ms(100), true), (Nanos(1), false)] {
        let mut pool = pool(runtime, 100, 0);
        pool.idle = true;
        assert_eq!(request(&mut pool, &mut Runtime(-5), S).success, success);
        assert!(!pool.is_idle());
    }
}

#[test]
fn t20_zero_charge_at_switch_in_takes_a_slice() {
    let (mut pool, mut local) = (pool(ms(10), 100, 0), Runtime(-100));
    assert!(local.charge(Nanos::ZERO));
    assert!(request(&mut pool, &mut local, S).success);
    assert_eq!(
        (pool.runtime(), local),
        (Nanos(4_999_900), Runtime(5_000_000))
    );
}

#[test]
fn t21_a_new_slice_counts_at_once() {
    let mut pool = pool(ms(100), 100, 0);
    assert_eq!(request(&mut pool, &mut Runtime(0), ms(20)).granted, ms(20));
}

#[test]
fn requests_follow_the_rule_for_every_small_number() {
    for runtime in 0..12_u64 {
        for local in -8..=0_i64 {
            for target in 1..8_u64 {
                let (mut pool, mut after) = (pool(Nanos(runtime), 100, 0), Runtime(local));
                let request = request(&mut pool, &mut after, Nanos(target));
                let granted = (target as i64 - local).min(runtime as i64);
                assert_eq!(request.granted, Nanos(granted as u64));
                assert_eq!(after, Runtime(local + granted));
                assert_eq!(pool.runtime(), Nanos(runtime - granted as u64));
                assert_eq!(request.success, local + granted > 0);
                // Whoever fails leaves nothing behind.
                assert!(request.success || pool.runtime() == Nanos::ZERO);
            }
        }
    }
}

#[test]
fn absurd_numbers_saturate() {
    let (mut pool, mut local) = (pool(Nanos::MAX, 100, 0), Runtime(i64::MIN));
    assert!(!request(&mut pool, &mut local, Nanos::MAX).success);
    assert_eq!(local, Runtime(-1));
    let _ = pool.return_slack(Nanos::MAX, &mut Runtime(i64::MAX), true, S);
    let _ = pool.return_slack(Nanos::MAX, &mut Runtime(i64::MAX), true, S);
    assert_eq!(pool.runtime(), Nanos::MAX);
    pool.refill();
    assert_eq!(pool.runtime(), ms(100));
    pool.add_throttled_time(Nanos::MAX);
    pool.add_throttled_time(ONE);
    assert_eq!(pool.stat().throttled_time, Nanos::MAX);
    assert_eq!(fire(&mut pool, Nanos::MAX, true), Some(Nanos::MAX));
}

// ---- steady patterns --------------------------------------------------------------------------

/// Usage per period of a spinner on one CPU, charged every 4 ms, that starts at a boundary with a
/// balance of `first` in a full pool.
fn spin(quota: u64, first: i64) -> [u64; 7] {
    let mut pool = Pool::new(Limit::UNLIMITED, Nanos::ZERO);
    assert_eq!(
        pool.configure(Nanos::ZERO, limit_of(quota, 100, 0)),
        Some(ms(100))
    );
    let mut local = Runtime(first);
    let mut throttled = local.is_out() && !request(&mut pool, &mut local, S).success;
    let mut usage = [0; 7];
    for tick in 1..175 {
        let now = ms(4 * tick);
        if !throttled {
            usage[(4 * (tick - 1) / 100) as usize] += 4;
            throttled = local.charge(ms(4)) && !pool.request(now, &mut local, S).success;
        }
        if now == pool.period_expires() {
            pool.enter_period_timer();
            if pool.period_iteration(now, throttled) == PeriodIteration::Distribute {
                pool.give_to_throttled(&mut local);
                throttled = local.is_out();
                pool.after_distribution();
            }
            assert!(pool.leave_period_timer(false).is_some());
        }
    }
    usage
}

#[test]
fn t22_to_t25_a_spinner_alternates_about_its_quota() {
    assert_eq!(spin(10, 0), [12, 8, 12, 8, 12, 8, 12]);
    assert_eq!(spin(10, 1), [12, 12, 8, 12, 8, 12, 8]);
    assert_eq!(spin(20, 0), [20; 7]);
    assert_eq!(spin(20, 1), [24, 20, 20, 20, 20, 20, 20]);
    assert_eq!(spin(50, 0), [52, 48, 52, 48, 52, 48, 52]);
    assert_eq!(spin(50, 1), [52, 52, 48, 52, 48, 52, 48]);
}

#[test]
fn t26_the_average_is_the_quota_within_a_tick() {
    for quota in 1..=95 {
        for first in [0, 1] {
            let used: u64 = spin(quota, first).iter().sum();
            assert!(used.abs_diff(7 * quota) <= 4, "quota {quota}: used {used}");
        }
    }
}

// ---- refill and burst -------------------------------------------------------------------------

#[test]
fn t27_without_burst_nothing_carries_over() {
    let mut pool = pool(ms(10), 100, 0);
    pool.refill();
    assert_eq!((pool.runtime(), pool.runtime_snap()), (ms(100), ms(100)));
    assert_eq!(pool.stat(), BandwidthStat::default());
}

#[test]
fn t28_burst_carries_over_and_is_counted_when_used() {
    let mut pool = pool(ms(30), 100, 50);
    pool.runtime_snap = ms(130);
    pool.refill();
    assert_eq!((pool.runtime(), pool.runtime_snap()), (ms(130), ms(130)));
    assert_eq!(pool.stat().nr_bursts, 0);
    grant(&mut pool, Nanos::ZERO, ms(125));
    pool.refill();
    assert_eq!(pool.runtime(), ms(105));
    assert_eq!((pool.stat().nr_bursts, pool.stat().burst_time), (1, ms(25)));
}

#[test]
fn a_burst_begins_one_nanosecond_above_the_quota() {
    let mut pool = pool(ms(150), 100, 50);
    grant(&mut pool, Nanos::ZERO, ms(100));
    pool.refill();
    assert_eq!(pool.stat().nr_bursts, 0);
    grant(&mut pool, Nanos::ZERO, ms(100) + ONE);
    pool.refill();
    assert_eq!((pool.stat().nr_bursts, pool.stat().burst_time), (1, ONE));
}

#[test]
fn t29_burst_caps_what_carries_over() {
    let mut pool = pool(ms(80), 100, 50);
    pool.refill();
    assert_eq!(pool.runtime(), ms(150));
}

#[test]
fn t30_two_idle_boundaries_charge_the_burst() {
    let mut pool = running(Nanos::ZERO, 100, 20);
    assert_eq!(fire(&mut pool, ms(100), false), Some(ms(200)));
    assert_eq!(pool.runtime(), ms(100));
    assert_eq!(fire(&mut pool, ms(200), false), None);
    assert_eq!(pool.runtime(), ms(120));
    assert!(!pool.period_active());
}

#[test]
fn two_idle_boundaries_charge_any_burst_from_any_runtime() {
    for quota in [1, 7, 100] {
        for burst in 0..=quota {
            for runtime in 0..=quota + burst {
                let mut pool = running(ms(runtime), quota, burst);
                assert!(fire(&mut pool, ms(100), false).is_some());
                assert!(fire(&mut pool, ms(200), false).is_none());
                assert_eq!(pool.runtime(), ms(quota + burst));
            }
        }
    }
}

#[test]
fn t31_a_lower_quota_counts_as_a_burst() {
    let mut pool = running(ms(100), 100, 0);
    grant(&mut pool, Nanos::ZERO, ms(60));
    assert_eq!(pool.configure(ms(10), limit_of(20, 100, 0)), None);
    assert_eq!(pool.runtime(), ms(20));
    assert_eq!((pool.stat().nr_bursts, pool.stat().burst_time), (1, ms(40)));
}

#[test]
fn t32_returned_slack_is_not_granted() {
    let mut pool = running(ms(100), 100, 50);
    grant(&mut pool, Nanos::ZERO, ms(90));
    assert_eq!(
        pool.return_slack(ms(50), &mut Runtime(21_000_000), false, S),
        None
    );
    assert_eq!(pool.runtime(), ms(30));
    pool.refill();
    assert_eq!((pool.runtime(), pool.stat().nr_bursts), (ms(130), 0));
}

#[test]
fn t33_writing_the_same_limit_refills() {
    let mut pool = running(Nanos::ZERO, 100, 0);
    let limit = pool.limit();
    assert_eq!(pool.configure(ms(10), limit), None);
    assert_eq!(pool.runtime(), ms(100));
}

#[test]
fn t34_runtime_outlives_a_time_without_limit() {
    let mut pool = running(ms(100), 100, 0);
    grant(&mut pool, Nanos::ZERO, ms(60));
    assert_eq!(pool.configure(ms(10), Limit::UNLIMITED), None);
    assert_eq!((pool.runtime(), pool.runtime_snap()), (ms(40), ms(100)));
    assert_eq!(pool.configure(ms(20), limit_of(100, 100, 0)), None);
    assert_eq!((pool.runtime(), pool.stat().nr_bursts), (ms(100), 0));
}

// ---- period timer -----------------------------------------------------------------------------

#[test]
fn t36_missed_periods_are_counted_and_refilled_once() {
    let mut pool = running(Nanos::ZERO, 100, 100);
    assert_eq!(fire(&mut pool, ms(350), true), Some(ms(400)));
    assert_eq!((pool.stat().nr_periods, pool.stat().nr_throttled), (3, 3));
    assert_eq!(pool.runtime(), ms(100));
}

#[test]
fn t37_two_boundaries_after_the_last_grant_the_timer_stops() {
    let mut pool = running(ms(100), 100, 0);
    grant(&mut pool, ms(50), ms(5));
    assert_eq!(fire(&mut pool, ms(100), false), Some(ms(200)));
    assert!(pool.is_idle());
    assert_eq!(pool.runtime(), ms(100));
    assert_eq!(fire(&mut pool, ms(200), false), None);
    assert!(!pool.period_active() && !pool.in_period_timer());
    assert_eq!((pool.stat().nr_periods, pool.stat().nr_throttled), (2, 0));
}

#[test]
fn t38_a_grant_between_them_keeps_it_running() {
    let mut pool = running(ms(100), 100, 0);
    assert!(fire(&mut pool, ms(100), false).is_some());
    grant(&mut pool, ms(150), ms(5));
    assert!(!pool.is_idle());
    assert_eq!(fire(&mut pool, ms(200), false), Some(ms(300)));
    assert_eq!(fire(&mut pool, ms(300), false), None);
}

#[test]
fn t39_a_throttled_queue_keeps_an_idle_timer_running() {
    let mut pool = running(ms(100), 100, 0);
    assert!(fire(&mut pool, ms(100), false).is_some());
    assert!(pool.is_idle());
    assert_eq!(fire(&mut pool, ms(200), true), Some(ms(300)));
    assert!(!pool.is_idle());
}

#[test]
fn t40_the_grid_outlives_idleness() {
    let mut pool = Pool::new(limit_of(100, 100, 0), ms(37));
    let request = pool.request(ms(1_523), &mut Runtime(0), S);
    assert_eq!(request.arm_period, Some(ms(1_537)));
}

#[test]
fn t41_a_restart_before_a_boundary_gets_two_quotas() {
    let mut pool = Pool::new(limit_of(100, 100, 0), ms(37));
    pool.runtime = ms(100);
    for _ in 0..10 {
        grant(&mut pool, ms(1_523), ms(10));
    }
    assert_eq!(pool.runtime(), Nanos::ZERO);
    assert_eq!(fire(&mut pool, ms(1_537), false), Some(ms(1_637)));
    grant(&mut pool, ms(1_537), ms(100));
}

#[test]
fn a_phase_ahead_is_the_first_expiry() {
    let mut pool = Pool::new(Limit::UNLIMITED, ms(37));
    assert_eq!(pool.configure(ms(10), limit_of(20, 100, 0)), Some(ms(37)));
    assert_eq!(pool.start_period_timer(ms(11)), None);
    assert_eq!(pool.period_expires(), ms(37));
}

/// Iterates one callback `times` times, each a whole period later than the last.
fn slow_callback(pool: &mut Pool, times: u64, throttled: bool) -> u64 {
    let mut doublings = 0;
    pool.enter_period_timer();
    for _ in 0..times {
        let now = pool.period_expires();
        match pool.period_iteration(now, throttled) {
            PeriodIteration::Distribute => {
                assert_eq!(
                    pool.period_too_short(),
                    None,
                    "nothing doubles before the distribution"
                );
                pool.after_distribution();
            }
            other => assert_ne!(other, PeriodIteration::Done),
        }
        doublings += u64::from(pool.period_too_short() == Some(PeriodTooShort::Doubled));
    }
    assert!(pool.leave_period_timer(false).is_some());
    doublings
}

#[test]
fn t42_the_fourth_iteration_doubles() {
    for throttled in [false, true] {
        let mut pool = running(ms(60), 50, 10);
        assert_eq!(slow_callback(&mut pool, 3, throttled), 0);
        assert_eq!(pool.limit(), limit_of(50, 100, 10));

        // The count begins anew with each callback.
        assert_eq!(slow_callback(&mut pool, 4, throttled), 1);
        assert_eq!(pool.limit(), limit_of(100, 200, 20));
        assert_eq!((pool.runtime(), pool.runtime_snap()), (ms(60), ms(60)));
    }
}

#[test]
fn t43_half_a_second_cannot_be_doubled() {
    let limit = limit_of(50, 500, 10);
    let mut pool = Pool::new(Limit::UNLIMITED, Nanos::ZERO);
    assert!(pool.configure(Nanos::ZERO, limit).is_some());
    pool.enter_period_timer();
    for iteration in 1..=12 {
        let now = pool.period_expires();
        assert_eq!(
            pool.period_iteration(now, true),
            PeriodIteration::Distribute
        );
        pool.after_distribution();
        let warned = (iteration % 4 == 0).then_some(PeriodTooShort::AtMaximum);
        assert_eq!(pool.period_too_short(), warned);
    }
    assert!(pool.leave_period_timer(false).is_some());
    assert_eq!(pool.limit(), limit);
}

#[test]
fn a_callback_that_never_gets_done_ends_at_512_ms() {
    let mut pool = Pool::new(Limit::UNLIMITED, Nanos::ZERO);
    assert!(pool.configure(Nanos::ZERO, limit_of(3, 1, 1)).is_some());
    assert_eq!(slow_callback(&mut pool, 100, true), 9);
    assert_eq!(pool.limit(), limit_of(3 * 512, 512, 512));
}

#[test]
fn t44_without_quota_the_next_expiry_stops_the_timer() {
    let mut pool = running(ms(100), 100, 0);
    assert_eq!(pool.configure(ms(50), Limit::UNLIMITED), None);
    assert!(pool.period_active());
    assert_eq!(fire(&mut pool, ms(100), false), None);
    assert!(!pool.period_active());
    assert_eq!(pool.stat().nr_periods, 0);
}

#[test]
fn t45_a_new_period_begins_after_the_programmed_expiry() {
    let mut pool = running(ms(100), 100, 0);
    assert_eq!(pool.configure(ms(30), limit_of(10, 20, 0)), None);
    assert_eq!(pool.period_expires(), ms(100));
    assert_eq!(fire(&mut pool, ms(100), false), Some(ms(120)));
}

#[test]
fn a_shorter_period_waits_for_the_grid_point_of_the_old_one() {
    let mut pool = Pool::new(Limit::UNLIMITED, Nanos::ZERO);
    assert_eq!(
        pool.configure(Nanos::ZERO, limit_of(100, 1_000, 0)),
        Some(ms(1_000))
    );
    assert_eq!(fire(&mut pool, ms(1_000), false), Some(ms(2_000)));
    assert_eq!(fire(&mut pool, ms(2_000), false), None);
    assert_eq!(
        pool.configure(ms(2_001), limit_of(1, 10, 0)),
        Some(ms(3_000))
    );
}

// ---- distribution -----------------------------------------------------------------------------

#[test]
fn t46_distribution_gives_one_nanosecond_above_the_debt() {
    let (mut pool, mut local) = (running(ms(100), 100, 0), Runtime(-100_000));
    assert_eq!(pool.give_to_throttled(&mut local), Nanos(100_001));
    assert_eq!((pool.runtime(), local), (Nanos(99_899_999), Runtime(1)));
}

#[test]
fn t47_distribution_gives_a_part_if_there_is_no_more() {
    let (mut pool, mut local) = (running(Nanos(50_000), 100, 0), Runtime(-100_000));
    assert_eq!(pool.give_to_throttled(&mut local), Nanos(50_000));
    assert_eq!((pool.runtime(), local), (Nanos::ZERO, Runtime(-50_000)));
}

#[test]
fn t48_debt_at_the_head_of_the_line_blocks_the_rest() {
    let mut pool = running(Nanos::ZERO, 10, 0);
    let (mut x, mut y) = (Runtime(-12_000_000), Runtime(0));
    pool.refill();
    assert_eq!(pool.give_to_throttled(&mut x), ms(10));
    assert_eq!(pool.give_to_throttled(&mut y), Nanos::ZERO);
    assert_eq!((x, y), (Runtime(-2_000_000), Runtime(0)));
    pool.refill();
    assert_eq!(pool.give_to_throttled(&mut x), Nanos(2_000_001));
    assert_eq!(pool.give_to_throttled(&mut y), ONE);
    assert_eq!(
        (x, y, pool.runtime()),
        (Runtime(1), Runtime(1), Nanos(7_999_998))
    );
}

#[test]
fn t49_two_nanoseconds_release_two_queues() {
    let mut pool = running(Nanos(2), 100, 0);
    let mut locals = [Runtime(0); 3];
    for local in &mut locals {
        pool.give_to_throttled(local);
    }
    assert_eq!(locals, [Runtime(1), Runtime(1), Runtime(0)]);
}

#[test]
fn t56_distribution_after_a_charge_pays_the_charge() {
    let (mut pool, mut local) = (running(ms(100), 100, 0), Runtime(-100_000));
    local.charge(ms(1));
    assert_eq!(local, Runtime(-1_100_000));
    assert_eq!(pool.give_to_throttled(&mut local), Nanos(1_100_001));
}

#[test]
fn t108_a_large_debt_waits_for_many_refills() {
    let (mut pool, mut local) = (running(Nanos::ZERO, 20, 0), Runtime(-250_000_000));
    for refill in 1..=13 {
        assert!(local.is_out());
        pool.refill();
        let granted = pool.give_to_throttled(&mut local);
        assert_eq!(
            granted,
            if refill < 13 {
                ms(20)
            } else {
                Nanos(10_000_001)
            }
        );
    }
    assert_eq!(local, Runtime(1));
}

// ---- slack ------------------------------------------------------------------------------------

#[test]
fn t57_slack_above_one_millisecond_is_returned() {
    let (mut pool, mut local) = (running(ms(10), 100, 0), Runtime(3_200_000));
    assert_eq!(pool.return_slack(ms(50), &mut local, false, S), None);
    assert_eq!(
        (pool.runtime(), local),
        (Nanos(12_200_000), Runtime(1_000_000))
    );
}

#[test]
fn t58_no_slack_is_returned_at_or_below_one_millisecond() {
    for balance in [1_000_000, 1, 0, -5, i64::MIN] {
        let (mut pool, mut local) = (running(ms(10), 100, 0), Runtime(balance));
        assert_eq!(pool.return_slack(ms(50), &mut local, true, S), None);
        assert_eq!((pool.runtime(), local), (ms(10), Runtime(balance)));
    }
}

#[test]
fn slack_is_cut_but_not_returned_without_quota() {
    let mut pool = running(ms(10), 100, 0);
    assert_eq!(pool.configure(ms(10), Limit::UNLIMITED), None);
    let mut local = Runtime(9_000_000);
    assert_eq!(pool.return_slack(ms(20), &mut local, true, S), None);
    assert_eq!((pool.runtime(), local), (ms(10), Runtime(1_000_000)));
    assert!(!pool.slack_started());
}

/// Returns slack at `now` to a pool that then holds `runtime`, with somebody waiting.
fn return_up_to(pool: &mut Pool, now: Nanos, runtime: Nanos) -> Option<Nanos> {
    pool.runtime = runtime - ms(1);
    pool.return_slack(now, &mut Runtime(2_000_000), true, S)
}

#[test]
fn t59_slack_must_exceed_a_slice() {
    let mut pool = running(Nanos::ZERO, 100, 0);
    assert_eq!(return_up_to(&mut pool, ms(50), Nanos(5_000_000)), None);
    assert!(!pool.slack_started());
    assert_eq!(
        return_up_to(&mut pool, ms(50), Nanos(5_000_001)),
        Some(ms(55))
    );
    assert!(pool.slack_started());
}

#[test]
fn t60_slack_waits_for_a_boundary_less_than_7_ms_away() {
    let mut pool = running(Nanos::ZERO, 100, 0);
    assert_eq!(return_up_to(&mut pool, ms(93) + ONE, ms(6)), None);
    assert_eq!(return_up_to(&mut pool, ms(93), ms(6)), Some(ms(98)));
}

#[test]
fn t61_an_armed_slack_timer_stays() {
    let mut pool = running(Nanos::ZERO, 100, 0);
    assert_eq!(return_up_to(&mut pool, ms(50), ms(6)), Some(ms(55)));
    assert_eq!(return_up_to(&mut pool, ms(52), ms(6)), None);
    assert!(pool.slack_timer_fired(ms(55), S));
    assert_eq!(return_up_to(&mut pool, ms(56), ms(6)), Some(ms(61)));
}

#[test]
fn t62_slack_is_left_to_a_boundary_less_than_2_ms_away() {
    for (now, distributes) in [(ms(98), true), (ms(98) + ONE, false)] {
        let mut pool = running(Nanos(5_000_001), 100, 0);
        pool.slack_started = true;
        assert_eq!(pool.slack_timer_fired(now, S), distributes);
        assert!(!pool.slack_started());
    }
    // Not more than a slice, or no quota: nothing to do.
    assert!(!running(S, 100, 0).slack_timer_fired(ms(50), S));
    let mut pool = running(ms(100), 100, 0);
    assert_eq!(pool.configure(ms(10), Limit::UNLIMITED), None);
    assert!(!pool.slack_timer_fired(ms(50), S));
}

#[test]
fn slack_leaves_it_to_a_running_callback() {
    let mut pool = running(ms(10), 100, 0);
    pool.enter_period_timer();
    assert_eq!(
        pool.period_iteration(ms(100), true),
        PeriodIteration::Distribute
    );
    assert_eq!(return_up_to(&mut pool, ms(100), ms(50)), None);
    assert!(!pool.slack_timer_fired(ms(100), S));
    pool.after_distribution();
    assert_eq!(pool.leave_period_timer(false), Some(ms(200)));
    assert_eq!(return_up_to(&mut pool, ms(100), ms(50)), Some(ms(105)));
}

#[test]
fn t63_a_release_by_slack_is_no_throttled_period() {
    let (mut pool, mut waiting) = (running(ms(2), 100, 0), Runtime(0));
    assert_eq!(
        pool.return_slack(ms(50), &mut Runtime(5_000_000), true, S),
        Some(ms(55))
    );
    assert!(pool.slack_timer_fired(ms(55), S));
    pool.give_to_throttled(&mut waiting);
    assert!(!waiting.is_out());
    assert!(fire(&mut pool, ms(100), false).is_some());
    assert_eq!((pool.stat().nr_periods, pool.stat().nr_throttled), (1, 0));
}

#[test]
fn t64_slack_that_nobody_waits_for_starts_no_timer() {
    let mut pool = running(ms(50), 100, 0);
    assert_eq!(
        pool.return_slack(ms(50), &mut Runtime(9_000_000), false, S),
        None
    );
    assert_eq!(pool.runtime(), ms(58));
}

#[test]
fn t65_returned_slack_may_exceed_the_quota_until_the_refill() {
    let mut pool = running(ms(98), 100, 0);
    assert_eq!(
        pool.return_slack(ms(50), &mut Runtime(5_000_000), false, S),
        None
    );
    assert_eq!(pool.runtime(), ms(102));
    assert!(fire(&mut pool, ms(100), false).is_some());
    assert_eq!(pool.runtime(), ms(100));
}

// ---- at random --------------------------------------------------------------------------------

/// Knuth's MMIX generator; the high bits are the good ones.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn limit(&mut self) -> Limit {
        let quota = 1 + self.below(40);
        let (period, burst) = (1 + self.below(60), self.below(quota + 1));
        if self.below(8) == 0 {
            return Limit::new(None, ms(period), ms(burst)).unwrap();
        }
        limit_of(quota, period, burst)
    }
}

/// A pool, four queues, and beside them the plain books: what went where since the last refill.
struct World {
    seed: u64,
    steps: u64,
    pool: Pool,
    locals: [Runtime; 4],
    now: Nanos,
    random: Random,
    net_grants: i128,
    bursts: u64,
    burst_time: i128,
    periods: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let pool = Pool::new(Limit::UNLIMITED, Nanos(random.below(100_000_000)));
        Self {
            seed,
            steps: 0,
            pool,
            locals: [Runtime(0); 4],
            now: Nanos::ZERO,
            random,
            net_grants: 0,
            bursts: 0,
            burst_time: 0,
            periods: 0,
        }
    }

    /// What the pool and all balances hold.
    fn total(&self) -> i128 {
        let locals: i128 = self.locals.iter().map(|local| i128::from(local.0)).sum();
        i128::from(self.pool.runtime().0) + locals
    }

    /// Time passes, at most to just before the period timer.
    fn pass(&mut self, most: u64) {
        let now = self.now + Nanos(self.random.below(most));
        let active = self.pool.period_active();
        self.now = if active {
            now.min(self.pool.period_expires() - ONE)
        } else {
            now
        };
    }

    fn note_refill(&mut self, before: Nanos, limit: Limit) {
        let Some(quota) = limit.quota() else {
            assert_eq!(self.pool.runtime(), before);
            return;
        };
        let full = quota + limit.burst();
        assert_eq!(self.pool.runtime(), (before + quota).min(full));
        assert_eq!(self.pool.runtime_snap(), self.pool.runtime());
        let used_over = self.net_grants - i128::from(quota.0);
        if used_over > 0 {
            self.bursts += 1;
            self.burst_time += used_over;
        }
        self.net_grants = 0;
    }

    fn request_or_give(&mut self, queue: usize) {
        let (before, total) = (self.locals[queue], self.total());
        if !before.is_out() {
            return;
        }
        let limited = self.pool.limit().is_finite();
        let granted = if self.random.below(3) == 0 {
            self.pool.give_to_throttled(&mut self.locals[queue])
        } else {
            let target = if self.random.below(2) == 0 { S } else { ONE };
            let request = self.pool.request(self.now, &mut self.locals[queue], target);
            if let Some(expiry) = request.arm_period {
                assert!(expiry > self.now);
            }
            assert_eq!(request.success, self.locals[queue].0 > 0);
            assert!(request.success || self.pool.runtime() == Nanos::ZERO);
            if !limited {
                assert!(request.success);
                return;
            }
            assert!(self.pool.period_active());
            request.granted
        };
        assert_eq!(self.total(), total, "a grant makes and loses nothing");
        self.net_grants += i128::from(granted.0);
    }

    fn return_slack(&mut self, queue: usize) {
        let (total, before) = (self.total(), self.pool.runtime());
        let waiting = self.random.below(2) == 0;
        let armed = self
            .pool
            .return_slack(self.now, &mut self.locals[queue], waiting, S);
        assert!(self.locals[queue].0 <= 1_000_000);
        if self.pool.limit().is_finite() {
            assert_eq!(self.total(), total, "a return makes and loses nothing");
        }
        self.net_grants -= i128::from((self.pool.runtime() - before).0);
        if let Some(expiry) = armed {
            assert_eq!(expiry, self.now + ms(5));
            assert!(expiry + ms(2) <= self.pool.period_expires());
        }
    }

    fn fire(&mut self) {
        if !self.pool.period_active() {
            return;
        }
        self.now = self.pool.period_expires() + Nanos(self.random.below(30_000_000));
        self.pool.enter_period_timer();
        let mut stop = false;
        loop {
            let (limit, before) = (self.pool.limit(), self.pool.runtime());
            let (expiry, idle) = (self.pool.period_expires(), self.pool.is_idle());
            let throttled = self.random.below(2) == 0;
            let iteration = self.pool.period_iteration(self.now, throttled);
            if iteration == PeriodIteration::Done {
                break;
            }
            let boundaries = (self.now - expiry).0 / limit.period().0 + 1;
            assert_eq!(
                self.pool.period_expires(),
                expiry + limit.period() * boundaries
            );
            if limit.is_finite() {
                self.periods += boundaries;
            }
            self.note_refill(before, limit);
            stop = iteration == PeriodIteration::Stop;
            assert_eq!(stop, !limit.is_finite() || idle && !throttled);
            if iteration == PeriodIteration::Distribute {
                self.request_or_give(0);
                self.pool.after_distribution();
                assert!(!self.pool.is_idle());
            }
            self.now += Nanos(self.random.below(20_000_000));
        }
        assert_eq!(self.pool.leave_period_timer(stop).is_none(), stop);
        assert_eq!(self.pool.period_active(), !stop);
    }

    fn configure(&mut self) {
        let limit = self.random.limit();
        let before = self.pool.runtime();
        if let Some(expiry) = self.pool.configure(self.now, limit) {
            // Not within a period: the grid point ahead is one of the period that was before.
            assert!(expiry > self.now && expiry <= self.now + ms(1_000));
        }
        assert!(self.pool.period_active() || !limit.is_finite());
        self.note_refill(before, limit);
    }

    fn step(&mut self) {
        let queue = self.random.below(4) as usize;
        match self.random.below(16) {
            0 => self.configure(),
            1 | 2 => self.fire(),
            3 | 4 => self.return_slack(queue),
            5 => {
                let fired = self.pool.slack_timer_fired(self.now, S);
                assert!(!self.pool.slack_started());
                assert!(!fired || self.pool.runtime() > S);
            }
            6..=9 => {
                let used = Nanos(self.random.below(8_000_000));
                self.locals[queue].charge(used);
            }
            10..=13 => self.request_or_give(queue),
            _ => self.pass(5_000_000),
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::eprintln!("seed {}, step {}", self.seed, self.steps);
        }
    }
}

#[test]
fn nothing_is_made_or_lost_at_random() {
    for seed in 0..400 {
        let mut world = World::new(seed);
        while world.steps < 500 {
            world.step();
            let stat = world.pool.stat();
            assert_eq!(stat.nr_bursts, world.bursts);
            assert_eq!(i128::from(stat.burst_time.0), world.burst_time);
            assert_eq!(stat.nr_periods, world.periods);
            assert!(stat.nr_throttled <= stat.nr_periods);
            world.steps += 1;
        }
    }
}
