//! What can go wrong, and the exit status that it ends in.

use std::io;
use std::process::ExitCode;

use cpumax_sched::Kernel;
use cpumax_workload::{MAX_FILE_BYTES, ScenarioError};
use miette::Diagnostic;
use thiserror::Error;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All went well.
    Done,
    /// An expectation is not met.
    Unmet,
    /// Something is wrong with the input, or with the machine.
    Refused,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => 0,
            Status::Unmet => 1,
            Status::Refused => 2,
        }
        .into()
    }
}

/// What went wrong.
#[derive(Debug, Error, Diagnostic)]
pub enum Failure {
    /// A file cannot be opened or read.
    #[error("cannot read {file}")]
    #[diagnostic(help("give the path of a file that exists and may be read, or `-`"))]
    Read { file: String, source: io::Error },
    /// A file is too large to be a scenario.
    #[error("{file} is too large: a scenario has at most {MAX_FILE_BYTES} bytes (16 MiB)")]
    #[diagnostic(help(
        "write many equal tasks as one with `count`, and many equal groups likewise"
    ))]
    TooLarge { file: String },
    /// A file is no text.
    #[error("{file}, line {line}: this is not text (UTF-8)")]
    #[diagnostic(help("a scenario is a text file, as those in examples/"))]
    NotText { file: String, line: usize },
    /// A scenario file is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Scenario(#[from] ScenarioError),
    /// A run failed.
    #[error("{file} cannot be simulated on {kernel} (seed {seed})")]
    Simulation {
        file: String,
        kernel: Kernel,
        seed: u64,
        source: Box<cpumax_sim::Error>,
    },
    /// A machine that is neither a preset nor a file.
    #[error("there is no machine `{}`", .given.escape_debug())]
    #[diagnostic(help(
        "name desktop, emr-2s240, genoa-2s384 or epyc-2s512, `host` for this machine, or a file as docs/machines.md \
         describes it"
    ))]
    Machine { given: String },
    /// This machine cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Host(#[from] cpumax_linux::HostError),
    /// The kernel would refuse a limit.
    #[error("the kernel refuses this limit: {source}")]
    #[diagnostic(help("change --quota, --nested or --period"))]
    Quota {
        source: cpumax_bandwidth::LimitError,
    },
    /// A file of results is wrong, or what it describes cannot be simulated.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Oracle(#[from] cpumax_oracle::Error),
    /// A file of results has nothing that was asked for.
    #[error("{file} has no such measurement; it has {has}")]
    #[diagnostic(help("change or leave out --kernel and --scenario"))]
    NothingMeasured { file: String, has: String },
    /// No run has what was to be compared.
    #[error("the scenario has none of the numbers that are to be compared")]
    #[diagnostic(help("throttling is of groups with a limit, response times of tasks with jobs"))]
    NothingToCompare,
    /// Something to explain that is unknown.
    #[error("nothing is known of `{}`", .topic.escape_debug())]
    #[diagnostic(help("{help}"))]
    Topic { topic: String, help: String },
    /// Worker threads cannot be started.
    #[error("cannot start worker threads: {message}")]
    #[diagnostic(help("give fewer with --threads"))]
    Threads { message: String },
    /// The result cannot be written.
    #[error("cannot write the result")]
    Write { source: io::Error },
}

impl Failure {
    /// The exit status that it ends in: a broken invariant is an expectation that is not met.
    pub fn status(&self) -> Status {
        match self {
            Self::Simulation { source, .. } if is_invariant(source) => Status::Unmet,
            Self::Oracle(cpumax_oracle::Error::Simulation { source, .. })
                if is_invariant(source) =>
            {
                Status::Unmet
            }
            _ => Status::Refused,
        }
    }
}

fn is_invariant(error: &cpumax_sim::Error) -> bool {
    matches!(error, cpumax_sim::Error::Invariant { .. })
}
