//! What the simulator says of an experiment, over many timer phases.

use cpumax_report::Percentiles;
use cpumax_sched::NoObserver;
use cpumax_sim::setup::RunOptions;
use cpumax_sim::{Outcome, Simulation};
use rayon::prelude::*;

use crate::experiment::{Of, Subject};
use crate::tolerance::Machine;
use crate::{Error, Experiment, Metric, Row};

/// The seeds to simulate: each draws the phases of all period timers, and the other random choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phases {
    /// Seed of the first run; the others count up from it.
    pub first_seed: u64,
    /// Number of runs, at least 1.
    pub count: u32,
}

impl Phases {
    /// Fewest runs from which a range of nine tenths can be read.
    pub const FEWEST: u32 = 32;
    /// Runs unless asked otherwise.
    pub const USUAL: u32 = 64;

    /// The seeds.
    pub fn seeds(self) -> impl Iterator<Item = u64> {
        (0..u64::from(self.count)).map(move |run| self.first_seed.wrapping_add(run))
    }
}

/// Simulates an experiment over the phases, on all of rayon's threads, and compares. The rows are the same
/// on any number of threads: groups in the scenario's order, then tasks.
///
/// `on_run` is called after each run, from any thread.
///
/// # Errors
/// The failure of the run with the lowest seed that fails.
pub fn predict(
    experiment: &Experiment,
    phases: Phases,
    on_run: &(impl Fn() + Sync),
) -> Result<Vec<Row>, Error> {
    let seeds: Vec<u64> = phases.seeds().collect();
    let runs: Vec<Result<Vec<f64>, Error>> = seeds
        .par_iter()
        .map(|&seed| {
            let values = run(experiment, seed)?;
            on_run();
            Ok(values)
        })
        .collect();
    let runs: Vec<Vec<f64>> = runs.into_iter().collect::<Result<_, _>>()?;

    let setup = &experiment.what.setup;
    let machine = Machine {
        tick: setup.machine.tick,
        cpus: setup.machine.topology.cpu_count(),
    };
    let rows = experiment.subjects.iter().enumerate().map(|(at, subject)| {
        let predicted = runs.iter().map(|values| values[at]).collect();
        Row::new(experiment, subject, predicted, machine)
    });
    Ok(rows.collect())
}

/// One run: the value of each subject, in order.
fn run(experiment: &Experiment, seed: u64) -> Result<Vec<f64>, Error> {
    let options = RunOptions {
        kernel: experiment.kernel,
        seed,
        check: false,
    };
    let outcome = Simulation::new(experiment.what.setup.clone(), &options, NoObserver)
        .and_then(|mut simulation| simulation.run())
        .map_err(|source| Error::Simulation {
            scenario: experiment.scenario.clone(),
            kernel: experiment.kernel,
            seed,
            source: Box::new(source),
        })?;
    let responses: Vec<Option<Percentiles>> = outcome
        .tasks
        .iter()
        .map(|task| {
            let mut nanos: Vec<u64> = task.responses.iter().map(|time| time.0).collect();
            Percentiles::of(&mut nanos)
        })
        .collect();
    let value = |subject: &Subject| value(subject, &outcome, &responses);
    Ok(experiment.subjects.iter().map(value).collect())
}

/// A subject's number in an outcome. A task none of whose jobs ended has a response time as long as the
/// run: it is at least that.
fn value(subject: &Subject, outcome: &Outcome, responses: &[Option<Percentiles>]) -> f64 {
    let usec = |nanos: u64| nanos as f64 / 1e3;
    match subject.of {
        Of::Group(index) => {
            let stat = &outcome.groups[index].stat;
            let count = match subject.metric {
                Metric::Periods => stat.nr_periods,
                Metric::Throttled => stat.nr_throttled,
                Metric::ThrottledTime => stat.throttled_usec,
                _ => stat.usage_usec,
            };
            count as f64
        }
        Of::Task(index) => {
            let response = |pick: fn(&Percentiles) -> u64| {
                usec(responses[index].as_ref().map_or(outcome.elapsed.0, pick))
            };
            match subject.metric {
                Metric::ResponseP50 => response(|of| of.p50),
                Metric::ResponseP90 => response(|of| of.p90),
                Metric::ResponseP99 => response(|of| of.p99),
                Metric::ResponseMax => response(|of| of.max),
                _ => usec(outcome.tasks[index].cpu_time.0),
            }
        }
    }
}
