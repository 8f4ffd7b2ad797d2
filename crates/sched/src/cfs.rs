//! CFS, as in 6.1: the smallest vruntime runs; slices are parts of a latency period.

use crate::event::{Observer, Resched};
use crate::weight::multiply_by_inverse;
use crate::{CfsRqId, EntityId, Policy, Sched, Weight};

/// Tunables at one CPU, before scaling with the number of CPUs; ns.
const LATENCY: u64 = 6_000_000;
const MIN_GRANULARITY: u64 = 750_000;
const WAKEUP_GRANULARITY: u64 = 1_000_000;
/// What an idle entity gets at least among others; not scaled with the number of CPUs.
const IDLE_MIN_GRANULARITY: u64 = 750_000;
/// Entities that fit into a latency period: ceil(latency / min granularity).
const NR_LATENCY: u64 = 8;

impl<O: Observer> Sched<O> {
    fn latency(&self) -> u64 {
        LATENCY * self.tunable_factor
    }

    fn min_granularity(&self) -> u64 {
        MIN_GRANULARITY * self.tunable_factor
    }

    /// Advances the queue's lower bound of vruntime, which never goes back (kernel:
    /// `update_min_vruntime`).
    pub(crate) fn update_min_vruntime(&mut self, queue: CfsRqId) {
        let q = &self.queues[queue];
        let curr = q
            .curr
            .filter(|&curr| self.entities[curr].on_rq)
            .map(|curr| self.entities[curr].vruntime);
        let first = q.timeline.first().map(|slot| slot.vruntime);
        if let Some(smallest) = curr.into_iter().chain(first).min() {
            let q = &mut self.queues[queue];
            q.min_vruntime = q.min_vruntime.max(smallest);
        }
    }

    /// Where a sleeper or a new entity starts (kernel: `place_entity` of 6.1).
    pub(crate) fn place_entity_cfs(&mut self, entity: EntityId, initial: bool) {
        let queue = self.entities[entity].cfs_rq;
        let mut vruntime = self.queues[queue].min_vruntime;
        if initial {
            // A newcomer waits for the slice that it would have had.
            vruntime += self.virtual_time(self.sched_slice(entity), entity);
        } else {
            // A sleeper gets half a latency period of credit, an idle one less.
            let credit = if self.entity_is_idle(entity) {
                self.min_granularity()
            } else {
                self.latency()
            };
            vruntime -= (credit / 2) as i64;
        }
        let e = &mut self.entities[entity];
        e.vruntime = e.vruntime.max(vruntime);
    }

    /// How long an entity should run in one go (kernel: `sched_slice`).
    pub(crate) fn sched_slice(&self, entity: EntityId) -> u64 {
        let cpu = self.queues[self.entities[entity].cfs_rq].cpu;
        let mut running = u64::from(self.queues[self.rqs[cpu].root].h_nr_queued);
        running += u64::from(!self.entities[entity].on_rq);
        let mut slice = if running > NR_LATENCY {
            running * self.min_granularity()
        } else {
            self.latency()
        };
        let mut next = Some(entity);
        while let Some(id) = next {
            let e = &self.entities[id];
            let mut load = self.queues[e.cfs_rq].load;
            if !e.on_rq {
                load += e.weight.0;
            }
            slice = multiply_by_inverse(slice, e.weight.unscaled(), Weight(load));
            next = e.parent;
        }
        let shortest =
            if self.entity_is_idle(entity) && !self.all_idle(self.entities[entity].cfs_rq) {
                IDLE_MIN_GRANULARITY
            } else {
                self.min_granularity()
            };
        slice.max(shortest)
    }

    /// An entity of policy `SCHED_IDLE` (kernel: `se_is_idle`; no group is idle here).
    fn entity_is_idle(&self, entity: EntityId) -> bool {
        self.entities[entity]
            .task()
            .is_some_and(|task| self.tasks[task].policy == Policy::Idle)
    }

