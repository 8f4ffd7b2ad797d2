//! The language of the measurements: one directive a line, all times in whole microseconds.
//!
//! ```text
//! smp N                                  number of CPUs
//! duration US                            measured time, from T0
//! group NAME [parent=P] [quota=US|max] [period=US] [burst=US] [weight=W] [n=N]
//! task NAME kind=K [group=G] [n=N] [cpus=MASK] [percpu=M] [nice=] [phase=US] [stagger=US] [eachgroup=G]
//!     kind=spin | sysspin | cycle run=US sleep=US | cycle run=US every=US
//!          | pingpong [work=US] | hack senders=N receivers=N [bytes=B]
//! event US max G QUOTA|max [PERIOD] | burst G US | weight G W | move TASK G|/ | cpus TASK MASK
//! sample US                              snapshot of all statistics every US
//! rawlat                                 print every response time
//! ```
//!
//! Groups have short names, of which each is there once; `n` above 1 makes NAME.0, NAME.1 and so on.
//! A group stands before what uses it. `#` starts a comment.

mod directives;
mod words;

use cpumax_sim::machine::Machine;

use crate::draft::Draft;
use crate::error::Result;
use crate::problem::Problem;
use crate::scenario::{MAX_CPUS, Scenario, content_lines};
use directives::{read_event, read_groups, read_task};
use words::{Line, Word, lines};

const DIRECTIVES: [&str; 7] = [
    "smp", "duration", "group", "task", "event", "sample", "rawlat",
];

/// Whether a text begins in this language: with a directive, and not with a TOML key of that name.
pub(crate) fn is_this(text: &str) -> bool {
    let first = content_lines(text).next().unwrap_or_default();
    let mut words = first.split_ascii_whitespace();
    let directive = words.next().is_some_and(|word| DIRECTIVES.contains(&word));
    directive && !words.next().is_some_and(|word| word.starts_with('='))
}

/// Reads a scenario of this name.
pub(crate) fn read(text: &str, name: &str) -> Result<Scenario> {
    let lines: Vec<Line<'_>> = lines(text).collect();
    for line in &lines {
        line.directive.one_of("directive", &DIRECTIVES)?;
    }
    let smp = single(&lines, "smp", "the number of CPUs, as in `smp 4`")?;
    let smp = smp.ok_or_else(|| missing("smp", "smp 4"))?;
    let cpus = smp.integer()?;
    if !(1..=MAX_CPUS as u64).contains(&cpus) {
        return Err(Problem::CpuCount {
            given: cpus.to_string(),
        }
        .at(smp.span()));
    }
    let duration = single(&lines, "duration", "microseconds, as in `duration 3000000`")?;
    let duration = duration.ok_or_else(|| missing("duration", "duration 3000000"))?;
    let mut draft = Draft::new(
        name,
        duration.positive_micros("duration")?,
        Machine::lab(cpus as usize),
    );
    let sample = single(&lines, "sample", "microseconds, as in `sample 50000`")?;
    draft.sample = sample
        .map(|sample| sample.positive_micros("sample"))
        .transpose()?;
    draft.every_response = with_words(&lines, "rawlat", 0, "nothing behind it")?.is_some();

    read_groups(
        lines.iter().filter(|line| line.directive.text == "group"),
        &mut draft,
    )?;
    for line in lines.iter().filter(|line| line.directive.text == "task") {
        read_task(line, &mut draft)?;
    }
    for line in lines.iter().filter(|line| line.directive.text == "event") {
        read_event(line, &mut draft)?;
    }
    draft.finish(text)
}

/// The word behind a directive that stands once at most.
fn single<'t>(
    lines: &[Line<'t>],
    directive: &'static str,
    expected: &'static str,
) -> Result<Option<Word<'t>>> {
    Ok(with_words(lines, directive, 1, expected)?.map(|line| line.words[0]))
}

/// The line of a directive that stands once at most, with so many words behind it.
fn with_words<'l, 't>(
    lines: &'l [Line<'t>],
    directive: &'static str,
    words: usize,
    expected: &'static str,
) -> Result<Option<&'l Line<'t>>> {
    let mut found = lines.iter().filter(|line| line.directive.text == directive);
    let Some(line) = found.next() else {
        return Ok(None);
    };
    if let Some(second) = found.next() {
        let twice = Problem::Repeated {
            word: directive.into(),
        };
        return Err(twice
            .at(second.directive.span())
            .after(line.directive.span()));
    }
    if line.words.len() != words {
        return Err(Problem::Malformed {
            directive: directive.into(),
            expected,
        }
        .at(line.span()));
    }
    Ok(Some(line))
}

fn missing(key: &'static str, example: &'static str) -> crate::error::Fault {
    Problem::MissingKey {
        what: "a scenario",
        key,
        example,
    }
    .at(0..0)
}
