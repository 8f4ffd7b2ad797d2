//! `cpumax bench published`: each published row beside what is simulated.

use cpumax_published::{
    CALIBRATED, Change, Handler, PublishedHistogram, Row, calibrate, judge, published, simulate,
    simulate_histogram,
};
use cpumax_report::format::{decimal, decimals_for, duration, signed_percent};
use cpumax_report::{Column, Comparison, Histogram, Sample, Table, TimeUnit, Tone};
use cpumax_sched::Kernel;
use cpumax_sim::Machine;
use rayon::prelude::*;
use serde::Serialize;

use super::args::PublishedArgs;
use crate::args::Format;
use crate::failure::{Failure, Status};
use crate::output::{self, Output};

/// Most tries of a calibration.
const BUDGET: usize = 40;

/// A row with what was simulated for it.
struct Simulated {
    row: Row,
    comparison: Comparison,
    verdict: Change,
    utilization: f64,
}

/// A histogram with what was simulated for it.
struct SimulatedHistogram {
    published: PublishedHistogram,
    /// The fullest bucket, in nanoseconds.
    low: u64,
    end: u64,
    count: usize,
}

pub fn act(options: &PublishedArgs, output: &Output) -> Result<Status, Failure> {
    let wanted = |machine: &str| {
        options
            .machine
            .as_deref()
            .is_none_or(|name| name == machine)
    };
    let mut all = published();
    all.rows.retain(|row| wanted(&row.machine));
    all.histograms
        .retain(|histogram| wanted(histogram.machine()));
    if all.rows.is_empty() && all.histograms.is_empty() {
        return Err(Failure::Machine {
            given: options.machine.clone().unwrap_or_default(),
        });
    }
    let runs = u64::from(options.runs);
    let total = all.rows.len() as u64 * 2 * runs + all.histograms.len() as u64;
    let progress = output.progress(total);
    let jobs: Vec<(usize, Kernel, u64)> = all
        .rows
        .iter()
        .enumerate()
        .flat_map(|(at, row)| [(at, row.base.kernel), (at, row.head.kernel)])
        .flat_map(|(at, kernel)| (0..runs).map(move |run| (at, kernel, run)))
        .collect();
    let values: Vec<Result<(f64, f64), Failure>> = jobs
        .par_iter()
        .map(|&(at, kernel, run)| {
            let row = &all.rows[at];
            let seed = options.seed.wrapping_add(run);
            let machine = preset(&row.machine)?;
            let result = simulate(row, &machine, kernel, seed)
                .map_err(|source| failed(&row.title(), kernel, seed, source))?;
            progress.step();
            Ok((result.value, result.utilization))
        })
        .collect();
    let values: Vec<(f64, f64)> = values.into_iter().collect::<Result<_, _>>()?;
    let histograms: Vec<Result<SimulatedHistogram, Failure>> = all
        .histograms
        .par_iter()
        .map(|published| {
            let machine = preset(published.machine())?;
            let times =
                simulate_histogram(published, &machine, options.seed).map_err(|source| {
                    failed(&published.setup, published.kernel, options.seed, source)
                })?;
            progress.step();
            Ok(SimulatedHistogram::new(published, &times))
        })
        .collect();
    let histograms: Vec<SimulatedHistogram> = histograms.into_iter().collect::<Result<_, _>>()?;
    drop(progress);
    let runs = runs as usize;
    let rows: Vec<Simulated> = all
        .rows
        .into_iter()
        .zip(values.chunks(2 * runs))
        .filter_map(|(row, values)| {
            let (base, head) = values.split_at(runs);
            Simulated::new(row, base, head)
        })
        .collect();
    let text = match options.format {
        Format::Table => table(&rows, &histograms, output),
        Format::Json => json(&rows, &histograms)?,
        Format::Csv => row_table(&rows).csv(),
    };
    output::write(&text)?;
    Ok(Status::Done)
}