    /// The queue has entities, and all of them are idle (kernel: `sched_idle_cfs_rq`).
    fn all_idle(&self, queue: CfsRqId) -> bool {
        let q = &self.queues[queue];
        let curr = q.curr.filter(|&curr| self.entities[curr].on_rq);
        let mut queued = q.timeline.iter().map(|slot| slot.entity).chain(curr);
        q.nr_queued > 0 && queued.all(|entity| self.entity_is_idle(entity))
    }

    /// Kernel: `check_preempt_tick`.
    pub(crate) fn check_preempt_tick(&mut self, queue: CfsRqId, curr: EntityId) {
        let cpu = self.queues[queue].cpu;
        let ideal = self.sched_slice(curr).min(self.latency());
        let e = &self.entities[curr];
        let ran = e.sum_exec_runtime - e.prev_sum_exec_runtime;
        if ran > ideal {
            self.resched_curr(cpu, Resched::Immediate);
            // The current entity is not to be re-picked out of kindness to a buddy.
            self.clear_buddies(curr);
            return;
        }
        if ran < self.min_granularity() {
            return;
        }
        let Some(first) = self.queues[queue].timeline.first() else {
            return;
        };
        let ahead = e.vruntime - first.vruntime;
        if ahead > 0 && ahead as u64 > ideal {
            self.resched_curr(cpu, Resched::Immediate);
        }
    }

    /// Kernel: `pick_next_entity` of 6.1. The queue must not be empty.
    pub(crate) fn pick_next_entity_cfs(&mut self, queue: CfsRqId) -> EntityId {
        let q = &self.queues[queue];
        let vruntime = |entity: EntityId| self.entities[entity].vruntime;
        let curr = q.curr.filter(|&curr| self.entities[curr].on_rq);
        let first = q.timeline.first().map(|slot| slot.entity);
        let left = match (first, curr) {
            (Some(first), Some(curr)) if vruntime(curr) < vruntime(first) => curr,
            (Some(first), _) => first,
            (None, Some(curr)) => curr,
            (None, None) => unreachable!("the caller saw a queued entity"),
        };
        let mut picked = left;
        if q.skip == Some(left) {
            let second = if Some(left) == curr {
                first
            } else {
                let second = q.timeline.second().map(|slot| slot.entity);
                match (second, curr) {
                    (Some(second), Some(curr)) if vruntime(curr) < vruntime(second) => Some(curr),
                    (Some(second), _) => Some(second),
                    (None, curr) => curr,
                }
            };
            if let Some(second) = second
                && self.wakeup_preempts(second, left) < 1
            {
                picked = second;
            }
        }
        if let Some(next) = q.next
            && self.wakeup_preempts(next, left) < 1
        {
            picked = next;
        } else if let Some(last) = q.last
            && self.wakeup_preempts(last, left) < 1
        {
            picked = last;
        }
        picked
    }

    /// 1 if `se` is more than a wakeup granularity behind `curr`, 0 if behind, -1 if not (kernel:
    /// `wakeup_preempt_entity`).
    fn wakeup_preempts(&self, curr: EntityId, se: EntityId) -> i32 {
        let behind = self.entities[curr].vruntime - self.entities[se].vruntime;
        if behind <= 0 {
            return -1;
        }
        let granularity = self.virtual_time(WAKEUP_GRANULARITY * self.tunable_factor, se);
        i32::from(behind > granularity)
    }

    /// Kernel: the end of `check_preempt_wakeup` of 6.1.
    pub(crate) fn check_preempt_wakeup_cfs(&mut self, queue: CfsRqId, se: EntityId, pse: EntityId) {
        self.update_curr(queue);
        if self.wakeup_preempts(se, pse) != 1 {
            return;
        }
        self.set_next_buddy(pse);
        self.resched_curr(self.queues[queue].cpu, Resched::Immediate);
        // With many entities the preempted one is kept close, for its cache.
        if u64::from(self.queues[queue].nr_queued) >= NR_LATENCY
            && self.entities[se].on_rq
            && self.entities[se].task().is_some()
        {
            let mut next = Some(se);
            while let Some(e) = next {
                self.queues[self.entities[e].cfs_rq].last = Some(e);
                next = self.entities[e].parent;
            }
        }
    }
}
