use alloc::format;
use alloc::string::ToString;

use super::*;
use crate::DEFAULT_PERIOD;

fn limit(quota: Option<u64>, period: u64, burst: u64) -> Limit {
    let us = Nanos::from_micros;
    Limit::new(quota.map(us), us(period), us(burst)).unwrap()
}

#[test]
fn t69_a_quota_below_the_burst_is_refused() {
    let old = limit(Some(100_000), 100_000, 50_000);
    assert_eq!(
        parse_cpu_max("40000", &old),
        Err(LimitError::BurstExceedsQuota {
            burst: Nanos::from_millis(50),
            quota: Nanos::from_millis(40),
        })
    );
    let lower = parse_burst("40000", &old).unwrap();
    assert_eq!(
        parse_cpu_max("40000", &lower),
        Ok(limit(Some(40_000), 100_000, 40_000))
    );
}

#[test]
fn t70_words_of_cpu_max() {
    let old = limit(Some(30_000), 60_000, 10_000);
    let accepted = [
        ("max", None, 60_000),
        ("max 50000", None, 50_000),
        ("20000", Some(20_000), 60_000),
        ("20000 50000", Some(20_000), 50_000),
        ("20000 abc", Some(20_000), 60_000),
        (" 20000\t50000\n", Some(20_000), 50_000),
        ("20000 50000 more", Some(20_000), 50_000),
        ("20000 50000more", Some(20_000), 50_000),
        ("20000us", Some(20_000), 60_000),
        // 20 characters are the quota, the others the period.
        ("0000000000000002000050000", Some(20_000), 50_000),
    ];
    for (text, quota, period) in accepted {
        assert_eq!(
            parse_cpu_max(text, &old),
            Ok(limit(quota, period, 10_000)),
            "{text:?}"
        );
    }

    let field = LimitField::Quota;
    for text in ["", " ", "\n"] {
        assert_eq!(
            parse_cpu_max(text, &old),
            Err(LimitError::Empty { field }),
            "{text:?}"
        );
    }
    for text in ["abc", "-1", "+5", "maximum", "Max", "\u{e9}t\u{e9}"] {
        let text = text.to_string();
        assert_eq!(
            parse_cpu_max(&text, &old),
            Err(LimitError::NotANumber { field, text })
        );
    }
    for text in ["0", "999", "50ms"] {
        let error = parse_cpu_max(text, &old).unwrap_err();
        assert!(
            matches!(error, LimitError::QuotaTooSmall { .. }),
            "{text:?}"
        );
    }
    let error = parse_cpu_max("max 0", &old);
    assert_eq!(
        error,
        Err(LimitError::PeriodTooSmall {
            period: Nanos::ZERO
        })
    );
}

#[test]
fn an_overflow_is_refused_not_wrapped() {
    let most = u64::MAX / 1_000;
    let old = Limit::UNLIMITED;
    let parsers = [
        (LimitField::Quota, parse_cpu_max as fn(&str, &Limit) -> _),
        (LimitField::Quota, parse_cfs_quota_us),
        (LimitField::Period, parse_cfs_period_us),
        (LimitField::Burst, parse_cfs_burst_us),
        (LimitField::Burst, parse_burst),
    ];
    for (field, parse) in parsers {
        for number in [
            u128::from(most) + 1,
            u128::from(u64::MAX),
            u128::from(u64::MAX) + 1,
        ] {
            let text = number.to_string();
            assert_eq!(
                parse(&text, &old),
                Err(LimitError::Overflow { field, text })
            );
        }
    }
    assert!(parse_burst(&most.to_string(), &old).is_ok());
    let period = parse_cpu_max("max 18446744073709552", &old);
    assert!(matches!(
        period,
        Err(LimitError::Overflow {
            field: LimitField::Period,
            ..
        })
    ));
}

#[test]
fn t71_files_of_a_new_group() {
    let new = Limit::default();
    assert_eq!(new.cpu_max().to_string(), "max 100000");
    assert_eq!(new.cfs_burst_us(), 0);
    assert_eq!(new.cfs_quota_us(), -1);
    assert_eq!(new.cfs_period_us(), 100_000);
}

#[test]
fn t72_a_negative_quota_is_no_limit_on_v1() {
    let old = limit(Some(30_000), 60_000, 10_000);
    let new = parse_cfs_quota_us("-5\n", &old).unwrap();
    assert_eq!(new, limit(None, 60_000, 10_000));
    assert_eq!(new.cfs_quota_us(), -1);
}

