//! From a setup to a machine that is about to run.

use std::collections::HashMap;
use std::sync::Arc;

use cpumax_bandwidth::{Limit, Nanos, Tunables};
use cpumax_sched::{
    CpuId, CpuMask, GroupId, Nice, Observer, Release, Sched, SchedConfig, TaskParams, Weight,
};

use super::{Group, GroupTimers, Simulation, T0};
use crate::cpu::Cpu;
use crate::error::Error;
use crate::event_queue::{Event, EventQueue, Interrupt, MAX_CPUS};
use crate::objects::Objects;
use crate::outcome::HandlerTimes;
use crate::program::{Call, CompiledProgram};
use crate::seed::Seed;
use crate::setup::{
    Action, GroupIndex, Policy, Program, RunOptions, Setup, Start, Step, TaskIndex, TaskSpec,
};
use crate::sharing::Speeds;
use crate::task::{Activity, AfterWakes, Jobs, Task, Transfer, UserWork};

impl<O: Observer> Simulation<O> {
    /// Sets the machine up and brings it to T0. `observer` sees every event of the scheduler from the
    /// set-up on.
    ///
    /// # Errors
    /// What is wrong with the setup.
    pub fn new(setup: Setup, options: &RunOptions, observer: O) -> Result<Self, Error> {
        validate(&setup)?;
        let machine = &setup.machine;
        let cpu_count = machine.topology.cpu_count();
        let mut seed = Seed::new(options.seed);
        let preemption = machine
            .preemption
            .unwrap_or_else(|| options.kernel.release.default_preemption());
        let config = SchedConfig {
            kernel: options.kernel,
            preemption,
            topology: machine.topology.clone(),
            tick: machine.tick,
            tunables: Tunables::default(),
            search_cost: machine.costs.cpu_search,
        };
        let visible_tasks = setup.tasks.len();
        let mut setup = setup;
        add_background(&mut setup, options.kernel.release, &mut seed);
        let mut sched = Sched::new(config, observer);
        sched.seed(seed.scheduler());
        let mut simulation = Self {
            sched,
            kernel: options.kernel,
            seed: options.seed,
            check: options.check,
            preemption,
            costs: setup.machine.costs.clone(),
            now: Nanos::ZERO,
            events: EventQueue::default(),
            cpus: (0..cpu_count)
                .map(|cpu| Cpu::new(CpuId::new(cpu)))
                .collect(),
            tasks: Vec::with_capacity(setup.tasks.len()),
            visible_tasks,
            groups: setup.groups.iter().map(|_| Group::default()).collect(),
            objects: Objects::default(),
            speeds: Speeds::of(&setup.machine),
            handlers: HandlerTimes::default(),
            hung: Vec::new(),
            alive: visible_tasks,
            task_of: Vec::with_capacity(setup.tasks.len()),
            timers: Vec::new(),
            at_this_instant: 0,
            last_task: None,
            handled: 0,
            operations: 0,
            over: false,
            setup,
        };
        for index in 0..simulation.setup.groups.len() {
            // Drawn for every group, so that one that is created later keeps the others' phases.
            let phase = simulation.draw_phase(&mut seed);
            if simulation.setup.groups[index].created_later {
                simulation.groups[index].phase = phase;
            } else {
                simulation.create_group(GroupIndex(index), phase, None)?;
            }
        }
        simulation.create_tasks(&mut seed)?;
        let monitor = simulation.costs.monitor;
        for (index, timed) in simulation.setup.events.iter().enumerate() {
            simulation
                .events
                .push(T0 + timed.at + monitor, Event::Action { index });
        }
        simulation
            .events
            .push(T0 + simulation.setup.duration + monitor, Event::End);
        let patience = simulation.setup.machine.hung_task;
        if patience > Nanos::ZERO {
            (simulation.events).push(T0 + patience, Event::HungTaskCheck);
        }
        simulation.run_through(T0 - Nanos(1))?;
        simulation.remember_statistics();
        Ok(simulation)
    }

    fn draw_phase(&self, seed: &mut Seed) -> Nanos {
        let phase = seed.timer_phase();
        if self.kernel.release.random_timer_phase() {
            phase
        } else {
            Nanos::ZERO
        }
    }

