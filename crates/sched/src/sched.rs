//! The scheduler's state, and the life of groups.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

use cpumax_bandwidth::{
    Limit, LimitError, Nanos, PeriodIteration, PeriodTooShort, Pool, Runtime, Tunables,
};

use crate::arena::Arena;
use crate::balance::Domain;
use crate::cfs_rq::CfsRq;
use crate::entity::{Entity, Owner};
use crate::event::{Effect, Event, NoObserver, Observer, Resched, Work};
use crate::group::{Group, GroupStat};
use crate::placement::Cache;
use crate::rq::Rq;
use crate::task::Task;
use crate::{
    CfsRqId, CpuId, CpuMask, EntityId, GroupId, Kernel, Preemption, TaskId, Topology, Weight, eevdf,
};

/// What a scheduler is built from.
#[derive(Clone, Debug)]
pub struct SchedConfig {
    /// Whose rules apply.
    pub kernel: Kernel,
    /// When a task in kernel mode can be preempted. The core needs it for one thing: whether a lazy
    /// reschedule request is one.
    pub preemption: Preemption,
    /// CPUs and what they share.
    pub topology: Topology,
    /// Time between two ticks.
    pub tick: Nanos,
    /// Tunables of bandwidth control.
    pub tunables: Tunables,
    /// What it costs to look at one CPU when searching for work or for an idle CPU. A CPU that is seldom idle for
    /// long does not search. The host charges the time: see [`Sched::take_cpus_searched`].
    pub search_cost: Nanos,
}

/// The scheduler of one machine.
///
/// It is driven: every method takes the present time, changes the state, and leaves [`Effect`]s that
/// the host takes with [`Self::poll_effect`] and carries out. Time must not go back. Methods named
/// `handle_*` are what an interrupt handler calls; the others are what a system call or the scheduling
/// point of a CPU does.
pub struct Sched<O: Observer = NoObserver> {
    /// Sees every event.
    pub observer: O,
    pub(crate) config: SchedConfig,
    pub(crate) now: Nanos,
    pub(crate) effects: VecDeque<Effect>,
    pub(crate) tasks: Arena<TaskId, Task>,
    pub(crate) entities: Arena<EntityId, Entity>,
    pub(crate) queues: Arena<CfsRqId, CfsRq>,
    pub(crate) groups: Arena<GroupId, Group>,
    pub(crate) rqs: Arena<CpuId, Rq>,
    /// Limited groups ever enabled less those disabled again.
    pub(crate) bandwidth_users: u32,
    /// Slice of entities without one of their own; changes with the number of online CPUs.
    pub(crate) base_slice: u64,
    /// 1 + log2 of the online CPUs, of which at most 8 count.
    pub(crate) tunable_factor: u64,
    pub(crate) online_cpus: usize,
    /// CPUs with more than one task that could run, so that a search for work need not ask each CPU.
    pub(crate) overloaded: CpuMask,
    /// What is known of each last-level cache, by its number.
    pub(crate) caches: Vec<Cache>,
    /// Queues visited by throttle walks, for the host to ask.
    pub(crate) queues_throttled: u32,
    /// CPUs looked at in searches, for the host to ask.
    pub(crate) cpus_searched: u32,
    /// Tasks with a slice of their own.
    pub(crate) custom_slices: u32,
    /// Buffer for walks over a hierarchy.
    pub(crate) subtree: Vec<CfsRqId>,
    /// Buffer for the CPUs from which nothing may move in a balance.
    pub(crate) pinned_cpus: Vec<CpuId>,
    /// Buffer for the tasks that a balance looks at.
    pub(crate) candidates: Vec<TaskId>,
    /// State of the random choices of load balancing.
    pub(crate) random: u64,
    /// The CPU that the last task was sent to for want of a better one.
    pub(crate) distribute_prev: usize,
    /// Earliest time of the next balancing on behalf of idle CPUs.
    pub(crate) nohz_next_balance: Nanos,
    /// Earliest time of the next decay of idle CPUs' load.
    pub(crate) nohz_next_blocked: Nanos,
}

