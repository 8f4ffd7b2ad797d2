//! `cpumax compare`: a scenario on two kernels, over many seeds.

mod measure;
mod render;

use cpumax_report::{Comparison, Sample};
use cpumax_sched::Kernel;
use cpumax_sim::Simulation;

use self::measure::Measure;
use crate::args::{Compare, Format};
use crate::failure::{Failure, Status};
use crate::input::Input;
use crate::output::{self, Output};
use crate::simulate::{simulate, unchecked};

/// A number on both kernels.
struct Case {
    measure: Measure,
    /// In the unit of JSON: microseconds or a count.
    comparison: Comparison,
    /// In the unit of tables: milliseconds or a count.
    shown: Comparison,
}

pub fn act(options: &Compare, output: &Output) -> Result<Status, Failure> {
    let input = Input::open(&options.scenario)?;
    let file = input.name.clone();
    let scenario = input.scenario()?;
    let measures = measure::measures(&scenario, &options.metrics);

    let seeds = 0..u64::from(options.runs);
    let of = |kernel: Kernel| {
        seeds
            .clone()
            .map(move |run| unchecked(kernel, options.seed.wrapping_add(run)))
    };
    let runs: Vec<_> = of(options.base).chain(of(options.head)).collect();
    let read = |simulation: &mut Simulation| {
        let outcome = simulation.run()?;
        let values = measures.iter().map(|measure| measure.of(&outcome));
        Ok(values.collect::<Vec<Option<f64>>>())
    };
    let values = simulate(&scenario.setup, &runs, &file, output, read)?;
    let (base, head) = values.split_at(options.runs as usize);

    let cases: Vec<Case> = measures
        .into_iter()
        .enumerate()
        .filter_map(|(at, measure)| Case::new(measure, &column(base, at), &column(head, at)))
        .collect();
    if cases.is_empty() {
        return Err(Failure::NothingToCompare);
    }
    let text = match options.format {
        Format::Table => render::table(&scenario, &cases, options, output),
        Format::Json => render::json(&scenario, &cases, options)?,
        Format::Csv => render::csv(&cases, options),
    };
    output::write(&text)?;
    Ok(Status::Done)
}

/// One number of all runs that have it.
fn column(runs: &[Vec<Option<f64>>], at: usize) -> Vec<f64> {
    runs.iter().filter_map(|values| values[at]).collect()
}

impl Case {
    /// `None` if no run of a kernel has the number.
    fn new(measure: Measure, base: &[f64], head: &[f64]) -> Option<Self> {
        let better = measure.metric.better();
        let scale = measure.metric.scale();
        let compare = |scale: f64| {
            let sample = |values: &[f64]| {
                let values: Vec<f64> = values.iter().map(|value| value / scale).collect();
                Sample::new(values).ok()
            };
            Comparison::new(&sample(base)?, &sample(head)?, better).ok()
        };
        Some(Self {
            comparison: compare(1.0)?,
            shown: compare(scale)?,
            measure,
        })
    }
}
