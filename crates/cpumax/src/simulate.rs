//! Runs of the simulator, on all threads.

use cpumax_sched::{Kernel, NoObserver};
use cpumax_sim::Simulation;
use cpumax_sim::setup::{RunOptions, Setup};
use rayon::prelude::*;

use crate::failure::Failure;
use crate::output::Output;

/// Starts rayon's threads: so many, or as many as CPUs.
pub fn start_threads(threads: Option<u16>) -> Result<(), Failure> {
    let Some(threads) = threads else {
        return Ok(());
    };
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.into())
        .build_global()
        .map_err(|error| Failure::Threads {
            message: error.to_string(),
        })
}

/// Simulates a setup once for each of `options`: makes a simulation, lets `run` do with it what it wants,
/// and returns what that gives, in the order of the options, whatever the number of threads.
///
/// `file` stands in error messages; of several failures the first one in order is returned.
pub fn simulate<T: Send>(
    setup: &Setup,
    options: &[RunOptions],
    file: &str,
    output: &Output,
    run: impl Fn(&mut Simulation) -> Result<T, cpumax_sim::Error> + Sync,
) -> Result<Vec<T>, Failure> {
    let progress = output.progress(options.len() as u64);
    let results: Vec<Result<T, Failure>> = options
        .par_iter()
        .map(|options| {
            let result = Simulation::new(setup.clone(), options, NoObserver)
                .and_then(|mut simulation| run(&mut simulation))
                .map_err(|source| Failure::Simulation {
                    file: file.to_owned(),
                    kernel: options.kernel,
                    seed: options.seed,
                    source: Box::new(source),
                })?;
            progress.step();
            Ok(result)
        })
        .collect();
    results.into_iter().collect()
}

/// Options of a run without checks.
pub fn unchecked(kernel: Kernel, seed: u64) -> RunOptions {
    RunOptions {
        kernel,
        seed,
        check: false,
    }
}
