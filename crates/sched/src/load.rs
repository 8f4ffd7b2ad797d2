//! Load tracking of entities and queues: when averages are brought up to date, and how a change at
//! one level is carried to the levels above.
//!
//! Kernel: the PELT part of `fair.c`.

use cpumax_bandwidth::Nanos;

use crate::cfs_rq::Removed;
use crate::event::Observer;
use crate::pelt::LOAD_AVG_MAX;
use crate::{CfsRqId, CpuId, EntityId, GroupId, Release, Sched};

/// The least divider of an average; sums are kept at or above average times this, so that rounding
/// cannot leave an average without a sum.
const MIN_DIVIDER: u64 = LOAD_AVG_MAX - 1024;

/// What else [`Sched::update_load_avg`] does beside ageing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadChange {
    /// Nothing, and the group's sum is left alone.
    Age,
    /// Publish to the group's sum if the queue's average changed.
    Publish,
    /// The entity joins: attach it if it is not attached.
    Attach,
    /// The entity leaves for another queue.
    Detach,
}

impl<O: Observer> Sched<O> {
    /// PELT time of a queue: the CPU's, less the time it was frozen; it stands still while frozen
    /// (kernel: `cfs_rq_clock_pelt`).
    pub(crate) fn clock_pelt(&self, queue: CfsRqId) -> u64 {
        let q = &self.queues[queue];
        let now = if self.pelt_frozen(queue) {
            q.throttled_clock_pelt
        } else {
            self.rqs[q.cpu].clock.0
        };
        now - q.throttled_clock_pelt_time
    }

    /// Whether the queue's PELT clock stands still.
    pub(crate) fn pelt_frozen(&self, queue: CfsRqId) -> bool {
        let q = &self.queues[queue];
        if self.config.kernel.throttle.per_hierarchy() {
            q.throttle_count > 0
        } else {
            q.pelt_clock_throttled
        }
    }

    /// Ages an entity and its queue, carries pending changes up, and attaches, detaches or publishes
    /// (kernel: `update_load_avg`).
    pub(crate) fn update_load_avg(&mut self, entity: EntityId, change: LoadChange) {
        let queue = self.entities[entity].cfs_rq;
        let now = self.clock_pelt(queue);
        if self.entities[entity].avg.last_update_time != 0 {
            self.age_entity(entity, now);
        }
        let mut changed = self.age_queue(queue, now);
        changed |= self.propagate_entity_load_avg(entity);
        match change {
            LoadChange::Attach if self.entities[entity].avg.last_update_time == 0 => {
                self.attach_entity_load(entity);
                self.update_tg_load_avg(queue);
            }
            LoadChange::Detach => {
                self.detach_entity_load(entity);
                self.update_tg_load_avg(queue);
            }
            LoadChange::Attach | LoadChange::Publish if changed => self.update_tg_load_avg(queue),
            _ => {}
        }
    }

    /// Kernel: `__update_load_avg_se`.
    fn age_entity(&mut self, entity: EntityId, now: u64) {
        let e = &self.entities[entity];
        let runnable = match e.owned_queue() {
            Some(owned) => u64::from(self.queues[owned].h_nr_runnable),
            None => u64::from(e.on_rq && !e.sched_delayed),
        };
        let load = u64::from(e.on_rq);
        let running = self.queues[e.cfs_rq].curr == Some(entity);
        let e = &mut self.entities[entity];
        if e.avg.update_sums(now, load, runnable, running) {
            e.avg.update_averages(e.weight.unscaled());
        }
    }

    /// Takes over what left and ages the queue; returns whether its averages changed (kernel:
    /// `update_cfs_rq_load_avg`).
    pub(crate) fn age_queue(&mut self, queue: CfsRqId, now: u64) -> bool {
        let q = &mut self.queues[queue];
        let mut changed = false;
        if q.removed.nr > 0 {
            let removed = core::mem::take(&mut q.removed);
            let divider = q.avg.divider();
            subtract_load(
                &mut q.avg.load_avg,
                &mut q.avg.load_sum,
                removed.load_avg,
                removed.load_avg * divider,
            );
            subtract_load(
                &mut q.avg.util_avg,
                &mut q.avg.util_sum,
                removed.util_avg,
                removed.util_avg * divider,
            );
            subtract_load(
                &mut q.avg.runnable_avg,
                &mut q.avg.runnable_sum,
                removed.runnable_avg,
                removed.runnable_avg * divider,
            );
            q.propagate = true;
            q.prop_runnable_sum -= ((removed.runnable_avg * divider) >> 10) as i64;
            changed = true;
        }
        let weight = q.load >> 10;
        let load = if q.load > 0 { weight.max(2) } else { 0 };
        let (runnable, running) = (u64::from(q.h_nr_runnable), q.curr.is_some());
        if q.avg.update_sums(now, load, runnable, running) {
            q.avg.update_averages(1);
            changed = true;
        }
        changed
    }

