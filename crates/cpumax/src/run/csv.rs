//! The result of `run` as CSV: a line per number. Times are in microseconds.

use cpumax_bandwidth::CpuStat;
use cpumax_report::{Cell, Column, Percentiles, Table};
use cpumax_sim::{GroupOutcome, TaskOutcome};

pub fn render(results: &[super::KernelRun]) -> String {
    let columns = ["kernel", "seed", "kind", "name", "metric", "value"];
    let mut table = Table::new("", columns.map(Column::left));
    for super::KernelRun { outcome, .. } in results {
        let mut push = |kind: &str, name: &str, metric: &str, value: String| {
            table.push([
                outcome.kernel.to_string().into(),
                outcome.seed.to_string().into(),
                kind.into(),
                Cell::new(name),
                metric.into(),
                value.into(),
            ]);
        };
        for group in &outcome.groups {
            for (metric, value) in of_group(group) {
                push("group", &group.path, metric, value.to_string());
            }
        }
        for task in &outcome.tasks {
            for (metric, value) in of_task(task) {
                push("task", &task.name, metric, value);
            }
        }
    }
    table.csv()
}

fn of_group(group: &GroupOutcome) -> [(&'static str, u64); 8] {
    let CpuStat {
        usage_usec,
        user_usec,
        system_usec,
        nr_periods,
        nr_throttled,
        throttled_usec,
        nr_bursts,
        burst_usec,
        ..
    } = group.stat;
    [
        ("usage_usec", usage_usec),
        ("user_usec", user_usec),
        ("system_usec", system_usec),
        ("nr_periods", nr_periods),
        ("nr_throttled", nr_throttled),
        ("throttled_usec", throttled_usec),
        ("nr_bursts", nr_bursts),
        ("burst_usec", burst_usec),
    ]
}

/// Response times are left out of a task none of whose jobs ended.
fn of_task(task: &TaskOutcome) -> Vec<(&'static str, String)> {
    let mut values = vec![
        ("cpu_usec", task.cpu_time.as_micros().to_string()),
        ("wakeups", task.wakeups.to_string()),
    ];
    let mut nanos: Vec<u64> = task.responses.iter().map(|time| time.0).collect();
    if let Some(of) = Percentiles::of(&mut nanos) {
        let usec = |nanos: u64| (nanos as f64 / 1e3).to_string();
        values.extend([
            ("response_p50", usec(of.p50)),
            ("response_p90", usec(of.p90)),
            ("response_p99", usec(of.p99)),
            ("response_max", usec(of.max)),
        ]);
    }
    values
}