/// A group that cannot be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoveGroupError {
    /// The root group stays.
    Root,
    /// Tasks or child groups are still in it.
    Busy,
}

impl fmt::Display for RemoveGroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "the root group cannot be removed",
            Self::Busy => "the group still has tasks or child groups; move or remove them first",
        })
    }
}

impl core::error::Error for RemoveGroupError {}

/// Factor of the scheduler's tunables for a number of CPUs (kernel: `get_update_sysctl_factor`).
pub(crate) fn tunable_factor(online_cpus: usize) -> u64 {
    1 + u64::from(online_cpus.clamp(1, 8).ilog2())
}

impl<O: Observer> Sched<O> {
    /// A machine whose CPUs are all online and idle, with the root group alone.
    pub fn new(config: SchedConfig, observer: O) -> Self {
        let cpus = config.topology.cpu_count();
        let mut sched = Self {
            observer,
            now: Nanos::ZERO,
            effects: VecDeque::new(),
            tasks: Arena::default(),
            entities: Arena::default(),
            queues: Arena::default(),
            groups: Arena::default(),
            rqs: Arena::default(),
            bandwidth_users: 0,
            base_slice: 0,
            tunable_factor: 0,
            online_cpus: 0,
            overloaded: CpuMask::empty(cpus),
            caches: Vec::new(),
            queues_throttled: 0,
            cpus_searched: 0,
            custom_slices: 0,
            subtree: Vec::new(),
            pinned_cpus: Vec::new(),
            candidates: Vec::new(),
            random: 0,
            distribute_prev: 0,
            nohz_next_balance: Nanos::ZERO,
            nohz_next_blocked: Nanos::ZERO,
            config,
        };
        sched.groups.push(Group {
            parent: None,
            children: Vec::new(),
            descendants: 0,
            shares: Weight::NICE_0,
            queues: Vec::new(),
            load_avg: 0,
            runnable_avg: 0,
            pool: Pool::new(Limit::UNLIMITED, Nanos::ZERO),
            throttled: VecDeque::new(),
            period_timer_idle: false,
            initial_runtime: Runtime(0),
            usage: Nanos::ZERO,
            nr_tasks: 0,
            removed: false,
        });
        for index in 0..cpus {
            let cpu = CpuId::new(index);
            let root = sched
                .queues
                .push(CfsRq::new(GroupId::ROOT, cpu, None, None));
            let domains = Domain::of_cpu(&sched.config.topology, cpu);
            sched.rqs.push(Rq::new(cpu, root, domains));
            sched.groups[GroupId::ROOT].queues.push(Some(root));
        }
        sched.caches = Cache::of(&sched.config.topology);
        sched.count_online_cpus();
        sched
    }

    /// Starts the random choices of load balancing at a place of their sequence.
    pub fn seed(&mut self, seed: u64) {
        self.random = seed;
    }

    /// The next thing for the host to do.
    #[inline]
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// The kernel whose rules apply.
    pub fn kernel(&self) -> Kernel {
        self.config.kernel
    }

    /// All CPUs.
    pub(crate) fn cpu_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = CpuId> + ExactSizeIterator + use<O> {
        self.rqs.ids()
    }

    /// Every entry of the core passes here: time goes on, and the CPU's clock with it.
    #[inline]
    pub(crate) fn begin(&mut self, now: Nanos, cpu: CpuId) {
        debug_assert!(
            now >= self.now,
            "time does not go back: {now:?} after {:?}",
            self.now
        );
        self.now = self.now.max(now);
        self.update_rq_clock(cpu);
    }

    /// Kernel: `update_rq_clock`.
    #[inline]
    pub(crate) fn update_rq_clock(&mut self, cpu: CpuId) {
        self.rqs[cpu].clock = self.now;
    }

    /// Asks a CPU to reschedule (kernel: `resched_curr`, `resched_curr_lazy`).
    #[inline]
    pub(crate) fn resched_curr(&mut self, cpu: CpuId, kind: Resched) {
        let rq = &mut self.rqs[cpu];
        let lazy = self.config.preemption == Preemption::Lazy && rq.curr.is_some();
        let kind = if lazy { kind } else { Resched::Immediate };
        if rq.need_resched >= Some(kind) {
            return;
        }
        rq.need_resched = Some(kind);
        self.effects.push_back(Effect::Resched { cpu, kind });
    }

