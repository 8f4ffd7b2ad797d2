//! `cpumax bench`: the known benchmarks on simulated machines.

pub mod args;
mod cases;
mod period_timer;
mod published;
mod render;

use cpumax_report::{Better, Sample};
use cpumax_sched::Kernel;
use cpumax_sim::Machine;
use rayon::prelude::*;

use self::args::{Bench, Common, Which};
use crate::args::Format;
use crate::failure::{Failure, Status};
use crate::input::Input;
use crate::output::{self, Output};

/// A number that a benchmark gives.
#[derive(Clone, Copy)]
pub struct Metric {
    /// Its name, as in JSON.
    pub name: &'static str,
    /// Its unit; empty for a count.
    pub unit: &'static str,
    /// Which direction is an improvement.
    pub better: Better,
}

/// One row of a benchmark's table: a size of it.
pub struct Case<'a> {
    /// What it is called.
    pub title: String,
    /// Simulates it once.
    pub run: Box<dyn Fn(Kernel, u64) -> Result<Reading, cpumax_sim::Error> + Sync + 'a>,
}

/// What one run has shown.
#[derive(Clone, Debug)]
pub struct Reading {
    /// A value of each metric.
    pub values: Vec<f64>,
    /// Simulated seconds, if they stand for a longer run.
    pub extrapolated_from: Option<f64>,
    /// CPU time used, as a share of the machine's.
    pub utilization: Option<f64>,
    /// Periods, and those in which the limited group was throttled.
    pub throttled: (u64, u64),
}

/// All runs of a case on one kernel.
pub struct Side {
    pub kernel: Kernel,
    pub readings: Vec<Reading>,
}

impl Side {
    /// The values of one metric over the runs.
    pub fn sample(&self, metric: usize) -> Option<Sample> {
        let values: Vec<f64> = self.readings.iter().map(|run| run.values[metric]).collect();
        Sample::new(values).ok()
    }
}

/// A benchmark that was run.
pub struct Results {
    pub benchmark: &'static str,
    pub machine: String,
    pub metrics: Vec<Metric>,
    /// By case: its title, and each kernel's runs.
    pub cases: Vec<(String, Vec<Side>)>,
}

pub fn act(options: &Bench, output: &Output) -> Result<Status, Failure> {
    let Some(which) = &options.which else {
        return published::fit(options.machine.as_deref(), output);
    };
    match which {
        Which::PeriodTimer(options) => period_timer::act(options, output),
        Which::Published(options) => published::act(options, output),
        Which::Hackbench(options) => {
            let machine = machine(&options.common, "genoa-2s384")?;
            let cases = cases::hackbench(options, &machine)?;
            run(
                "hackbench",
                &options.common,
                &machine,
                cases::HACKBENCH,
                &cases,
                output,
            )
        }
        Which::Netperf(options) => {
            let machine = machine(&options.common, "genoa-2s384")?;
            let cases = cases::netperf(options, &machine)?;
            run(
                "netperf",
                &options.common,
                &machine,
                cases::NETPERF,
                &cases,
                output,
            )
        }
        Which::Schbench(options) => {
            let machine = machine(&options.common, "desktop")?;
            let cases = cases::schbench(options, &machine)?;
            run(
                "schbench",
                &options.common,
                &machine,
                cases::SCHBENCH,
                &cases,
                output,
            )
        }
        Which::Fibtest(options) => {
            let machine = machine(&options.common, "desktop")?;
            let cases = cases::fibtest(options, &machine)?;
            run(
                "fibtest",
                &options.common,
                &machine,
                cases::FIBTEST,
                &cases,
                output,
            )
        }
        Which::Rwsem(options) => {
            let machine = machine(&options.common, "desktop")?;
            let cases = cases::rwsem(options, &machine)?;
            run(
                "rwsem",
                &options.common,
                &machine,
                cases::RWSEM,
                &cases,
                output,
            )
        }
    }
}

/// The kernels that were asked for.
fn kernels(common: &Common) -> Vec<Kernel> {
    match (common.base, common.head) {
        (Some(base), Some(head)) => vec![base, head],
        _ => vec![common.kernel],
    }
}

/// The machine that was asked for, or the usual one: a preset by its name, `host`, or a file.
fn machine(common: &Common, usual: &str) -> Result<Machine, Failure> {
    let name = common.machine.as_deref().unwrap_or(usual);
    if let Some(machine) = cpumax_workload::preset(name) {
        return Ok(machine);
    }
    if name == "host" {
        return Ok(cpumax_linux::host_machine(std::path::Path::new("/"))?);
    }
    let path = std::path::Path::new(name);
    if !path.exists() && !name.contains(['/', '.']) {
        return Err(Failure::Machine {
            given: name.to_owned(),
        });
    }
    Input::open(path)?.machine()
}

/// Runs all cases on all kernels and seeds, and prints what came out.
fn run(
    benchmark: &'static str,
    common: &Common,
    machine: &Machine,
    metrics: &[Metric],
    cases: &[Case<'_>],
    output: &Output,
) -> Result<Status, Failure> {
    let kernels = kernels(common);
    let seeds: Vec<u64> = (0..u64::from(common.runs))
        .map(|run| common.seed.wrapping_add(run))
        .collect();
    let jobs: Vec<(usize, Kernel, u64)> = (0..cases.len())
        .flat_map(|case| kernels.iter().map(move |&kernel| (case, kernel)))
        .flat_map(|(case, kernel)| seeds.iter().map(move |&seed| (case, kernel, seed)))
        .collect();
    let progress = output.progress(jobs.len() as u64);
    let readings: Vec<Result<Reading, Failure>> = jobs
        .par_iter()
        .map(|&(case, kernel, seed)| {
            let reading =
                (cases[case].run)(kernel, seed).map_err(|source| Failure::Simulation {
                    file: benchmark.to_owned(),
                    kernel,
                    seed,
                    source: Box::new(source),
                })?;
            progress.step();
            Ok(reading)
        })
        .collect();
    drop(progress);
    let mut readings = readings.into_iter();
    let mut results = Results {
        benchmark,
        machine: machine.name.clone(),
        metrics: metrics.to_vec(),
        cases: Vec::new(),
    };
    for case in cases {
        let mut sides = Vec::new();
        for &kernel in &kernels {
            let readings: Result<Vec<Reading>, Failure> =
                readings.by_ref().take(seeds.len()).collect();
            sides.push(Side {
                kernel,
                readings: readings?,
            });
        }
        results.cases.push((case.title.clone(), sides));
    }
    let text = match common.format {
        Format::Table => render::table(&results, common.long, output),
        Format::Json => render::json(&results, common)?,
        Format::Csv => render::csv(&results),
    };
    output::write(&text)?;
    Ok(Status::Done)
}
