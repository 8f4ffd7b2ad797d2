//! A tiny machine at no cost, around a [`Sched`]: a clock, CPUs whose tasks are in user or kernel mode,
//! ticks, programmed timers and IPIs.
//!
//! Nothing takes time but running. A CPU that runs a task ticks at exact multiples of [`TICK`]; at one
//! instant ticks come before timers. A task in user mode acts on every request at the end of an
//! interrupt, one in kernel mode as the preemption mode says. Whatever a test does is an interrupt on
//! the CPU that it concerns, and [`World::check`] follows every step.

use std::collections::{BTreeMap, VecDeque};
use std::vec::Vec;

use cpumax_bandwidth::{Limit, Nanos, Pool, Runtime, Tunables};

use crate::cfs_rq::CfsRq;
use crate::entity::Entity;
use crate::rq::Rq;
use crate::task::Task;
use crate::{
    CpuId, CpuMask, Effect, Event, GroupId, GroupStat, Kernel, Leave, Nice, Observer, Policy,
    Preemption, Resched, Sched, SchedConfig, TaskId, TaskParams, TaskState, ThrottleModel,
    Topology, Weight,
};

/// Time between two ticks, at 250 Hz.
pub(crate) const TICK: Nanos = Nanos::from_millis(4);
/// Steps that are more than any test takes: a world that needs more is stuck.
const STUCK: usize = 1_000_000;

/// 6.5: the asynchronous unthrottle of model B over the CFS pick of model A.
pub(crate) const V6_5: Kernel = Kernel::from_version(6, 5).unwrap();

/// Every kernel.
pub(crate) const ALL: [Kernel; 6] = [
    Kernel::V6_1,
    V6_5,
    Kernel::V6_12,
    Kernel::V6_18,
    Kernel::V7_2,
    Kernel::V7_3,
];
/// Model A, the hierarchy is stopped and the timer's CPU releases it.
pub(crate) const A: [Kernel; 1] = [Kernel::V6_1];
/// Model B, the hierarchy is stopped and each CPU releases its own.
pub(crate) const B: [Kernel; 2] = [V6_5, Kernel::V6_12];
/// Model D, tasks stop themselves, and the charge decides. (Model C, where they do too and the pick
/// decides, is 6.18 alone.)
pub(crate) const D: [Kernel; 2] = [Kernel::V7_2, Kernel::V7_3];
pub(crate) const AB: [Kernel; 3] = [Kernel::V6_1, V6_5, Kernel::V6_12];
pub(crate) const ABC: [Kernel; 4] = [Kernel::V6_1, V6_5, Kernel::V6_12, Kernel::V6_18];
pub(crate) const BCD: [Kernel; 5] = [
    V6_5,
    Kernel::V6_12,
    Kernel::V6_18,
    Kernel::V7_2,
    Kernel::V7_3,
];
pub(crate) const CD: [Kernel; 3] = [Kernel::V6_18, Kernel::V7_2, Kernel::V7_3];
/// Those that pick by EEVDF.
pub(crate) const EEVDF: [Kernel; 4] = [Kernel::V6_12, Kernel::V6_18, Kernel::V7_2, Kernel::V7_3];

pub(crate) const fn ms(count: u64) -> Nanos {
    Nanos::from_millis(count)
}

pub(crate) const fn cpu(index: usize) -> CpuId {
    CpuId::new(index)
}

/// A quota per period, both in ms.
pub(crate) fn quota(quota: u64, period: u64) -> Limit {
    Limit::new(Some(ms(quota)), ms(period), Nanos::ZERO).unwrap()
}

/// Everything that happened, in order.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub events: Vec<(Nanos, Event)>,
}

impl Observer for Log {
    fn event(&mut self, now: Nanos, event: Event) {
        self.events.push((now, event));
    }
}

/// What the running code of a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    User,
    Kernel,
}

/// What an IPI tells its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ipi {
    /// Look at your requests: for a switch, or for work before user mode.
    Look,
    /// Unthrottle what was handed to you.
    Unthrottle,
}

/// A timer that is programmed: when and where it fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timer {
    pub expires: Nanos,
    pub cpu: CpuId,
}

#[derive(Clone, Copy, Debug)]
struct CpuClock {
    /// It ticks at the multiples of the tick after this, while it is busy.
    ticked: Nanos,
    hrtick: Option<Nanos>,
}