    /// Makes a group of the setup exist, with its weight and limit.
    pub(super) fn create_group(
        &mut self,
        index: GroupIndex,
        phase: Nanos,
        line: Option<usize>,
    ) -> Result<(), Error> {
        let spec = &self.setup.groups[index.0];
        let parent = match spec.parent {
            None => GroupId::ROOT,
            Some(parent) => self.group_id(parent, line)?,
        };
        let (weight, limit) = (Weight::from_cpu_weight(spec.weight), spec.limit);
        let id = self.sched.create_group(self.now, parent, weight, phase);
        self.operations += 1;
        self.groups[index.0].id = Some(id);
        if self.timers.len() <= id.index() {
            self.timers.resize(id.index() + 1, GroupTimers::default());
        }
        if limit != Limit::UNLIMITED {
            self.set_limit(index, id, limit, line)?;
        }
        self.carry_out(None);
        Ok(())
    }

    fn create_tasks(&mut self, seed: &mut Seed) -> Result<(), Error> {
        let all = CpuMask::all(self.cpus.len());
        // Many tasks share a program; by address, which a clone of the setup keeps.
        let mut compiled: HashMap<*const crate::setup::Program, Arc<CompiledProgram>> =
            HashMap::new();
        let order = seed.start_order(self.cpus.len());
        let mut turns = order.iter().copied();
        for index in 0..self.setup.tasks.len() {
            let spec = &self.setup.tasks[index];
            let program = compiled
                .entry(Arc::as_ptr(&spec.program))
                .or_insert_with(|| {
                    let program = CompiledProgram::new(&spec.program);
                    program.calls().for_each(|call| self.objects.provide(call));
                    Arc::new(program)
                });
            let program = Arc::clone(program);
            let affinity = spec.affinity.as_ref().unwrap_or(&all);
            let allowed: CpuMask = affinity.iter().filter(|&cpu| all.contains(cpu)).collect();
            // A task that may not go to the CPU whose turn it is takes the first that it may use.
            let turn = turns
                .next()
                .unwrap_or_else(|| seed.any_cpu(self.cpus.len()));
            let turn = Some(turn).filter(|&cpu| allowed.contains(cpu));
            let cpu =
                turn.or_else(|| allowed.iter().next())
                    .ok_or_else(|| Error::NoAllowedCpu {
                        task: spec.name.clone(),
                        cpus: self.cpus.len(),
                    })?;
            let group = match spec.group {
                None => GroupId::ROOT,
                Some(group) => self.group_id(group, None)?,
            };
            let params = TaskParams {
                group,
                nice: spec.nice,
                policy: spec.policy.into(),
                affinity: allowed,
                kernel_thread: spec.kernel_thread,
            };
            let task = new_task(self.sched.create_task(params, cpu), spec, program);
            self.operations += 1;
            if self.task_of.len() <= task.id.index() {
                self.task_of
                    .resize(task.id.index() + 1, TaskIndex(usize::MAX));
            }
            self.task_of[task.id.index()] = TaskIndex(index);
            if let Start::At(_) = spec.start {
                let interrupt = Interrupt::SleepTimer {
                    task: TaskIndex(index),
                };
                self.events
                    .push(task.jobs.start, Event::Interrupt { cpu, interrupt });
            }
            self.tasks.push(task);
        }
        self.carry_out(None);
        Ok(())
    }

    fn remember_statistics(&mut self) {
        for group in &mut self.groups {
            if let Some(id) = group.id {
                group.before = self.sched.group_stat(id);
            }
        }
        self.handled = 0;
        self.operations = 0;
    }
}

/// A task that sleeps until its start.
fn new_task(id: cpumax_sched::TaskId, spec: &TaskSpec, program: Arc<CompiledProgram>) -> Task {
    let at = match spec.start {
        Start::At(at) => at,
        Start::Forked => Nanos::ZERO,
    };
    let start = T0 + at;
    Task {
        id,
        group: spec.group,
        kernel_thread: spec.kernel_thread,
        place: program.start(),
        program,
        activity: Activity::Asleep,
        user: UserWork::Next,
        call: Call::Sleep(at),
        transfer: Transfer::default(),
        wakes: [None; 2],
        after_wakes: AfterWakes::Leave,
        clocked: None,
        locks_held: 0,
        cpu_time: Nanos::ZERO,
        user_time: Nanos::ZERO,
        last_cpu: None,
        blocked: None,
        forked: false,
        exited: None,
        jobs: Jobs::new(start),
        wakeups: 0,
        switches: 0,
    }
}

