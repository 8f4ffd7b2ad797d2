//! `cpumax bench period-timer`: histograms of how long bandwidth control's handlers take.

use std::fmt::Write;

use cpumax_report::format::{count, duration};
use cpumax_report::{Bucket, Column, Histogram, Table, TimeUnit};
use cpumax_sched::Kernel;
use cpumax_sim::HandlerTimes;
use cpumax_workload::benchmarks::PeriodTimer;
use rayon::prelude::*;
use serde::Serialize;

use super::args::{PeriodTimerArgs, TimerSetup};
use super::{kernels, machine};
use crate::args::Format;
use crate::failure::{Failure, Status};
use crate::output::{self, Output};

/// The durations of one handler on one kernel.
struct Durations {
    kernel: Kernel,
    handler: &'static str,
    nanos: Vec<u64>,
}

pub fn act(options: &PeriodTimerArgs, output: &Output) -> Result<Status, Failure> {
    let (mut setup, usual) = match options.setup {
        TimerSetup::Desktop800 => (PeriodTimer::desktop_800(), "desktop"),
        TimerSetup::Genoa2000 => (PeriodTimer::genoa_2000(), "genoa-2s384"),
    };
    let machine = machine(&options.common, usual)?;
    if !options.groups.is_empty() {
        setup.groups = options
            .groups
            .iter()
            .map(|&groups| groups as usize)
            .collect();
    }
    if let Some(hogs) = options.hogs {
        setup.hogs = hogs as usize;
    }
    if !options.quotas.is_empty() {
        setup.quotas.clone_from(&options.quotas);
    }
    if let Some(length) = options.length {
        setup.length = length;
    }
    let kernels = kernels(&options.common);
    let runs: Vec<(Kernel, u64)> = kernels
        .iter()
        .flat_map(|&kernel| {
            let seeds = 0..u64::from(options.common.runs);
            seeds.map(move |run| (kernel, options.common.seed.wrapping_add(run)))
        })
        .collect();
    let progress = output.progress(runs.len() as u64);
    let times: Vec<Result<HandlerTimes, Failure>> = runs
        .par_iter()
        .map(|&(kernel, seed)| {
            let times = setup.run(&machine, kernel, seed);
            progress.step();
            times.map_err(|source| Failure::Simulation {
                file: "period-timer".to_owned(),
                kernel,
                seed,
                source: Box::new(source),
            })
        })
        .collect();
    drop(progress);
    let times: Vec<HandlerTimes> = times.into_iter().collect::<Result<_, _>>()?;
    let mut all = Vec::new();
    for (at, &kernel) in kernels.iter().enumerate() {
        let runs = options.common.runs as usize;
        let of_kernel = &times[at * runs..(at + 1) * runs];
        let gather = |of: fn(&HandlerTimes) -> &Vec<cpumax_bandwidth::Nanos>| -> Vec<u64> {
            let mut nanos: Vec<u64> = of_kernel.iter().flat_map(of).map(|time| time.0).collect();
            nanos.sort_unstable();
            nanos
        };
        for (handler, nanos) in [
            (
                "sched_cfs_period_timer",
                gather(|times| &times.period_timer),
            ),
            ("distribute_cfs_runtime", gather(|times| &times.distribute)),
        ] {
            all.push(Durations {
                kernel,
                handler,
                nanos,
            });
        }
    }
    let text = match options.common.format {
        Format::Table => table(&all, &machine.name, output),
        Format::Json => json(&all, &machine.name)?,
        Format::Csv => csv(&all),
    };
    output::write(&text)?;
    Ok(Status::Done)
}

fn histogram(nanos: &[u64]) -> Histogram {
    let mut histogram = Histogram::new(TimeUnit::Micros);
    for &duration in nanos {
        histogram.record(duration);
    }
    histogram
}

/// The bucket with most durations.
fn main_bucket(nanos: &[u64]) -> Option<Bucket> {
    let buckets = histogram(nanos).buckets();
    buckets.into_iter().max_by_key(|bucket| bucket.count)
}

fn table(all: &[Durations], machine: &str, output: &Output) -> String {
    let columns = [
        Column::left("handler"),
        Column::left("kernel"),
        Column::right("times"),
        Column::right("median"),
        Column::right("max"),
        Column::right("main bucket"),
    ];
    let mut table = Table::new(format!("period-timer on {machine}"), columns);
    for Durations {
        kernel,
        handler,
        nanos,
    } in all
    {
        let bucket = main_bucket(nanos).map_or_else(String::new, |bucket| {
            let edge = |micros: u64| duration(micros * 1000);
            format!("{} to {}", edge(bucket.low), edge(bucket.last + 1))
        });
        let median = nanos.get(nanos.len() / 2).copied();
        table.push(
            [
                (*handler).to_owned(),
                kernel.to_string(),
                count(nanos.len() as u64),
                median.map_or_else(String::new, duration),
                nanos.last().copied().map_or_else(String::new, duration),
                bucket,
            ]
            .map(Into::into),
        );
    }
    let mut text = output.table(&table);
    for durations in all {
        let _ = write!(
            text,
            "\n{} on {}:\n{}",
            durations.handler,
            durations.kernel,
            histogram(&durations.nanos)
        );
    }
    text
}

#[derive(Serialize)]
struct Entry {
    machine: String,
    kernel: String,
    handler: &'static str,
    count: usize,
    /// In microseconds.
    buckets: Vec<Bucket>,
    nanos: Vec<u64>,
}

fn json(all: &[Durations], machine: &str) -> Result<String, Failure> {
    let entries: Vec<Entry> = all
        .iter()
        .map(|durations| Entry {
            machine: machine.to_owned(),
            kernel: durations.kernel.to_string(),
            handler: durations.handler,
            count: durations.nanos.len(),
            buckets: histogram(&durations.nanos).buckets(),
            nanos: durations.nanos.clone(),
        })
        .collect();
    output::json(&entries)
}

/// A line per bucket.
fn csv(all: &[Durations]) -> String {
    let columns = ["handler", "kernel", "low_usec", "last_usec", "count"];
    let mut table = Table::new("", columns.map(Column::left));
    for durations in all {
        for bucket in histogram(&durations.nanos).buckets() {
            table.push(
                [
                    durations.handler.to_owned(),
                    durations.kernel.to_string(),
                    bucket.low.to_string(),
                    bucket.last.to_string(),
                    bucket.count.to_string(),
                ]
                .map(Into::into),
            );
        }
    }
    table.csv()
}
