//! Why results cannot be compared.

use cpumax_sched::{Kernel, UnknownKernel};
use cpumax_workload::ScenarioError;
use miette::Diagnostic;
use thiserror::Error;

/// What is wrong with a file of results, or with simulating what it describes.
#[derive(Debug, Error, Diagnostic)]
pub enum Error {
    /// The file ended in a read error.
    #[error("cannot read {file} after line {line}")]
    Read {
        /// Name of the file.
        file: String,
        /// Lines read before.
        line: usize,
        /// What happened.
        source: std::io::Error,
    },
    /// A line is no measurement.
    #[error("{file}, line {line}, column {column}: this is not a measurement: {message}")]
    #[diagnostic(help(
        "each line is one JSON object with `scenario`, `kernel`, `rep`, `text` and `result`; \
         see docs/oracle.md"
    ))]
    Malformed {
        /// Name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What the JSON reader says.
        message: String,
    },
    /// A line is longer than any measurement.
    #[error("{file}, line {line} has more than {max} bytes")]
    #[diagnostic(help("a measurement has some kilobytes; is this a file of results, one a line?"))]
    LongLine {
        /// Name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// Most bytes.
        max: u64,
    },
    /// A kernel that cannot be simulated.
    #[error("{file}, line {line}: this kernel cannot be simulated")]
    Kernel {
        /// Name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The kernel.
        source: UnknownKernel,
    },
    /// The machine that measured reports a failure.
    #[error("{file}, line {line}: the measurement failed: {message}")]
    #[diagnostic(help("leave the line out, or measure again"))]
    Failed {
        /// Name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What it reports.
        message: String,
    },
    /// A repetition is of another scenario than the first one under its name.
    #[error("{file}, line {line}: scenario `{scenario}` is not the one of line {first}")]
    #[diagnostic(help("repetitions have the same `text`; give another scenario another name"))]
    OtherText {
        /// Name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// Name of the scenario.
        scenario: String,
        /// Line of its first repetition.
        first: usize,
    },
    /// A group or task that the scenario of that line does not have, or the other way round.
    #[error("{file}, line {line}: {problem}")]
    #[diagnostic(help("`result` must list the groups and tasks that `text` describes"))]
    Mismatch {
        /// Name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is where it should not be, or is not where it should be.
        problem: String,
    },
    /// No line has a measurement.
    #[error("{file} has no measurements")]
    #[diagnostic(help("it needs one JSON object a line; see docs/oracle.md"))]
    Empty {
        /// Name of the file.
        file: String,
    },
    /// A line's scenario is wrong.
    #[error("{file}, line {line}: the scenario in `text` is wrong")]
    Scenario {
        /// Name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        #[diagnostic_source]
        error: ScenarioError,
    },
    /// A run failed.
    #[error("{scenario} cannot be simulated on {kernel} (seed {seed})")]
    Simulation {
        /// Name of the scenario.
        scenario: String,
        /// The kernel.
        kernel: Kernel,
        /// The seed.
        seed: u64,
        /// Why.
        source: Box<cpumax_sim::Error>,
    },
}
