//! The repetitions of one scenario on one kernel, beside the scenario.

use std::collections::HashMap;
use std::io::BufRead;

use cpumax_sched::Kernel;
use cpumax_workload::{Scenario, read_scenario};

use crate::{Error, Measurement, Metric, read_measurements};

/// A scenario that was measured on a kernel, some times.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name of the scenario in the file of results.
    pub scenario: String,
    /// The kernel.
    pub kernel: Kernel,
    /// What to simulate.
    pub(crate) what: Scenario,
    /// What to compare, in the order of the rows: groups and their metrics, tasks and theirs.
    pub(crate) subjects: Vec<Subject>,
    /// Number of repetitions.
    pub repetitions: usize,
}

/// A number that was measured, once per repetition.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// Who it is of.
    pub of: Of,
    /// Which number.
    pub metric: Metric,
    /// The measured values, in the file's order. Not empty.
    pub measured: Vec<f64>,
}

/// Who a number is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Of {
    /// A group, by its index in the setup.
    Group(usize),
    /// A task, by its index in the setup.
    Task(usize),
}

/// Reads a file of results and collects the repetitions, in the order in which scenarios and kernels first
/// appear. Only what `wanted` says yes to is kept.
///
/// `file` stands in error messages.
///
/// # Errors
/// The first thing that is wrong with the file, with its line.
pub fn read_experiments<R: BufRead>(
    reader: R,
    file: &str,
    wanted: impl Fn(&str, Kernel) -> bool,
) -> Result<Vec<Experiment>, Error> {
    let mut collected: Vec<Collected> = Vec::new();
    let mut index: HashMap<(String, Kernel), usize> = HashMap::new();
    let mut is_empty = true;
    for measurement in read_measurements(reader, file) {
        let measurement = measurement?;
        is_empty = false;
        if !wanted(&measurement.scenario, measurement.kernel) {
            continue;
        }
        let key = (measurement.scenario.clone(), measurement.kernel);
        let at = if let Some(&at) = index.get(&key) {
            at
        } else {
            collected.push(Collected::begin(&measurement, file)?);
            index.insert(key, collected.len() - 1);
            collected.len() - 1
        };
        collected[at].add(&measurement, file)?;
    }
    if is_empty {
        return Err(Error::Empty {
            file: file.to_owned(),
        });
    }
    Ok(collected.into_iter().map(|done| done.experiment).collect())
}

/// An experiment while its repetitions come in.
struct Collected {
    experiment: Experiment,
    /// The scenario's text, and the line where it stood first.
    text: String,
    first_line: usize,
    /// Where each number is among the subjects.
    at: HashMap<(Of, Metric), usize>,
    groups: HashMap<String, usize>,
    tasks: HashMap<String, usize>,
}

impl Collected {
    fn begin(measurement: &Measurement, file: &str) -> Result<Self, Error> {
        let place = format!("{file}, text of line {}", measurement.line);
        let what = read_scenario(&measurement.text, &place).map_err(|error| Error::Scenario {
            file: file.to_owned(),
            line: measurement.line,
            error,
        })?;
        let numbered = |names: Vec<&String>| {
            names
                .into_iter()
                .enumerate()
                .map(|(at, name)| (name.clone(), at))
                .collect()
        };
        Ok(Self {
            text: measurement.text.clone(),
            first_line: measurement.line,
            at: HashMap::new(),
            groups: numbered(what.group_names.iter().collect()),
            tasks: numbered(what.setup.tasks.iter().map(|task| &task.name).collect()),
            experiment: Experiment {
                scenario: measurement.scenario.clone(),
                kernel: measurement.kernel,
                what,
                subjects: Vec::new(),
                repetitions: 0,
            },
        })
    }

    /// Adds a repetition.
    fn add(&mut self, measurement: &Measurement, file: &str) -> Result<(), Error> {
        let Measurement {
            line,
            text,
            groups,
            tasks,
            ..
        } = measurement;
        if *text != self.text {
            return Err(Error::OtherText {
                file: file.to_owned(),
                line: *line,
                scenario: measurement.scenario.clone(),
                first: self.first_line,
            });
        }
        let unknown = |what: &str, name: &str| Error::Mismatch {
            file: file.to_owned(),
            line: *line,
            problem: format!("the scenario has no {what} `{}`", name.escape_debug()),
        };
        for group in groups {
            let &index = self
                .groups
                .get(&group.name)
                .ok_or_else(|| unknown("group", &group.name))?;
            if self.experiment.is_limited(index) {
                for metric in Metric::OF_GROUP {
                    if let Some(value) = group.get(metric) {
                        self.push(Of::Group(index), metric, value);
                    }
                }
            }
        }
        for task in tasks {
            let &index = self
                .tasks
                .get(&task.name)
                .ok_or_else(|| unknown("task", &task.name))?;
            for (metric, value) in task.values() {
                self.push(Of::Task(index), metric, value);
            }
        }
        self.experiment.repetitions += 1;
        Ok(())
    }

    fn push(&mut self, of: Of, metric: Metric, value: f64) {
        let subjects = &mut self.experiment.subjects;
        let at = *self.at.entry((of, metric)).or_insert_with(|| {
            subjects.push(Subject {
                of,
                metric,
                measured: Vec::new(),
            });
            subjects.len() - 1
        });
        subjects[at].measured.push(value);
    }
}

impl Experiment {
    /// Whether a group has a limit at the start; only such groups are throttled and compared.
    fn is_limited(&self, group: usize) -> bool {
        self.what.setup.groups[group].limit.is_finite()
    }

    /// What the rows call a subject: a group's path, a task's name.
    pub(crate) fn name_of(&self, of: Of) -> &str {
        match of {
            Of::Group(index) => &self.what.setup.groups[index].path,
            Of::Task(index) => &self.what.setup.tasks[index].name,
        }
    }
}
