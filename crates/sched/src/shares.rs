//! Group shares: the weight that a group's entity has on each CPU.
//!
//! A group's shares are for the whole machine; each CPU gets the part of them that its part of the
//! group's load is. Under the flat pick of 7.3 the shares are first multiplied by how many tasks of the
//! group want to run at once, and a task's weight is flattened over all levels.

use crate::event::Observer;
use crate::flags::Enqueue;
use crate::load::LoadChange;
use crate::{CfsRqId, EntityId, GroupId, PickRule, Release, Sched, Weight};

impl<O: Observer> Sched<O> {
    /// Weight of a group's entity on the CPU of `queue` (kernel: `calc_group_shares`; 7.3 in mode
    /// "concur").
    pub(crate) fn calc_group_shares(&self, queue: CfsRqId) -> Weight {
        let q = &self.queues[queue];
        let group = &self.groups[q.group];
        let mut shares = group.shares.0;
        if self.config.kernel.release == Release::V7_3 {
            let tasks = (group.runnable_avg >> 10).max(1);
            shares *= tasks.min(self.online_cpus as u64);
        }
        let load = (q.load >> 10).max(q.avg.load_avg);
        let total = (group.load_avg + load).saturating_sub(q.tg_load_avg_contrib);
        let part = if total > 0 {
            (u128::from(shares) * u128::from(load) / u128::from(total)) as u64
        } else {
            shares * load
        };
        Weight(part.clamp(Weight::MIN_SHARES.0, shares))
    }

    /// Recomputes the weight of a group entity (kernel: `update_cfs_group`).
    pub(crate) fn update_cfs_group(&mut self, entity: EntityId) {
        let Some(owned) = self.entities[entity].owned_queue() else {
            return;
        };
        let q = &self.queues[owned];
        if self.config.kernel.throttle.per_hierarchy() && q.in_throttled_hierarchy() {
            return;
        }
        let skips_empty = !matches!(self.config.kernel.release, Release::V6_1 | Release::V6_3);
        if skips_empty && q.load == 0 {
            return;
        }
        let weight = self.calc_group_shares(owned);
        if self.entities[entity].weight != weight {
            self.reweight_entity(entity, weight);
        }
    }

    /// Changes the weight of an entity (kernel: `reweight_entity`).
    pub(crate) fn reweight_entity(&mut self, entity: EntityId, weight: Weight) {
        let queue = self.entities[entity].cfs_rq;
        let on_rq = self.entities[entity].on_rq;
        let curr = self.queues[queue].curr == Some(entity);
        let old = self.entities[entity].weight;
        match self.config.kernel.pick_rule() {
            PickRule::Cfs => {
                if on_rq {
                    if curr {
                        self.update_curr(queue);
                    }
                    self.queues[queue].load -= old.0;
                }
                self.set_weight_and_load(entity, weight);
                if on_rq {
                    self.queues[queue].load += weight.0;
                }
                self.entities[entity].h_load = weight;
            }
            PickRule::Eevdf | PickRule::EevdfVprot => {
                if on_rq {
                    self.update_curr(queue);
                    self.update_entity_lag(entity);
                    if !curr {
                        self.timeline_remove(entity);
                    }
                    self.make_deadline_relative(entity);
                    self.entities[entity].on_rq = false;
                    self.queues[queue].load -= old.0;
                }
                self.set_weight_and_load(entity, weight);
                let e = &mut self.entities[entity];
                // Lag in service time stays what it was.
                e.vlag = scale(e.vlag, old, weight);
                if e.rel_deadline {
                    e.deadline = scale(e.deadline, old, weight);
                }
                e.h_load = weight;
                if on_rq {
                    self.place_entity(entity, Enqueue::RESTORE);
                    self.queues[queue].load += weight.0;
                    self.entities[entity].on_rq = true;
                    if !curr {
                        self.timeline_insert(entity);
                    }
                }
            }
            // The weights of the hierarchy are not those that compete: see `reweight_flat`.
            PickRule::EevdfFlat => {
                if on_rq {
                    self.update_curr(queue);
                    self.queues[queue].load -= old.0;
                }
                self.set_weight_and_load(entity, weight);
                if on_rq {
                    self.queues[queue].load += weight.0;
                }
            }
        }
    }