#[test]
fn v1_files_set_one_value_each() {
    let old = limit(Some(30_000), 60_000, 10_000);
    assert_eq!(
        parse_cfs_quota_us("20000", &old),
        Ok(limit(Some(20_000), 60_000, 10_000))
    );
    assert_eq!(
        parse_cfs_period_us("50000\n", &old),
        Ok(limit(Some(30_000), 50_000, 10_000))
    );
    assert_eq!(
        parse_cfs_burst_us("20000", &old),
        Ok(limit(Some(30_000), 60_000, 20_000))
    );
    assert!(matches!(
        parse_cfs_quota_us("max", &old),
        Err(LimitError::NotANumber { .. })
    ));
    assert!(matches!(
        parse_cfs_quota_us("5000", &old),
        Err(LimitError::BurstExceedsQuota { .. })
    ));
    assert!(matches!(
        parse_cfs_period_us("-1", &old),
        Err(LimitError::NotANumber { .. })
    ));
    assert!(matches!(
        parse_cfs_burst_us("", &old),
        Err(LimitError::Empty { .. })
    ));
    assert!(matches!(
        parse_cfs_burst_us("1 2", &old),
        Err(LimitError::NotANumber { .. })
    ));
}

#[test]
fn what_is_shown_is_read_back() {
    for quota in [None, Some(1_000), Some(123_456), Some((1 << 44) - 1)] {
        for period in [1_000, 99_999, 1_000_000] {
            let limit = limit(quota, period, 0);
            let shown = limit.cpu_max().to_string();
            assert_eq!(parse_cpu_max(&shown, &Limit::UNLIMITED), Ok(limit));
        }
    }
    let fraction = Limit::new(Some(Nanos(1_000_999)), DEFAULT_PERIOD, Nanos(999)).unwrap();
    assert_eq!(fraction.cpu_max().to_string(), "1000 100000");
    assert_eq!(fraction.cfs_quota_us(), 1_000);
    assert_eq!(fraction.cfs_burst_us(), 0);
}

fn bandwidth_stat() -> BandwidthStat {
    BandwidthStat {
        nr_periods: 12,
        nr_throttled: 5,
        throttled_time: Nanos(200_000_999),
        nr_bursts: 1,
        burst_time: Nanos(25_000_000),
    }
}

#[test]
fn cpu_stat_of_v2_is_in_the_kernels_order_and_microseconds() {
    let stat = CpuStat {
        usage_usec: 900,
        user_usec: 600,
        system_usec: 300,
        ..CpuStat::from(bandwidth_stat())
    };
    let text = "usage_usec 900\nuser_usec 600\nsystem_usec 300\nnr_periods 12\nnr_throttled 5\n\
                throttled_usec 200000\nnr_bursts 1\nburst_usec 25000";
    assert_eq!(stat.to_string(), text);
    assert_eq!(CpuStat::parse(text), Ok(stat));
    let newer = format!("nice_usec 7\n{text}\n\ncore_sched.force_idle_usec 0\n");
    assert_eq!(CpuStat::parse(&newer), Ok(stat));
    assert_eq!(CpuStat::parse(""), Ok(CpuStat::default()));
}

#[test]
fn cpu_stat_of_v1_is_in_nanoseconds() {
    let stat = LegacyCpuStat::from(bandwidth_stat());
    let text = "nr_periods 12\nnr_throttled 5\nthrottled_time 200000999\nnr_bursts 1\n\
                burst_time 25000000";
    assert_eq!(stat.to_string(), text);
    assert_eq!(LegacyCpuStat::parse(text), Ok(stat));

    let waited = LegacyCpuStat {
        wait_sum: Some(Nanos(77)),
        ..stat
    };
    let text = text.replace("nr_bursts", "wait_sum 77\nnr_bursts");
    assert_eq!(waited.to_string(), text);
    assert_eq!(LegacyCpuStat::parse(&text), Ok(waited));
}

#[test]
fn a_bad_line_of_cpu_stat_is_named() {
    for bad in [
        "nr_periods",
        "nr_periods x",
        "nr_periods -1",
        "nr_periods 1 2",
    ] {
        let error = CpuStat::parse(&format!("usage_usec 5\n{bad}\n")).unwrap_err();
        assert_eq!(
            error,
            StatError {
                line: 2,
                text: bad.into()
            }
        );
    }
    assert_eq!(
        LegacyCpuStat::parse("nr_periods x")
            .unwrap_err()
            .to_string(),
        "line 1 of cpu.stat is `nr_periods x`; each line is a name and a whole number"
    );
}
