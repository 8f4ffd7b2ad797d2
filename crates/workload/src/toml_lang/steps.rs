//! `steps = [...]`: what a task does, with rt-app's names where it has them.

use std::collections::HashMap;

use cpumax_sim::setup::{ObjectIndex, Step};
use toml::de::DeValue;

use super::fields::{Field, Fields};
use super::tasks::for_copy;
use crate::error::Result;
use crate::problem::Problem;
use crate::suggest::nearest;
use crate::tasks::Tasks;

/// Steps without a value.
const WORDS: [&str; 3] = ["yield", "syscall", "spin"];
/// Steps with a value; one of them is in each table.
const VERBS: [&str; 16] = [
    "run",
    "run-by-clock",
    "kernel",
    "sleep",
    "timer",
    "lock",
    "unlock",
    "wait",
    "signal",
    "broad",
    "suspend",
    "resume",
    "write",
    "read",
    "read-all",
    "loop",
];
/// Keys of a step with a value.
const KEYS: [&str; 18] = verbs_and(["bytes", "steps"]);
/// All steps.
const ALL: [&str; 19] = verbs_and(WORDS);

/// The verbs, and more names behind them.
const fn verbs_and<const MORE: usize, const ALL: usize>(
    more: [&'static str; MORE],
) -> [&'static str; ALL] {
    let mut all = [""; ALL];
    let mut at = 0;
    while at < ALL {
        all[at] = if at < VERBS.len() {
            VERBS[at]
        } else {
            more[at - VERBS.len()]
        };
        at += 1;
    }
    all
}

/// Locks, wait queues and pipes by name; each kind has its own names.
#[derive(Debug, Default)]
pub(super) struct Objects {
    locks: HashMap<String, ObjectIndex>,
    queues: HashMap<String, ObjectIndex>,
    pipes: HashMap<String, ObjectIndex>,
}

/// Reads the steps of one copy of a task.
pub(super) struct StepReader<'a> {
    /// Number of the copy, which `{i}` in a name stands for.
    pub copy: u64,
    /// Whether a name had `{i}` in it, so that every copy has its own steps.
    pub depends_on_copy: bool,
    /// Names given so far.
    pub objects: &'a mut Objects,
    /// Where new pipes come from.
    pub tasks: &'a mut Tasks,
}

impl StepReader<'_> {
    /// Reads a list of steps.
    pub fn read(&mut self, field: &Field<'_>) -> Result<Vec<Step>> {
        field
            .list()?
            .iter()
            .map(|step| self.read_step(step))
            .collect()
    }

    fn read_step(&mut self, field: &Field<'_>) -> Result<Step> {
        if let DeValue::String(word) = field.value.get_ref() {
            return match word.as_ref() {
                "yield" => Ok(Step::Yield),
                "syscall" => Ok(Step::Syscall),
                "spin" => Ok(Step::Spin),
                given => {
                    let suggestion = nearest(given, WORDS);
                    let problem = if VERBS.contains(&given) {
                        Problem::StepNeedsValue { step: given.into() }
                    } else {
                        Problem::UnknownName {
                            what: "step",
                            given: given.into(),
                            suggestion,
                            known: &ALL,
                        }
                    };
                    Err(problem.at(field.span()))
                }
            };
        }
        if !matches!(field.value.get_ref(), DeValue::Table(_)) {
            return Err(field.wrong_type("a list of steps such as { run = \"2ms\" } or \"yield\""));
        }
        let fields = Fields::of(field, "a step", &KEYS)?;
        let verb = fields.one_of(&VERBS)?;
        if !matches!(verb.key, "write" | "read" | "read-all") {
            fields.none_of(&["bytes"], "`write`, `read` and `read-all`")?;
        }
        if verb.key != "loop" {
            fields.none_of(&["steps"], "`loop`")?;
        }
        Ok(match verb.key {
            "run" => Step::Run(verb.duration()?),
            "run-by-clock" => Step::RunByClock(verb.duration()?),
            "kernel" => Step::RunKernel(verb.duration()?),
            "sleep" => Step::Sleep(verb.duration()?),
            "timer" => Step::Timer(verb.positive_duration()?),
            "lock" => Step::Lock(self.object(&verb)?),
            "unlock" => Step::Unlock(self.object(&verb)?),
            "wait" | "suspend" => Step::Wait(self.object(&verb)?),
            "signal" => Step::WakeOne(self.object(&verb)?),
            "broad" | "resume" => Step::WakeAll(self.object(&verb)?),
            "write" => Step::PipeWrite(self.object(&verb)?, bytes(&fields)?),
            "read" => Step::PipeRead(self.object(&verb)?, bytes(&fields)?),
            "read-all" => Step::PipeReadAll(self.object(&verb)?, bytes(&fields)?),
            _ => {
                let times = loops(&verb, false)?.unwrap_or(1);
                let steps = fields.need("steps", "steps = [{ run = \"1ms\" }]")?;
                Step::Repeat(times, self.read(&steps)?)
            }
        })
    }

    /// The lock, queue or pipe that a step names.
    fn object(&mut self, field: &Field<'_>) -> Result<ObjectIndex> {
        let text = field.text()?;
        if text.is_empty() {
            return Err(Problem::BadName { text: text.into() }.at(field.span()));
        }
        let name = for_copy(text, self.copy);
        self.depends_on_copy |= name != text;
        let known = match field.key {
            "lock" | "unlock" => &mut self.objects.locks,
            "write" | "read" | "read-all" => {
                let tasks = &mut *self.tasks;
                let pipes = &mut self.objects.pipes;
                return Ok(*pipes
                    .entry(name.into_owned())
                    .or_insert_with(|| tasks.new_pipe()));
            }
            _ => &mut self.objects.queues,
        };
        let next = ObjectIndex(known.len());
        Ok(*known.entry(name.into_owned()).or_insert(next))
    }
}

/// How often to loop; `None` is for ever.
pub(super) fn loops(field: &Field<'_>, for_ever: bool) -> Result<Option<u64>> {
    match field.number(i64::MIN, i64::MAX)? {
        -1 if for_ever => Ok(None),
        times if times >= 1 => Ok(Some(times as u64)),
        given => Err(Problem::Loop {
            given: given.to_string(),
            for_ever,
        }
        .at(field.span())),
    }
}

/// Size of a transfer: one byte if it is not said.
fn bytes(fields: &Fields<'_>) -> Result<u32> {
    fields.get("bytes").map_or(Ok(1), |field| {
        Ok(field.number(1, i64::from(u32::MAX))? as u32)
    })
}
