//! The result of `oracle` for people and as CSV.

use std::fmt::Write;

use cpumax_oracle::Row;
use cpumax_report::format::{ABSENT, count, decimal, signed_percent};
use cpumax_report::{Cell, Column, Table, Tone};
use cpumax_sched::Kernel;

use crate::output::Output;

/// The rows outside (or all), then how many are within by scenario and kernel, and in total.
pub fn table(rows: &[Row], all: bool, output: &Output) -> String {
    let shown: Vec<&Row> = rows.iter().filter(|row| all || !row.ok).collect();
    let mut text = String::new();
    if !shown.is_empty() {
        let title = if all { "All rows" } else { "Rows outside" };
        text += &output.table(&details(title, &shown));
        text += "\n";
    }
    text += &output.table(&summary(rows));
    let within = rows.iter().filter(|row| row.ok).count();
    let _ = writeln!(
        text,
        "\n{} of {} rows are within ({} %)",
        count(within as u64),
        count(rows.len() as u64),
        decimal(within as f64 / rows.len() as f64 * 100.0, 2)
    );
    text
}

fn details(title: &str, rows: &[&Row]) -> Table {
    let columns = [
        Column::left("scenario"),
        Column::left("kernel"),
        Column::left("subject"),
        Column::left("metric"),
        Column::right("measured"),
        Column::right("predicted"),
        Column::right("low"),
        Column::right("high"),
        Column::right("error"),
        Column::left("within"),
    ];
    let mut table = Table::new(title, columns);
    for row in rows {
        let number = |value: f64| Cell::from(decimal(value, 0));
        let within = if row.ok {
            Cell::new("yes")
        } else {
            Cell::new("no").tone(Tone::Bad)
        };
        table.push([
            Cell::new(&row.scenario),
            row.kernel.to_string().into(),
            Cell::new(&row.subject),
            row.metric.name().into(),
            number(row.measured),
            number(row.predicted),
            number(row.low),
            number(row.high),
            error(row).into(),
            within,
        ]);
    }
    table
}

/// In percent, or in the metric's unit where there is nothing to take a percentage of.
fn error(row: &Row) -> String {
    if row.measured != 0.0 {
        signed_percent(row.error * 100.0)
    } else if row.error > 0.0 {
        format!("+{}", decimal(row.error, 0))
    } else {
        decimal(row.error, 0)
    }
}

/// A row per scenario, a column per kernel, in each how many rows are within.
fn summary(rows: &[Row]) -> Table {
    let mut kernels: Vec<Kernel> = rows.iter().map(|row| row.kernel).collect();
    kernels.sort_unstable();
    kernels.dedup();
    let mut scenarios: Vec<&str> = Vec::new();
    for row in rows {
        if !scenarios.contains(&row.scenario.as_str()) {
            scenarios.push(&row.scenario);
        }
    }

    let mut columns = vec![Column::left("within")];
    columns.extend(
        kernels
            .iter()
            .map(|kernel| Column::right(kernel.to_string())),
    );
    let mut table = Table::new("", columns);
    for scenario in scenarios {
        let mut cells = vec![Cell::new(scenario)];
        for &kernel in &kernels {
            let of: Vec<&Row> = rows
                .iter()
                .filter(|row| row.scenario == scenario && row.kernel == kernel)
                .collect();
            cells.push(ratio(&of));
        }
        table.push(cells);
    }
    table
}

fn ratio(rows: &[&Row]) -> Cell {
    let within = rows.iter().filter(|row| row.ok).count();
    if rows.is_empty() {
        return ABSENT.into();
    }
    let cell = Cell::new(format!("{within}/{}", rows.len()));
    if within == rows.len() {
        cell
    } else {
        cell.tone(Tone::Bad)
    }
}

/// A line per row, with the keys of the JSON.
pub fn csv(rows: &[Row]) -> String {
    let columns = [
        "scenario",
        "kernel",
        "subject",
        "metric",
        "measured",
        "predicted",
        "low",
        "high",
        "error",
        "ok",
    ];
    let mut table = Table::new("", columns.map(Column::left));
    for row in rows {
        let numbers = [row.measured, row.predicted, row.low, row.high, row.error];
        let mut cells = vec![
            Cell::new(&row.scenario),
            row.kernel.to_string().into(),
            Cell::new(&row.subject),
            row.metric.name().into(),
        ];
        cells.extend(numbers.map(|number| Cell::from(number.to_string())));
        cells.push(row.ok.to_string().into());
        table.push(cells);
    }
    table.csv()
}
