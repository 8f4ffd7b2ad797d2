//! The machine as an event loop around the scheduler core.
//!
//! # What a CPU goes through
//!
//! A CPU does one thing at a time, its *segment* ([`State`]), which ends at a known time, or is open
//! until an interrupt (idleness, a spinning task). When a segment ends, or an interrupt cuts it short,
//! the engine does what happens at that point, which takes no time, and starts the next segment:
//!
//! ```text
//!  idle --interrupt--> entering -> handling -> (reschedule requested?) idle exit -> switch -> task
//!  user --interrupt--> entering -> handling -> return to user: schedule? task work? -> user
//!  kernel -interrupt-> entering -> handling -> (preemptible and requested?) switch, else kernel
//! ```
//!
//! * `interrupts` delivers interrupts and runs their handlers;
//! * `execution` runs programs: user mode, the phases of a call, the return to user mode;
//! * `waiting` is how tasks wait for and wake one another: pipes, sockets, locks;
//! * `switching` is the scheduler's border: switches, wakeups, effects;
//! * `actions` are the timed changes from outside; `preparation` turns a setup into a machine.
//!
//! # Time
//!
//! Everything before [`T0`] is set-up: groups get their limits at time 0, and their period timers have
//! run out and stopped long before T0. Tasks sleep until their start. Statistics count from T0.

mod actions;
mod execution;
mod interrupts;
mod preparation;
mod switching;
mod waiting;

use cpumax_bandwidth::{CpuStat, Nanos};
use cpumax_sched::{
    CpuId, GroupId, GroupStat, Kernel, NoObserver, Observer, Preemption, Sched, TaskId,
};

use crate::cpu::{Cpu, State};
use crate::error::Error;
use crate::event_queue::{Event, EventQueue};
use crate::machine::Costs;
use crate::objects::Objects;
use crate::outcome::{GroupOutcome, HandlerTimes, HungTask, Outcome, TaskOutcome};
use crate::setup::{GroupIndex, Setup, TaskIndex};
use crate::sharing::Speeds;
use crate::task::Task;

/// When tasks begin to start. A multiple of 100 ms, and late enough for the period timers, which run
/// for up to two periods after a limit was written, to be off.
pub const T0: Nanos = Nanos::from_secs(3);

/// Steps and events at one instant after which time is taken to stand still.
const MOST_AT_ONE_INSTANT: u64 = 1 << 22;

/// One run of a setup on a kernel.
///
/// Call [`run`](Self::run), or step through it with [`step`](Self::step) and
/// [`run_until`](Self::run_until); [`outcome`](Self::outcome) reads the statistics at any time.
pub struct Simulation<O: Observer = NoObserver> {
    sched: Sched<O>,
    setup: Setup,
    kernel: Kernel,
    seed: u64,
    check: bool,
    preemption: Preemption,
    costs: Costs,
    now: Nanos,
    events: EventQueue,
    cpus: Vec<Cpu>,
    tasks: Vec<Task>,
    /// The tasks of the setup; behind them stand the machine's own.
    visible_tasks: usize,
    groups: Vec<Group>,
    objects: Objects,
    speeds: Speeds,
    handlers: HandlerTimes,
    hung: Vec<HungTask>,
    /// Tasks of the setup that have not exited.
    alive: usize,
    /// By the scheduler's task number.
    task_of: Vec<TaskIndex>,
    /// Programmings of the groups' timers, by the scheduler's group number.
    timers: Vec<GroupTimers>,
    /// Steps and events at this instant.
    at_this_instant: u64,
    /// The task whose step came last.
    last_task: Option<TaskIndex>,
    handled: u64,
    operations: u64,
    /// The end has been reached.
    over: bool,
}

/// Run-time state of a group.
#[derive(Debug, Default)]
struct Group {
    /// Its number in the scheduler; `None` while it does not exist.
    id: Option<GroupId>,
    /// Phase of its period timer, for one that is created later.
    phase: Nanos,
    /// What its statistics were at T0.
    before: GroupStat,
    /// Its statistics when it was removed.
    removed: Option<GroupStat>,
    /// Time that its own tasks spent in user mode.
    user_time: Nanos,
}

