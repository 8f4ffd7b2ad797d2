//! `cpumax`: Linux CPU bandwidth control (`cpu.max`) outside the kernel.
//!
//! The command line and nothing else: [`args`] says what can be asked for, a module per command does it
//! with the library crates, [`output`] writes the result and [`failure`] says what went wrong.

mod args;
mod bench;
mod compare;
mod explain;
mod failure;
mod family;
mod input;
mod oracle;
mod output;
mod progress;
mod run;
mod simulate;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Arguments, Command};
use crate::failure::{Failure, Status};
use crate::output::Output;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let output = Output::new(&arguments.global);
    match act(arguments, &output) {
        Ok(status) => status.into(),
        Err(failure) => {
            output.report(&failure);
            failure.status().into()
        }
    }
}

fn act(arguments: Arguments, output: &Output) -> Result<Status, Failure> {
    simulate::start_threads(arguments.global.threads)?;
    match arguments.command {
        Command::Run(options) => run::act(&options, output),
        Command::Compare(options) => compare::act(&options, output),
        Command::Bench(options) => bench::act(&options, output),
        Command::Oracle(options) => oracle::act(&options, output),
        Command::Explain(options) => explain::act(&options),
    }
}
