//! What can be wrong with a scenario file, in words, each with its mend.

use std::ops::Range;

use cpumax_bandwidth::{LimitError, Nanos};
use cpumax_sched::UnknownKernel;
use thiserror::Error;

use crate::cpus::CpusError;
use crate::duration::DurationError;
use crate::error::Fault;
use crate::groups::PathError;
use crate::scenario::{MAX_CPUS, MAX_FILE_BYTES};

/// What is wrong with a scenario file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// Nothing is in the file.
    #[error("the file is empty")]
    EmptyFile,
    /// The file is not read at all.
    #[error("the file has {bytes} bytes, and a scenario has at most {MAX_FILE_BYTES} (16 MiB)")]
    FileTooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The text is no TOML.
    #[error("this is not TOML: {message}")]
    Toml {
        /// What the TOML reader says.
        message: String,
    },
    /// A key or option that is not known there.
    #[error("{what} has no `{key}`")]
    UnknownKey {
        /// What has the key.
        what: &'static str,
        /// The key.
        key: String,
        /// The key that was probably meant.
        suggestion: Option<String>,
        /// All keys that are known there.
        known: &'static [&'static str],
    },
    /// A key or option that must be there.
    #[error("{what} needs `{key}`")]
    MissingKey {
        /// What needs it.
        what: &'static str,
        /// The key.
        key: &'static str,
        /// How to write it.
        example: &'static str,
    },
    /// Keys of which one must be there.
    #[error("{what} says nothing to do")]
    NothingToDo {
        /// What needs one.
        what: &'static str,
        /// The keys.
        known: &'static [&'static str],
    },
    /// The name of a step that needs a value.
    #[error("step `{step}` needs a value")]
    StepNeedsValue {
        /// The step.
        step: String,
    },
    /// Two keys that cannot stand together.
    #[error("`{first}` and `{second}` cannot stand together in {what}")]
    Conflict {
        /// What has the keys.
        what: &'static str,
        /// One.
        first: String,
        /// The other.
        second: String,
    },
    /// A key that goes with another one only.
    #[error("`{key}` goes with {with} only")]
    Misplaced {
        /// The key.
        key: String,
        /// With what it goes.
        with: &'static str,
    },
    /// A value of the wrong type.
    #[error("`{key}` must be {expected}, not {found}")]
    WrongType {
        /// Key of the value.
        key: String,
        /// What it should be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A directive that is not understood.
    #[error("`{directive}` wants {expected}")]
    Malformed {
        /// Its first word.
        directive: String,
        /// What should follow.
        expected: &'static str,
    },
    /// Something else where a whole number belongs.
    #[error("`{}` is not a whole number of zero or more", .text.escape_debug())]
    NotWhole {
        /// What is written.
        text: String,
    },
    /// A number that is too small, too large, or none.
    #[error("`{key}` is {given}, and must be {from} to {to}")]
    Number {
        /// Key of the value.
        key: String,
        /// What is written.
        given: String,
        /// Smallest value.
        from: i64,
        /// Largest value.
        to: i64,
    },
    /// A time that is none.
    #[error(transparent)]
    Duration(DurationError),
    /// A time that must not be zero.
    #[error("`{key}` must be longer than zero")]
    ZeroDuration {
        /// Key of the value.
        key: String,
    },
    /// A time that is too short or too long for what it is.
    #[error("`{key}` is {given}, and must be {from} to {to}")]
    TimeOutOfRange {
        /// Key of the value.
        key: String,
        /// What is written.
        given: Nanos,
        /// Shortest.
        from: Nanos,
        /// Longest.
        to: Nanos,
    },
    /// Cores, caches and nodes that do not stand in each other.
    #[error(
        "`{outer}` is {outer_cpus}, and must be a multiple of `{inner}`, which is {inner_cpus}"
    )]
    Topology {
        /// Key of the larger part.
        outer: &'static str,
        /// Its CPUs.
        outer_cpus: usize,
        /// Key of the smaller part.
        inner: &'static str,
        /// Its CPUs.
        inner_cpus: usize,
    },
    /// A name that is not in a list of names.
    #[error("unknown {what} `{given}`")]
    UnknownName {
        /// What it should be the name of.
        what: &'static str,
        /// What is written.
        given: String,
        /// The name that was probably meant.
        suggestion: Option<String>,
        /// All names.
        known: &'static [&'static str],
    },
    /// A kernel that cannot be simulated.
    #[error("unknown kernel `{}`", .0.given)]
    UnknownKernel(UnknownKernel),
    /// No kernel at all.
    #[error("`kernels` is an empty list")]
    NoKernels,
    /// A name without a character, or with ones that would break a table.
    #[error("`{}` cannot be a name", .text.escape_debug())]
    BadName {
        /// The name.
        text: String,
    },
    /// A name that stands for two things.
    #[error("there are two {what} `{name}`")]
    Duplicate {
        /// What they are.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A directive or option that stands twice.
    #[error("`{word}` stands there twice")]
    Repeated {
        /// The directive or option.
        word: String,
    },
    /// More of something than a scenario can have.
    #[error("the scenario has {given} {what}, and can have {max}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many it would be.
        given: u64,
        /// How many are allowed.
        max: usize,
    },
    /// No CPU, or too many.
    #[error("a machine of {given} CPUs")]
    CpuCount {
        /// What is written.
        given: String,
    },
    /// A set of CPUs that is none.
    #[error(transparent)]
    Cpus(CpusError),
    /// A path that cannot be a group's.
    #[error("`{}` is not a group's path: {reason}", .path.escape_debug())]
    GroupPath {
        /// The path.
        path: String,
        /// Why.
        reason: PathError,
    },
    /// A group that no one made.
    #[error("there is no group `{}`", .path.escape_debug())]
    UnknownGroup {
        /// The path, or the short name.
        path: String,
        /// The group that was probably meant.
        suggestion: Option<String>,
    },
    /// A task that no one made.
    #[error("there is no task `{}`", .name.escape_debug())]
    UnknownTask {
        /// The name.
        name: String,
        /// The task that was probably meant.
        suggestion: Option<String>,
    },
    /// A limit that the kernel refuses.
    #[error("the kernel refuses this {file} of group `{group}`")]
    Limit {
        /// The file that is written.
        file: &'static str,
        /// Path of the group.
        group: String,
        /// The kernel's rule.
        source: LimitError,
    },
    /// A limit of which the kernel would take only the beginning.
    #[error("the kernel would read `{text}` as `{read}`, and pass over the rest in silence")]
    LimitHasMore {
        /// What is written.
        text: String,
        /// What the kernel makes of it.
        read: String,
    },
    /// A weight that the kernel refuses.
    #[error("the kernel refuses a cpu.weight of `{text}`")]
    Weight {
        /// What is written.
        text: String,
    },
    /// A nice value that there is not.
    #[error("`{text}` is not a nice value")]
    Nice {
        /// What is written.
        text: String,
    },
    /// A number of rounds that is none.
    #[error("`loop` is {given}")]
    Loop {
        /// What is written.
        given: String,
        /// Whether for ever is allowed there.
        for_ever: bool,
    },
    /// A program that never lets time go on.
    #[error("task `{task}` repeats for ever without using time or waiting")]
    NoProgress {
        /// The task.
        task: String,
    },
    /// A task that starts later than any scenario lasts.
    #[error("task `{task}` starts at {start}")]
    StartTooLate {
        /// The task.
        task: String,
        /// When, from T0.
        start: Nanos,
    },
    /// A task that is to start in a group that does not exist at the start.
    #[error("group `{group}` does not exist at the start: an event creates it at {created}")]
    TaskBeforeGroup {
        /// Path of the group.
        group: String,
        /// When it is created, from T0.
        created: Nanos,
    },
    /// An event that never happens.
    #[error("the event is at {at}, and the scenario ends at {end}")]
    EventAfterEnd {
        /// When, from T0.
        at: Nanos,
        /// The duration.
        end: Nanos,
    },
    /// An event on a group that does not exist at that time.
    #[error("group `{group}` does not exist at {at}")]
    GroupAbsent {
        /// Path of the group.
        group: String,
        /// When, from T0.
        at: Nanos,
        /// When it is created, if that is later.
        created: Option<Nanos>,
    },
    /// A group is created that exists.
    #[error("group `{group}` exists already at {at}")]
    GroupExists {
        /// Path of the group.
        group: String,
        /// When, from T0.
        at: Nanos,
    },
    /// The machine would have no CPU left.
    #[error("CPU {cpu} is the last one online at {at}")]
    LastCpu {
        /// The CPU.
        cpu: usize,
        /// When, from T0.
        at: Nanos,
    },
}