/// Something that is due by itself. At one instant in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Tick(CpuId),
    Hrtick(CpuId),
    Period(GroupId),
    Slack(GroupId),
}

pub(crate) struct World {
    pub sched: Sched<Log>,
    pub now: Nanos,
    /// IPIs stay on their way until [`Self::deliver_ipis`].
    pub hold_ipis: bool,
    /// Scheduling points passed so far.
    pub schedules: usize,
    /// IPIs on their way, in order.
    pub ipis: VecDeque<(CpuId, Ipi)>,
    cpus: Vec<CpuClock>,
    modes: Vec<Mode>,
    user_time: Vec<Nanos>,
    /// Time that tasks in and below a group spent in kernel mode.
    kernel_time: BTreeMap<GroupId, Nanos>,
    pub period_timers: BTreeMap<GroupId, Timer>,
    pub slack_timers: BTreeMap<GroupId, Timer>,
}

// Building.
impl World {
    /// A machine whose CPUs share a cache, fully preemptible.
    pub fn new(kernel: Kernel, cpus: usize) -> Self {
        Self::with(kernel, cpus, Preemption::Full)
    }

    pub fn with(kernel: Kernel, cpus: usize, preemption: Preemption) -> Self {
        let config = SchedConfig {
            kernel,
            preemption,
            topology: Topology::flat(cpus),
            tick: TICK,
            tunables: Tunables::default(),
            search_cost: Nanos::ZERO,
        };
        Self {
            sched: Sched::new(config, Log::default()),
            now: Nanos::ZERO,
            hold_ipis: false,
            schedules: 0,
            ipis: VecDeque::new(),
            cpus: std::vec![CpuClock { ticked: Nanos::ZERO, hrtick: None }; cpus],
            modes: Vec::new(),
            user_time: Vec::new(),
            kernel_time: BTreeMap::new(),
            period_timers: BTreeMap::new(),
            slack_timers: BTreeMap::new(),
        }
    }

    pub fn kernel(&self) -> Kernel {
        self.sched.config.kernel
    }

    /// An unlimited group, whose timer's grid goes through 0.
    pub fn group(&mut self, parent: GroupId) -> GroupId {
        self.sched
            .create_group(self.now, parent, Weight::NICE_0, Nanos::ZERO)
    }

    /// A group below the root with a quota per period, both in ms.
    pub fn limited(&mut self, quota_ms: u64, period_ms: u64) -> GroupId {
        self.limited_below(GroupId::ROOT, quota_ms, period_ms)
    }

    pub fn limited_below(&mut self, parent: GroupId, quota_ms: u64, period_ms: u64) -> GroupId {
        let group = self.group(parent);
        self.set_limit(group, quota(quota_ms, period_ms));
        group
    }

    /// A sleeping task that may run on one CPU only.
    pub fn task(&mut self, group: GroupId, cpu: usize) -> TaskId {
        self.task_with(group, cpu, |_| {})
    }

    pub fn task_with(
        &mut self,
        group: GroupId,
        cpu: usize,
        change: impl FnOnce(&mut TaskParams),
    ) -> TaskId {
        let mut params = TaskParams {
            group,
            nice: Nice::default(),
            policy: Policy::Normal,
            affinity: CpuMask::from_bits(1 << cpu),
            kernel_thread: false,
        };
        change(&mut params);
        let mode = if params.kernel_thread {
            Mode::Kernel
        } else {
            Mode::User
        };
        let task = self.sched.create_task(params, CpuId::new(cpu));
        self.modes.push(mode);
        self.user_time.push(Nanos::ZERO);
        task
    }

    /// A task that begins to run in user mode, now, and does not stop.
    pub fn spin(&mut self, group: GroupId, cpu: usize) -> TaskId {
        let task = self.task(group, cpu);
        self.fork(task, cpu);
        task
    }

    /// A kernel thread that begins to run.
    pub fn kernel_thread(&mut self, group: GroupId, cpu: usize) -> TaskId {
        let task = self.task_with(group, cpu, |params| params.kernel_thread = true);
        self.fork(task, cpu);
        task
    }
}

