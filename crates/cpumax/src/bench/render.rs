//! The result of a benchmark: the tables of the mailing list, JSON, CSV.

use std::fmt::Write;

use cpumax_report::format::{decimal, decimals_for, percent};
use cpumax_report::{
    Column, Comparison, Labels, Summary, Table, mailing_list_long, mailing_list_short,
};
use serde::Serialize;

use super::args::Common;
use super::{Metric, Reading, Results, Side};
use crate::failure::Failure;
use crate::output::{self, Output};

pub fn table(results: &Results, long: bool, output: &Output) -> String {
    let mut text = String::new();
    for (index, metric) in results.metrics.iter().enumerate() {
        if index > 0 {
            text += "\n";
        }
        let title = title(results, metric);
        text += &if compared(results) {
            comparison_tables(results, index, &title, long, output)
        } else {
            output.table(&single(results, index, &title))
        };
    }
    if !output.is_quiet {
        text += &remarks(results);
    }
    text
}

fn compared(results: &Results) -> bool {
    results.cases.iter().all(|(_, sides)| sides.len() == 2)
}

/// `hackbench on genoa-2s384: time, s`.
fn title(results: &Results, metric: &Metric) -> String {
    let unit = if metric.unit.is_empty() {
        String::new()
    } else {
        format!(", {}", metric.unit)
    };
    format!(
        "{} on {}: {}{unit}",
        results.benchmark, results.machine, metric.name
    )
}

fn comparisons(results: &Results, metric: usize) -> Vec<(String, Comparison)> {
    let better = results.metrics[metric].better;
    let of = |(title, sides): &(String, Vec<Side>)| {
        let [base, head] = &sides[..] else {
            return None;
        };
        let (base, head) = (base.sample(metric)?, head.sample(metric)?);
        let comparison = Comparison::new(&base, &head, better).ok()?;
        Some((title.clone(), comparison))
    };
    results.cases.iter().filter_map(of).collect()
}

fn comparison_tables(
    results: &Results,
    metric: usize,
    title: &str,
    long: bool,
    output: &Output,
) -> String {
    let kernels: Vec<String> = (results.cases.first())
        .map(|(_, sides)| sides.iter().map(|side| side.kernel.to_string()).collect())
        .unwrap_or_default();
    let [base, head] = &kernels[..] else {
        return String::new();
    };
    let labels = Labels { base, head };
    let rows = comparisons(results, metric);
    let mut text = output.table(&mailing_list_short(title, labels, &rows));
    if long {
        for (case, comparison) in &rows {
            text += "\n";
            text += &output.table(&mailing_list_long(case, labels, comparison));
        }
    }
    text
}

/// One kernel's runs: a row per case.
fn single(results: &Results, metric: usize, title: &str) -> Table {
    let mut columns = vec![
        Column::left("case"),
        Column::left("kernel"),
        Column::right("mean"),
        Column::right("sd %").joined(),
        Column::right("min"),
        Column::right("max"),
    ];
    let with_use = uses_cpus(results);
    if with_use {
        columns.push(Column::right("CPUs in use"));
    }
    columns.push(Column::right("throttled"));
    let mut table = Table::new(title, columns);
    for (title, sides) in &results.cases {
        for side in sides {
            let Some(summary) = side.sample(metric).and_then(|sample| sample.summary()) else {
                continue;
            };
            let decimals = decimals_for(summary.amean.abs());
            let number = |value: f64| decimal(value, decimals);
            let deviation = summary
                .coefvar_percent
                .map_or_else(String::new, |percentage| {
                    format!("+-{}", percent(percentage))
                });
            let mut row = vec![
                title.clone(),
                side.kernel.to_string(),
                number(summary.amean),
                deviation,
                number(summary.min),
                number(summary.max),
            ];
            if with_use {
                row.push(percent(utilization(side).unwrap_or(0.0) * 100.0));
            }
            row.push(throttled(side));
            table.push(row.into_iter().map(Into::into).collect::<Vec<_>>());
        }
    }
    table
}

fn uses_cpus(results: &Results) -> bool {
    let mut sides = results.cases.iter().flat_map(|(_, sides)| sides);
    sides.any(|side| utilization(side).is_some())
}