impl Problem {
    /// This problem at a place in the text, in bytes.
    pub(crate) fn at(self, span: Range<usize>) -> Fault {
        Fault {
            span,
            earlier: None,
            problem: Box::new(self),
        }
    }

    /// What would be right; `None` if the message or its cause says it.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::EmptyFile => "a scenario has a duration, a machine and tasks; see docs/scenarios.md \
                 and the examples/ folder"
                .into(),
            Self::FileTooLarge { .. } => {
                "write many equal tasks as one with `count`, and many equal groups likewise".into()
            }
            Self::Toml { .. } | Self::Limit { .. } => return None,
            Self::UnknownKey { what, key, suggestion, known } => match suggestion {
                Some(near) => format!("did you mean `{near}`?"),
                None if key == "cpu" && known.contains(&"cpu.max") => {
                    "a key with a dot is written in quotes, as in \"cpu.max\" = \"50000 100000\"".into()
                }
                None => format!("{what} can have {}", list(known)),
            },
            Self::MissingKey { example, .. } => format!("add `{example}`"),
            Self::NothingToDo { known, .. } => format!("add one of {}", list(known)),
            Self::StepNeedsValue { step } => match step.as_str() {
                "run" | "run-by-clock" | "kernel" | "sleep" | "timer" => format!("write {{ {step} = \"2ms\" }}"),
                "loop" => "write { loop = 10, steps = [{ run = \"1ms\" }] }".into(),
                _ => format!("write {{ {step} = \"NAME\" }}"),
            },
            Self::Conflict { what: "a step", .. } => {
                "a step does one thing; write two steps, as in [{ run = \"2ms\" }, { sleep = \"8ms\" }]"
                    .into()
            }
            Self::Conflict { first, second, .. } => format!("leave out `{first}` or `{second}`"),
            Self::Misplaced { .. } => "leave it out here".into(),
            Self::WrongType { expected, .. } | Self::Malformed { expected, .. } => format!("write {expected}"),
            Self::NotWhole { .. } => "write digits only; times are in microseconds here".into(),
            Self::Number { from, to, .. } => format!("give a whole number from {from} to {to}"),
            Self::Duration(error) => error.help(),
            Self::ZeroDuration { .. } => "give a longer time".into(),
            Self::TimeOutOfRange { from, to, .. } => format!("give {from} to {to}"),
            Self::Topology { inner_cpus, outer, .. } => {
                format!("write `{outer}` = {inner_cpus}, {} or so on", inner_cpus * 2)
            }
            Self::UnknownName { suggestion, known, what, .. } => match suggestion {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("a {what} is one of {}", list(known)),
            },
            Self::UnknownKernel(unknown) => match unknown.suggestion {
                Some(near) => format!("did you mean `{near}`?"),
                None => "name a version from 5.4 on, such as 6.1, 6.12, 6.18 or 7.3, or a model: \
                         hierarchy-sync, hierarchy-async, task, unified, none"
                    .into(),
            },
            Self::NoKernels => {
                "name at least one, or leave `kernels` out for 6.1, 6.12, 6.18 and 7.3".into()
            }
            Self::BadName { .. } => {
                "a name has 1 to 255 bytes, no control characters and no blanks at its ends; a group's \
                 has no `/`"
                    .into()
            }
            Self::Duplicate { .. } => {
                "rename one; `count` makes many of a kind, named NAME.0, NAME.1 and so on".into()
            }
            Self::Repeated { .. } => "leave one of them out".into(),
            Self::TooMany { max, .. } => format!("make it at most {max}"),
            Self::CpuCount { .. } => format!("give 1 to {MAX_CPUS} CPUs"),
            Self::Cpus(error) => error.help(),
            Self::GroupPath { path, reason } => reason.help(path),
            Self::UnknownGroup { suggestion: Some(near), .. }
            | Self::UnknownTask { suggestion: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::UnknownGroup { path, suggestion: None } if path.starts_with('/') => {
                format!("add `[groups.\"{path}\"]`")
            }
            Self::UnknownGroup { .. } => "define the group before it is used".into(),
            Self::UnknownTask { .. } => {
                "name a task of this file; NAME.0, NAME.1 and so on where `count` is above 1".into()
            }
            Self::LimitHasMore { .. } => {
                "write a quota and a period in microseconds, as in \"50000 100000\", or \"max\"".into()
            }
            Self::Weight { .. } => "a weight is 1 to 10000; 100 is the default".into(),
            Self::Nice { .. } => "a nice value is -20 to 19".into(),
            Self::Loop { for_ever: true, .. } => "loop 1 or more times, or -1 for ever".into(),
            Self::Loop { for_ever: false, .. } => {
                "loop 1 or more times; only a task as a whole goes on for ever".into()
            }
            Self::NoProgress { .. } => "add a step that takes time, such as { run = \"1ms\" } or \
                 { sleep = \"1ms\" }, or let `loop` end"
                .into(),
            Self::StartTooLate { .. } => "start and stagger together are at most 365 days".into(),
            Self::TaskBeforeGroup { created, .. } => {
                format!("let the task begin in another group, and `move` it at {created} or later")
            }
            Self::EventAfterEnd { .. } => "let `duration` be longer, or leave the event out".into(),
            Self::GroupAbsent { created: Some(created), .. } => {
                format!("it is created at {created}; let this happen later")
            }
            Self::GroupAbsent { .. } => "let this happen before it is removed".into(),
            Self::GroupExists { .. } => {
                "a group is made once: under [groups], or by one `create` event".into()
            }
            Self::LastCpu { .. } => "leave one CPU online".into(),
        };
        Some(help)
    }
}

/// Names for a sentence: `a`, `b` or `c`.
fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}