// Time.
impl World {
    /// Carries out what is due next; returns when that was, `None` if nothing is due ever.
    pub fn step(&mut self) -> Option<Nanos> {
        let (at, due) = self.next_due()?;
        self.advance(at);
        match due {
            Due::Tick(cpu) => {
                self.cpus[cpu.index()].ticked = at;
                self.sched.handle_tick(at, cpu);
                self.end_of_interrupt(cpu);
            }
            Due::Hrtick(cpu) => {
                self.cpus[cpu.index()].hrtick = None;
                self.sched.handle_hrtick(at, cpu);
                self.end_of_interrupt(cpu);
            }
            Due::Period(group) => self.fire_period_timer(group),
            Due::Slack(group) => {
                let timer = self.slack_timers.remove(&group).expect("it is due");
                let cpu = self.online_or_first(timer.cpu);
                self.sched.handle_slack_timer(at, cpu, group);
                self.end_of_interrupt(cpu);
            }
        }
        Some(at)
    }

    /// Carries out all that is due up to this time, which it is then.
    pub fn drive(&mut self, until: Nanos) {
        for _ in 0..STUCK {
            match self.next_due() {
                Some((at, _)) if at <= until => self.step(),
                _ => {
                    self.advance(until);
                    return;
                }
            };
        }
        panic!(
            "{}: at {} still busy, before {until}",
            self.kernel(),
            self.now
        );
    }

    /// Takes steps until something holds, at most so many.
    pub fn drive_bounded(&mut self, steps: usize, until: impl Fn(&Self) -> bool) {
        for _ in 0..steps {
            if until(self) {
                return;
            }
            self.step();
        }
        assert!(
            until(self),
            "{}: not after {steps} steps, at {}",
            self.kernel(),
            self.now
        );
    }

    /// The period timer of a group fires now, wherever it is programmed.
    pub fn fire_period_timer(&mut self, group: GroupId) {
        let timer = self
            .period_timers
            .remove(&group)
            .expect("its period timer is programmed");
        let cpu = self.online_or_first(timer.cpu);
        while self
            .sched
            .period_timer_iteration(self.now, cpu, group)
            .is_some()
        {}
        self.end_of_interrupt(cpu);
        if self.ipis.is_empty() && self.pool(group).limit().is_finite() {
            let waiting = self.waiting(group);
            let left = self.r(group);
            assert!(
                waiting.is_empty() || left == 0,
                "{} at {}: CPUs {waiting:?} of {group} wait while its pool has {left} ns",
                self.kernel(),
                self.now
            );
        }
    }

    fn next_due(&self) -> Option<(Nanos, Due)> {
        let busy = self
            .sched
            .rqs
            .iter()
            .filter(|(_, rq)| rq.curr.is_some())
            .map(|(cpu, _)| cpu);
        let ticks = busy.map(|cpu| (next_tick(self.cpus[cpu.index()].ticked), Due::Tick(cpu)));
        let hrticks = self.cpus.iter().enumerate();
        let hrticks =
            hrticks.filter_map(|(cpu, at)| Some((at.hrtick?, Due::Hrtick(CpuId::new(cpu)))));
        let periods = self
            .period_timers
            .iter()
            .map(|(&group, timer)| (timer.expires, Due::Period(group)));
        let slacks = self
            .slack_timers
            .iter()
            .map(|(&group, timer)| (timer.expires, Due::Slack(group)));
        let next = ticks.chain(hrticks).chain(periods).chain(slacks).min()?;
        Some((next.0.max(self.now), next.1))
    }

    /// Time passes in which nothing happens but running.
    fn advance(&mut self, to: Nanos) {
        let passed = to - self.now;
        for task in self.sched.rqs.iter().filter_map(|(_, rq)| rq.curr) {
            if self.modes[task.index()] == Mode::User {
                self.user_time[task.index()] += passed;
                continue;
            }
            let mut group = Some(self.sched.tasks[task].group);
            while let Some(g) = group {
                *self.kernel_time.entry(g).or_default() += passed;
                group = self.sched.groups[g].parent;
            }
        }
        self.now = to;
    }

    /// A timer of an offline CPU fires on another one.
    fn online_or_first(&self, cpu: CpuId) -> CpuId {
        if self.sched.rqs[cpu].online {
            return cpu;
        }
        let mut online = self.sched.rqs.iter().filter(|(_, rq)| rq.online);
        online.next().expect("one CPU is online").0
    }
}