    /// Kernel: `attach_entity_load_avg`.
    pub(crate) fn attach_entity_load(&mut self, entity: EntityId) {
        let queue = self.entities[entity].cfs_rq;
        let q = &mut self.queues[queue];
        let e = &mut self.entities[entity];
        let divider = q.avg.divider();
        // Starts in step with the queue.
        e.avg.last_update_time = q.avg.last_update_time;
        e.avg.period_contrib = q.avg.period_contrib;
        e.avg.util_sum = e.avg.util_avg * divider;
        e.avg.runnable_sum = e.avg.runnable_avg * divider;
        let weight = e.weight.unscaled();
        let load_sum = e.avg.load_avg * divider;
        e.avg.load_sum = if weight < load_sum {
            load_sum / weight
        } else {
            1
        };

        q.avg.load_avg += e.avg.load_avg;
        q.avg.load_sum += weight * e.avg.load_sum;
        q.avg.util_avg += e.avg.util_avg;
        q.avg.util_sum += e.avg.util_sum;
        q.avg.runnable_avg += e.avg.runnable_avg;
        q.avg.runnable_sum += e.avg.runnable_sum;
        q.propagate = true;
        q.prop_runnable_sum += e.avg.load_sum as i64;
    }

    /// Kernel: `detach_entity_load_avg`.
    pub(crate) fn detach_entity_load(&mut self, entity: EntityId) {
        let queue = self.entities[entity].cfs_rq;
        self.subtract_entity_load(entity);
        let q = &mut self.queues[queue];
        let e = &mut self.entities[entity];
        subtract_load(
            &mut q.avg.util_avg,
            &mut q.avg.util_sum,
            e.avg.util_avg,
            e.avg.util_sum,
        );
        subtract_load(
            &mut q.avg.runnable_avg,
            &mut q.avg.runnable_sum,
            e.avg.runnable_avg,
            e.avg.runnable_sum,
        );
        q.propagate = true;
        q.prop_runnable_sum -= e.avg.load_sum as i64;
        e.avg.last_update_time = 0;
    }

    /// Takes an entity's load out of its queue's (kernel: `dequeue_load_avg`).
    pub(crate) fn subtract_entity_load(&mut self, entity: EntityId) {
        let e = &self.entities[entity];
        let (load_avg, load_sum) = (e.avg.load_avg, e.weight.unscaled() * e.avg.load_sum);
        let q = &mut self.queues[e.cfs_rq];
        subtract_load(&mut q.avg.load_avg, &mut q.avg.load_sum, load_avg, load_sum);
    }

    /// Puts an entity's load into its queue's (kernel: `enqueue_load_avg`).
    pub(crate) fn add_entity_load(&mut self, entity: EntityId) {
        let e = &self.entities[entity];
        let (load_avg, load_sum) = (e.avg.load_avg, e.weight.unscaled() * e.avg.load_sum);
        let q = &mut self.queues[e.cfs_rq];
        q.avg.load_avg += load_avg;
        q.avg.load_sum += load_sum;
    }

    /// Carries a change of the owned queue's load into the group entity and its queue (kernel:
    /// `propagate_entity_load_avg`).
    fn propagate_entity_load_avg(&mut self, entity: EntityId) -> bool {
        let Some(owned) = self.entities[entity].owned_queue() else {
            return false;
        };
        if !self.queues[owned].propagate {
            return false;
        }
        let queue = self.entities[entity].cfs_rq;
        self.queues[owned].propagate = false;
        let change = core::mem::take(&mut self.queues[owned].prop_runnable_sum);
        let owned_avg = self.queues[owned].avg;
        let owned_weight = self.queues[owned].load >> 10;
        let q = &mut self.queues[queue];
        q.propagate = true;
        q.prop_runnable_sum += change;
        let divider = q.avg.divider();
        let e = &mut self.entities[entity];

        replace_average(
            (&mut e.avg.util_avg, &mut e.avg.util_sum),
            owned_avg.util_avg,
            divider,
            (&mut q.avg.util_avg, &mut q.avg.util_sum),
        );
        replace_average(
            (&mut e.avg.runnable_avg, &mut e.avg.runnable_sum),
            owned_avg.runnable_avg,
            divider,
            (&mut q.avg.runnable_avg, &mut q.avg.runnable_sum),
        );
        if change == 0 {
            return true;
        }
        // The load of a group entity is its weight times the time that something in it was runnable.
        let runnable = if change > 0 {
            (e.avg.load_sum + change as u64).min(divider)
        } else {
            let shared = owned_avg.load_sum.checked_div(owned_weight).unwrap_or(0);
            e.avg.load_sum.min(shared)
        };
        let runnable = runnable.max(e.avg.util_sum >> 10);
        let weight = e.weight.unscaled();
        let (load_sum, load_avg) = (weight * runnable, weight * runnable / divider);
        let delta_sum = load_sum as i64 - (weight * e.avg.load_sum) as i64;
        let delta_avg = load_avg as i64 - e.avg.load_avg as i64;
        if delta_avg != 0 {
            e.avg.load_sum = runnable;
            e.avg.load_avg = load_avg;
            add_signed(
                &mut q.avg.load_avg,
                &mut q.avg.load_sum,
                delta_avg,
                delta_sum,
            );
        }
        true
    }

