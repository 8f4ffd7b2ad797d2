//! One CPU's part of the scheduler.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use cpumax_bandwidth::Nanos;

use crate::balance::{Domain, MIGRATION_COST, Pull};
use crate::event::Resched;
use crate::topology::DomainLevel;
use crate::{CfsRqId, CpuId, EntityId, TaskId};

/// Kernel: `struct rq`.
#[derive(Clone, Debug)]
pub(crate) struct Rq {
    pub id: CpuId,
    /// The root group's queue.
    pub root: CfsRqId,
    /// The running task; `None` is the idle task.
    pub curr: Option<TaskId>,
    /// Entity of the running task while it is fair; kept under the flat pick only, where the timeline
    /// stands at the root.
    pub flat_curr: Option<EntityId>,
    /// Tasks on this CPU that the core regards as running or queued, those stopped with their
    /// hierarchy (models A, B) or in limbo (models C, D) left out.
    pub nr_running: u32,
    /// Pending reschedule request.
    pub need_resched: Option<Resched>,
    /// Monotonic time of the last update.
    pub clock: Nanos,
    /// Queued `SCHED_FIFO` tasks in order, the running one included.
    pub fifo: VecDeque<TaskId>,
    /// Queued fair tasks, the most recently queued first (kernel: `cfs_tasks`). In reverse: the head
    /// is the end.
    pub cfs_tasks: Vec<TaskId>,
    /// Queues that were granted runtime and wait to be unthrottled here (kernel: `cfsb_csd_list`).
    pub csd_list: Vec<CfsRqId>,
    /// First of the queues whose load must be decayed.
    pub leaf_head: Option<CfsRqId>,
    /// The CPU takes part in scheduling.
    pub online: bool,
    /// The high-resolution tick is programmed for this time.
    pub hrtick: Option<Nanos>,
    /// Its scheduling domains, smallest first.
    pub domains: Vec<Domain>,
    /// What the last tick found to pull.
    pub pulls: Vec<Pull>,
    /// Since when it has been idle.
    pub idle_stamp: Option<Nanos>,
    /// How long it has been idle at a time, lately.
    pub avg_idle: Nanos,
    /// What looking for work has cost at most when it went idle.
    pub max_idle_balance_cost: Nanos,
}

impl Rq {
    pub fn new(id: CpuId, root: CfsRqId, domains: Vec<Domain>) -> Self {
        Self {
            id,
            root,
            curr: None,
            flat_curr: None,
            nr_running: 0,
            need_resched: None,
            clock: Nanos::ZERO,
            fifo: VecDeque::new(),
            cfs_tasks: Vec::new(),
            csd_list: Vec::new(),
            leaf_head: None,
            online: true,
            hrtick: None,
            domains,
            pulls: Vec::new(),
            idle_stamp: None,
            avg_idle: Nanos(2 * MIGRATION_COST),
            max_idle_balance_cost: Nanos(MIGRATION_COST),
        }
    }

    /// Runs its idle task and has nothing to run (kernel: `idle_cpu`).
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.curr.is_none() && self.nr_running == 0
    }

    /// The CPU is idle no more because a task was woken on it (kernel: `ttwu_do_activate`).
    pub fn end_idle(&mut self) {
        if let Some(since) = self.idle_stamp.take() {
            let idle = self.clock.0.saturating_sub(since.0);
            let average = self.avg_idle.0 as i64;
            let average = (average + (idle as i64 - average) / 8) as u64;
            self.avg_idle = Nanos(average.min(2 * self.max_idle_balance_cost.0));
        }
    }

    /// CPUs that share the last-level cache, this one included.
    pub fn llc(&self) -> &[CpuId] {
        let within = self
            .domains
            .iter()
            .take_while(|domain| domain.level <= DomainLevel::Llc);
        within
            .last()
            .map_or(core::slice::from_ref(&self.id), |domain| &domain.span)
    }

    /// Hardware threads of this CPU's core.
    pub fn smt(&self) -> &[CpuId] {
        match self.domains.first() {
            Some(domain) if domain.level == DomainLevel::Smt => &domain.span,
            _ => core::slice::from_ref(&self.id),
        }
    }
}