/// How often a group's timers were programmed; an expiry of an earlier programming is stale.
#[derive(Clone, Copy, Debug, Default)]
struct GroupTimers {
    period: u32,
    slack: u32,
}

/// What a CPU does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The state just set, for so long.
    For(Nanos),
    /// The state just set, until something happens.
    Open,
}

impl<O: Observer> Simulation<O> {
    /// Runs to the end and reads the statistics.
    ///
    /// # Errors
    /// What went wrong in the run; see [`Error`].
    pub fn run(&mut self) -> Result<Outcome, Error> {
        while self.step()? {}
        Ok(self.outcome())
    }

    /// Handles all events up to `until` (from T0), that time included. Group statistics are then as of
    /// the last charge of each CPU, up to a tick ago, as they are in the kernel.
    ///
    /// # Errors
    /// What went wrong in the run.
    pub fn run_until(&mut self, until: Nanos) -> Result<(), Error> {
        self.run_through(T0 + until)?;
        if !self.over {
            self.now = self.now.max(T0 + until);
        }
        Ok(())
    }

    /// Handles one event. `false`: the run is over.
    ///
    /// # Errors
    /// What went wrong.
    pub fn step(&mut self) -> Result<bool, Error> {
        if self.over {
            return Ok(false);
        }
        let Some((at, event)) = self.events.pop() else {
            return Ok(false);
        };
        if at > self.now {
            self.now = at;
            self.at_this_instant = 0;
        }
        self.handled += 1;
        self.count_at_this_instant()?;
        self.handle(event)?;
        if self.check {
            self.sched
                .check_invariants()
                .map_err(|violation| Error::Invariant {
                    at: self.since_t0(),
                    event: format!("{event:?}"),
                    violation,
                })?;
        }
        Ok(!self.over)
    }

    /// Virtual time since T0.
    pub fn elapsed(&self) -> Nanos {
        self.since_t0()
    }

    /// The scheduler, for tests and observers that need more than events.
    pub fn scheduler(&self) -> &Sched<O> {
        &self.sched
    }

    /// The scheduler's numbers of the setup's tasks, in order.
    pub fn task_ids(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.tasks.iter().map(|task| task.id)
    }

