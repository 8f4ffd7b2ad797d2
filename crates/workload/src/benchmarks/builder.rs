//! What all benchmarks are built with.

use std::sync::Arc;

use cpumax_bandwidth::{Limit, Nanos};
use cpumax_sched::Nice;
use cpumax_sim::Machine;
use cpumax_sim::setup::{
    GroupIndex, GroupSpec, Policy, Program, Setup, Start, Step, TaskIndex, TaskSpec,
};

/// Which CPU limits a benchmark runs under.
#[derive(Clone, Debug, PartialEq)]
pub enum Limits {
    /// None: in a group without a limit.
    None,
    /// All of it in one group.
    Group(Limit),
    /// Levels of groups, each with its limit, the outermost first. A group of each level has two of the next, and the
    /// benchmark runs once in each group of the last.
    Nested(Vec<Limit>),
}

/// A setup in the making.
pub(super) struct Builder {
    pub setup: Setup,
}

impl Builder {
    /// A machine without groups and tasks, that is simulated for so long, or until all tasks have exited.
    pub fn new(machine: &Machine, duration: Nanos) -> Self {
        Self {
            setup: Setup {
                machine: machine.clone(),
                groups: Vec::new(),
                tasks: Vec::new(),
                events: Vec::new(),
                duration,
                ends_with_tasks: true,
            },
        }
    }

    /// Adds a group.
    pub fn group(&mut self, path: String, parent: Option<GroupIndex>, limit: Limit) -> GroupIndex {
        self.setup.groups.push(GroupSpec {
            path,
            parent,
            limit,
            weight: 100,
            created_later: false,
        });
        GroupIndex(self.setup.groups.len() - 1)
    }

    /// Adds the groups of some limits; those in which a benchmark runs.
    pub fn groups(&mut self, limits: &Limits) -> Vec<GroupIndex> {
        match limits {
            Limits::None => vec![self.group("/bench".into(), None, Limit::UNLIMITED)],
            Limits::Group(limit) => vec![self.group("/bench".into(), None, *limit)],
            Limits::Nested(levels) => {
                let mut leaves: Vec<(String, Option<GroupIndex>)> = vec![(String::new(), None)];
                for (depth, limit) in levels.iter().enumerate() {
                    let mut next = Vec::new();
                    for (path, parent) in &leaves {
                        for child in 0..if depth == 0 { 1 } else { 2 } {
                            let path = format!("{path}/level{depth}-{child}");
                            let group = self.group(path.clone(), *parent, *limit);
                            next.push((path, Some(group)));
                        }
                    }
                    leaves = next;
                }
                leaves.into_iter().filter_map(|(_, group)| group).collect()
            }
        }
    }

    /// The number that the next task will have.
    pub fn next_task(&self) -> TaskIndex {
        TaskIndex(self.setup.tasks.len())
    }

    /// Adds a task.
    pub fn task(
        &mut self,
        name: String,
        group: Option<GroupIndex>,
        start: Start,
        program: &Arc<Program>,
    ) -> TaskIndex {
        let task = self.next_task();
        self.setup.tasks.push(TaskSpec {
            name,
            group,
            nice: Nice::default(),
            policy: Policy::Normal,
            affinity: None,
            start,
            kernel_thread: false,
            program: Arc::clone(program),
        });
        task
    }
}

/// A program.
pub(super) fn program(prelude: Vec<Step>, steps: Vec<Step>, times: Option<u64>) -> Arc<Program> {
    Arc::new(Program {
        prelude,
        steps,
        times,
    })
}
