//! Standard output and standard error.

use std::env;
use std::io::{self, ErrorKind, IsTerminal, Write};

use cpumax_report::{Style, Table};
use miette::{GraphicalReportHandler, GraphicalTheme};
use serde::Serialize;

use crate::args::{Color, Global};
use crate::failure::Failure;
use crate::progress::Progress;

/// Where results and errors go, and how they may look there.
#[derive(Debug)]
pub struct Output {
    /// For tables on standard output.
    style: Style,
    /// Colour on standard error.
    color_errors: bool,
    /// No progress, no remarks.
    pub is_quiet: bool,
}

impl Output {
    pub fn new(global: &Global) -> Self {
        let allowed = |is_terminal: bool| match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                is_terminal
                    && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        };
        Self {
            style: Style {
                color: allowed(io::stdout().is_terminal()),
                width: None,
            },
            color_errors: allowed(io::stderr().is_terminal()),
            is_quiet: global.quiet,
        }
    }

    /// A table as text.
    pub fn table(&self, table: &Table) -> String {
        table.render(self.style)
    }

    /// A progress bar over so many runs.
    pub fn progress(&self, runs: u64) -> Progress {
        Progress::new(runs, self.is_quiet)
    }

    /// Writes what went wrong to standard error.
    pub fn report(&self, failure: &Failure) {
        let theme = match (self.color_errors, io::stderr().is_terminal()) {
            (true, _) => GraphicalTheme::unicode(),
            (false, true) => GraphicalTheme::unicode_nocolor(),
            (false, false) => GraphicalTheme::none(),
        };
        // A pipe has no width: a message stays on its line, where a program can find it.
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(100)
            .with_wrap_lines(io::stderr().is_terminal());
        let mut text = String::new();
        if handler.render_report(&mut text, failure).is_err() {
            text = format!("Error: {failure}\n");
        }
        // Nowhere is left to say that standard error is closed.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// Writes a result to standard output. A reader that has seen enough and closed the pipe is a normal end.
pub fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => Err(Failure::Write { source }),
        _ => Ok(()),
    }
}

/// JSON for people's eyes and programs: indented, with a newline at the end.
pub fn json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::Write {
        source: error.into(),
    })?;
    Ok(text + "\n")
}

/// A JSON array with one object a line.
pub fn json_lines(values: &[impl Serialize]) -> Result<String, Failure> {
    let lines: Vec<String> = values
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::Write {
            source: error.into(),
        })?;
    Ok(if lines.is_empty() {
        "[]\n".to_owned()
    } else {
        format!("[\n{}\n]\n", lines.join(",\n"))
    })
}