    pub(crate) fn count_online_cpus(&mut self) {
        self.online_cpus = self.rqs.iter().filter(|(_, rq)| rq.online).count();
        self.tunable_factor = tunable_factor(self.online_cpus);
        self.base_slice = eevdf::base_slice(self.online_cpus);
    }

    // ---- groups -------------------------------------------------------------------------------

    /// Makes a group below `parent`, unlimited. Its period timer's grid goes through `timer_phase`,
    /// which the kernel draws at random from 6.12 on and which is 0 before.
    pub fn create_group(
        &mut self,
        now: Nanos,
        parent: GroupId,
        weight: Weight,
        timer_phase: Nanos,
    ) -> GroupId {
        self.now = self.now.max(now);
        let group = self.groups.push(Group {
            parent: Some(parent),
            children: Vec::new(),
            descendants: 0,
            shares: weight,
            queues: alloc::vec![None; self.config.topology.cpu_count()],
            load_avg: 0,
            runnable_avg: 0,
            pool: Pool::new(Limit::UNLIMITED, timer_phase),
            throttled: VecDeque::new(),
            period_timer_idle: false,
            initial_runtime: Runtime(0),
            usage: Nanos::ZERO,
            nr_tasks: 0,
            removed: false,
        });
        self.groups[parent].children.push(group);
        self.count_descendants(parent, |count| count + 1);
        group
    }

    /// A group was created or removed below `parent`.
    fn count_descendants(&mut self, parent: GroupId, count: impl Fn(u32) -> u32) {
        let mut above = Some(parent);
        while let Some(group) = above {
            let descendants = &mut self.groups[group].descendants;
            *descendants = count(*descendants);
            above = self.groups[group].parent;
        }
    }

    /// Removes an empty group. Its queues stay in memory.
    ///
    /// # Errors
    /// [`RemoveGroupError::Busy`] while tasks or child groups are in it.
    pub fn remove_group(&mut self, now: Nanos, group: GroupId) -> Result<(), RemoveGroupError> {
        self.now = self.now.max(now);
        let Some(parent) = self.groups[group].parent else {
            return Err(RemoveGroupError::Root);
        };
        if self.groups[group].nr_tasks > 0 || !self.groups[group].children.is_empty() {
            return Err(RemoveGroupError::Busy);
        }
        // What others granted to its queues is settled now (kernel: `destroy_cfs_bandwidth`).
        let mut work = Work::default();
        for cpu in self.cpu_ids() {
            self.flush_csd_list(cpu, &mut work);
            let Some(queue) = self.groups[group].queues[cpu.index()] else {
                continue;
            };
            self.update_rq_clock(cpu);
            self.settle_removed_queue(queue);
        }
        self.groups[group].throttled.clear();
        self.groups[group].removed = true;
        // What it used stays in its parent's statistics.
        let usage = self.groups[group].usage;
        self.groups[parent].usage += usage;
        self.groups[parent].children.retain(|&child| child != group);
        self.count_descendants(parent, |count| count - 1);
        Ok(())
    }

    /// A queue of a removed group leaves the hierarchy.
    fn settle_removed_queue(&mut self, queue: CfsRqId) {
        self.leaf_remove(queue);
        let q = &mut self.queues[queue];
        q.throttled = false;
        q.runtime_enabled = false;
        let entity = q.entity.expect("only groups below the root are removed");
        if self.entities[entity].on_rq {
            // A delayed group entity may still stand in its parent's queue.
            self.dequeue_delayed(entity);
        }
        self.entities[entity].avg = crate::pelt::SchedAvg::default();
        let parent = self.queues[queue]
            .parent
            .expect("only groups below the root are removed");
        self.queues[parent].children.retain(|&child| child != queue);
    }

    /// The group's limit; period and quota may have been doubled by a timer that could not keep up.
    pub fn limit(&self, group: GroupId) -> Limit {
        self.groups[group].pool.limit()
    }

