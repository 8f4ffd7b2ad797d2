//! On which CPU a task wakes up (kernel: `select_task_rq_fair`).
//!
//! Bandwidth plays no part in the choice: a task of a throttled group is placed as if it could run.

use alloc::vec::Vec;

use cpumax_bandwidth::Nanos;

use crate::event::Observer;
use crate::{CpuId, Policy, Sched, TaskId, Topology};

/// What wakeups know of a last-level cache (kernel: `struct sched_domain_shared`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cache {
    /// There may be a core of which no thread is busy.
    pub has_idle_cores: bool,
    /// So many CPUs are worth looking at.
    pub nr_idle_scan: u32,
}

/// A waker's count of changing wakees halves once a second.
const WAKEE_FLIP_DECAY: Nanos = Nanos(1_000_000_000);
/// Percent of imbalance that a wakeup tolerates in favour of the previous CPU.
const IMBALANCE_PCT: u64 = 117;

impl Cache {
    /// The caches of a machine that is idle, as its first balance leaves them.
    pub fn of(topology: &Topology) -> Vec<Self> {
        let mut caches: Vec<Self> = Vec::new();
        for place in &topology.cpus {
            let llc = place.llc as usize;
            if caches.len() <= llc {
                caches.resize(llc + 1, Self::default());
            }
            caches[llc].has_idle_cores = true;
            caches[llc].nr_idle_scan += 1;
        }
        caches
    }
}

impl<O: Observer> Sched<O> {
    /// Chooses the CPU on which to wake a task. `waker_cpu` is where the wakeup happens; `sync` says
    /// that the waker is about to sleep.
    pub fn select_cpu(&mut self, now: Nanos, task: TaskId, waker_cpu: CpuId, sync: bool) -> CpuId {
        self.now = self.now.max(now);
        let t = &self.tasks[task];
        let prev = t.cpu;
        // A delayed task has not left; one that cannot move need not choose.
        if t.on_rq || t.policy == Policy::Fifo || t.affinity.is_single() {
            return self.allowed_or_any(task, prev);
        }
        self.record_wakee(waker_cpu, task);
        let affine =
            !self.wake_wide(waker_cpu, task) && self.tasks[task].affinity.contains(waker_cpu);
        let target = if affine && waker_cpu != prev && self.rqs[prev].online {
            self.wake_affine(task, waker_cpu, prev, sync)
        } else {
            prev
        };
        let chosen = self.select_idle_sibling(task, prev, target);
        self.allowed_or_any(task, chosen)
    }

    /// CPUs looked at in searches for an idle or a busy one since this was last asked. The core has no clock, so it is
    /// the host that charges the searching CPU for them.
    pub fn take_cpus_searched(&mut self) -> u32 {
        core::mem::take(&mut self.cpus_searched)
    }

    /// Kernel: `select_fallback_rq`.
    pub(crate) fn allowed_or_any(&mut self, task: TaskId, cpu: CpuId) -> CpuId {
        if self.rqs[cpu].online && self.tasks[task].affinity.contains(cpu) {
            return cpu;
        }
        self.fallback_cpu(task)
    }

    /// Counts how often the waker changes whom it wakes (kernel: `record_wakee`).
    fn record_wakee(&mut self, waker_cpu: CpuId, wakee: TaskId) {
        let Some(waker) = self.rqs[waker_cpu].curr else {
            return;
        };
        let now = self.now;
        let waker = &mut self.tasks[waker];
        if now.0 > waker.wakee_flip_decay.0 + WAKEE_FLIP_DECAY.0 {
            waker.wakee_flips >>= 1;
            waker.wakee_flip_decay = now;
        }
        if waker.last_wakee != Some(wakee) {
            waker.last_wakee = Some(wakee);
            waker.wakee_flips += 1;
        }
    }

    /// Many wake many: spreading beats keeping close (kernel: `wake_wide`).
    fn wake_wide(&self, waker_cpu: CpuId, wakee: TaskId) -> bool {
        let waker = self.rqs[waker_cpu]
            .curr
            .map_or(0, |waker| self.tasks[waker].wakee_flips);
        let wakee = self.tasks[wakee].wakee_flips;
        let factor = self.rqs[waker_cpu].llc().len() as u32;
        let (master, slave) = (waker.max(wakee), waker.min(wakee));
        slave >= factor && master >= slave * factor
    }

    /// Here or where it was (kernel: `wake_affine`).
    fn wake_affine(&mut self, task: TaskId, this: CpuId, prev: CpuId, sync: bool) -> CpuId {
        let (this_idle, prev_idle) = (self.rqs[this].is_idle(), self.rqs[prev].is_idle());
        if this_idle && self.shares_cache(this, prev) {
            return if prev_idle { prev } else { this };
        }
        if sync && self.rqs[this].nr_running == 1 {
            return this;
        }
        if prev_idle {
            return prev;
        }
        // By load, with a bias towards where it was.
        let mut this_load = self.cpu_load(this) as i64;
        if sync && let Some(curr) = self.rqs[this].curr {
            this_load -= self.task_h_load(curr) as i64;
            if this_load < 0 {
                return this;
            }
        }
        let load = self.task_h_load(task) as i64;
        let capacity = |cpu: CpuId| self.cpu_capacity(cpu) as i64;
        let here = (this_load + load) * 100 * capacity(prev);
        let there = (self.cpu_load(prev) as i64 - load)
            * (100 + (IMBALANCE_PCT as i64 - 100) / 2)
            * capacity(this);
        if here < there + i64::from(sync) {
            this
        } else {
            prev
        }
    }