/// Mean over the runs.
fn utilization(side: &Side) -> Option<f64> {
    let shares: Option<Vec<f64>> = side.readings.iter().map(|run| run.utilization).collect();
    let shares = shares?;
    Some(shares.iter().sum::<f64>() / shares.len() as f64)
}

/// Share of the periods in which the group was throttled.
fn throttled(side: &Side) -> String {
    let sum = |of: fn(&Reading) -> u64| side.readings.iter().map(of).sum::<u64>();
    let (periods, throttled) = (sum(|run| run.throttled.0), sum(|run| run.throttled.1));
    if periods == 0 {
        return "-".into();
    }
    percent(throttled as f64 / periods as f64 * 100.0)
}

/// What a reader should know of how the numbers came about.
fn remarks(results: &Results) -> String {
    let mut text = String::new();
    let readings = || {
        let sides = results.cases.iter().flat_map(|(_, sides)| sides);
        sides.flat_map(|side| &side.readings)
    };
    let windows: Vec<f64> = readings().filter_map(|run| run.extrapolated_from).collect();
    let shortest = windows.iter().copied().fold(f64::INFINITY, f64::min);
    if !windows.is_empty() {
        let whole = if windows.len() == readings().count() {
            "Each run"
        } else {
            "A run that was too long"
        };
        let _ = writeln!(
            text,
            "\n{whole} was simulated for {} s of its steady state and extrapolated from there, which is linear.",
            decimal(shortest, 1)
        );
    }
    text
}

#[derive(Serialize)]
struct Whole<'a> {
    benchmark: &'a str,
    machine: &'a str,
    seed: u64,
    runs: u32,
    cases: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    case: &'a str,
    kernel: String,
    metric: &'static str,
    unit: &'static str,
    values: Vec<f64>,
    #[serde(flatten)]
    summary: Option<Summary>,
    /// Simulated seconds that stand for the whole run; `null` if all of it was simulated.
    extrapolated_from: Option<f64>,
    utilization: Option<f64>,
    /// Over all runs.
    nr_periods: u64,
    nr_throttled: u64,
    /// Against the first kernel, if this is the second.
    comparison: Option<Comparison>,
}

fn entries(results: &Results) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    for (index, metric) in results.metrics.iter().enumerate() {
        let comparisons = comparisons(results, index);
        for (case, (title, sides)) in results.cases.iter().enumerate() {
            for (which, side) in sides.iter().enumerate() {
                let sum = |of: fn(&Reading) -> u64| side.readings.iter().map(of).sum();
                entries.push(Entry {
                    case: title,
                    kernel: side.kernel.to_string(),
                    metric: metric.name,
                    unit: metric.unit,
                    values: side.readings.iter().map(|run| run.values[index]).collect(),
                    summary: side.sample(index).and_then(|sample| sample.summary()),
                    extrapolated_from: side.readings.first().and_then(|run| run.extrapolated_from),
                    utilization: utilization(side),
                    nr_periods: sum(|run| run.throttled.0),
                    nr_throttled: sum(|run| run.throttled.1),
                    comparison: (which == 1)
                        .then(|| comparisons.get(case).map(|(_, comparison)| *comparison))
                        .flatten(),
                });
            }
        }
    }
    entries
}

pub fn json(results: &Results, common: &Common) -> Result<String, Failure> {
    output::json(&Whole {
        benchmark: results.benchmark,
        machine: &results.machine,
        seed: common.seed,
        runs: common.runs,
        cases: entries(results),
    })
}

/// A line per run.
pub fn csv(results: &Results) -> String {
    let columns = ["case", "kernel", "metric", "unit", "run", "value"];
    let mut table = Table::new("", columns.map(Column::left));
    for entry in entries(results) {
        for (run, value) in entry.values.iter().enumerate() {
            table.push(
                [
                    entry.case.to_owned(),
                    entry.kernel.clone(),
                    entry.metric.to_owned(),
                    entry.unit.to_owned(),
                    run.to_string(),
                    value.to_string(),
                ]
                .map(Into::into),
            );
        }
    }
    table.csv()
}
