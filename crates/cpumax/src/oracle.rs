//! `cpumax oracle`: the simulator against results measured on real kernels.

mod render;

use std::collections::BTreeSet;

use cpumax_oracle::{Experiment, Phases, Row, predict, read_experiments};
use cpumax_sched::Kernel;
use rayon::prelude::*;

use crate::args::{Format, Oracle};
use crate::failure::{Failure, Status};
use crate::input::Input;
use crate::output::{self, Output};

pub fn act(options: &Oracle, output: &Output) -> Result<Status, Failure> {
    let experiments = read(options)?;
    let phases = Phases {
        first_seed: options.seed,
        count: options.phases,
    };
    let progress = output.progress(experiments.len() as u64 * u64::from(options.phases));
    let rows: Vec<Result<Vec<Row>, cpumax_oracle::Error>> = experiments
        .par_iter()
        .map(|experiment| predict(experiment, phases, &|| progress.step()))
        .collect();
    drop(progress);
    let mut all: Vec<Row> = Vec::new();
    for rows in rows {
        all.extend(rows?);
    }

    let text = match options.format {
        Format::Table => render::table(&all, options.all, output),
        Format::Json => output::json_lines(&all)?,
        Format::Csv => render::csv(&all),
    };
    output::write(&text)?;
    Ok(if all.iter().all(|row| row.ok) {
        Status::Done
    } else {
        Status::Unmet
    })
}

/// Reads what is asked for of the file of results.
fn read(options: &Oracle) -> Result<Vec<Experiment>, Failure> {
    let input = Input::open(&options.results)?;
    let file = input.name.clone();
    let seen = std::cell::RefCell::new(BTreeSet::new());
    let is_wanted = |scenario: &str, kernel: Kernel| {
        seen.borrow_mut().insert((scenario.to_owned(), kernel));
        is_named(kernel, &options.kernels)
            && (options.scenarios.is_empty()
                || options.scenarios.iter().any(|part| scenario.contains(part)))
    };
    let experiments = read_experiments(input.lines(), &file, is_wanted)?;
    if experiments.is_empty() {
        return Err(Failure::NothingMeasured {
            file,
            has: summary_of(&seen.into_inner()),
        });
    }
    Ok(experiments)
}

/// Whether a kernel is one of those asked for, by its version or by its model's name.
fn is_named(kernel: Kernel, asked: &[Kernel]) -> bool {
    asked.is_empty()
        || asked
            .iter()
            .any(|&asked| asked == kernel || asked.to_string() == kernel.throttle.name())
}

/// What there is, for a person who asked for something else.
fn summary_of(seen: &BTreeSet<(String, Kernel)>) -> String {
    let kernels: BTreeSet<Kernel> = seen.iter().map(|(_, kernel)| *kernel).collect();
    let kernels: Vec<String> = kernels.iter().map(ToString::to_string).collect();
    let scenarios: BTreeSet<&str> = seen.iter().map(|(scenario, _)| scenario.as_str()).collect();
    let first = scenarios.first().copied().unwrap_or_default();
    match scenarios.len() {
        1 => format!("scenario `{first}` on {}", kernels.join(", ")),
        count => format!(
            "{count} scenarios, such as `{first}`, on {}",
            kernels.join(", ")
        ),
    }
}