    /// Publishes a queue's load to its group's sum, if it changed by more than 1/64 (kernel:
    /// `update_tg_load_avg`).
    pub(crate) fn update_tg_load_avg(&mut self, queue: CfsRqId) {
        let release = self.config.kernel.release;
        let q = &mut self.queues[queue];
        if q.group == GroupId::ROOT {
            return;
        }
        let clock = self.rqs[q.cpu].clock;
        // From 6.12 on at most once a millisecond.
        let limited = !matches!(release, Release::V6_1 | Release::V6_3);
        if limited && clock.0 - q.last_update_tg_load_avg.0 < 1_000_000 {
            return;
        }
        let exceeds = |new: u64, old: u64| new.abs_diff(old) > old / 64;
        let flat = release == Release::V7_3;
        let due = exceeds(q.avg.load_avg, q.tg_load_avg_contrib)
            || flat && exceeds(q.avg.runnable_avg, q.tg_runnable_avg_contrib);
        if !due {
            return;
        }
        let group = &mut self.groups[q.group];
        group.load_avg = group.load_avg + q.avg.load_avg - q.tg_load_avg_contrib;
        q.tg_load_avg_contrib = q.avg.load_avg;
        if flat {
            group.runnable_avg =
                group.runnable_avg + q.avg.runnable_avg - q.tg_runnable_avg_contrib;
            q.tg_runnable_avg_contrib = q.avg.runnable_avg;
        }
        q.last_update_tg_load_avg = clock;
    }

    /// A sleeping task goes to another CPU: its load stays behind as "removed" (kernel:
    /// `remove_entity_load_avg`).
    pub(crate) fn remove_entity_load(&mut self, entity: EntityId) {
        let queue = self.entities[entity].cfs_rq;
        if self.entities[entity].avg.last_update_time == 0 {
            return;
        }
        let until = self.queues[queue].avg.last_update_time;
        self.age_entity(entity, until);
        let e = &mut self.entities[entity];
        let removed = &mut self.queues[queue].removed;
        *removed = Removed {
            nr: removed.nr + 1,
            load_avg: removed.load_avg + e.avg.load_avg,
            util_avg: removed.util_avg + e.avg.util_avg,
            runnable_avg: removed.runnable_avg + e.avg.load_avg,
        };
        e.avg.last_update_time = 0;
    }

    /// Starting averages of a new task: full load, and utilisation by its share of the queue's
    /// (kernel: `init_entity_runnable_average`, `post_init_entity_util_avg`).
    pub(crate) fn init_task_load(&mut self, entity: EntityId) {
        let weight = self.entities[entity].weight.unscaled();
        let q = &self.queues[self.entities[entity].cfs_rq].avg;
        let spare_half = (1024_u64.saturating_sub(q.util_avg)) / 2;
        let util = if q.util_avg == 0 {
            spare_half
        } else {
            (q.util_avg * weight / (q.load_avg + 1)).min(spare_half)
        };
        let avg = &mut self.entities[entity].avg;
        avg.load_avg = weight;
        avg.util_avg = util;
        avg.runnable_avg = util;
    }

    /// Decays the load of a CPU's queues that nothing else touches (kernel:
    /// `update_blocked_averages`).
    pub(crate) fn update_blocked_averages(&mut self, cpu: CpuId) {
        let mut next = self.rqs[cpu].leaf_head;
        while let Some(queue) = next {
            next = self.queues[queue].leaf_next;
            let now = self.clock_pelt(queue);
            if self.age_queue(queue, now) {
                self.update_tg_load_avg(queue);
            }
            if let Some(entity) = self.queues[queue].entity
                && !self.nothing_to_age(entity)
            {
                self.update_load_avg(entity, LoadChange::Publish);
            }
            if self.queues[queue].is_decayed() && !self.child_on_leaf_list(queue) {
                self.leaf_remove(queue);
            }
        }
    }

