//! `cpumax run`: a scenario on one or more kernels.

mod csv;
mod json;
mod table;
mod verdict;

use cpumax_bandwidth::Nanos;
use cpumax_sched::Kernel;
use cpumax_sim::setup::RunOptions;
use cpumax_sim::{GroupOutcome, Outcome, Simulation};
use cpumax_workload::Scenario;

use crate::args::{Format, Run};
use crate::failure::{Failure, Status};
use crate::input::Input;
use crate::output::{self, Output};
use crate::simulate::simulate;

/// What a scenario did on one kernel.
struct KernelRun {
    /// At the end.
    outcome: Outcome,
    /// On the way, if the scenario asks for it.
    samples: Vec<Sample>,
}

/// The groups' statistics at a time.
struct Sample {
    /// From T0.
    at: Nanos,
    groups: Vec<GroupOutcome>,
}

pub fn act(options: &Run, output: &Output) -> Result<Status, Failure> {
    let input = Input::open(&options.scenario)?;
    let file = input.name.clone();
    let mut scenario = input.scenario()?;
    if let Some(duration) = options.duration {
        cut(&mut scenario, duration);
    }

    let runs: Vec<RunOptions> = kernels(options, &scenario)
        .into_iter()
        .map(|kernel| RunOptions {
            kernel,
            seed: options.seed,
            check: options.check,
        })
        .collect();
    let run = |simulation: &mut Simulation| {
        Ok(KernelRun {
            samples: sample(simulation, &scenario)?,
            outcome: simulation.run()?,
        })
    };
    let results = simulate(&scenario.setup, &runs, &file, output, run)?;

    let text = match options.format {
        Format::Table => table::render(&scenario, &results, options, output),
        Format::Json => json::render(&scenario, &results)?,
        Format::Csv => csv::render(&results),
    };
    output::write(&text)?;
    Ok(Status::Done)
}

/// The kernels to simulate, each once.
fn kernels(options: &Run, scenario: &Scenario) -> Vec<Kernel> {
    let asked = if options.kernels.is_empty() {
        &scenario.kernels
    } else {
        &options.kernels
    };
    let mut kernels = Vec::new();
    for &kernel in asked {
        if !kernels.contains(&kernel) {
            kernels.push(kernel);
        }
    }
    kernels
}

/// Lets a scenario last so long, without what it does after that.
fn cut(scenario: &mut Scenario, duration: Nanos) {
    scenario.setup.duration = duration;
    scenario.setup.events.retain(|event| event.at <= duration);
}

/// Runs up to the last time at which the scenario wants the statistics.
fn sample(
    simulation: &mut Simulation,
    scenario: &Scenario,
) -> Result<Vec<Sample>, cpumax_sim::Error> {
    let mut samples = Vec::new();
    if let Some(every) = scenario.sample.filter(|&every| every > Nanos::ZERO) {
        let mut at = every;
        while at <= scenario.setup.duration {
            simulation.run_until(at)?;
            samples.push(Sample {
                at,
                groups: simulation.outcome().groups,
            });
            at = at.saturating_add(every);
        }
    }
    Ok(samples)
}
