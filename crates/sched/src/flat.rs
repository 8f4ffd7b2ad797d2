//! The flat pick of 7.3: one timeline of tasks per CPU, at the root.
//!
//! Group entities keep counters, load, weights and runtime, but stand in no timeline. A task competes
//! with its weight flattened over the hierarchy. Every level is charged at every step.

use crate::event::Observer;
use crate::flags::{Dequeue, Enqueue};
use crate::load::LoadChange;
use crate::{CpuId, Sched, TaskId};

impl<O: Observer> Sched<O> {
    /// Kernel: `enqueue_hierarchy` and the placement after it.
    pub(crate) fn enqueue_task_flat(&mut self, task: TaskId, flags: Enqueue) {
        let task_entity = self.tasks[task].entity;
        let cpu = self.tasks[task].cpu;
        let mut next = Some(task_entity);
        while let Some(entity) = next {
            let queue = self.entities[entity].cfs_rq;
            self.update_curr(queue);
            self.update_load_avg(entity, LoadChange::Attach);
            self.update_cfs_group(entity);
            if !self.entities[entity].on_rq {
                self.account_entity_enqueue(entity);
                if entity != task_entity {
                    self.entities[entity].on_rq = true;
                }
                if self.queues[queue].nr_queued == 1 {
                    self.first_entity_queued(queue);
                }
            }
            self.queues[queue].h_nr_queued += 1;
            self.queues[queue].h_nr_runnable += 1;
            next = self.entities[entity].parent;
        }
        let weight = self.flattened_weight(task_entity);
        self.rescale_flat(task_entity, weight);
        self.place_entity(task_entity, flags);
        if self.rqs[cpu].flat_curr != Some(task_entity) {
            self.timeline_insert(task_entity);
        }
        self.entities[task_entity].on_rq = true;
        self.add_nr_running(cpu, 1);
    }

    /// Kernel: `dequeue_hierarchy`; `false`: the task is delayed instead.
    pub(crate) fn dequeue_task_flat(&mut self, task: TaskId, flags: Dequeue) -> bool {
        let task_entity = self.tasks[task].entity;
        let cpu = self.tasks[task].cpu;
        self.update_curr_path(task_entity);
        if !flags.delayed && self.delays_dequeue(task_entity, flags) {
            self.update_load_avg(task_entity, LoadChange::Age);
            self.update_entity_lag(task_entity);
            self.set_delayed(task_entity);
            return false;
        }
        let was_runnable = u32::from(!self.entities[task_entity].sched_delayed);
        self.clear_buddies(task_entity);
        self.update_entity_lag(task_entity);
        if self.rqs[cpu].flat_curr != Some(task_entity) {
            self.timeline_remove(task_entity);
        }
        if !flags.sleep {
            self.make_deadline_relative(task_entity);
        }
        let mut next = Some(task_entity);
        while let Some(entity) = next {
            let queue = self.entities[entity].cfs_rq;
            let leaves = flags.migrating && entity == task_entity;
            self.update_load_avg(
                entity,
                if leaves {
                    LoadChange::Detach
                } else {
                    LoadChange::Publish
                },
            );
            let empties = match self.entities[entity].owned_queue() {
                Some(owned) => self.queues[owned].nr_queued == 0,
                None => true,
            };
            if empties {
                self.entities[entity].on_rq = false;
                self.account_entity_dequeue(entity);
                self.return_cfs_rq_runtime(queue);
            }
            self.update_cfs_group(entity);
            self.queues[queue].h_nr_queued -= 1;
            self.queues[queue].h_nr_runnable -= was_runnable;
            if flags.throttle {
                self.record_throttle_clock(queue);
            }
            if self.queues[queue].nr_queued == 0 {
                self.last_entity_left(queue);
            }
            next = self.entities[entity].parent;
        }
        if flags.delayed {
            self.finish_delayed_dequeue(task_entity);
        }
        self.sub_nr_running(cpu, 1);
        true
    }

    /// Kernel: `pick_task_fair` of 7.3.
    pub(crate) fn pick_task_flat(&mut self, cpu: CpuId) -> Option<TaskId> {
        let root = self.rqs[cpu].root;
        loop {
            if self.queues[root].h_nr_queued == 0 {
                return None;
            }
            if let Some(curr) = self.rqs[cpu].flat_curr
                && self.entities[curr].on_rq
            {
                self.update_curr_path(curr);
            }
            let picked = match self.queues[root].next {
                Some(next) if self.entity_eligible(next) => next,
                _ => self.pick_eevdf(root, true)?,
            };
            if self.entities[picked].sched_delayed {
                self.dequeue_delayed(picked);
            } else {
                return self.entities[picked].task();
            }
        }
    }

    /// Kernel: `put_prev_task_fair` of 7.3.
    pub(crate) fn put_prev_task_flat(&mut self, task: TaskId) {
        let task_entity = self.tasks[task].entity;
        let cpu = self.tasks[task].cpu;
        let queued = self.entities[task_entity].on_rq;
        if queued {
            self.update_curr_path(task_entity);
        }
        let mut next = Some(task_entity);
        while let Some(entity) = next {
            let queue = self.entities[entity].cfs_rq;
            self.queues[queue].curr = None;
            if self.entities[entity].on_rq {
                self.update_load_avg(entity, LoadChange::Age);
            }
            next = self.entities[entity].parent;
        }
        self.rqs[cpu].flat_curr = None;
        if queued {
            self.timeline_insert(task_entity);
        }
    }

    /// Kernel: `set_next_task_fair` of 7.3: a zero charge on every level up to the root.
    pub(crate) fn set_next_task_flat(&mut self, task: TaskId) {
        let task_entity = self.tasks[task].entity;
        let cpu = self.tasks[task].cpu;
        let clock = self.rqs[cpu].clock;
        let queued = self.entities[task_entity].on_rq;
        self.clear_buddies(task_entity);
        if queued {
            self.timeline_remove(task_entity);
        }
        self.rqs[cpu].flat_curr = Some(task_entity);
        let mut throttled = false;
        let mut next = Some(task_entity);
        while let Some(entity) = next {
            let queue = self.entities[entity].cfs_rq;
            if self.entities[entity].on_rq {
                self.update_load_avg(entity, LoadChange::Publish);
            }
            let e = &mut self.entities[entity];
            e.exec_start = clock;
            e.prev_sum_exec_runtime = e.sum_exec_runtime;
            self.queues[queue].curr = Some(entity);
            throttled |= self.account_cfs_rq_runtime(queue, 0);
            next = self.entities[entity].parent;
        }
        if queued {
            self.reweight_flat(task_entity);
            self.set_protect_slice(task_entity);
        }
        if throttled {
            self.task_throttle_setup_work(task);
        }
    }
}