    /// An idle CPU near the target, or the target (kernel: `select_idle_sibling`).
    fn select_idle_sibling(&mut self, task: TaskId, prev: CpuId, target: CpuId) -> CpuId {
        let allowed = |sched: &Self, cpu: CpuId| {
            sched.rqs[cpu].online && sched.tasks[task].affinity.contains(cpu)
        };
        if allowed(self, target) && self.idle_for(task, target) {
            return target;
        }
        if prev != target
            && self.shares_cache(prev, target)
            && allowed(self, prev)
            && self.idle_for(task, prev)
        {
            return prev;
        }
        let recent = core::mem::replace(&mut self.tasks[task].recent_used_cpu, prev);
        if recent != prev
            && recent != target
            && self.shares_cache(recent, target)
            && allowed(self, recent)
            && self.idle_for(task, recent)
        {
            return recent;
        }
        let cache = self.config.topology.cpus[target.index()].llc as usize;
        let has_smt = self.rqs[target].smt().len() > 1;
        let idle_core = has_smt && self.caches[cache].has_idle_cores;
        if has_smt && !idle_core && self.shares_cache(prev, target) {
            let threads = self.rqs[prev].smt();
            let free = |&thread: &CpuId| allowed(self, thread) && self.idle_for(task, thread);
            if let Some(&thread) = threads
                .iter()
                .find(|thread| **thread != prev && free(thread))
            {
                return thread;
            }
        }
        let (found, looked_at) = self.select_idle_cpu(task, target, idle_core);
        self.cpus_searched += looked_at;
        if idle_core && !found.is_some_and(|cpu| self.is_core_idle(cpu)) {
            self.caches[cache].has_idle_cores = false;
        }
        found.unwrap_or(target)
    }

    /// Looks behind the target for a core that is idle as a whole, if there may be one; otherwise at as many CPUs as are
    /// worth it for an idle one. What it found, and how many CPUs it looked at (kernel: `select_idle_cpu`,
    /// `select_idle_core`).
    fn select_idle_cpu(
        &self,
        task: TaskId,
        target: CpuId,
        idle_core: bool,
    ) -> (Option<CpuId>, u32) {
        let llc = self.rqs[target].llc();
        let cache = self.config.topology.cpus[target.index()].llc as usize;
        let most = if idle_core {
            llc.len()
        } else {
            self.caches[cache].nr_idle_scan as usize
        };
        let start = llc.partition_point(|&cpu| cpu <= target);
        let (mut thread, mut looked_at) = (None, 0);
        for &cpu in llc[start..].iter().chain(&llc[..start]).take(most) {
            looked_at += 1;
            if !self.rqs[cpu].online
                || !self.tasks[task].affinity.contains(cpu)
                || !self.idle_for(task, cpu)
            {
                continue;
            }
            if !idle_core || self.is_core_idle(cpu) {
                return (Some(cpu), looked_at);
            }
            thread = thread.or(Some(cpu));
        }
        (thread, looked_at)
    }

    /// A CPU went idle: if its whole core is idle now, wakeups look for idle cores (kernel: `__update_idle_core`).
    pub(crate) fn update_idle_core(&mut self, cpu: CpuId) {
        let cache = self.config.topology.cpus[cpu.index()].llc as usize;
        if self.rqs[cpu].smt().len() > 1
            && !self.caches[cache].has_idle_cores
            && self.is_core_idle(cpu)
        {
            self.caches[cache].has_idle_cores = true;
        }
    }

    /// Idle, or running only `SCHED_IDLE` tasks while this one is not (kernel: `available_idle_cpu`,
    /// `sched_idle_cpu`).
    fn idle_for(&self, task: TaskId, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        rq.is_idle()
            || self.tasks[task].policy != Policy::Idle
                && rq.nr_running > 0
                && rq.fifo.is_empty()
                && rq
                    .cfs_tasks
                    .iter()
                    .all(|&other| self.tasks[other].policy == Policy::Idle)
    }

    fn shares_cache(&self, a: CpuId, b: CpuId) -> bool {
        let cpus = &self.config.topology.cpus;
        cpus[a.index()].llc == cpus[b.index()].llc
    }

    /// Average load of a CPU (kernel: `cpu_load`).
    pub(crate) fn cpu_load(&self, cpu: CpuId) -> u64 {
        self.queues[self.rqs[cpu].root].avg.load_avg
    }

    /// A task's part of its CPU's load (kernel: `task_h_load`).
    pub(crate) fn task_h_load(&self, task: TaskId) -> u64 {
        let entity = &self.entities[self.tasks[task].entity];
        let mut load = entity.avg.load_avg;
        let mut queue = entity.cfs_rq;
        while let Some(group_entity) = self.queues[queue].entity {
            let whole = self.queues[queue].avg.load_avg + 1;
            load = load * self.entities[group_entity].avg.load_avg / whole;
            queue = self.entities[group_entity].cfs_rq;
        }
        load
    }
}