fn next_tick(after: Nanos) -> Nanos {
    Nanos((after.0 / TICK.0 + 1) * TICK.0)
}

// What the CPUs do.
impl World {
    /// The end of an interrupt: back to user mode, to the kernel, or to idleness.
    pub fn end_of_interrupt(&mut self, cpu: CpuId) {
        self.carry_out(Some(cpu));
        let requested = self.sched.need_resched(cpu);
        match self.sched.curr(cpu) {
            None if requested.is_some() => self.schedule(cpu, Leave::Preempted),
            None => {}
            Some(task) => match self.modes[task.index()] {
                Mode::User => self.exit_to_user_mode(cpu),
                Mode::Kernel => {
                    let preemptible = matches!(
                        self.sched.config.preemption,
                        Preemption::Full | Preemption::Lazy
                    );
                    if preemptible && requested == Some(Resched::Immediate) {
                        self.schedule(cpu, Leave::Preempted);
                    }
                }
            },
        }
        self.deliver_unless_held();
        self.check();
    }

    /// A scheduling point, and whatever the task that comes then does at once.
    fn schedule(&mut self, cpu: CpuId, leave: Leave) {
        let was_idle = self.sched.curr(cpu).is_none();
        self.schedules += 1;
        self.sched.schedule(self.now, cpu, leave);
        self.carry_out(Some(cpu));
        if was_idle && self.sched.curr(cpu).is_some() {
            self.cpus[cpu.index()].ticked = self.now;
        }
        match self.sched.curr(cpu) {
            None if self.sched.need_resched(cpu).is_some() => self.schedule(cpu, Leave::Preempted),
            Some(task) if self.modes[task.index()] == Mode::User => self.exit_to_user_mode(cpu),
            // Kernel: the loop in schedule().
            Some(_) if self.sched.need_resched(cpu) == Some(Resched::Immediate) => {
                self.schedule(cpu, Leave::Preempted);
            }
            None | Some(_) => {}
        }
    }

    /// The checks on the way to user mode (kernel: `exit_to_user_mode_loop`).
    fn exit_to_user_mode(&mut self, cpu: CpuId) {
        let Some(task) = self.sched.curr(cpu) else {
            return;
        };
        if self.sched.need_resched(cpu).is_some() {
            self.schedule(cpu, Leave::Preempted);
        } else if self.sched.has_task_work(task) {
            if self.sched.return_to_user_work(self.now, cpu) {
                self.schedule(cpu, Leave::Preempted);
            } else {
                self.carry_out(Some(cpu));
                self.exit_to_user_mode(cpu);
            }
        }
    }

    /// Carries out what the core left. The CPU that called it sees requests to itself by itself.
    fn carry_out(&mut self, by: Option<CpuId>) {
        while let Some(effect) = self.sched.poll_effect() {
            match effect {
                Effect::Resched { cpu, kind } => {
                    // A busy CPU finds a lazy request by itself.
                    let idle = self.sched.curr(cpu).is_none();
                    if by != Some(cpu) && (kind == Resched::Immediate || idle) {
                        self.ipis.push_back((cpu, Ipi::Look));
                    }
                }
                Effect::UnthrottleIpi { cpu } => self.ipis.push_back((cpu, Ipi::Unthrottle)),
                Effect::ArmPeriodTimer {
                    group,
                    cpu,
                    expires,
                } => {
                    self.period_timers.insert(group, Timer { expires, cpu });
                }
                Effect::ArmSlackTimer {
                    group,
                    cpu,
                    expires,
                } => {
                    self.slack_timers.insert(group, Timer { expires, cpu });
                }
                Effect::ArmHrtick { cpu, expires } => self.cpus[cpu.index()].hrtick = Some(expires),
                Effect::CancelHrtick { cpu } => self.cpus[cpu.index()].hrtick = None,
                // Kernel: set_notify_resume() kicks a task that runs elsewhere.
                Effect::RaiseSoftirq { cpu } => self.sched.handle_softirq(self.now, cpu),
                Effect::AddTaskWork { task } => {
                    let cpu = self.sched.task_cpu(task);
                    if by != Some(cpu) && self.sched.curr(cpu) == Some(task) {
                        self.ipis.push_back((cpu, Ipi::Look));
                    }
                }
            }
        }
    }

