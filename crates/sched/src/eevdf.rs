//! EEVDF: earliest eligible virtual deadline first.
//!
//! An entity is *eligible* while its vruntime is not past V, the weighted average of the queued
//! vruntimes: then it has received no more than its share. Among the eligible ones the earliest
//! deadline runs. *Lag* is V - vruntime, what an entity is owed; it is kept while it sleeps.
//!
//! V = v0 + sum(w (v - v0)) / sum(w), with the quotient rounded down. The sums run over the timeline;
//! the current entity is added where V is needed.

use crate::event::Observer;
use crate::flags::Enqueue;
use crate::timeline::Slot;
use crate::weight::calc_delta_fair;
use crate::{CfsRqId, EntityId, PickRule, Release, Sched, Weight};

/// The shortest protection where parity is not asked for, and the base of the base slice.
const UNSCALED_BASE_SLICE: u64 = 700_000;

/// Slice of an entity that has none of its own: 0.7 ms x (1 + log2 of the CPUs, of which at most 8
/// count) (kernel: `get_update_sysctl_factor`).
pub fn base_slice(online_cpus: usize) -> u64 {
    UNSCALED_BASE_SLICE * crate::sched::tunable_factor(online_cpus)
}

impl<O: Observer> Sched<O> {
    /// The queue in whose timeline an entity stands: its own queue; under the flat pick the CPU's root.
    #[inline]
    pub(crate) fn timeline_queue(&self, entity: EntityId) -> CfsRqId {
        let queue = self.entities[entity].cfs_rq;
        if self.flat() {
            self.rqs[self.queues[queue].cpu].root
        } else {
            queue
        }
    }

    /// The entity of a timeline that runs now: it is queued, but not in the timeline.
    #[inline]
    pub(crate) fn timeline_curr(&self, queue: CfsRqId) -> Option<EntityId> {
        if self.flat() {
            self.rqs[self.queues[queue].cpu].flat_curr
        } else {
            self.queues[queue].curr
        }
    }

    #[inline]
    fn queued_timeline_curr(&self, queue: CfsRqId) -> Option<EntityId> {
        self.timeline_curr(queue)
            .filter(|&curr| self.entities[curr].on_rq)
    }

    /// The weight that counts in V: up to 6.18 the small numbers, later the scaled ones
    /// (kernel: `avg_vruntime_weight`).
    #[inline]
    fn average_weight(&self, weight: Weight) -> i64 {
        match self.config.kernel.release {
            Release::V6_1 | Release::V6_3 | Release::V6_12 | Release::V6_18 => {
                weight.unscaled() as i64
            }
            Release::V7_2 | Release::V7_3 => weight.0 as i64,
        }
    }

    /// Puts an entity into its timeline (kernel: `__enqueue_entity`).
    pub(crate) fn timeline_insert(&mut self, entity: EntityId) {
        let queue = self.timeline_queue(entity);
        let (vruntime, deadline, weight) = {
            let e = &self.entities[entity];
            (e.vruntime, e.deadline, self.average_weight(e.h_load))
        };
        let q = &mut self.queues[queue];
        let key = if self.config.kernel.pick_rule() == PickRule::Cfs {
            vruntime
        } else {
            deadline
        };
        if q.timeline.len() == 0 && q.sum_weight == 0 {
            q.zero_vruntime = vruntime;
        }
        q.sum_w_vruntime += i128::from(vruntime - q.zero_vruntime) * i128::from(weight);
        q.sum_weight += weight;
        q.timeline.insert(Slot {
            key,
            vruntime,
            entity,
        });
    }

    /// Takes an entity out of its timeline (kernel: `__dequeue_entity`).
    pub(crate) fn timeline_remove(&mut self, entity: EntityId) {
        let queue = self.timeline_queue(entity);
        let (vruntime, deadline, weight) = {
            let e = &self.entities[entity];
            (e.vruntime, e.deadline, self.average_weight(e.h_load))
        };
        let q = &mut self.queues[queue];
        let key = if self.config.kernel.pick_rule() == PickRule::Cfs {
            vruntime
        } else {
            deadline
        };
        q.timeline.remove(key, entity);
        q.sum_w_vruntime -= i128::from(vruntime - q.zero_vruntime) * i128::from(weight);
        q.sum_weight -= weight;
    }

    /// Sum of w (v - v0) and sum of w, the current entity included.
    #[inline]
    fn sums(&self, queue: CfsRqId) -> (i128, i64) {
        let q = &self.queues[queue];
        let (mut sum, mut weight) = (q.sum_w_vruntime, q.sum_weight);
        if let Some(curr) = self.queued_timeline_curr(queue) {
            let e = &self.entities[curr];
            let w = self.average_weight(e.h_load);
            sum += i128::from(e.vruntime - q.zero_vruntime) * i128::from(w);
            weight += w;
        }
        (sum, weight)
    }

