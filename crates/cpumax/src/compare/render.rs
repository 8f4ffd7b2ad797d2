//! The result of `compare`: the tables of the mailing list, JSON, CSV.

use std::fmt::Write;

use cpumax_report::format::{decimal, duration};
use cpumax_report::{
    Column, Comparison, Labels, Table, Verdict, mailing_list_long, mailing_list_short,
};
use cpumax_workload::Scenario;
use serde::Serialize;

use super::Case;
use crate::args::Compare;
use crate::failure::Failure;
use crate::output::{self, Output};

/// The short table of all numbers, then the long table of each that changed (or of each), and a sentence.
pub fn table(scenario: &Scenario, cases: &[Case], options: &Compare, output: &Output) -> String {
    let (base, head) = (options.base.to_string(), options.head.to_string());
    let labels = Labels {
        base: &base,
        head: &head,
    };
    let rows: Vec<(String, Comparison)> = cases
        .iter()
        .map(|case| (case.measure.title(), case.shown))
        .collect();
    let title = format!(
        "{}: {}, {} runs of each",
        scenario.name,
        duration(scenario.setup.duration.0),
        options.runs
    );
    let mut text = output.table(&mailing_list_short(&title, labels, &rows));
    for (case, (title, comparison)) in cases.iter().zip(&rows) {
        if options.all || is_clear(case) {
            text += "\n";
            text += &output.table(&mailing_list_long(title, labels, comparison));
        }
    }
    if !output.is_quiet {
        let _ = writeln!(text, "\n{}", sentence(cases, labels, options.runs));
    }
    text
}

/// Whether chance does not explain the change.
fn is_clear(case: &Case) -> bool {
    !matches!(case.comparison.verdict, Verdict::NoClearChange { .. })
}

fn sentence(cases: &[Case], labels: Labels, runs: u32) -> String {
    let Labels { base, head } = labels;
    let of = |wanted: fn(Verdict) -> bool| {
        let names: Vec<String> = cases
            .iter()
            .filter(|case| wanted(case.comparison.verdict))
            .map(|case| {
                let title = case.measure.title();
                let name = title.strip_suffix(", ms").unwrap_or(&title).to_owned();
                match case.comparison.change_percent {
                    Some(change) => format!("{name} ({} %)", decimal(change.abs(), 1)),
                    None => name,
                }
            })
            .collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let better = of(|verdict| matches!(verdict, Verdict::Better { .. }));
    let worse = of(|verdict| matches!(verdict, Verdict::Worse { .. }));
    match (better, worse) {
        (None, None) => format!(
            "{head} shows no clear change against {base} over {runs} runs: chance explains the rest."
        ),
        (Some(better), None) => format!("{head} is better than {base} in {better}."),
        (None, Some(worse)) => format!("{head} is worse than {base} in {worse}."),
        (Some(better), Some(worse)) => {
            format!("{head} is better than {base} in {better}, and worse in {worse}.")
        }
    }
}

/// The whole result.
#[derive(Serialize)]
struct Compared<'a> {
    scenario: &'a str,
    base: String,
    head: String,
    runs: u32,
    seed: u64,
    /// Times are in microseconds.
    cases: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    /// Path of a group, or name of a family of tasks.
    subject: &'a str,
    metric: &'static str,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

pub fn json(scenario: &Scenario, cases: &[Case], options: &Compare) -> Result<String, Failure> {
    output::json(&Compared {
        scenario: &scenario.name,
        base: options.base.to_string(),
        head: options.head.to_string(),
        runs: options.runs,
        seed: options.seed,
        cases: cases
            .iter()
            .map(|case| Entry {
                subject: case.measure.subject(),
                metric: case.measure.metric.key(),
                comparison: &case.comparison,
            })
            .collect(),
    })
}

/// A line per number. Times are in microseconds, changes in percent and positive if head is better.
pub fn csv(cases: &[Case], options: &Compare) -> String {
    let columns = [
        "subject",
        "metric",
        "base",
        "head",
        "runs",
        "base_amean",
        "base_stddev",
        "head_amean",
        "head_stddev",
        "change_percent",
        "p",
        "verdict",
    ];
    let mut table = Table::new("", columns.map(Column::left));
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for case in cases {
        let Comparison {
            base,
            head,
            change_percent,
            verdict,
            ..
        } = case.comparison;
        table.push(
            [
                case.measure.subject().to_owned(),
                case.measure.metric.key().to_owned(),
                options.base.to_string(),
                options.head.to_string(),
                options.runs.to_string(),
                base.amean.to_string(),
                number(base.stddev),
                head.amean.to_string(),
                number(head.stddev),
                number(change_percent),
                verdict.p().to_string(),
                verdict.words().to_owned(),
            ]
            .map(Into::into),
        );
    }
    table.csv()
}
