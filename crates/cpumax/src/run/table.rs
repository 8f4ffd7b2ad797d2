//! The result of `run` for people: per kernel the groups, then the tasks by family; at the end a verdict.

use std::fmt::Write;

use cpumax_bandwidth::Nanos;
use cpumax_report::format::{ABSENT, count, decimal, duration};
use cpumax_report::{Cell, Column, Percentiles, Table};
use cpumax_sched::Kernel;
use cpumax_sim::setup::{Action, GroupIndex};
use cpumax_sim::{GroupOutcome, Outcome};
use cpumax_workload::Scenario;

use super::verdict;
use crate::args::Run;
use crate::family::Family;
use crate::output::Output;

/// With more groups than that, only those with a limit are shown.
const MANY_GROUPS: usize = 20;

pub fn render(
    scenario: &Scenario,
    results: &[super::KernelRun],
    options: &Run,
    output: &Output,
) -> String {
    let setup = &scenario.setup;
    let names = setup.tasks.iter().map(|task| task.name.as_str());
    let families = if options.all {
        Family::each(names)
    } else {
        Family::of(names)
    };
    let shown = groups_to_show(scenario, options.all);

    let cpus = setup.machine.topology.cpu_count();
    let mut text = format!(
        "{}: {cpus} CPU{}, {}, seed {}\n",
        scenario.name.replace(char::is_control, " "),
        if cpus == 1 { "" } else { "s" },
        duration(setup.duration.0),
        options.seed,
    );
    for super::KernelRun { outcome, .. } in results {
        let mut title = title(outcome.kernel);
        if !shown.is_empty() {
            let groups = groups(&title, scenario, &shown, outcome);
            text += "\n";
            text += &output.table(&groups);
            title.clear();
        }
        text += "\n";
        text += &output.table(&tasks(&title, &families, outcome));
    }
    text += &notes(scenario, shown.len());
    if !output.is_quiet {
        let outcomes: Vec<&Outcome> = results.iter().map(|result| &result.outcome).collect();
        let _ = writeln!(text, "\n{}", verdict::sentence(scenario, &outcomes));
    }
    text
}

/// A kernel's name with its throttle model.
fn title(kernel: Kernel) -> String {
    let (name, model) = (kernel.to_string(), kernel.throttle.name());
    if name == model {
        format!("model {model}")
    } else {
        format!("Linux {name} ({model})")
    }
}

/// Indices of the groups to show.
fn groups_to_show(scenario: &Scenario, all: bool) -> Vec<usize> {
    let groups = &scenario.setup.groups;
    (0..groups.len())
        .filter(|&index| all || groups.len() <= MANY_GROUPS || groups[index].limit.is_finite())
        .collect()
}

fn groups(title: &str, scenario: &Scenario, shown: &[usize], outcome: &Outcome) -> Table {
    let has_burst = shown
        .iter()
        .any(|&index| scenario.setup.groups[index].limit.burst() > Nanos::ZERO);
    let mut columns = vec![Column::left("group"), Column::right("cpu.max")];
    if has_burst {
        columns.push(Column::right("burst"));
    }
    columns.extend(
        [
            "usage",
            "nr_periods",
            "nr_throttled",
            "throttled",
            "throttled time",
        ]
        .map(Column::right),
    );
    let mut table = Table::new(title, columns);
    for &index in shown {
        let limit = &scenario.setup.groups[index].limit;
        let changed = if is_changed(scenario, index) {
            " *"
        } else {
            ""
        };
        let group = &outcome.groups[index];
        let mut row: Vec<Cell> = vec![
            Cell::new(&group.path),
            format!("{}{changed}", limit.cpu_max()).into(),
        ];
        if has_burst {
            row.push(limit.cfs_burst_us().to_string().into());
        }
        row.push(share(group.stat.usage_usec, outcome.elapsed.as_micros()).into());
        row.extend(throttling(group));
        table.push(row);
    }
    table
}

/// How often and how long a group was throttled; nothing for one that never had a period.
fn throttling(group: &GroupOutcome) -> [Cell; 4] {
    let stat = &group.stat;
    if stat.nr_periods == 0 {
        return [ABSENT; 4].map(Cell::from);
    }
    [
        count(stat.nr_periods),
        count(stat.nr_throttled),
        share(stat.nr_throttled, stat.nr_periods),
        duration(stat.throttled_usec.saturating_mul(1_000)),
    ]
    .map(Cell::from)
}

fn tasks(title: &str, families: &[Family], outcome: &Outcome) -> Table {
    let columns = [
        Column::left("task"),
        Column::left("group"),
        Column::right("cpu time"),
        Column::right("wakeups"),
        Column::right("response p50"),
        Column::right("p90"),
        Column::right("p99"),
        Column::right("max"),
    ];
    let mut table = Table::new(title, columns);
    for family in families {
        let cpu_time = family.tasks(outcome).map(|task| task.cpu_time.0).sum();
        let wakeups = family.tasks(outcome).map(|task| task.wakeups).sum();
        let responses = Percentiles::of(&mut family.responses(outcome));
        let response = |pick: fn(&Percentiles) -> u64| {
            Cell::from(
                responses
                    .as_ref()
                    .map_or(ABSENT.to_owned(), |of| duration(pick(of))),
            )
        };
        table.push([
            family.title().into(),
            group_of(family, outcome).into(),
            duration(cpu_time).into(),
            count(wakeups).into(),
            response(|of| of.p50),
            response(|of| of.p90),
            response(|of| of.p99),
            response(|of| of.max),
        ]);
    }
    table
}

/// The group of a family, or how many groups it is in.
fn group_of(family: &Family, outcome: &Outcome) -> String {
    let mut groups: Vec<&str> = family.tasks(outcome).map(|task| &*task.group).collect();
    groups.sort_unstable();
    groups.dedup();
    match groups[..] {
        [only] => only.to_owned(),
        _ => format!("{} groups", groups.len()),
    }
}

/// What the tables do not say of themselves.
fn notes(scenario: &Scenario, shown: usize) -> String {
    let groups = scenario.setup.groups.len();
    let mut text = String::new();
    if (0..groups).any(|index| is_changed(scenario, index)) {
        text +=
            "\n* the scenario writes to cpu.max during the run; shown is what it was at first\n";
    }
    if shown < groups {
        let _ = writeln!(
            text,
            "\n{} groups without a limit are not shown; --all shows them",
            groups - shown
        );
    }
    text
}

fn is_changed(scenario: &Scenario, index: usize) -> bool {
    scenario.setup.events.iter().any(
        |event| matches!(event.action, Action::SetMax { group: GroupIndex(group), .. } if group == index),
    )
}

/// `part` of `whole` in percent.
fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return ABSENT.to_owned();
    }
    format!("{} %", decimal(part as f64 / whole as f64 * 100.0, 1))
}