    /// Writes the limit of a group, on `cpu`: refills the pool, resets every online queue's balance
    /// and unthrottles (kernel: `tg_set_cfs_bandwidth`).
    ///
    /// # Errors
    /// [`LimitError::RootGroup`]: the root group cannot be limited.
    pub fn set_limit(
        &mut self,
        now: Nanos,
        cpu: CpuId,
        group: GroupId,
        limit: Limit,
    ) -> Result<(), LimitError> {
        if group == GroupId::ROOT {
            return Err(LimitError::RootGroup);
        }
        self.begin(now, cpu);
        let was_finite = self.groups[group].pool.limit().is_finite();
        let finite = limit.is_finite();
        if finite && !was_finite {
            self.bandwidth_users += 1;
        }
        if let Some(expires) = self.groups[group].pool.configure(self.now, limit) {
            self.effects.push_back(Effect::ArmPeriodTimer {
                group,
                cpu,
                expires,
            });
        }
        let balance = self.runtime_after_write();
        self.groups[group].initial_runtime = balance;
        let mut work = Work::default();
        for cpu in self.cpu_ids() {
            let Some(queue) = self.groups[group].queues[cpu.index()] else {
                continue;
            };
            if !self.rqs[cpu].online {
                continue;
            }
            self.update_rq_clock(cpu);
            let q = &mut self.queues[queue];
            q.runtime_enabled = finite;
            q.runtime_remaining = balance;
            if q.throttled {
                self.unthrottle_cfs_rq(queue, &mut work);
            }
        }
        if was_finite && !finite {
            self.bandwidth_users -= 1;
        }
        Ok(())
    }

    /// Writes the weight of a group (`cpu.weight`).
    pub fn set_group_weight(&mut self, now: Nanos, group: GroupId, weight: Weight) {
        self.now = self.now.max(now);
        self.set_shares(group, weight);
    }

    /// Statistics of a group as of the last charge of each CPU.
    pub fn group_stat(&self, group: GroupId) -> GroupStat {
        let g = &self.groups[group];
        let stat = g.pool.stat();
        let own = g
            .queues
            .iter()
            .flatten()
            .map(|&queue| self.queues[queue].throttled_clock_self_time);
        GroupStat {
            usage: self.group_usage(group),
            nr_periods: stat.nr_periods,
            nr_throttled: stat.nr_throttled,
            throttled_time: stat.throttled_time,
            nr_bursts: stat.nr_bursts,
            burst_time: stat.burst_time,
            throttled_time_self: own.fold(Nanos::ZERO, |sum, time| Nanos(sum.0 + time.0)),
        }
    }

    fn group_usage(&self, group: GroupId) -> Nanos {
        let g = &self.groups[group];
        g.children.iter().fold(g.usage, |sum, &child| {
            Nanos(sum.0 + self.group_usage(child).0)
        })
    }

    /// The queue of a group on a CPU, made at the first use (kernel: `alloc_fair_sched_group`, which
    /// makes all at once, and `sync_throttle`).
    pub(crate) fn queue_of(&mut self, group: GroupId, cpu: CpuId) -> CfsRqId {
        if let Some(queue) = self.groups[group].queues[cpu.index()] {
            return queue;
        }
        let above = self.groups[group]
            .parent
            .expect("the root group has all its queues");
        let parent = self.queue_of(above, cpu);
        let parent_entity = self.queues[parent].entity;
        let queue = self.queues.next_id();
        let shares = self.groups[group].shares;
        let entity = self.entities.push(Entity::new(
            Owner::Group(queue),
            parent,
            parent_entity,
            shares,
        ));
        let mut q = CfsRq::new(group, cpu, Some(parent), Some(entity));
        q.runtime_enabled = self.groups[group].pool.limit().is_finite() && self.rqs[cpu].online;
        q.runtime_remaining = self.groups[group].initial_runtime;
        q.throttle_count = self.queues[parent].throttle_count;
        q.throttled_clock_pelt = self.rqs[cpu].clock.0;
        q.pelt_clock_throttled = self.config.kernel.throttle.per_task() && q.throttle_count > 0;
        let made = self.queues.push(q);
        debug_assert_eq!(made, queue);
        self.queues[parent].children.push(queue);
        self.groups[group].queues[cpu.index()] = Some(queue);
        queue
    }

