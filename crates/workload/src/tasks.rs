//! Tasks: from one entry of a file to its copies, and finding them again by name.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use cpumax_bandwidth::Nanos;
use cpumax_sched::{CpuId, CpuMask, Nice};
use cpumax_sim::setup::{GroupIndex, ObjectIndex, Policy, Program, Start, TaskIndex, TaskSpec};

use crate::duration::LONGEST;
use crate::error::Result;
use crate::groups::MAX_NAME;
use crate::problem::Problem;
use crate::programs;
use crate::scenario::{MAX_STEPS, MAX_TASKS};
use crate::suggest::nearest;

/// One entry of a file: a number of like tasks.
#[derive(Clone, Debug)]
pub(crate) struct TaskPlan {
    pub name: String,
    /// How many copies, at least 1. A copy is one task, a pair (`pingpong`), or a set (`hack`).
    pub copies: u64,
    pub groups: GroupChoice,
    pub cpus: CpuChoice,
    pub nice: Nice,
    pub policy: Policy,
    pub kernel_thread: bool,
    /// Start of the first copy, from T0.
    pub start: Nanos,
    /// How much later each copy starts than the one before.
    pub stagger: Nanos,
    pub work: Work,
    /// Where the file names it.
    pub span: Range<usize>,
}

/// The group of each copy.
#[derive(Clone, Debug)]
pub(crate) enum GroupChoice {
    /// One for all; `None` is the root.
    Same(Option<GroupIndex>),
    /// By the copy's number.
    Each(Vec<Option<GroupIndex>>),
}

/// The CPUs of each copy.
#[derive(Clone, Debug)]
pub(crate) enum CpuChoice {
    /// All of the machine.
    All,
    /// These.
    Mask(CpuMask),
    /// One of these in turn.
    RoundRobin(Vec<CpuId>),
}

/// What each copy does.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// A program for all, or one for each copy.
    Programs(Vec<Arc<Program>>),
    /// Pairs over two pipes, `NAMEa.0` and `NAMEb.0`.
    PingPong {
        /// Work at each side.
        work: Nanos,
    },
    /// Sets of hackbench, `NAME0r.0` and so on for receivers, `NAME0s.0` and so on for senders.
    Hack {
        /// Senders of a set.
        senders: u64,
        /// Receivers of a set.
        receivers: u64,
        /// Size of a message.
        bytes: u32,
    },
}

/// The tasks of a scenario.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    pub specs: Vec<TaskSpec>,
    by_name: HashMap<String, TaskIndex>,
    /// The tasks of each entry, by the entry's name.
    entries: HashMap<String, Entry>,
    pipes: usize,
    steps: usize,
}

#[derive(Debug)]
struct Entry {
    tasks: Range<usize>,
    span: Range<usize>,
}

impl Tasks {
    /// A pipe that no one else uses.
    pub fn new_pipe(&mut self) -> ObjectIndex {
        self.pipes += 1;
        ObjectIndex(self.pipes - 1)
    }

    /// Makes the copies of an entry.
    pub fn add(&mut self, plan: &TaskPlan) -> Result<()> {
        if !is_name(&plan.name) {
            return Err(Problem::BadName {
                text: plan.name.clone(),
            }
            .at(plan.span.clone()));
        }
        if let Some(first) = self.entries.get(&plan.name) {
            let twice = Problem::Duplicate {
                what: "tasks",
                name: plan.name.clone(),
            };
            return Err(twice.at(plan.span.clone()).after(first.span.clone()));
        }
        self.check_counts(plan)?;
        let first = self.specs.len();
        for copy in 0..plan.copies {
            self.add_copy(plan, copy)?;
        }
        let tasks = first..self.specs.len();
        self.entries.insert(
            plan.name.clone(),
            Entry {
                tasks,
                span: plan.span.clone(),
            },
        );
        Ok(())
    }

    fn check_counts(&mut self, plan: &TaskPlan) -> Result<()> {
        let in_copy = match plan.work {
            Work::Programs(_) => 1,
            Work::PingPong { .. } => 2,
            Work::Hack {
                senders, receivers, ..
            } => senders.saturating_add(receivers),
        };
        let given = plan
            .copies
            .saturating_mul(in_copy)
            .saturating_add(self.specs.len() as u64);
        if given > MAX_TASKS as u64 {
            return Err(Problem::TooMany {
                what: "tasks",
                given,
                max: MAX_TASKS,
            }
            .at(plan.span.clone()));
        }
        if let Work::Programs(programs) = &plan.work {
            let steps = programs
                .iter()
                .map(|program| programs::count_steps(&program.steps));
            let steps = steps.sum();
            self.check_steps(steps, &plan.span)?;
            self.steps += steps;
        }
        let last = plan
            .stagger
            .saturating_mul(plan.copies - 1)
            .saturating_add(plan.start);
        if last > LONGEST {
            let task = copy_name(plan, plan.copies - 1);
            return Err(Problem::StartTooLate { task, start: last }.at(plan.span.clone()));
        }
        Ok(())
    }

