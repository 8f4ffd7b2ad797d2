//! The least host that the core can have: it carries effects out at once, and counts its calls.

use cpumax_bandwidth::{Limit, Nanos, Tunables};
use cpumax_sched::{
    CpuId, CpuMask, Effect, GroupId, Kernel, Leave, Nice, NoObserver, Policy, Sched, SchedConfig,
    TaskId, TaskParams, Topology, Weight,
};

/// HZ 250.
pub const TICK: Nanos = Nanos::from_millis(4);
/// Period of every limited group.
const PERIOD: Nanos = Nanos::from_millis(100);

/// A linear congruential generator, of which the upper half is used.
pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        Self(1)
    }

    /// At least 0 and below `bound`, which is below 2^32.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 32) * bound) >> 32
    }
}

/// What the core is called for.
#[derive(Clone, Copy)]
enum Call {
    SelectCpu,
    Wake,
    Schedule,
    Tick,
    /// A period, slack or high-resolution timer, or an IPI that unthrottles.
    Timer,
    TaskWork,
}

impl Call {
    const NAMES: [&str; 6] = [
        "select_cpu",
        "wake",
        "schedule",
        "handle_tick",
        "timers and IPIs",
        "return_to_user_work",
    ];
}

pub struct Host {
    pub sched: Sched,
    pub now: Nanos,
    /// Calls of the core, by kind.
    calls: [u64; Call::NAMES.len()],
    /// When the high-resolution tick of each CPU fires.
    hrticks: Vec<Option<Nanos>>,
    /// Period and slack timers that are armed; the last one armed of a kind and group counts.
    timers: Vec<Timer>,
    /// CPUs that are asked to reschedule.
    requests: Vec<CpuId>,
    /// CPUs that have been sent an IPI to unthrottle queues.
    unthrottles: Vec<CpuId>,
    /// CPUs with a softirq raised.
    softirqs: Vec<CpuId>,
}

#[derive(Clone, Copy)]
struct Timer {
    kind: TimerKind,
    group: GroupId,
    cpu: CpuId,
    expires: Nanos,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TimerKind {
    Period,
    Slack,
}

impl Host {
    pub fn new(kernel: Kernel, topology: Topology) -> Self {
        let cpus = topology.cpu_count();
        let config = SchedConfig {
            kernel,
            preemption: kernel.release.default_preemption(),
            topology,
            tick: TICK,
            tunables: Tunables::default(),
            search_cost: Nanos::ZERO,
        };
        Self {
            sched: Sched::new(config, NoObserver),
            now: Nanos::ZERO,
            calls: [0; Call::NAMES.len()],
            hrticks: vec![None; cpus],
            timers: Vec::new(),
            requests: Vec::new(),
            unthrottles: Vec::new(),
            softirqs: Vec::new(),
        }
    }

    /// A group below the root with so many CPUs' worth of quota; `None` is no limit.
    pub fn group(&mut self, cpus: Option<f64>) -> GroupId {
        let group = self
            .sched
            .create_group(self.now, GroupId::ROOT, Weight::NICE_0, Nanos::ZERO);
        if let Some(cpus) = cpus {
            let quota = Nanos((PERIOD.0 as f64 * cpus) as u64);
            let limit =
                Limit::new(Some(quota), PERIOD, Nanos::ZERO).expect("the kernel takes this limit");
            self.sched
                .set_limit(self.now, CpuId::new(0), group, limit)
                .expect("it is not the root group");
            self.carry_out();
        }
        group
    }

    /// A task that may run on any CPU and sleeps.
    pub fn task(&mut self, group: GroupId, cpu: CpuId) -> TaskId {
        let affinity = CpuMask::all(self.hrticks.len());
        let params = TaskParams {
            group,
            nice: Nice::default(),
            policy: Policy::Normal,
            affinity,
            kernel_thread: false,
        };
        self.sched.create_task(params, cpu)
    }

    #[inline]
    fn count(&mut self, call: Call) {
        self.calls[call as usize] += 1;
    }

    /// Calls of the core, softirqs left out.
    pub fn operations(&self) -> u64 {
        self.calls.iter().sum()
    }

    /// Which calls they were, in percent.
    pub fn mix(&self) -> String {
        let all = self.operations().max(1) as f64;
        let parts = Call::NAMES
            .iter()
            .zip(self.calls)
            .map(|(name, calls)| (name, calls as f64 * 100.0 / all));
        let parts: Vec<String> = parts
            .filter(|(_, percent)| *percent >= 0.05)
            .map(|(name, percent)| format!("{percent:.1} % {name}"))
            .collect();
        parts.join(", ")
    }