    fn deliver_unless_held(&mut self) {
        if !self.hold_ipis {
            self.deliver_ipis();
        }
    }

    /// All IPIs that are on their way arrive, and those that they cause.
    pub fn deliver_ipis(&mut self) {
        while let Some((cpu, ipi)) = self.ipis.pop_front() {
            if !self.sched.rqs[cpu].online {
                continue;
            }
            if ipi == Ipi::Unthrottle {
                self.sched.handle_unthrottle_ipi(self.now, cpu);
            }
            self.end_of_interrupt(cpu);
        }
    }
}

// What tasks do.
impl World {
    pub fn mode(&self, task: TaskId) -> Mode {
        self.modes[task.index()]
    }

    /// Sets what a task that does not run will do when it runs.
    pub fn set_mode(&mut self, task: TaskId, mode: Mode) {
        self.modes[task.index()] = mode;
    }

    /// The running task makes a system call, and stays in it.
    pub fn enter_kernel(&mut self, task: TaskId) {
        assert_eq!(
            self.state(task),
            TaskState::Running,
            "{}: who calls the kernel runs",
            self.kernel()
        );
        self.modes[task.index()] = Mode::Kernel;
    }

    /// The running task is done in the kernel and on its way to user mode.
    pub fn leave_kernel(&mut self, task: TaskId) {
        assert_eq!(
            self.state(task),
            TaskState::Running,
            "{}: who returns to user mode runs",
            self.kernel()
        );
        self.modes[task.index()] = Mode::User;
        self.end_of_interrupt(self.sched.task_cpu(task));
    }

    /// The running task is at a point where the kernel lets itself be preempted (kernel:
    /// `cond_resched`).
    pub fn cond_resched(&mut self, task: TaskId) {
        let cpu = self.sched.task_cpu(task);
        assert_eq!(self.sched.curr(cpu), Some(task));
        if self.sched.need_resched(cpu).is_some() {
            self.schedule(cpu, Leave::Preempted);
        }
        self.deliver_unless_held();
        self.check();
    }

    /// The running task waits for a wakeup, and does the rest of its call when it runs again.
    pub fn block(&mut self, task: TaskId) {
        let cpu = self.sched.task_cpu(task);
        assert_eq!(
            self.sched.curr(cpu),
            Some(task),
            "{}: who blocks runs",
            self.kernel()
        );
        self.modes[task.index()] = Mode::Kernel;
        self.schedule(cpu, Leave::Sleep);
        self.deliver_unless_held();
        self.check();
    }

    /// The running task waits for a wakeup, and returns to user mode at once when it runs again.
    pub fn sleep(&mut self, task: TaskId) {
        self.block(task);
        self.modes[task.index()] = Mode::User;
    }

    /// The running task gives way.
    pub fn yield_now(&mut self, task: TaskId) {
        let cpu = self.sched.task_cpu(task);
        assert_eq!(
            self.sched.curr(cpu),
            Some(task),
            "{}: who yields runs",
            self.kernel()
        );
        self.sched.yield_task(self.now, cpu);
        self.carry_out(Some(cpu));
        self.schedule(cpu, Leave::Preempted);
        self.deliver_unless_held();
        self.check();
    }

    /// The running task begins to exit: it does not return to user mode any more.
    pub fn begin_exit(&mut self, task: TaskId) {
        self.enter_kernel(task);
        self.sched.set_exiting(task);
        self.check();
    }

    pub fn exit(&mut self, task: TaskId) {
        let cpu = self.sched.task_cpu(task);
        assert_eq!(
            self.sched.curr(cpu),
            Some(task),
            "{}: who exits runs",
            self.kernel()
        );
        self.schedule(cpu, Leave::Exit);
        self.deliver_unless_held();
        self.check();
    }

    /// An interrupt on this CPU wakes a task there.
    pub fn wake(&mut self, task: TaskId, cpu: usize) -> bool {
        let woken = self.sched.wake(self.now, task, CpuId::new(cpu));
        // A task that never left its queue wakes where it is.
        self.end_of_interrupt(self.sched.task_cpu(task));
        woken
    }