impl From<Policy> for cpumax_sched::Policy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Normal => Self::Normal,
            Policy::Batch => Self::Batch,
            Policy::Idle => Self::Idle,
            Policy::Fifo => Self::Fifo,
        }
    }
}

/// Checks what can be checked without running.
fn validate(setup: &Setup) -> Result<(), Error> {
    let cpus = setup.machine.topology.cpu_count();
    if cpus == 0 || cpus > MAX_CPUS {
        return Err(Error::CpuCount {
            given: cpus,
            max: MAX_CPUS,
        });
    }
    if setup.machine.tick == Nanos::ZERO {
        return Err(Error::NoTick);
    }
    for (index, spec) in setup.groups.iter().enumerate() {
        if spec.parent.is_some_and(|parent| parent.0 >= index) {
            return Err(Error::ParentLater {
                group: spec.path.clone(),
            });
        }
        check_weight(&spec.path, spec.weight)?;
    }
    let check = |what, index: usize, count| {
        if index < count {
            Ok(())
        } else {
            Err(Error::OutOfRange { what, index })
        }
    };
    let check_group = |group: GroupIndex| check("group", group.0, setup.groups.len());
    let check_task = |task: TaskIndex| check("task", task.0, setup.tasks.len());
    for task in &setup.tasks {
        task.group.map_or(Ok(()), check_group)?;
        let steps = [&task.program.prelude, &task.program.steps];
        for child in steps.into_iter().flat_map(|steps| forks(steps)) {
            check_task(child)?;
        }
    }
    for timed in &setup.events {
        match timed.action {
            Action::SetWeight(group, weight) => {
                check_group(group)?;
                check_weight(&setup.groups[group.0].path, weight)?;
            }
            Action::SetMax { group, .. }
            | Action::SetBurst(group, _)
            | Action::CreateGroup(group)
            | Action::RemoveGroup(group) => check_group(group)?,
            Action::MoveTask(task, group) => {
                check_task(task)?;
                group.map_or(Ok(()), check_group)?;
            }
            Action::SetAffinity(task, _)
            | Action::SetNice(task, _)
            | Action::SetPolicy(task, _) => {
                check_task(task)?;
            }
            Action::CpuOffline(cpu) | Action::CpuOnline(cpu) => check("CPU", cpu, cpus)?,
        }
    }
    Ok(())
}

/// The tasks that these steps fork.
fn forks(steps: &[Step]) -> Vec<TaskIndex> {
    let of_step = |step: &Step| match step {
        Step::Fork(task) => vec![*task],
        Step::Repeat(_, inner) => forks(inner),
        _ => Vec::new(),
    };
    steps.iter().flat_map(of_step).collect()
}

fn check_weight(path: &str, weight: u32) -> Result<(), Error> {
    if (1..=10_000).contains(&weight) {
        Ok(())
    } else {
        Err(Error::Weight {
            group: path.to_string(),
            weight,
        })
    }
}

/// Adds the machine's own kernel threads to the tasks.
fn add_background(setup: &mut Setup, release: Release, seed: &mut Seed) {
    let cpus = setup.machine.topology.cpu_count();
    for thread in setup
        .machine
        .background
        .iter()
        .filter(|thread| release >= thread.since)
    {
        let steps = vec![Step::RunKernel(thread.run), Step::Sleep(thread.sleep)];
        let program = Arc::new(Program {
            prelude: vec![],
            steps,
            times: None,
        });
        let homes = if thread.per_cpu {
            (0..cpus).map(Some).collect()
        } else {
            vec![None]
        };
        for home in homes {
            setup.tasks.push(TaskSpec {
                name: thread.name.clone(),
                group: None,
                nice: Nice::default(),
                policy: Policy::Normal,
                affinity: home.map(|cpu| [CpuId::new(cpu)].into_iter().collect()),
                start: Start::At(seed.background_phase(thread.sleep)),
                kernel_thread: true,
                program: Arc::clone(&program),
            });
        }
    }
}