    /// Refuses so many more steps if that is too much, before they are made.
    pub fn check_steps(&self, more: usize, span: &Range<usize>) -> Result<()> {
        let steps = self.steps.saturating_add(more);
        if steps > MAX_STEPS {
            let given = steps as u64;
            return Err(Problem::TooMany {
                what: "steps",
                given,
                max: MAX_STEPS,
            }
            .at(span.clone()));
        }
        Ok(())
    }

    fn add_copy(&mut self, plan: &TaskPlan, copy: u64) -> Result<()> {
        let name = &plan.name;
        match plan.work {
            Work::Programs(ref programs) => {
                let program = programs.get(copy as usize).unwrap_or(&programs[0]);
                self.push(plan, copy, copy_name(plan, copy), Arc::clone(program))
            }
            Work::PingPong { work } => {
                let (there, back) = (self.new_pipe(), self.new_pipe());
                let [a, b] = programs::pingpong(work, there, back);
                self.push(plan, copy, format!("{name}a.{copy}"), a)?;
                self.push(plan, copy, format!("{name}b.{copy}"), b)
            }
            Work::Hack {
                senders,
                receivers,
                bytes,
            } => {
                let pipes: Vec<ObjectIndex> = (0..receivers).map(|_| self.new_pipe()).collect();
                for (index, &pipe) in pipes.iter().enumerate() {
                    let program = programs::hack_receiver(pipe, bytes);
                    self.push(plan, copy, format!("{name}{copy}r.{index}"), program)?;
                }
                let program = programs::hack_sender(&pipes, bytes);
                for index in 0..senders {
                    self.push(
                        plan,
                        copy,
                        format!("{name}{copy}s.{index}"),
                        Arc::clone(&program),
                    )?;
                }
                Ok(())
            }
        }
    }

    fn push(
        &mut self,
        plan: &TaskPlan,
        copy: u64,
        name: String,
        program: Arc<Program>,
    ) -> Result<()> {
        let index = TaskIndex(self.specs.len());
        if self.by_name.insert(name.clone(), index).is_some() {
            return Err(Problem::Duplicate {
                what: "tasks",
                name,
            }
            .at(plan.span.clone()));
        }
        self.specs.push(TaskSpec {
            name,
            group: match &plan.groups {
                GroupChoice::Same(group) => *group,
                GroupChoice::Each(groups) => groups[copy as usize],
            },
            nice: plan.nice,
            policy: plan.policy,
            affinity: match &plan.cpus {
                CpuChoice::All => None,
                CpuChoice::Mask(mask) => Some(mask.clone()),
                CpuChoice::RoundRobin(cpus) => {
                    Some(std::iter::once(cpus[copy as usize % cpus.len()]).collect())
                }
            },
            start: Start::At(plan.start + plan.stagger * copy),
            kernel_thread: plan.kernel_thread,
            program,
        });
        Ok(())
    }

    /// The tasks of a name: one task, or all copies of an entry.
    pub fn find(&self, name: &str) -> std::result::Result<Range<usize>, Problem> {
        if let Some(&TaskIndex(index)) = self.by_name.get(name) {
            return Ok(index..index + 1);
        }
        if let Some(entry) = self.entries.get(name) {
            return Ok(entry.tasks.clone());
        }
        // Entries first: their names are the ones that a person wrote.
        let mut entries: Vec<(usize, &str)> = self
            .entries
            .iter()
            .map(|(name, entry)| (entry.tasks.start, name.as_str()))
            .collect();
        entries.sort_unstable();
        let tasks = self.specs.iter().map(|spec| spec.name.as_str());
        let suggestion = nearest(name, entries.into_iter().map(|(_, name)| name).chain(tasks));
        Err(Problem::UnknownTask {
            name: name.into(),
            suggestion,
        })
    }
}

/// Whether a text can be a name in a table.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_NAME
        && text.trim() == text
        && !text.chars().any(char::is_control)
}

/// The name of a copy that is one task.
fn copy_name(plan: &TaskPlan, copy: u64) -> String {
    let name = &plan.name;
    if plan.copies > 1 {
        format!("{name}.{copy}")
    } else {
        name.clone()
    }
}
