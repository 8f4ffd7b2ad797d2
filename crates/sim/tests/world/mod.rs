//! A tiny world: setups of a few tasks on a few CPUs, written in a line each.

#![allow(dead_code)] // not every test file uses everything

use std::sync::Arc;

use cpumax_bandwidth::{Limit, Nanos};
use cpumax_sched::{CpuMask, Kernel, Nice, NoObserver};
use cpumax_sim::setup::{
    Action, GroupIndex, GroupSpec, ObjectIndex, Policy, Program, RunOptions, Setup, Start, Step,
    TaskIndex, TaskSpec, TimedAction,
};
use cpumax_sim::{Error, Machine, Outcome, Simulation};

pub const MS: Nanos = Nanos::from_millis(1);
pub const US: Nanos = Nanos::from_micros(1);

pub fn ms(count: u64) -> Nanos {
    Nanos::from_millis(count)
}

pub fn us(count: u64) -> Nanos {
    Nanos::from_micros(count)
}

/// A setup in the making.
pub struct World {
    pub setup: Setup,
    pub kernel: Kernel,
    pub seed: u64,
}

impl World {
    /// So many CPUs at no cost.
    pub fn ideal(cpus: usize) -> Self {
        Self::on(Machine::ideal(cpus))
    }

    /// The measured machine.
    pub fn lab(cpus: usize) -> Self {
        Self::on(Machine::lab(cpus))
    }

    pub fn on(machine: Machine) -> Self {
        let setup = Setup {
            machine,
            groups: vec![],
            tasks: vec![],
            events: vec![],
            duration: ms(100),
            ends_with_tasks: false,
        };
        Self {
            setup,
            kernel: Kernel::V6_12,
            seed: 1,
        }
    }

    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub fn duration(mut self, duration: Nanos) -> Self {
        self.setup.duration = duration;
        self
    }

    /// A group below the root with a quota in ms per period in ms.
    pub fn group(self, path: &str, quota: u64, period: u64) -> Self {
        let limit = Limit::new(Some(ms(quota)), ms(period), Nanos::ZERO).unwrap();
        self.group_with(path, None, limit)
    }

    pub fn group_with(mut self, path: &str, parent: Option<usize>, limit: Limit) -> Self {
        let parent = parent.map(GroupIndex);
        let path = path.to_string();
        self.setup.groups.push(GroupSpec {
            path,
            parent,
            limit,
            weight: 100,
            created_later: false,
        });
        self
    }

    /// A task in the root group, on any CPU.
    pub fn task(self, name: &str, program: Program) -> Self {
        self.task_with(name, program, |_| {})
    }

    pub fn task_with(
        mut self,
        name: &str,
        program: Program,
        change: impl FnOnce(&mut TaskSpec),
    ) -> Self {
        let mut spec = TaskSpec {
            name: name.to_string(),
            group: None,
            nice: Nice::default(),
            policy: Policy::Normal,
            affinity: None,
            start: Start::At(Nanos::ZERO),
            kernel_thread: false,
            program: Arc::new(program),
        };
        change(&mut spec);
        self.setup.tasks.push(spec);
        self
    }

    pub fn event(mut self, at: Nanos, action: Action) -> Self {
        self.setup.events.push(TimedAction {
            at,
            action,
            line: None,
        });
        self
    }

    pub fn simulation(&self) -> Result<Simulation, Error> {
        let options = RunOptions {
            kernel: self.kernel,
            seed: self.seed,
            check: true,
        };
        Simulation::new(self.setup.clone(), &options, NoObserver)
    }

    pub fn try_run(&self) -> Result<Outcome, Error> {
        self.simulation()?.run()
    }

    pub fn run(&self) -> Outcome {
        self.try_run().unwrap_or_else(|error| panic!("{error}"))
    }
}

pub fn forever(steps: Vec<Step>) -> Program {
    Program {
        prelude: vec![],
        steps,
        times: None,
    }
}

pub fn once(steps: Vec<Step>) -> Program {
    Program {
        prelude: vec![],
        steps,
        times: Some(1),
    }
}

pub fn spin() -> Program {
    forever(vec![Step::Spin])
}

/// Pins a task.
pub fn on_cpu(cpu: u32) -> impl FnOnce(&mut TaskSpec) {
    move |spec| spec.affinity = Some(CpuMask::from_bits(1 << cpu))
}

/// Puts a task into a group.
pub fn in_group(group: usize) -> impl FnOnce(&mut TaskSpec) {
    move |spec| spec.group = Some(GroupIndex(group))
}

pub fn object(index: usize) -> ObjectIndex {
    ObjectIndex(index)
}

pub fn task_index(index: usize) -> TaskIndex {
    TaskIndex(index)
}
