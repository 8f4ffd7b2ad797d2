//! What all benchmarks are built with.

use std::sync::Arc;

use cpumax_bandwidth::{CpuStat, Limit, LimitError, Nanos};
use cpumax_sched::{Kernel, Nice, NoObserver};
use cpumax_sim::setup::{
    GroupIndex, GroupSpec, Policy, Program, RunOptions, Setup, Start, Step, TaskIndex, TaskSpec,
};
use cpumax_sim::{Error, Machine, Outcome, Simulation};

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

/// A limit of so many CPUs.
///
/// # Errors
/// The kernel would refuse it.
pub fn cpu_limit(cpus: f64, period: Nanos) -> Result<Limit, LimitError> {
    let quota = Nanos((period.0 as f64 * cpus).round() as u64);
    Limit::new(Some(quota), period, Nanos::ZERO)
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

    /// Adds the first task, which forks the `count` that follow it and then does `more`.
    pub fn starter(
        &mut self,
        name: &str,
        group: Option<GroupIndex>,
        count: usize,
        more: Vec<Step>,
    ) {
        let mut steps: Vec<Step> = (1..=count)
            .map(|task| Step::Fork(TaskIndex(task)))
            .collect();
        steps.extend(more);
        let program = program(steps, Vec::new(), Some(0));
        self.task(name.into(), group, Start::At(Nanos::ZERO), &program);
    }

    /// Simulates it to its end.
    pub fn run(self, kernel: Kernel, seed: u64) -> Result<Outcome, Error> {
        simulation(self.setup, kernel, seed)?.run()
    }
}

/// A simulation that is not checked.
pub(super) fn simulation(setup: Setup, kernel: Kernel, seed: u64) -> Result<Simulation, Error> {
    let options = RunOptions {
        kernel,
        seed,
        check: false,
    };
    Simulation::new(setup, &options, NoObserver)
}

/// Statistics of the group that all of a benchmark runs in.
pub(super) fn group_stat(outcome: &Outcome) -> CpuStat {
    let group = outcome.groups.first();
    group.map(|group| group.stat).unwrap_or_default()
}

/// A program.
pub(super) fn program(prelude: Vec<Step>, steps: Vec<Step>, times: Option<u64>) -> Arc<Program> {
    Arc::new(Program {
        prelude,
        steps,
        times,
    })
}
