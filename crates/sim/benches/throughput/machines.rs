//! The same two scenarios on the simulated machine, with its costs but without its own kernel threads.

use std::sync::Arc;

use cpumax_bandwidth::{Limit, Nanos};
use cpumax_sched::{Kernel, Nice, NoObserver};
use cpumax_sim::setup::{
    GroupIndex, GroupSpec, ObjectIndex, Policy, Program, RunOptions, Setup, Start, Step, TaskSpec,
};
use cpumax_sim::{Machine, Simulation};

use crate::Subject;
use crate::messages::{CLUBS, MEMBERS, QUOTA, topology};

/// Longer than any benchmark runs.
const FOR_EVER: Nanos = Nanos::from_secs(1_000_000);
/// Bytes of a message, as hackbench has it.
const BYTES: u32 = 100;

pub struct Machines {
    simulation: Simulation<NoObserver>,
}

impl Machines {
    /// Four tasks that spin on two CPUs.
    pub fn spinners(kernel: Kernel) -> Self {
        let mut setup = Setup {
            machine: Machine {
                background: Vec::new(),
                ..Machine::lab(2)
            },
            groups: vec![group(0, Some(1.5))],
            tasks: Vec::new(),
            events: Vec::new(),
            duration: FOR_EVER,
            ends_with_tasks: false,
        };
        for _ in 0..4 {
            setup.tasks.push(task(0, vec![Step::Spin]));
        }
        Self::new(setup, kernel)
    }

    /// Clubs of twenty senders, each of which writes to twenty pipes in turn, and twenty receivers.
    pub fn messages(kernel: Kernel) -> Self {
        let machine = Machine {
            background: Vec::new(),
            topology: topology(),
            ..Machine::lab(1)
        };
        let mut setup = Setup {
            machine,
            groups: Vec::new(),
            tasks: Vec::new(),
            events: Vec::new(),
            duration: FOR_EVER,
            ends_with_tasks: false,
        };
        for club in 0..CLUBS {
            setup
                .groups
                .push(group(club, (club % 2 == 0).then_some(QUOTA)));
            let receivers = MEMBERS / 2;
            let pipes = || (club * receivers..(club + 1) * receivers).map(ObjectIndex);
            for pipe in pipes() {
                setup
                    .tasks
                    .push(task(club, vec![Step::PipeReadAll(pipe, BYTES)]));
            }
            let writes: Vec<Step> = pipes().map(|pipe| Step::PipeWrite(pipe, BYTES)).collect();
            for _ in receivers..MEMBERS {
                setup.tasks.push(task(club, writes.clone()));
            }
        }
        Self::new(setup, kernel)
    }

    fn new(setup: Setup, kernel: Kernel) -> Self {
        let options = RunOptions {
            kernel,
            seed: 1,
            check: false,
        };
        let simulation = Simulation::new(setup, &options, NoObserver);
        Self {
            simulation: simulation.unwrap_or_else(|error| panic!("{error}")),
        }
    }
}

fn group(index: usize, cpus: Option<f64>) -> GroupSpec {
    let period = Nanos::from_millis(100);
    let quota = cpus.map(|cpus| Nanos((period.0 as f64 * cpus) as u64));
    GroupSpec {
        path: format!("/club{index}"),
        parent: None,
        limit: Limit::new(quota, period, Nanos::ZERO).expect("the kernel takes this limit"),
        weight: 100,
        created_later: false,
    }
}

fn task(group: usize, steps: Vec<Step>) -> TaskSpec {
    TaskSpec {
        name: "task".to_string(),
        group: Some(GroupIndex(group)),
        nice: Nice::default(),
        policy: Policy::Normal,
        affinity: None,
        start: Start::At(Nanos::ZERO),
        kernel_thread: false,
        program: Arc::new(Program {
            prelude: vec![],
            steps,
            times: None,
        }),
    }
}

impl Subject for Machines {
    fn work(&mut self) {
        for _ in 0..300 {
            if let Err(error) = self.simulation.step() {
                panic!("{error}");
            }
        }
    }

    fn operations(&self) -> u64 {
        self.simulation.outcome().operations
    }

    fn events(&self) -> Option<u64> {
        Some(self.simulation.outcome().events)
    }

    fn virtual_time(&self) -> Nanos {
        self.simulation.elapsed()
    }
}