    /// The queue of a group on a CPU, or of its nearest ancestor that has one: where the group would hang.
    pub(crate) fn nearest_queue(&self, group: GroupId, cpu: CpuId) -> CfsRqId {
        let mut group = group;
        loop {
            if let Some(queue) = self.groups[group].queues[cpu.index()] {
                return queue;
            }
            group = self.groups[group]
                .parent
                .expect("the root group has all its queues");
        }
    }

    // ---- timers of the pool -------------------------------------------------------------------

    /// One pass of the period timer's loop, on the CPU where it fired. `Some`: the handler did this
    /// much and must be called again, with the time that it is after that work; `None`: the handler is
    /// done, and the timer programmed again by an effect, or off (kernel: `sched_cfs_period_timer`).
    pub fn period_timer_iteration(
        &mut self,
        now: Nanos,
        cpu: CpuId,
        group: GroupId,
    ) -> Option<Work> {
        self.begin(now, cpu);
        if self.groups[group].removed {
            return None;
        }
        if !self.groups[group].pool.in_period_timer() {
            self.groups[group].pool.enter_period_timer();
            self.groups[group].period_timer_idle = false;
        }
        let mut work = Work::default();
        let waiting = !self.groups[group].throttled.is_empty();
        let iteration = self.groups[group].pool.period_iteration(self.now, waiting);
        match iteration {
            PeriodIteration::Done => {
                // The last boundary decides whether the timer goes on.
                let stop = self.groups[group].period_timer_idle;
                if let Some(expires) = self.groups[group].pool.leave_period_timer(stop) {
                    self.effects.push_back(Effect::ArmPeriodTimer {
                        group,
                        cpu,
                        expires,
                    });
                }
                return None;
            }
            // A pool that is idle is filled once more; one that went unlimited is not.
            PeriodIteration::Stop if !self.groups[group].pool.limit().is_finite() => {}
            PeriodIteration::Stop | PeriodIteration::Continue => self.refilled(group),
            PeriodIteration::Distribute => {
                self.refilled(group);
                self.distribute_all(group, cpu, &mut work);
                self.groups[group].pool.after_distribution();
            }
        }
        self.groups[group].period_timer_idle = iteration == PeriodIteration::Stop;
        self.observe_doubling(group);
        Some(work)
    }

    /// Tells the observer if the pass that is over found the period too short.
    fn observe_doubling(&mut self, group: GroupId) {
        if self.groups[group].pool.period_too_short() == Some(PeriodTooShort::Doubled) {
            self.observer
                .event(self.now, Event::PeriodDoubled { group });
        }
    }

    /// Distributes until everybody is served or the pool is empty.
    fn distribute_all(&mut self, group: GroupId, cpu: CpuId, work: &mut Work) {
        loop {
            let remaining = self.distribute_cfs_runtime(group, cpu, work);
            if !remaining || self.groups[group].pool.runtime() == Nanos::ZERO {
                return;
            }
        }
    }

    /// The slack timer fired (kernel: `do_sched_cfs_slack_timer`).
    pub fn handle_slack_timer(&mut self, now: Nanos, cpu: CpuId, group: GroupId) -> Work {
        self.begin(now, cpu);
        let mut work = Work::default();
        let slice = self.config.tunables.slice;
        if !self.groups[group].removed && self.groups[group].pool.slack_timer_fired(self.now, slice)
        {
            self.distribute_cfs_runtime(group, cpu, &mut work);
        }
        work
    }

    /// The IPI that [`Effect::UnthrottleIpi`] asked for arrived.
    pub fn handle_unthrottle_ipi(&mut self, now: Nanos, cpu: CpuId) -> Work {
        self.begin(now, cpu);
        let mut work = Work::default();
        self.flush_csd_list(cpu, &mut work);
        work
    }

    pub(crate) fn refilled(&mut self, group: GroupId) {
        let runtime = self.groups[group].pool.runtime();
        self.observer
            .event(self.now, Event::Refilled { group, runtime });
    }
}
