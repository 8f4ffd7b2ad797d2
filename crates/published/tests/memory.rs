//! What a large simulation needs.

use cpumax_sched::Kernel;
use cpumax_workload::benchmarks::PeriodTimer;

/// Peak resident memory of this process in bytes; `None` where the system does not say.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes << 10)
}

#[test]
fn twenty_thousand_tasks_in_two_thousand_groups_on_512_cpus_fit_into_a_gibibyte() {
    let machine = cpumax_workload::preset("epyc-2s512").unwrap();
    let setup = PeriodTimer {
        length: cpumax_bandwidth::Nanos::from_millis(250),
        ..PeriodTimer::genoa_2000()
    };
    for kernel in [Kernel::V6_12, Kernel::V7_3] {
        setup.run(&machine, kernel, 1).unwrap();
    }
    let Some(peak) = peak_memory() else {
        eprintln!("skipped: there is no /proc/self/status here");
        return;
    };
    assert!(peak < 1 << 30, "{} MiB", peak >> 20);
}