    /// A new task starts on this CPU.
    pub fn fork(&mut self, task: TaskId, cpu: usize) {
        self.sched.wake_new(self.now, task, CpuId::new(cpu));
        self.end_of_interrupt(CpuId::new(cpu));
    }

    pub fn set_affinity(&mut self, task: TaskId, cpus: u64) {
        let cpu = self.sched.task_cpu(task);
        self.sched
            .set_affinity(self.now, task, CpuMask::from_bits(cpus));
        self.end_of_interrupt(cpu);
    }

    pub fn move_task(&mut self, task: TaskId, group: GroupId) {
        self.sched.move_task(self.now, task, group);
        self.end_of_interrupt(self.sched.task_cpu(task));
    }

    pub fn set_policy(&mut self, task: TaskId, policy: Policy) {
        self.sched.set_policy(self.now, task, policy);
        self.end_of_interrupt(self.sched.task_cpu(task));
    }

    pub fn set_nice(&mut self, task: TaskId, nice: i64) {
        self.sched
            .set_nice(self.now, task, Nice::new(nice).expect("a nice value"));
        self.end_of_interrupt(self.sched.task_cpu(task));
    }

    /// Writes a limit on CPU 0, or on the first that is online.
    pub fn set_limit(&mut self, group: GroupId, limit: Limit) {
        let cpu = self.online_or_first(CpuId::new(0));
        self.sched.set_limit(self.now, cpu, group, limit).unwrap();
        self.end_of_interrupt(cpu);
    }

    pub fn offline(&mut self, cpu: usize) {
        let cpu = CpuId::new(cpu);
        self.sched.cpu_offline(self.now, cpu);
        self.carry_out(Some(cpu));
        // Kernel: the stopper that takes the CPU down preempts whatever runs.
        if self.sched.curr(cpu).is_some() && !self.sched.rqs[cpu].online {
            self.schedule(cpu, Leave::Preempted);
        }
        self.deliver_unless_held();
        self.check();
    }

    pub fn online(&mut self, cpu: usize) {
        self.sched.cpu_online(self.now, CpuId::new(cpu));
        self.end_of_interrupt(CpuId::new(cpu));
    }

    /// Charges what runs on a CPU up to now, on all levels.
    pub fn charge(&mut self, cpu: usize) {
        self.sched.charge(self.now, CpuId::new(cpu));
        self.end_of_interrupt(CpuId::new(cpu));
    }
}

// Reading, and setting up what a test starts from.
impl World {
    /// Everything that must hold.
    pub fn check(&self) {
        if let Err(violation) = self.sched.check_invariants() {
            let from = self.sched.observer.events.len().saturating_sub(30);
            let last = &self.sched.observer.events[from..];
            for (at, event) in last {
                std::eprintln!("{at}: {event:?}");
            }
            panic!("{} at {}: {violation}", self.kernel(), self.now);
        }
    }

    pub fn state(&self, task: TaskId) -> TaskState {
        self.sched.task_state(task)
    }

    pub fn t(&self, task: TaskId) -> &Task {
        &self.sched.tasks[task]
    }

    pub fn e(&self, task: TaskId) -> &Entity {
        &self.sched.entities[self.sched.tasks[task].entity]
    }

    pub fn e_mut(&mut self, task: TaskId) -> &mut Entity {
        &mut self.sched.entities[self.sched.tasks[task].entity]
    }

    pub fn rq(&self, cpu: usize) -> &Rq {
        &self.sched.rqs[CpuId::new(cpu)]
    }

    /// The queue of a group on a CPU, on which it has been.
    pub fn q(&self, group: GroupId, cpu: usize) -> &CfsRq {
        &self.sched.queues[self.sched.groups[group].queues[cpu].expect("the group has been there")]
    }

    pub fn q_mut(&mut self, group: GroupId, cpu: usize) -> &mut CfsRq {
        let queue = self.sched.queue_of(group, CpuId::new(cpu));
        &mut self.sched.queues[queue]
    }

    /// The entity of a group on a CPU.
    pub fn group_entity(&self, group: GroupId, cpu: usize) -> &Entity {
        &self.sched.entities[self.q(group, cpu).entity.expect("the root has none")]
    }

    /// L.
    pub fn local(&self, group: GroupId, cpu: usize) -> i64 {
        self.q(group, cpu).runtime_remaining.0
    }