fn preset(name: &str) -> Result<Machine, Failure> {
    cpumax_workload::preset(name).ok_or_else(|| Failure::Machine { given: name.into() })
}

fn failed(what: &str, kernel: Kernel, seed: u64, source: cpumax_sim::Error) -> Failure {
    Failure::Simulation {
        file: what.to_owned(),
        kernel,
        seed,
        source: Box::new(source),
    }
}

impl Simulated {
    /// `base` and `head` are value and utilisation of each run.
    fn new(row: Row, base: &[(f64, f64)], head: &[(f64, f64)]) -> Option<Self> {
        let sample = |side: &[(f64, f64)]| {
            Sample::new(side.iter().map(|&(value, _)| value).collect::<Vec<f64>>()).ok()
        };
        let better = row.benchmark.better();
        let comparison = Comparison::new(&sample(base)?, &sample(head)?, better).ok()?;
        let utilization = base.iter().map(|&(_, share)| share).sum::<f64>() / base.len() as f64;
        Some(Self {
            verdict: judge(&row, &comparison),
            row,
            comparison,
            utilization,
        })
    }
}

impl SimulatedHistogram {
    fn new(published: &PublishedHistogram, times: &[u64]) -> Self {
        let mut histogram = Histogram::new(TimeUnit::Micros);
        for &time in times {
            histogram.record(time);
        }
        let buckets = histogram.buckets();
        let fullest = buckets.iter().max_by_key(|bucket| bucket.count);
        let (low, end) = fullest.map_or((0, 0), |bucket| (bucket.low, bucket.last + 1));
        Self {
            published: published.clone(),
            low: low * 1000,
            end: end * 1000,
            count: times.len(),
        }
    }
}

fn error(published: f64, simulated: f64) -> f64 {
    (simulated / published - 1.0) * 100.0
}

fn row_table(rows: &[Simulated]) -> Table {
    let columns = [
        Column::left("machine"),
        Column::left("row"),
        Column::left("fitted"),
        Column::right("base published"),
        Column::right("simulated"),
        Column::right("error"),
        Column::right("head published"),
        Column::right("simulated "),
        Column::right("error "),
        Column::right("CPUs in use"),
        Column::left("verdict published"),
        Column::left("simulated  "),
    ];
    let mut table = Table::new("Published and simulated", columns);
    for Simulated {
        row,
        comparison,
        verdict,
        utilization,
    } in rows
    {
        let number = |value: f64| decimal(value, decimals_for(row.base.mean));
        let (base, head) = (comparison.base.amean, comparison.head.amean);
        let tone = if *verdict == row.verdict {
            Tone::Plain
        } else {
            Tone::Bad
        };
        table.push(vec![
            row.machine.clone().into(),
            row.title().into(),
            if row.fit { "base" } else { "" }.to_owned().into(),
            number(row.base.mean).into(),
            number(base).into(),
            signed_percent(error(row.base.mean, base)).into(),
            number(row.head.mean).into(),
            number(head).into(),
            signed_percent(error(row.head.mean, head)).into(),
            format!("{} %", decimal(utilization * 100.0, 0)).into(),
            row.verdict.words().to_owned().into(),
            cpumax_report::Cell::new(verdict.words()).tone(tone),
        ]);
    }
    table
}

fn handler(handler: Handler) -> &'static str {
    match handler {
        Handler::PeriodTimer => "sched_cfs_period_timer",
        Handler::Distribute => "distribute_cfs_runtime",
    }
}