    /// V of a queue (kernel: `avg_vruntime`).
    pub(crate) fn avg_vruntime(&mut self, queue: CfsRqId) -> i64 {
        let (sum, weight) = self.sums(queue);
        let q = &mut self.queues[queue];
        if weight == 0 {
            return q.zero_vruntime;
        }
        let delta = floor_divide(sum, weight);
        // The reference follows the average, so that the sums stay small.
        q.sum_w_vruntime -= i128::from(delta) * i128::from(q.sum_weight);
        q.zero_vruntime += delta;
        q.zero_vruntime
    }

    /// Whether an entity with this vruntime has received no more than its share (kernel:
    /// `vruntime_eligible`).
    #[inline]
    pub(crate) fn vruntime_eligible(&self, queue: CfsRqId, vruntime: i64) -> bool {
        let (sum, weight) = self.sums(queue);
        sum >= i128::from(vruntime - self.queues[queue].zero_vruntime) * i128::from(weight)
    }

    /// [`Self::vruntime_eligible`] of a queued entity (kernel: `entity_eligible`).
    #[inline]
    pub(crate) fn entity_eligible(&self, entity: EntityId) -> bool {
        self.vruntime_eligible(self.timeline_queue(entity), self.entities[entity].vruntime)
    }

    /// Lag that an entity has now, limited (kernel: `entity_lag`).
    pub(crate) fn entity_lag(&mut self, entity: EntityId) -> i64 {
        let queue = self.timeline_queue(entity);
        let tick = self.config.tick.0;
        let slice = match self.config.kernel.release {
            Release::V7_2 | Release::V7_3 => {
                self.max_slice(queue).max(self.entities[entity].slice) + tick
            }
            _ => (2 * self.entities[entity].slice).max(tick),
        };
        let limit = self.virtual_time(slice, entity);
        (self.avg_vruntime(queue) - self.entities[entity].vruntime).clamp(-limit, limit)
    }

    /// Stores the lag of an entity that leaves or changes (kernel: `update_entity_lag`).
    pub(crate) fn update_entity_lag(&mut self, entity: EntityId) {
        self.entities[entity].vlag = self.entity_lag(entity);
    }

    /// Virtual time of an entity in `delta` ns.
    #[inline]
    pub(crate) fn virtual_time(&self, delta: u64, entity: EntityId) -> i64 {
        calc_delta_fair(
            self.config.kernel.pick_rule(),
            delta,
            self.entities[entity].h_load,
        ) as i64
    }

    /// Gives an entity that joins a queue its vruntime and deadline (kernel: `place_entity`).
    pub(crate) fn place_entity(&mut self, entity: EntityId, flags: Enqueue) {
        let queue = self.timeline_queue(entity);
        let v = self.avg_vruntime(queue);
        if !self.entities[entity].custom_slice {
            self.entities[entity].slice = self.base_slice;
        }
        let e = &self.entities[entity];
        let own = self.average_weight(e.h_load);
        let weight = self.sums_without(queue, entity);
        let mut lag = 0;
        if weight > 0 && e.vlag != 0 {
            // Joining moves V towards the newcomer; this makes its lag right after that.
            lag = (i128::from(e.vlag) * i128::from(weight + own) / i128::from(weight)) as i64;
        }
        let mut vslice = self.virtual_time(e.slice, entity);
        let e = &mut self.entities[entity];
        e.vruntime = v - lag;
        if e.rel_deadline {
            e.deadline += e.vruntime;
            e.rel_deadline = false;
            return;
        }
        if flags.initial {
            // A newcomer may not use up a full slice before it has shown what it is.
            vslice /= 2;
        }
        e.deadline = e.vruntime + vslice;
    }

    /// An entity leaves its queue without sleeping: what is left of its request goes with it (kernel:
    /// `PLACE_REL_DEADLINE`).
    pub(crate) fn make_deadline_relative(&mut self, entity: EntityId) {
        let e = &mut self.entities[entity];
        e.deadline -= e.vruntime;
        e.rel_deadline = true;
    }

    /// Weight of the queued entities of a timeline.
    ///
    /// A current entity that is being placed again is not queued at that moment.
    #[inline]
    fn sums_without(&self, queue: CfsRqId, entity: EntityId) -> i64 {
        let mut weight = self.queues[queue].sum_weight;
        if let Some(curr) = self.queued_timeline_curr(queue)
            && curr != entity
        {
            weight += self.average_weight(self.entities[curr].h_load);
        }
        weight
    }

    /// Starts a new request once the current one is used up; returns whether it did (kernel:
    /// `update_deadline`).
    pub(crate) fn update_deadline(&mut self, entity: EntityId) -> bool {
        let e = &mut self.entities[entity];
        if e.vruntime < e.deadline {
            return false;
        }
        if !e.custom_slice {
            e.slice = self.base_slice;
        }
        let slice = e.slice;
        let vslice = self.virtual_time(slice, entity);
        let e = &mut self.entities[entity];
        e.deadline = e.vruntime + vslice;
        true
    }

    /// Shortest slice among the queued entities of a timeline (kernel: `cfs_rq_min_slice`).
    pub(crate) fn min_slice(&self, queue: CfsRqId) -> u64 {
        if self.custom_slices == 0 {
            return self.base_slice;
        }
        self.slices(queue).min().unwrap_or(self.base_slice)
    }