    /// A task's wakeup on behalf of a CPU.
    #[inline]
    pub fn wake(&mut self, task: TaskId, waker: CpuId) {
        self.count(Call::SelectCpu);
        self.count(Call::Wake);
        let cpu = self.sched.select_cpu(self.now, task, waker, false);
        self.sched.wake(self.now, task, cpu);
        self.carry_out();
    }

    #[inline]
    pub fn schedule(&mut self, cpu: CpuId, leave: Leave) {
        self.count(Call::Schedule);
        self.sched.schedule(self.now, cpu, leave);
        self.carry_out();
    }

    /// A tick of a CPU that runs something.
    #[inline]
    pub fn tick(&mut self, cpu: CpuId) {
        if self.sched.curr(cpu).is_some() {
            self.count(Call::Tick);
            self.sched.handle_tick(self.now, cpu);
            self.carry_out();
        }
    }

    /// When the next of the groups' timers expires.
    #[inline]
    pub fn next_timer(&self) -> Option<Nanos> {
        self.timers.iter().map(|timer| timer.expires).min()
    }

    /// When the high-resolution tick of a CPU fires.
    #[inline]
    pub fn hrtick(&self, cpu: CpuId) -> Option<Nanos> {
        self.hrticks[cpu.index()]
    }

    /// Fires the groups' timers that are due.
    #[inline]
    pub fn fire_timers(&mut self) {
        while let Some(at) = self
            .timers
            .iter()
            .position(|timer| timer.expires <= self.now)
        {
            let Timer {
                kind, group, cpu, ..
            } = self.timers.swap_remove(at);
            match kind {
                TimerKind::Period => {
                    self.count(Call::Timer);
                    while self
                        .sched
                        .period_timer_iteration(self.now, cpu, group)
                        .is_some()
                    {
                        self.count(Call::Timer);
                    }
                }
                TimerKind::Slack => {
                    self.count(Call::Timer);
                    self.sched.handle_slack_timer(self.now, cpu, group);
                }
            }
            self.carry_out();
        }
    }

    /// Fires the high-resolution tick of a CPU if it is due.
    #[inline]
    pub fn fire_hrtick(&mut self, cpu: CpuId) {
        if self.hrticks[cpu.index()].is_some_and(|expires| expires <= self.now) {
            self.hrticks[cpu.index()] = None;
            self.count(Call::Timer);
            self.sched.handle_hrtick(self.now, cpu);
            self.carry_out();
        }
    }

    #[inline]
    fn carry_out(&mut self) {
        while let Some(effect) = self.sched.poll_effect() {
            match effect {
                Effect::Resched { cpu, .. } => self.requests.push(cpu),
                Effect::UnthrottleIpi { cpu } => self.unthrottles.push(cpu),
                Effect::ArmPeriodTimer {
                    group,
                    cpu,
                    expires,
                } => {
                    self.arm(Timer {
                        kind: TimerKind::Period,
                        group,
                        cpu,
                        expires,
                    });
                }
                Effect::ArmSlackTimer {
                    group,
                    cpu,
                    expires,
                } => {
                    self.arm(Timer {
                        kind: TimerKind::Slack,
                        group,
                        cpu,
                        expires,
                    });
                }
                Effect::ArmHrtick { cpu, expires } => self.hrticks[cpu.index()] = Some(expires),
                Effect::CancelHrtick { cpu } => self.hrticks[cpu.index()] = None,
                Effect::RaiseSoftirq { cpu } => self.softirqs.push(cpu),
                Effect::AddTaskWork { task } => self.requests.push(self.sched.task_cpu(task)),
            }
        }
    }

    fn arm(&mut self, timer: Timer) {
        self.timers
            .retain(|other| other.kind != timer.kind || other.group != timer.group);
        self.timers.push(timer);
    }

    /// Does what CPUs were asked for, until nothing is left to do at this moment. All tasks are in user
    /// mode, so that every request is acted on.
    #[inline]
    pub fn settle(&mut self) {
        loop {
            if let Some(cpu) = self.unthrottles.pop() {
                self.count(Call::Timer);
                self.sched.handle_unthrottle_ipi(self.now, cpu);
                self.carry_out();
            } else if let Some(cpu) = self.softirqs.pop() {
                // Part of the tick that raised it.
                self.sched.handle_softirq(self.now, cpu);
                self.carry_out();
            } else if let Some(cpu) = self.requests.pop() {
                self.return_to_user(cpu);
            } else {
                return;
            }
        }
    }

    fn return_to_user(&mut self, cpu: CpuId) {
        loop {
            if self.sched.need_resched(cpu).is_some() {
                self.schedule(cpu, Leave::Preempted);
            } else if self
                .sched
                .curr(cpu)
                .is_some_and(|task| self.sched.has_task_work(task))
            {
                self.count(Call::TaskWork);
                self.sched.return_to_user_work(self.now, cpu);
                self.carry_out();
            } else {
                return;
            }
        }
    }
}