    /// Sets the weight, and the average load that follows from it, in the entity and its queue.
    fn set_weight_and_load(&mut self, entity: EntityId, weight: Weight) {
        self.subtract_entity_load(entity);
        let e = &mut self.entities[entity];
        e.weight = weight;
        e.avg.load_avg = weight.unscaled() * e.avg.load_sum / e.avg.divider();
        self.add_entity_load(entity);
    }

    /// Weight of a task flattened over its hierarchy (7.3, kernel: `__calc_prop_weight`).
    pub(crate) fn flattened_weight(&self, task_entity: EntityId) -> Weight {
        let mut weight = Weight::NICE_0.0;
        let mut entity = task_entity;
        loop {
            let e = &self.entities[entity];
            let Some(parent) = e.parent else {
                // At the top the weight counts as it is.
                let top = (u128::from(weight) * u128::from(e.weight.0)) >> 20;
                return Weight((top as u64).max(2));
            };
            let total = self.queues[e.cfs_rq].load.max(e.weight.0);
            weight =
                ((u128::from(weight) * u128::from(e.weight.0) / u128::from(total)) as u64).max(2);
            entity = parent;
        }
    }

    /// Gives a queued task its present flattened weight, keeping its lag (7.3, kernel:
    /// `reweight_eevdf`).
    pub(crate) fn reweight_flat(&mut self, task_entity: EntityId) {
        let weight = self.flattened_weight(task_entity);
        let old = self.entities[task_entity].h_load;
        if weight == old {
            return;
        }
        if !self.entities[task_entity].on_rq {
            self.rescale_flat(task_entity, weight);
            return;
        }
        let queue = self.timeline_queue(task_entity);
        let curr = self.timeline_curr(queue) == Some(task_entity);
        let v = self.avg_vruntime(queue);
        if !curr {
            self.timeline_remove(task_entity);
        }
        let e = &mut self.entities[task_entity];
        let vlag = scale(v - e.vruntime, old, weight);
        let deadline = scale(e.deadline - e.vruntime, old, weight);
        let vprot = scale(e.vprot - e.vruntime, old, weight);
        e.h_load = weight;
        e.vruntime = v - vlag;
        e.deadline = e.vruntime + deadline;
        e.vprot = e.vruntime + vprot;
        if !curr {
            self.timeline_insert(task_entity);
        }
    }

    /// Gives a task that is not queued another flattened weight, keeping its lag and what is left of its
    /// request in service time (7.3, kernel: `rescale_entity`).
    pub(crate) fn rescale_flat(&mut self, task_entity: EntityId, weight: Weight) {
        let e = &mut self.entities[task_entity];
        e.vlag = scale(e.vlag, e.h_load, weight);
        if e.rel_deadline {
            e.deadline = scale(e.deadline, e.h_load, weight);
        }
        e.h_load = weight;
    }

    /// Sets the shares of a group (kernel: `sched_group_set_shares`).
    pub(crate) fn set_shares(&mut self, group: GroupId, shares: Weight) {
        self.groups[group].shares = shares;
        for cpu in self.cpu_ids() {
            let Some(queue) = self.groups[group].queues[cpu.index()] else {
                continue;
            };
            self.update_rq_clock(cpu);
            let mut entity = self.queues[queue].entity;
            while let Some(e) = entity {
                self.update_load_avg(e, LoadChange::Publish);
                self.update_cfs_group(e);
                entity = self.entities[e].parent;
            }
        }
    }
}

/// A span of virtual time of an entity whose weight changes.
fn scale(span: i64, old: Weight, new: Weight) -> i64 {
    (i128::from(span) * i128::from(old.0) / i128::from(new.0.max(1))) as i64
}