    /// Longest slice among the queued entities of a timeline (kernel: `cfs_rq_max_slice`).
    fn max_slice(&self, queue: CfsRqId) -> u64 {
        if self.custom_slices == 0 {
            return self.base_slice;
        }
        self.slices(queue).max().unwrap_or(self.base_slice)
    }

    fn slices(&self, queue: CfsRqId) -> impl Iterator<Item = u64> + '_ {
        let queued = self.queues[queue].timeline.iter().map(|slot| slot.entity);
        self.queued_timeline_curr(queue)
            .into_iter()
            .chain(queued)
            .map(|entity| self.entities[entity].slice)
    }

    /// Whether a wakeup may not take the CPU from the current entity yet (kernel: `protect_slice`).
    #[inline]
    pub(crate) fn protected(&self, entity: EntityId) -> bool {
        let e = &self.entities[entity];
        match self.config.kernel.pick_rule() {
            PickRule::Eevdf => e.vprot == e.deadline,
            _ => e.vruntime < e.vprot,
        }
    }

    /// Protects the slice of an entity that becomes current (kernel: `set_protect_slice`).
    pub(crate) fn set_protect_slice(&mut self, entity: EntityId) {
        let queue = self.timeline_queue(entity);
        let deadline = self.entities[entity].deadline;
        let shortest = self.min_slice(queue);
        let shorter = shortest < self.entities[entity].slice;
        let vprot = match self.config.kernel.pick_rule() {
            PickRule::Cfs => return,
            PickRule::EevdfVprot if shorter => {
                deadline.min(self.entities[entity].vruntime + self.virtual_time(shortest, entity))
            }
            // Until it has just ceased to be eligible.
            PickRule::EevdfFlat if shorter => {
                deadline.min(1 + self.avg_vruntime_without_curr(queue))
            }
            // 6.12: until the deadline is renewed, which the copy shows by being no longer equal.
            PickRule::Eevdf | PickRule::EevdfVprot | PickRule::EevdfFlat => deadline,
        };
        self.entities[entity].vprot = vprot;
    }

    /// Shortens the protection after a wakeup that did not preempt (kernel: `update_protect_slice`).
    pub(crate) fn update_protect_slice(&mut self, entity: EntityId) {
        let queue = self.timeline_queue(entity);
        let slice = self.min_slice(queue);
        let base = match self.config.kernel.pick_rule() {
            PickRule::EevdfFlat => self.entities[entity].vruntime.min(self.avg_vruntime(queue)),
            _ => self.entities[entity].vruntime,
        };
        let limit = base + self.virtual_time(slice, entity);
        let e = &mut self.entities[entity];
        e.vprot = e.vprot.min(limit);
    }

    /// Ends the protection (kernel: `cancel_protect_slice`).
    pub(crate) fn cancel_protect_slice(&mut self, entity: EntityId) {
        let eevdf = self.config.kernel.pick_rule() == PickRule::Eevdf;
        let e = &mut self.entities[entity];
        if eevdf {
            e.vprot = e.deadline + 1;
        } else {
            e.vprot = e.vruntime;
        }
    }

    fn avg_vruntime_without_curr(&self, queue: CfsRqId) -> i64 {
        let q = &self.queues[queue];
        if q.sum_weight == 0 {
            q.zero_vruntime
        } else {
            q.zero_vruntime + floor_divide(q.sum_w_vruntime, q.sum_weight)
        }
    }

    /// The entity to run next: the eligible one with the earliest deadline; the current one while it
    /// is protected, if protection counts (kernel: `pick_eevdf`).
    pub(crate) fn pick_eevdf(&self, queue: CfsRqId, protect: bool) -> Option<EntityId> {
        let q = &self.queues[queue];
        let queued_curr = self.queued_timeline_curr(queue);
        if q.timeline.len() + usize::from(queued_curr.is_some()) == 1 {
            return queued_curr.or_else(|| q.timeline.first().map(|slot| slot.entity));
        }
        let (sum, weight) = self.sums(queue);
        let eligible =
            |vruntime: i64| sum >= i128::from(vruntime - q.zero_vruntime) * i128::from(weight);
        let curr = queued_curr.filter(|&curr| eligible(self.entities[curr].vruntime));
        if let Some(curr) = curr
            && protect
            && self.protected(curr)
        {
            return Some(curr);
        }
        let best = q.timeline.iter().find(|slot| eligible(slot.vruntime));
        match (best, curr) {
            (Some(best), Some(curr)) if self.entities[curr].deadline < best.key => Some(curr),
            (Some(best), _) => Some(best.entity),
            (None, curr) => curr,
        }
    }
}

/// Quotient rounded toward minus infinity.
#[inline]
fn floor_divide(sum: i128, weight: i64) -> i64 {
    match i64::try_from(sum) {
        Ok(small) => small.div_euclid(weight),
        Err(_) => sum.div_euclid(i128::from(weight)) as i64,
    }
}