    /// A queue below still decays, and its load passes through here (kernel: `child_cfs_rq_on_list`).
    fn child_on_leaf_list(&self, queue: CfsRqId) -> bool {
        self.queues[queue]
            .children
            .iter()
            .any(|&child| self.queues[child].on_leaf_list)
    }

    /// An idle group entity without load and without changes below (kernel: `skip_blocked_update`).
    fn nothing_to_age(&self, entity: EntityId) -> bool {
        let e = &self.entities[entity];
        let owned = e.owned_queue().map(|queue| &self.queues[queue]);
        e.avg.load_avg == 0 && e.avg.util_avg == 0 && owned.is_some_and(|queue| !queue.propagate)
    }

    /// Puts a queue and its missing ancestors on the CPU's list, each before its parent (kernel:
    /// `list_add_leaf_cfs_rq`). The root queue is never listed: it stands behind all.
    pub(crate) fn leaf_add(&mut self, queue: CfsRqId) {
        let mut queue = queue;
        let mut before: Option<CfsRqId> = None;
        // A newcomer is put behind the one that was added below it.
        loop {
            if self.queues[queue].parent.is_none() || self.queues[queue].on_leaf_list {
                break;
            }
            self.leaf_insert_after(queue, before);
            before = Some(queue);
            queue = self.queues[queue].parent.expect("checked: it has one");
        }
        // The chain was put at the front, so the listed ancestor, wherever it is, stands behind it.
    }

    /// Inserts at the front, or behind `after`.
    fn leaf_insert_after(&mut self, queue: CfsRqId, after: Option<CfsRqId>) {
        let cpu = self.queues[queue].cpu;
        let next = match after {
            Some(after) => self.queues[after].leaf_next.replace(queue),
            None => self.rqs[cpu].leaf_head.replace(queue),
        };
        if let Some(next) = next {
            self.queues[next].leaf_prev = Some(queue);
        }
        let q = &mut self.queues[queue];
        q.leaf_prev = after;
        q.leaf_next = next;
        q.on_leaf_list = true;
    }

    /// Takes a queue off the list (kernel: `list_del_leaf_cfs_rq`).
    pub(crate) fn leaf_remove(&mut self, queue: CfsRqId) {
        let q = &mut self.queues[queue];
        if !q.on_leaf_list {
            return;
        }
        q.on_leaf_list = false;
        let (prev, next, cpu) = (q.leaf_prev.take(), q.leaf_next.take(), q.cpu);
        match prev {
            Some(prev) => self.queues[prev].leaf_next = next,
            None => self.rqs[cpu].leaf_head = next,
        }
        if let Some(next) = next {
            self.queues[next].leaf_prev = prev;
        }
    }

    /// CPU clock of a queue.
    #[inline]
    pub(crate) fn clock(&self, queue: CfsRqId) -> Nanos {
        self.rqs[self.queues[queue].cpu].clock
    }
}

/// Subtracts without going below zero, and keeps the sum at least as large as the average demands.
fn subtract_load(avg: &mut u64, sum: &mut u64, less_avg: u64, less_sum: u64) {
    *avg = avg.saturating_sub(less_avg);
    *sum = sum.saturating_sub(less_sum).max(*avg * MIN_DIVIDER);
}

fn add_signed(avg: &mut u64, sum: &mut u64, delta_avg: i64, delta_sum: i64) {
    *avg = avg.saturating_add_signed(delta_avg);
    *sum = sum.saturating_add_signed(delta_sum).max(*avg * MIN_DIVIDER);
}

/// The entity takes over an average of its owned queue; the difference goes to the queue it is in.
#[expect(
    clippy::needless_pass_by_value,
    reason = "each pair is two references into one struct"
)]
fn replace_average(
    entity: (&mut u64, &mut u64),
    new: u64,
    divider: u64,
    queue: (&mut u64, &mut u64),
) {
    let delta_avg = new as i64 - *entity.0 as i64;
    if delta_avg == 0 {
        return;
    }
    let new_sum = new * divider;
    let delta_sum = new_sum as i64 - *entity.1 as i64;
    *entity.0 = new;
    *entity.1 = new_sum;
    add_signed(queue.0, queue.1, delta_avg, delta_sum);
}
