//! What can be asked for, as plain values. Nothing in here acts.

#![allow(
    clippy::doc_markdown,
    reason = "doc comments are the texts of --help, where no backticks belong"
)]

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use cpumax_bandwidth::Nanos;
use cpumax_oracle::Phases;
use cpumax_sched::Kernel;

/// Predict, compare and explain Linux CPU bandwidth control (cpu.max).
///
/// Exit status: 0 if all went well, 1 if an expectation is not met (oracle: a row is outside its
/// tolerance; --check: an invariant is broken), 2 if something is wrong with the input.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub struct Arguments {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub struct Global {
    /// Colour in tables and error messages.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    /// No progress and no remarks: results only.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Worker threads; as many as CPUs unless given. The result does not depend on it.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// When to write colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate a scenario on one or more kernels.
    Run(Run),
    /// The same scenario on two kernels, over many seeds: what changed, and is it chance?
    Compare(Compare),
    /// The known benchmarks on a machine that you need not have.
    Bench(crate::bench::args::Bench),
    /// Hold the simulator against results measured on real kernels.
    Oracle(Oracle),
    /// What a kernel, a throttle model or a number means.
    Explain(Explain),
}

/// Simulate a scenario on one or more kernels.
///
/// Prints each group's cpu.stat and each task's CPU time and response times. JSON is an array with an
/// object per kernel; all times in it are in microseconds.
#[derive(Debug, Args)]
pub struct Run {
    /// Scenario file; `-` is standard input.
    pub scenario: PathBuf,
    /// Kernel to simulate, as 6.12 or as a model's name; may be given several times. Unless given: those
    /// that the scenario names, or else 6.1, 6.12, 6.18 and 7.3.
    #[arg(long = "kernel", value_name = "K", value_delimiter = ',')]
    pub kernels: Vec<Kernel>,
    /// Decides the timers' phases and every other random choice.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Simulate so long, as 500ms or 10s, and not as long as the scenario says. What the scenario does
    /// after that does not happen.
    #[arg(long, value_name = "D", value_parser = duration, allow_hyphen_values = true)]
    pub duration: Option<Nanos>,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Check the scheduler's invariants after every event; several times slower.
    #[arg(long)]
    pub check: bool,
    /// In tables, show every task and group, not families of them.
    #[arg(long)]
    pub all: bool,
}

/// The same scenario on two kernels, over many seeds: what changed, and is it chance?
///
/// Each seed has other timer phases. A change is called better or worse only if both Welch's t-test and
/// the Mann-Whitney U test say that chance does not explain it (p below 0.05). Positive changes mean that
/// head is better: less throttling, shorter responses, more CPU time.
///
/// The table of all numbers is followed by the long table of each that changed. JSON and CSV give times in
/// microseconds.
#[derive(Debug, Args)]
pub struct Compare {
    /// Scenario file; `-` is standard input.
    pub scenario: PathBuf,
    /// Kernel to compare with.
    #[arg(long, value_name = "K")]
    pub base: Kernel,
    /// Kernel in question.
    #[arg(long, value_name = "K")]
    pub head: Kernel,
    /// Runs of each kernel.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub runs: u32,
    /// Seed of the first run; the others count up from it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Number to compare; may be given several times. Unless given: all.
    #[arg(long = "metric", value_enum, value_name = "M", value_delimiter = ',')]
    pub metrics: Vec<Metric>,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Show the long table of each number, changed or not.
    #[arg(long)]
    pub all: bool,
}

/// A number that `compare` compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Metric {
    /// Time that a limited group was throttled, summed over CPUs.
    #[value(name = "throttled_usec")]
    ThrottledTime,
    /// Periods in which a limited group was throttled.
    #[value(name = "nr_throttled")]
    Throttled,
    /// CPU time of a limited group.
    #[value(name = "usage_usec")]
    Usage,
    /// CPU time of a family of tasks.
    #[value(name = "cpu_usec")]
    CpuTime,
    /// Half of the family's jobs take at most so long.
    #[value(name = "p50")]
    P50,
    /// 99 of 100 of the family's jobs take at most so long.
    #[value(name = "p99")]
    P99,
    /// The longest response time of the family.
    #[value(name = "max")]
    Max,
}

/// Hold the simulator against results measured on real kernels.
///
/// RESULTS has one JSON object a line: the scenario's text, the kernel, and what was measured. Lines of
/// one scenario and kernel are repetitions. For each limited group and each task the table shows: the
/// median that was measured; the median that the simulator predicts over the phases; the range low..high
/// of the central 90 % of the phases (5th to 95th percentile by nearest rank); and the error, predicted
/// minus measured, as a fraction of what was measured (in the metric's unit where 0 was measured).
///
/// A row is within if the error is within its tolerance: usage_usec the larger of 1 % and one tick per
/// CPU, nr_periods 1, nr_throttled the larger of 2 and 3 %, throttled_usec 5 %, cpu_usec 5 %, response
/// times the larger of 5 % and one tick. Or if the measured value lies in low..high, and high is at most 3
/// times low or the kernel's own repetitions differ by more than that.
///
/// Exit status 0 if all rows are within, else 1.
#[derive(Debug, Args)]
pub struct Oracle {
    /// File of results; `-` is standard input.
    pub results: PathBuf,
    /// Only what was measured on this kernel (6.12) or a kernel with this model (task); may be given
    /// several times.
    #[arg(long = "kernel", value_name = "K", value_delimiter = ',')]
    pub kernels: Vec<Kernel>,
    /// Only scenarios with this in their name; may be given several times.
    #[arg(long = "scenario", value_name = "S")]
    pub scenarios: Vec<String>,
    /// Seeds to simulate, each with other timer phases; at least 32.
    #[arg(long, value_name = "N", default_value_t = Phases::USUAL,
          value_parser = clap::value_parser!(u32).range(i64::from(Phases::FEWEST)..=1_000_000))]
    pub phases: u32,
    /// The first of the seeds; the others count up from it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// In the table, show the rows that are within too.
    #[arg(long)]
    pub all: bool,
}

/// What a kernel, a throttle model or a number means.
#[derive(Debug, Args)]
pub struct Explain {
    /// A kernel (6.12), a throttle model (task) or a number (throttled_usec). Unless given: what there is.
    pub topic: Option<String>,
}

/// How to print a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// For programs.
    Json,
    /// For spreadsheets: one table, raw numbers.
    Csv,
}

/// Reads a time that is not zero.
pub fn duration(text: &str) -> Result<Nanos, String> {
    let refused = |problem: String, help: String| format!("{problem}; {help}");
    match cpumax_workload::parse_duration(text) {
        Ok(Nanos::ZERO) => Err(refused(
            "it is zero".into(),
            "write a time such as 10s".into(),
        )),
        Ok(duration) => Ok(duration),
        Err(error) => Err(refused(error.to_string(), error.help())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_holds_together() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