fn table(rows: &[Simulated], histograms: &[SimulatedHistogram], output: &Output) -> String {
    let mut text = String::new();
    if !rows.is_empty() {
        text += &output.table(&row_table(rows));
    }
    if histograms.is_empty() {
        return text;
    }
    let columns = [
        Column::left("setup"),
        Column::left("handler"),
        Column::left("kernel"),
        Column::right("times"),
        Column::right("main bucket published"),
        Column::right("simulated"),
        Column::left("right"),
    ];
    let mut table = Table::new("Durations of handlers", columns);
    for simulated in histograms {
        let published = &simulated.published;
        let range = |low: u64, end: u64| format!("{} to {}", duration(low), duration(end));
        let is_right = published.is_right(simulated.low, simulated.end);
        table.push(
            [
                published.setup.clone(),
                handler(published.handler).to_owned(),
                published.kernel.to_string(),
                simulated.count.to_string(),
                range(published.low, published.high),
                range(simulated.low, simulated.end),
                if is_right { "yes" } else { "no" }.to_owned(),
            ]
            .map(Into::into),
        );
    }
    if !rows.is_empty() {
        text += "\n";
    }
    text += &output.table(&table);
    text
}

#[derive(Serialize)]
struct Whole {
    rows: Vec<Entry>,
    histograms: Vec<HistogramEntry>,
}

#[derive(Serialize)]
struct Entry {
    machine: String,
    row: String,
    fitted: bool,
    base: String,
    head: String,
    base_published: f64,
    head_published: f64,
    verdict_published: &'static str,
    verdict_simulated: &'static str,
    utilization: f64,
    simulated: Comparison,
}

#[derive(Serialize)]
struct HistogramEntry {
    setup: String,
    handler: &'static str,
    kernel: String,
    count: usize,
    published_nanos: [u64; 2],
    simulated_nanos: [u64; 2],
}

fn json(rows: &[Simulated], histograms: &[SimulatedHistogram]) -> Result<String, Failure> {
    let rows = rows.iter().map(|simulated| Entry {
        machine: simulated.row.machine.clone(),
        row: simulated.row.title(),
        fitted: simulated.row.fit,
        base: simulated.row.base.kernel.to_string(),
        head: simulated.row.head.kernel.to_string(),
        base_published: simulated.row.base.mean,
        head_published: simulated.row.head.mean,
        verdict_published: simulated.row.verdict.words(),
        verdict_simulated: simulated.verdict.words(),
        utilization: simulated.utilization,
        simulated: simulated.comparison,
    });
    let histograms = histograms.iter().map(|simulated| HistogramEntry {
        setup: simulated.published.setup.clone(),
        handler: handler(simulated.published.handler),
        kernel: simulated.published.kernel.to_string(),
        count: simulated.count,
        published_nanos: [simulated.published.low, simulated.published.high],
        simulated_nanos: [simulated.low, simulated.end],
    });
    output::json(&Whole {
        rows: rows.collect(),
        histograms: histograms.collect(),
    })
}

/// Fits the machines of the rows and prints what their files should say.
pub fn fit(machine: Option<&str>, output: &Output) -> Result<Status, Failure> {
    let rows = &published().rows;
    let mut machines: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| row.fit) {
        let name = row.machine.as_str();
        if machine.is_none_or(|wanted| wanted == name) && !machines.contains(&name) {
            machines.push(name);
        }
    }
    if machines.is_empty() {
        return Err(Failure::Machine {
            given: machine.unwrap_or_default().to_owned(),
        });
    }
    let mut text = String::new();
    for name in machines {
        let machine = preset(name)?;
        let progress = output.progress(BUDGET as u64);
        let fitted = calibrate(rows, &machine, BUDGET, &|_, _| progress.step())
            .map_err(|source| failed("calibration", Kernel::V6_18, 1, source))?;
        drop(progress);
        let columns = [
            Column::left("key"),
            Column::right("in the file"),
            Column::right("fitted"),
        ];
        let mut table = Table::new(
            format!(
                "{name}: {} % off on average",
                decimal(fitted.error * 100.0, 1)
            ),
            columns,
        );
        let before = cpumax_published::present(&machine);
        for ((parameter, before), after) in CALIBRATED.iter().zip(before).zip(&fitted.values) {
            table.push(
                [
                    parameter.key.to_owned(),
                    before.to_string(),
                    after.to_string(),
                ]
                .map(Into::into),
            );
        }
        text += &output.table(&table);
    }
    output::write(&text)?;
    Ok(Status::Done)
}
