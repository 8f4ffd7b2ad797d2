//! Load balancing: a CPU that has too little to do takes tasks from one that has too much.
//!
//! Kernel: `sched_balance_rq` and its callers in `fair.c`.

mod domain;
mod statistics;

use cpumax_bandwidth::Nanos;

use crate::event::{Effect, Observer};
use crate::flags::Dequeue;
use crate::{CpuId, Sched, TaskId};

pub(crate) use domain::Domain;
pub(crate) use statistics::{GroupStatistics, GroupType, Imbalance, adjust_numa_imbalance};

/// How long a task counts as cache-hot after it ran (kernel: `sysctl_sched_migration_cost`).
pub(crate) const MIGRATION_COST: u64 = 500_000;
/// Tasks moved in one go at the most (kernel: `sysctl_sched_nr_migrate`).
const NR_MIGRATE: usize = 32;
/// The longest interval after balances in which no task may move.
const MAX_PINNED_INTERVAL: Nanos = Nanos::from_millis(512);
/// A busy CPU balances less often by this factor.
const BUSY_FACTOR: u64 = 16;
/// Time between two decays of the load of idle CPUs (kernel: `LOAD_AVG_PERIOD`).
const BLOCKED_LOAD_PERIOD: Nanos = Nanos::from_millis(32);
/// One for the rate at which newly idle balancing succeeds.
const RATIO_ONE: u32 = 1024;

/// Why a CPU balances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// It runs something.
    No,
    /// It has been idle.
    Yes,
    /// It is about to go idle.
    Newly,
}