    /// The scheduler's numbers of the setup's groups, in order; `None` while one does not exist.
    pub fn group_ids(&self) -> impl Iterator<Item = Option<GroupId>> + '_ {
        self.groups.iter().map(|group| group.id)
    }

    /// Gives the observer back.
    pub fn into_observer(self) -> O {
        self.sched.observer
    }

    /// How often a task of the setup has gone through the steps of its program to the end.
    pub fn rounds(&self, task: TaskIndex) -> u64 {
        self.tasks[task.0].place.rounds
    }

    /// When a task of the setup exited, counted from T0; `None` if it has not.
    pub fn exit_time(&self, task: TaskIndex) -> Option<Nanos> {
        let exited = self.tasks[task.0].exited?;
        Some(exited.saturating_sub(T0))
    }

    /// Statistics as of now.
    pub fn outcome(&self) -> Outcome {
        Outcome {
            kernel: self.kernel,
            seed: self.seed,
            elapsed: self.since_t0(),
            groups: self.group_outcomes(),
            tasks: (0..self.visible_tasks)
                .map(|index| self.task_outcome(TaskIndex(index)))
                .collect(),
            semaphores: (self.objects.semaphores().iter())
                .map(|semaphore| semaphore.outcome.clone())
                .collect(),
            hung: self.hung.clone(),
            handlers: self.handlers.clone(),
            events: self.handled,
            operations: self.operations,
        }
    }

    fn run_through(&mut self, until: Nanos) -> Result<(), Error> {
        while self.events.next_time().is_some_and(|next| next <= until) && self.step()? {}
        Ok(())
    }

    fn handle(&mut self, event: Event) -> Result<(), Error> {
        match event {
            Event::SegmentEnd { cpu, segment } => {
                if self.cpus[cpu.index()].segment == segment {
                    self.proceed(cpu)?;
                }
            }
            Event::UserEnd { cpu, alarm } => {
                let at = &mut self.cpus[cpu.index()];
                if at.alarm == alarm {
                    at.alarm_at = None;
                    if at.state == State::User {
                        self.leave_user_mode(cpu);
                        self.proceed_with(cpu, Self::user_work_over)?;
                    }
                }
            }
            Event::Interrupt { cpu, interrupt } => self.interrupt(cpu, interrupt)?,
            Event::Softirq { cpu, segment } => {
                if self.cpus[cpu.index()].segment == segment {
                    self.proceed_with(cpu, |simulation, cpu| Ok(simulation.handle_softirq(cpu)))?;
                }
            }
            Event::Action { index } => self.act(index)?,
            Event::HungTaskCheck => self.look_for_hung_tasks(),
            Event::End => self.end(),
        }
        if self.alive == 0 && self.setup.ends_with_tasks && !self.over {
            self.end();
        }
        Ok(())
    }

    /// Ends the CPU's segment and starts the next one that takes time.
    fn proceed(&mut self, cpu: CpuId) -> Result<(), Error> {
        self.proceed_with(cpu, Self::segment_over)
    }

    /// Does `first`, and ends segments of no length, until the CPU is in one that takes time.
    fn proceed_with(
        &mut self,
        cpu: CpuId,
        first: impl FnOnce(&mut Self, CpuId) -> Result<Next, Error>,
    ) -> Result<(), Error> {
        let mut next = first(self, cpu)?;
        loop {
            let at = &mut self.cpus[cpu.index()];
            match next {
                Next::Open => {
                    at.segment += 1;
                    at.ends = None;
                    return Ok(());
                }
                Next::For(length) if length > Nanos::ZERO => {
                    at.segment += 1;
                    let ends = self.now + length;
                    at.ends = Some(ends);
                    self.events.push(
                        ends,
                        Event::SegmentEnd {
                            cpu,
                            segment: at.segment,
                        },
                    );
                    return Ok(());
                }
                Next::For(_) => {
                    self.count_at_this_instant()?;
                    next = self.segment_over(cpu)?;
                }
            }
        }
    }

    /// What happens at the end of the CPU's current segment.
    fn segment_over(&mut self, cpu: CpuId) -> Result<Next, Error> {
        match self.cpus[cpu.index()].state {
            State::IdleExit => Ok(self.schedule(cpu, cpumax_sched::Leave::Preempted)),
            State::Switch => self.switch_over(cpu),
            State::Kernel => self.phase_over(cpu),
            State::Entering(interrupt)
            | State::Handling {
                interrupt,
                again: true,
            } => self.handle_interrupt(cpu, interrupt),
            State::Handling { again: false, .. } | State::Softirq => self.handler_over(cpu),
            State::User | State::Idle | State::SoftirqDue | State::Offline => Ok(Next::Open),
        }
    }

    /// Counts something that took no time.
    #[inline]
    fn count_at_this_instant(&mut self) -> Result<(), Error> {
        self.at_this_instant += 1;
        if self.at_this_instant > MOST_AT_ONE_INSTANT {
            return Err(Error::NoProgress {
                at: self.since_t0(),
                steps: self.at_this_instant,
                task: self
                    .last_task
                    .map(|task| self.setup.tasks[task.0].name.clone())
                    .unwrap_or_default(),
            });
        }
        Ok(())
    }

    /// The statistics become final.
    fn end(&mut self) {
        self.charge_all();
        self.over = true;
    }

    fn charge_all(&mut self) {
        for index in 0..self.cpus.len() {
            let cpu = self.cpus[index].id;
            if self.cpus[index].state != State::Offline {
                self.operations += 1;
                self.sched.charge(self.now, cpu);
                self.carry_out(Some(cpu));
            }
        }
    }

    fn since_t0(&self) -> Nanos {
        self.now.saturating_sub(T0)
    }

    /// CPU time of the running task of a CPU, up to now.
    #[inline]
    fn cpu_time_now(&self, cpu: &Cpu, task: TaskIndex) -> Nanos {
        self.tasks[task.0].cpu_time + (self.now - cpu.since)
    }

    fn task_outcome(&self, index: TaskIndex) -> TaskOutcome {
        let task = &self.tasks[index.0];
        let running_on = self.cpus.iter().find(|cpu| cpu.curr == Some(index));
        let group = task
            .group
            .map_or("/", |group| &self.setup.groups[group.0].path);
        TaskOutcome {
            name: self.setup.tasks[index.0].name.clone(),
            group: group.to_string(),
            cpu_time: running_on.map_or(task.cpu_time, |cpu| self.cpu_time_now(cpu, index)),
            user_time: task.user_time
                + running_on.map_or(Nanos::ZERO, |cpu| self.user_time_open(cpu)),
            wakeups: task.wakeups,
            switches: task.switches,
            responses: task.jobs.responses.clone(),
            wake_latencies: task.jobs.wake_latencies.clone(),
            exited: task.exited.map(|at| at.saturating_sub(T0)),
            rounds: task.place.rounds,
        }
    }

    /// Time in user mode of a CPU's task that is not in its sum yet.
    fn user_time_open(&self, cpu: &Cpu) -> Nanos {
        if cpu.state == State::User {
            self.now - cpu.user_since
        } else {
            Nanos::ZERO
        }
    }

    fn group_outcomes(&self) -> Vec<GroupOutcome> {
        let user_times = self.user_times_with_children();
        let specs = self.setup.groups.iter();
        specs
            .zip(&self.groups)
            .zip(user_times)
            .map(|((spec, group), user_time)| {
                let stat = self.group_stat_since_t0(group);
                // The usage is as of the last charge, the time in user mode as of now.
                let user = user_time.min(stat.usage).as_micros();
                let usage = stat.usage.as_micros();
                GroupOutcome {
                    path: spec.path.clone(),
                    stat: CpuStat {
                        usage_usec: usage,
                        user_usec: user,
                        system_usec: usage - user,
                        nr_periods: stat.nr_periods,
                        nr_throttled: stat.nr_throttled,
                        throttled_usec: stat.throttled_time.as_micros(),
                        nr_bursts: stat.nr_bursts,
                        burst_usec: stat.burst_time.as_micros(),
                    },
                    local_throttled_usec: self
                        .kernel
                        .release
                        .has_cpu_stat_local()
                        .then(|| stat.throttled_time_self.as_micros()),
                }
            })
            .collect()
    }

    fn group_stat_since_t0(&self, group: &Group) -> GroupStat {
        let stat = match (group.id, group.removed) {
            (Some(id), _) => self.sched.group_stat(id),
            (None, Some(stat)) => stat,
            (None, None) => GroupStat::default(),
        };
        let before = &group.before;
        GroupStat {
            nr_periods: stat.nr_periods - before.nr_periods,
            nr_throttled: stat.nr_throttled - before.nr_throttled,
            throttled_time: stat.throttled_time - before.throttled_time,
            nr_bursts: stat.nr_bursts - before.nr_bursts,
            burst_time: stat.burst_time - before.burst_time,
            usage: stat.usage - before.usage,
            throttled_time_self: stat.throttled_time_self - before.throttled_time_self,
        }
    }

    /// Time in user mode of each group's tasks, those of the groups below it included.
    fn user_times_with_children(&self) -> Vec<Nanos> {
        let mut times: Vec<Nanos> = self.groups.iter().map(|group| group.user_time).collect();
        for cpu in &self.cpus {
            if let Some(GroupIndex(group)) = cpu.curr.and_then(|task| self.tasks[task.0].group) {
                times[group] += self.user_time_open(cpu);
            }
        }
        // Children stand after their parents.
        for index in (0..times.len()).rev() {
            if let Some(parent) = self.setup.groups[index].parent {
                let time = times[index];
                times[parent.0] += time;
            }
        }
        times
    }
}