    pub fn set_local(&mut self, group: GroupId, cpu: usize, remaining: i64) {
        self.q_mut(group, cpu).runtime_remaining = Runtime(remaining);
    }

    pub fn pool(&self, group: GroupId) -> &Pool {
        &self.sched.groups[group].pool
    }

    /// R, in ns.
    pub fn r(&self, group: GroupId) -> u64 {
        self.pool(group).runtime().0
    }

    /// Sets R: somebody who is not in this world took from the pool or returned to it.
    pub fn set_pool(&mut self, group: GroupId, runtime: u64) {
        let now = self.now;
        let pool = &mut self.sched.groups[group].pool;
        let has = pool.runtime().0;
        if has > runtime {
            let request = pool.request(now, &mut Runtime(0), Nanos(has - runtime));
            if let Some(expires) = request.arm_period {
                self.period_timers.insert(
                    group,
                    Timer {
                        expires,
                        cpu: CpuId::new(0),
                    },
                );
            }
        } else {
            let mut returned = Runtime((runtime - has) as i64 + 1_000_000);
            let slack = pool.return_slack(now, &mut returned, false, ms(5));
            assert_eq!(slack, None, "nobody waits for this slack");
        }
        assert_eq!(self.r(group), runtime);
    }

    pub fn stat(&self, group: GroupId) -> GroupStat {
        self.sched.group_stat(group)
    }

    /// Tasks queued in and below a group on a CPU.
    pub fn h_nr(&self, group: GroupId, cpu: usize) -> u32 {
        self.q(group, cpu).h_nr_queued
    }

    /// The groups' queues that a CPU has been handed for unthrottling.
    pub fn pending(&self, cpu: usize) -> Vec<GroupId> {
        self.rq(cpu)
            .csd_list
            .iter()
            .map(|&queue| self.sched.queues[queue].group)
            .collect()
    }

    /// Limbo of a group on a CPU, head first.
    pub fn limbo(&self, group: GroupId, cpu: usize) -> Vec<TaskId> {
        self.q(group, cpu).limbo.iter().rev().copied().collect()
    }

    /// CPUs that wait for runtime of this group, the longest first.
    pub fn waiting(&self, group: GroupId) -> Vec<usize> {
        self.sched.groups[group]
            .throttled
            .iter()
            .map(|&queue| self.sched.queues[queue].cpu.index())
            .collect()
    }

    /// Time that a task has spent in user mode.
    pub fn user_time(&self, task: TaskId) -> Nanos {
        self.user_time[task.index()]
    }

    /// Time that the tasks in and below a group have spent in kernel mode.
    pub fn kernel_time(&self, group: GroupId) -> Nanos {
        self.kernel_time.get(&group).copied().unwrap_or_default()
    }

    /// CPU time of a group, charged up to now.
    pub fn usage(&mut self, group: GroupId) -> Nanos {
        for cpu in self
            .sched
            .cpu_ids()
            .filter(|&cpu| self.sched.rqs[cpu].online)
            .collect::<Vec<_>>()
        {
            self.charge(cpu.index());
        }
        self.stat(group).usage
    }

    /// How many events are such.
    pub fn count(&self, matches: impl Fn(&Event) -> bool) -> usize {
        self.sched
            .observer
            .events
            .iter()
            .filter(|(_, event)| matches(event))
            .count()
    }

    /// The events so far, which are then forgotten.
    pub fn take_events(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.sched.observer.events)
            .into_iter()
            .map(|(_, event)| event)
            .collect()
    }

    /// Runtime that a group's queues were given: `(by request, by distribution)`, in ns.
    pub fn given(&self, group: GroupId) -> (u64, u64) {
        let mut given = (0, 0);
        for (_, event) in &self.sched.observer.events {
            match *event {
                Event::Granted {
                    group: g, amount, ..
                } if g == group => given.0 += amount.0,
                Event::Distributed {
                    group: g, amount, ..
                } if g == group => given.1 += amount.0,
                _ => {}
            }
        }
        given
    }

    /// Whether tasks are taken off one by one.
    pub fn per_task(&self) -> bool {
        self.kernel().throttle.per_task()
    }

    pub fn unified(&self) -> bool {
        self.kernel().throttle == ThrottleModel::Unified
    }
}