impl<O: Observer> Sched<O> {
    /// A pseudo-random number (kernel: `sched_rng`).
    fn random(&mut self) -> u32 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as u32
    }

    /// A CPU is about to go idle: looks for a task that waits elsewhere; returns whether it has
    /// something to run now (kernel: `sched_balance_newidle`).
    pub(crate) fn newidle_balance(&mut self, cpu: CpuId) -> bool {
        if !self.rqs[cpu].online {
            return false;
        }
        self.rqs[cpu].idle_stamp = Some(self.rqs[cpu].clock);
        if !self.any_overloaded() {
            self.update_idle_averages();
            return false;
        }
        self.update_blocked_averages(cpu);
        let mut spent = Nanos::ZERO;
        for at in 0..self.rqs[cpu].domains.len() {
            // The search would take longer than the CPU is likely to be idle.
            if self.rqs[cpu].avg_idle < spent + self.rqs[cpu].domains[at].max_newidle_cost {
                break;
            }
            let chance = self.random() % RATIO_ONE;
            let ratio = self.rqs[cpu].domains[at].newidle_ratio;
            if chance > ratio {
                self.rqs[cpu].domains[at].count_newidle(0);
                continue;
            }
            // A try that was made with probability p stands for 1/p tries.
            let weight = RATIO_ONE.div_ceil(ratio + 1);
            let before = self.cpus_searched;
            let pulled = self.load_balance(cpu, at, Idle::Newly) > 0;
            let cost = self.search_time(self.cpus_searched - before);
            spent += cost;
            let now = self.now;
            self.rqs[cpu].domains[at].note_newidle_cost(now, cost);
            self.rqs[cpu].domains[at].count_newidle(if pulled { weight } else { 0 });
            if pulled || self.rqs[cpu].nr_running > 0 {
                break;
            }
        }
        let longest = &mut self.rqs[cpu].max_idle_balance_cost;
        *longest = (*longest).max(spent);
        let found = self.rqs[cpu].nr_running > 0;
        if found {
            self.rqs[cpu].idle_stamp = None;
        }
        found
    }

    /// Some CPU has more than it can run (kernel: `rd->overloaded`).
    fn any_overloaded(&self) -> bool {
        !self.overloaded.is_empty()
    }

    /// What the tick does for balance: the CPU's own, and that of idle CPUs, which do not tick
    /// (kernel: `sched_balance_trigger`, `nohz_balancer_kick`).
    pub(crate) fn trigger_load_balance(&mut self, cpu: CpuId) {
        if !self.rqs[cpu].online {
            return;
        }
        let idle = if self.rqs[cpu].curr.is_some() {
            Idle::No
        } else {
            Idle::Yes
        };
        self.plan_balance(cpu, idle);
        let kicks = self.rqs[cpu].nr_running >= 2 && self.now >= self.nohz_next_balance;
        if kicks || self.now >= self.nohz_next_blocked || !self.rqs[cpu].pulls.is_empty() {
            self.effects.push_back(Effect::RaiseSoftirq { cpu });
        }
    }

    /// The softirq that [`Effect::RaiseSoftirq`] asked for: pulls what the tick found, and balances on
    /// behalf of idle CPUs (kernel: `sched_balance_softirq`, `nohz_idle_balance`).
    pub fn handle_softirq(&mut self, now: Nanos, cpu: CpuId) {
        self.begin(now, cpu);
        self.carry_out_pulls(cpu);
        self.update_idle_averages();
        if self.rqs[cpu].nr_running < 2 || self.now < self.nohz_next_balance {
            return;
        }
        self.nohz_next_balance = Nanos(self.now.0 + self.config.tick.0);
        for idle in self.cpu_ids() {
            if self.rqs[idle].online && self.rqs[idle].is_idle() {
                self.update_rq_clock(idle);
                self.plan_balance(idle, Idle::Yes);
                self.carry_out_pulls(idle);
                if self.rqs[idle].nr_running > 0 {
                    self.resched_curr(idle, crate::Resched::Immediate);
                }
            }
        }
    }

    /// Decays the load of idle CPUs, which do not tick, once in a while (kernel: `update_nohz_stats`,
    /// kicked by busy CPUs and by those that go idle).
    fn update_idle_averages(&mut self) {
        if self.now < self.nohz_next_blocked {
            return;
        }
        self.nohz_next_blocked = self.now + BLOCKED_LOAD_PERIOD;
        for idle in self.cpu_ids() {
            if self.rqs[idle].online && self.rqs[idle].nr_running == 0 {
                self.update_rq_clock(idle);
                self.update_blocked_averages(idle);
            }
        }
    }

    /// Looks in each domain that is due for the CPU to pull from. CPUs tick at the same moment and look
    /// in parallel, each at what there was before any of them pulls (kernel: the first half of
    /// `sched_balance_rq` in `sched_balance_domains`).
    fn plan_balance(&mut self, cpu: CpuId, idle: Idle) {
        let mut aged = false;
        for at in 0..self.rqs[cpu].domains.len() {
            let domain = &self.rqs[cpu].domains[at];
            let interval = self.balance_interval(domain, idle);
            if self.now.0 < domain.last_balance.0 + interval.0 {
                continue;
            }
            if !aged {
                self.update_blocked_averages(cpu);
                aged = true;
            }
            self.rqs[cpu].domains[at].last_balance = self.now;
            if !self.should_balance(cpu, at) {
                self.relax(cpu, at, idle, false);
                // Nor does it fall to this CPU to balance what is larger.
                break;
            }
            if let Some((src, imbalance)) = self.find_busiest_or_relax(cpu, at, idle) {
                self.rqs[cpu].pulls.push(Pull {
                    at,
                    src,
                    imbalance,
                    idle,
                });
            }
        }
    }

    /// Time between two balances in a domain (kernel: `get_sd_balance_interval`).
    fn balance_interval(&self, domain: &Domain, idle: Idle) -> Nanos {
        let tick = self.config.tick.0;
        // A tenth of a second a CPU at the most.
        let longest = self.online_cpus as u64 * 100_000_000;
        match idle {
            // A tick less, so that the levels of a busy CPU do not fall due together.
            Idle::No => {
                let interval = (domain.balance_interval.0 * BUSY_FACTOR).next_multiple_of(tick);
                Nanos((interval - tick).clamp(tick, longest))
            }
            Idle::Yes | Idle::Newly => Nanos(
                domain
                    .balance_interval
                    .0
                    .next_multiple_of(tick)
                    .clamp(tick, longest),
            ),
        }
    }

    fn carry_out_pulls(&mut self, cpu: CpuId) {
        let mut pulls = core::mem::take(&mut self.rqs[cpu].pulls);
        for Pull {
            at,
            src,
            imbalance,
            idle,
        } in pulls.drain(..)
        {
            self.pull(src, cpu, at, imbalance, idle);
        }
        self.rqs[cpu].pulls = pulls;
    }

    /// Pulls tasks to `dst` within one of its domains; returns how many (kernel: `sched_balance_rq`).
    fn load_balance(&mut self, dst: CpuId, at: usize, idle: Idle) -> usize {
        match self.find_busiest_or_relax(dst, at, idle) {
            Some((src, imbalance)) => self.pull(src, dst, at, imbalance, idle),
            None => 0,
        }
    }

    /// [`Self::find_busiest`]; where there is none, the domain is looked at less often.
    fn find_busiest_or_relax(
        &mut self,
        dst: CpuId,
        at: usize,
        idle: Idle,
    ) -> Option<(CpuId, Imbalance)> {
        let found = self.find_busiest(dst, at, idle, &[]);
        if found.is_none() {
            self.relax(dst, at, idle, false);
        }
        found
    }

    /// Pulls, from one CPU after the other while none of a CPU's tasks may move at all, and adapts the
    /// interval to the success.
    fn pull(
        &mut self,
        src: CpuId,
        dst: CpuId,
        at: usize,
        imbalance: Imbalance,
        idle: Idle,
    ) -> usize {
        let mut pinned = core::mem::take(&mut self.pinned_cpus);
        pinned.clear();
        let mut next = Some((src, imbalance));
        let mut moved = 0;
        while let Some((src, imbalance)) = next {
            let (count, all_pinned) = self.detach_tasks(src, dst, at, imbalance, idle);
            moved = count;
            if !all_pinned {
                break;
            }
            pinned.push(src);
            next = self.find_busiest(dst, at, idle, &pinned);
        }
        self.pinned_cpus = pinned;
        if next.is_none() {
            self.relax(dst, at, idle, true);
            return 0;
        }
        let domain = &mut self.rqs[dst].domains[at];
        if moved > 0 {
            domain.failures = 0;
        } else if idle != Idle::Newly {
            // Newly idle failures do not count: they would come too often.
            domain.failures += 1;
        }
        domain.balance_interval = Domain::min_interval(domain.span.len());
        moved
    }

    /// There was nothing to pull: the domain is looked at less often. If that was because no task may
    /// move, as it is for the tasks of a throttled group, much less often.
    fn relax(&mut self, dst: CpuId, at: usize, idle: Idle, pinned: bool) {
        let domain = &mut self.rqs[dst].domains[at];
        domain.failures = 0;
        // A newly idle CPU looks whenever it likes, and leaves the interval alone.
        if idle == Idle::Newly {
            return;
        }
        let longest = if pinned {
            MAX_PINNED_INTERVAL
        } else {
            Domain::min_interval(domain.span.len()) * 2
        };
        if domain.balance_interval < longest {
            domain.balance_interval = domain.balance_interval * 2;
        }
    }

    /// Moves tasks from one CPU to another, the least recently run first; returns how many, and whether
    /// none of those looked at may ever run there (kernel: `detach_tasks`, `attach_tasks`,
    /// `LBF_ALL_PINNED`).
    fn detach_tasks(
        &mut self,
        src: CpuId,
        dst: CpuId,
        at: usize,
        imbalance: Imbalance,
        idle: Idle,
    ) -> (usize, bool) {
        self.update_rq_clock(src);
        self.update_rq_clock(dst);
        if let Some(curr) = self.rqs[src].curr
            && self.tasks[curr].policy != crate::Policy::Fifo
        {
            self.update_curr_path(self.tasks[curr].entity);
        }
        let failures = self.rqs[dst].domains[at].failures;
        let mut left = imbalance;
        let mut moved = 0;
        let mut all_pinned = self.rqs[src].nr_running > 1;
        let looked_at = NR_MIGRATE.min(self.rqs[src].nr_running as usize);
        let mut candidates = core::mem::take(&mut self.candidates);
        candidates.clear();
        candidates.extend(self.rqs[src].cfs_tasks.iter().copied().take(looked_at));
        for &task in &candidates {
            if self.rqs[src].nr_running <= 1 {
                break;
            }
            if !self.may_run_on(task, src, dst) {
                continue;
            }
            all_pinned = false;
            if !self.can_migrate(task, src, dst, failures) {
                continue;
            }
            match &mut left {
                Imbalance::Tasks(count) => *count = count.saturating_sub(1),
                Imbalance::Load(room) => {
                    let load = self.task_h_load(task).max(1);
                    if load >> failures.min(16) > *room {
                        continue;
                    }
                    *room = room.saturating_sub(load);
                }
                Imbalance::Util(room) => {
                    let util = self.entities[self.tasks[task].entity].avg.util_avg;
                    if util >> failures.min(16) > *room {
                        continue;
                    }
                    *room = room.saturating_sub(util);
                }
            }
            self.dequeue_task(task, Dequeue::MIGRATE);
            self.arrive(task, dst);
            moved += 1;
            if idle == Idle::Newly || left.is_done() {
                break;
            }
        }
        self.candidates = candidates;
        (moved, all_pinned)
    }

    /// Whether affinity and throttling let a task move (kernel: the first half of `can_migrate_task`).
    pub(crate) fn may_run_on(&self, task: TaskId, src: CpuId, dst: CpuId) -> bool {
        let t = &self.tasks[task];
        // The destination must be able to run it; in A and B the source as well, because what stands
        // in a throttled hierarchy cannot be unlinked twice.
        let stopped = |cpu: CpuId| self.throttled_hierarchy(self.nearest_queue(t.group, cpu));
        t.affinity.contains(dst)
            && !stopped(dst)
            && !(self.config.kernel.throttle.per_hierarchy() && stopped(src))
    }

    /// Whether moving it makes sense now (kernel: the second half of `can_migrate_task`).
    fn can_migrate(&self, task: TaskId, src: CpuId, dst: CpuId, failures: u32) -> bool {
        let t = &self.tasks[task];
        if t.on_cpu || t.asleep {
            return false;
        }
        let ran = self.entities[t.entity].exec_start;
        let hot = self.now.0.saturating_sub(ran.0) < MIGRATION_COST;
        // One in the cache domain, two beyond it.
        let tries = if self.config.topology.cpus[src.index()].llc
            == self.config.topology.cpus[dst.index()].llc
        {
            1
        } else {
            2
        };
        !hot || failures > tries
    }
}

/// A pull that the tick found to be due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pull {
    /// Which of the CPU's domains.
    at: usize,
    src: CpuId,
    imbalance: Imbalance,
    idle: Idle,
}
