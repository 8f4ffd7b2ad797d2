//! The life of a task: created, woken, moved, changed.
//!
//! Kernel: `try_to_wake_up`, `wake_up_new_task`, `__set_cpus_allowed_ptr`, `sched_move_task`,
//! `set_user_nice`, `__sched_setscheduler` in `core.c`.

use cpumax_bandwidth::Nanos;

use crate::cfs_rq::CfsRq;
use crate::entity::{Entity, Owner};
use crate::event::{Event, Observer, Resched, Work};
use crate::flags::{Dequeue, Enqueue};
use crate::load::LoadChange;
use crate::task::{Task, TaskParams, TaskState};
use crate::{
    CpuId, CpuMask, GroupId, Nice, PickRule, Policy, Sched, TaskId, ThrottleModel, Weight,
};

impl<O: Observer> Sched<O> {
    /// Makes a task. It sleeps, and counts as having run on `cpu` last.
    pub fn create_task(&mut self, params: TaskParams, cpu: CpuId) -> TaskId {
        let queue = self.queue_of(params.group, cpu);
        let parent = self.queues[queue].entity;
        let task = self.tasks.next_id();
        let weight = policy_weight(params.policy, params.nice);
        let entity = self
            .entities
            .push(Entity::new(Owner::Task(task), queue, parent, weight));
        self.entities[entity].slice = self.base_slice;
        self.groups[params.group].nr_tasks += 1;
        self.tasks.push(Task {
            entity,
            group: params.group,
            cpu,
            nice: params.nice,
            policy: params.policy,
            affinity: params.affinity,
            kernel_thread: params.kernel_thread,
            exiting: false,
            on_rq: false,
            on_cpu: false,
            asleep: true,
            gone: false,
            throttled: false,
            in_limbo: false,
            has_work: false,
            migrate_to: None,
            recent_used_cpu: cpu,
            last_wakee: None,
            wakee_flips: 0,
            wakee_flip_decay: Nanos::ZERO,
        })
    }

    /// Where a task is.
    pub fn task_state(&self, task: TaskId) -> TaskState {
        let t = &self.tasks[task];
        if t.gone {
            TaskState::Gone
        } else if t.on_cpu {
            TaskState::Running
        } else if t.asleep {
            TaskState::Sleeping
        } else if t.in_limbo {
            TaskState::Limbo
        } else {
            TaskState::Queued
        }
    }

    /// The CPU that a task is on, or was last.
    pub fn task_cpu(&self, task: TaskId) -> CpuId {
        self.tasks[task].cpu
    }

    /// The group that a task is in.
    pub fn task_group(&self, task: TaskId) -> GroupId {
        self.tasks[task].group
    }

    /// Whether a return-to-user work item waits.
    #[inline]
    pub fn has_task_work(&self, task: TaskId) -> bool {
        self.tasks[task].has_work
    }

    /// CPU time that a task has used, as of its last charge.
    #[inline]
    pub fn task_runtime(&self, task: TaskId) -> Nanos {
        Nanos(self.entities[self.tasks[task].entity].sum_exec_runtime)
    }

    /// Reads a task's CPU clock, which charges it if it runs: up to 7.2 on its own level only, from 7.3
    /// on on all (kernel: `task_sched_runtime`).
    pub fn read_task_runtime(&mut self, now: Nanos, task: TaskId) -> Nanos {
        let t = &self.tasks[task];
        let (cpu, entity) = (t.cpu, t.entity);
        if t.on_cpu && t.policy != Policy::Fifo && self.entities[entity].on_rq {
            self.begin(now, cpu);
            if self.flat() {
                self.update_curr_path(entity);
            } else {
                self.update_curr(self.entities[entity].cfs_rq);
            }
        }
        self.task_runtime(task)
    }

    /// Charges the running task of a CPU up to now, on all its levels.
    pub fn charge(&mut self, now: Nanos, cpu: CpuId) {
        self.begin(now, cpu);
        if let Some(task) = self.rqs[cpu].curr
            && self.tasks[task].policy != Policy::Fifo
        {
            self.update_curr_path(self.tasks[task].entity);
        }
    }

    /// From now on the task is never tagged nor taken off: it is on its way out.
    pub fn set_exiting(&mut self, task: TaskId) {
        self.tasks[task].exiting = true;
    }

    /// Wakes a sleeping task on `cpu`, which [`Self::select_cpu`] chose; `false`: it was awake
    /// (kernel: the part of `try_to_wake_up` after the choice).
    pub fn wake(&mut self, now: Nanos, task: TaskId, cpu: CpuId) -> bool {
        if !self.tasks[task].asleep || self.tasks[task].gone {
            return false;
        }
        if self.tasks[task].on_rq {
            // Delayed: it never left its queue.
            let cpu = self.tasks[task].cpu;
            self.begin(now, cpu);
            self.tasks[task].asleep = false;
            self.enqueue_task(
                task,
                Enqueue {
                    delayed: true,
                    ..Enqueue::WAKEUP
                },
            );
            if !self.tasks[task].on_cpu {
                self.check_preempt(task, false);
            }
            self.observer.event(self.now, Event::Woken { task, cpu });
            self.program_hrtick(cpu);
            return true;
        }
        self.begin(now, cpu);
        self.rqs[cpu].end_idle();
        self.tasks[task].asleep = false;
        let from = self.tasks[task].cpu;
        let mut flags = Enqueue::WAKEUP;
        if from != cpu {
            flags.migrated = true;
            self.update_rq_clock(from);
            self.leave_asleep(task);
            self.place_on(task, cpu);
            self.observer.event(
                self.now,
                Event::Migrated {
                    task,
                    from,
                    to: cpu,
                },
            );
        }
        self.activate(task, flags);
        self.check_preempt(task, false);
        self.observer.event(self.now, Event::Woken { task, cpu });
        self.program_hrtick(cpu);
        true
    }

    /// First wakeup of a task that was just forked, on `cpu` (kernel: `wake_up_new_task`).
    pub fn wake_new(&mut self, now: Nanos, task: TaskId, cpu: CpuId) {
        self.begin(now, cpu);
        self.place_on(task, cpu);
        self.tasks[task].asleep = false;
        let entity = self.tasks[task].entity;
        self.init_task_load(entity);
        if self.config.kernel.pick_rule() == PickRule::Cfs {
            // Relative to the queue, which its enqueue adds.
            let queue = self.entities[entity].cfs_rq;
            self.place_entity_cfs(entity, true);
            self.entities[entity].vruntime -= self.queues[queue].min_vruntime;
        }
        self.activate(
            task,
            Enqueue {
                initial: true,
                ..Enqueue::RESTORE
            },
        );
        self.check_preempt(task, true);
        self.observer.event(self.now, Event::Woken { task, cpu });
        self.program_hrtick(cpu);
    }

    /// Kernel: `activate_task`.
    pub(crate) fn activate(&mut self, task: TaskId, flags: Enqueue) {
        self.tasks[task].on_rq = true;
        self.enqueue_task(task, flags);
    }

    /// A sleeping task leaves its CPU's queue for another (kernel: `migrate_task_rq_fair`).
    fn leave_asleep(&mut self, task: TaskId) {
        let entity = self.tasks[task].entity;
        if self.config.kernel.pick_rule() == PickRule::Cfs
            && self.tasks[task].policy != Policy::Fifo
        {
            let queue = self.entities[entity].cfs_rq;
            self.entities[entity].vruntime -= self.queues[queue].min_vruntime;
        }
        self.remove_entity_load(entity);
    }

    /// Makes a CPU's queue of the task's group the one that it belongs to (kernel: `set_task_cpu`,
    /// `set_task_rq`).
    pub(crate) fn place_on(&mut self, task: TaskId, cpu: CpuId) {
        let queue = self.queue_of(self.tasks[task].group, cpu);
        let parent = self.queues[queue].entity;
        self.tasks[task].cpu = cpu;
        let e = &mut self.entities[self.tasks[task].entity];
        e.cfs_rq = queue;
        e.parent = parent;
    }

    /// A dequeued task is queued on another CPU (kernel: `move_queued_task`).
    pub(crate) fn arrive(&mut self, task: TaskId, to: CpuId) {
        let from = self.tasks[task].cpu;
        self.place_on(task, to);
        self.update_rq_clock(to);
        self.enqueue_task(task, Enqueue::RESTORE);
        self.observer
            .event(self.now, Event::Migrated { task, from, to });
        if !self.tasks[task].in_limbo {
            self.check_preempt(task, false);
        }
        self.program_hrtick(to);
    }

    /// Moves a queued task that does not run to another CPU.
    pub(crate) fn migrate_queued(&mut self, task: TaskId, to: CpuId) {
        self.dequeue_task(task, Dequeue::MIGRATE);
        self.arrive(task, to);
    }

    /// Sets the CPUs that a task may use; at least one of them must exist. A queued task moves at
    /// once; for a running one a reschedule is requested, and it moves when it stops (kernel:
    /// `__set_cpus_allowed_ptr`).
    pub fn set_affinity(&mut self, now: Nanos, task: TaskId, mask: CpuMask) {
        let cpu = self.tasks[task].cpu;
        self.begin(now, cpu);
        self.finish_delayed_sleep(task);
        let running = self.tasks[task].on_cpu;
        let queued = self.tasks[task].on_rq;
        if queued {
            self.dequeue_task(task, Dequeue::SAVE);
        }
        if running {
            self.put_prev(task);
        }
        self.tasks[task].affinity = mask;
        self.tasks[task].migrate_to = None;
        if queued {
            self.enqueue_task(task, Enqueue::RESTORE);
        }
        if running {
            self.set_next(task);
        }
        if !queued || self.tasks[task].affinity.contains(cpu) {
            return;
        }
        let Some(to) = self.any_allowed_cpu(task) else {
            return;
        };
        if running {
            self.tasks[task].migrate_to = Some(to);
            self.resched_curr(cpu, Resched::Immediate);
        } else {
            self.migrate_queued(task, to);
        }
    }

    /// An online CPU from the task's affinity, each in its turn (kernel:
    /// `cpumask_any_and_distribute`).
    pub(crate) fn any_allowed_cpu(&mut self, task: TaskId) -> Option<CpuId> {
        let cpus = self.config.topology.cpu_count();
        let start = self.distribute_prev + 1;
        let found = (0..cpus)
            .map(|offset| CpuId::new((start + offset) % cpus))
            .find(|&cpu| self.rqs[cpu].online && self.tasks[task].affinity.contains(cpu))?;
        self.distribute_prev = found.index();
        Some(found)
    }

    /// An online CPU that the task may use; a task whose CPUs are all offline may use any from now on
    /// (kernel: `select_fallback_rq`).
    pub(crate) fn fallback_cpu(&mut self, task: TaskId) -> CpuId {
        self.any_allowed_cpu(task).unwrap_or_else(|| {
            let online = self
                .rqs
                .iter()
                .filter(|(_, rq)| rq.online)
                .map(|(cpu, _)| cpu);
            self.tasks[task].affinity = online.collect();
            self.any_allowed_cpu(task).expect("one CPU is online")
        })
    }

    /// Moves a task to another group (kernel: `sched_move_task`).
    pub fn move_task(&mut self, now: Nanos, task: TaskId, group: GroupId) {
        let cpu = self.tasks[task].cpu;
        self.begin(now, cpu);
        if self.tasks[task].group == group || self.tasks[task].gone {
            return;
        }
        self.finish_delayed_sleep(task);
        let running = self.tasks[task].on_cpu;
        let queued = self.tasks[task].on_rq;
        if queued {
            self.dequeue_task(task, Dequeue::SAVE);
        }
        if running {
            self.put_prev(task);
        }
        let fair = self.tasks[task].policy != Policy::Fifo;
        let entity = self.tasks[task].entity;
        // Of a FIFO task vruntime is relative anyhow.
        let cfs_asleep = self.config.kernel.pick_rule() == PickRule::Cfs && fair && !queued;
        if fair && self.entities[entity].avg.last_update_time != 0 {
            self.update_load_avg(entity, LoadChange::Detach);
            self.propagate_up(entity);
        }
        if cfs_asleep {
            self.entities[entity].vruntime -=
                self.queues[self.entities[entity].cfs_rq].min_vruntime;
        }
        self.groups[self.tasks[task].group].nr_tasks -= 1;
        self.groups[group].nr_tasks += 1;
        self.tasks[task].group = group;
        self.place_on(task, cpu);
        if cfs_asleep {
            self.entities[entity].vruntime +=
                self.queues[self.entities[entity].cfs_rq].min_vruntime;
        }
        if queued {
            self.enqueue_task(task, Enqueue::RESTORE);
        }
        if running {
            self.set_next(task);
            // It may have joined a throttled group, and it still runs.
            self.resched_curr(cpu, Resched::Immediate);
        }
    }

    /// Carries what left at one level to the levels above (kernel: `propagate_entity_cfs_rq`).
    fn propagate_up(&mut self, entity: crate::EntityId) {
        let stops = self.config.kernel.throttle.per_hierarchy();
        let mut next = self.entities[entity].parent;
        while let Some(e) = next {
            if stops && self.cfs_rq_throttled(self.entities[e].cfs_rq) {
                return;
            }
            self.update_load_avg(e, LoadChange::Publish);
            next = self.entities[e].parent;
        }
    }

    /// Changes a task's static priority (kernel: `set_user_nice`).
    pub fn set_nice(&mut self, now: Nanos, task: TaskId, nice: Nice) {
        self.tasks[task].nice = nice;
        self.change(now, task, |sched| {
            let weight = policy_weight(sched.tasks[task].policy, nice);
            sched.set_task_weight(task, weight);
        });
    }

    /// Changes a task's policy (kernel: `__sched_setscheduler`).
    pub fn set_policy(&mut self, now: Nanos, task: TaskId, policy: Policy) {
        self.change(now, task, |sched| {
            let entity = sched.tasks[task].entity;
            let was_fair = sched.tasks[task].policy != Policy::Fifo;
            let leaves_fair = was_fair && policy == Policy::Fifo;
            // A queued task's vruntime is relative here, since it is off its queue.
            if sched.config.kernel.pick_rule() == PickRule::Cfs && !sched.tasks[task].on_rq {
                let queue = sched.entities[entity].cfs_rq;
                if leaves_fair {
                    sched.place_entity_cfs(entity, false);
                    sched.entities[entity].vruntime -= sched.queues[queue].min_vruntime;
                } else if !was_fair && policy != Policy::Fifo {
                    sched.entities[entity].vruntime += sched.queues[queue].min_vruntime;
                }
            }
            if leaves_fair && sched.entities[entity].avg.last_update_time != 0 {
                sched.update_load_avg(entity, LoadChange::Detach);
                sched.propagate_up(entity);
            }
            sched.tasks[task].policy = policy;
            let weight = policy_weight(policy, sched.tasks[task].nice);
            sched.set_task_weight(task, weight);
        });
        let cpu = self.tasks[task].cpu;
        if self.tasks[task].on_rq && !self.tasks[task].in_limbo {
            if self.tasks[task].on_cpu {
                self.resched_curr(cpu, Resched::Immediate);
            } else {
                self.check_preempt(task, false);
            }
        }
    }

    fn set_task_weight(&mut self, task: TaskId, weight: Weight) {
        let entity = self.tasks[task].entity;
        if self.entities[entity].weight != weight {
            self.reweight_entity(entity, weight);
        }
    }

    /// Changes a task while it is off its queue.
    fn change(&mut self, now: Nanos, task: TaskId, change: impl FnOnce(&mut Self)) {
        let cpu = self.tasks[task].cpu;
        self.begin(now, cpu);
        if self.tasks[task].gone {
            return;
        }
        self.finish_delayed_sleep(task);
        let running = self.tasks[task].on_cpu;
        let queued = self.tasks[task].on_rq;
        if queued {
            self.dequeue_task(task, Dequeue::SAVE);
        }
        if running {
            self.put_prev(task);
        }
        change(self);
        if queued {
            self.enqueue_task(task, Enqueue::RESTORE);
        }
        if running {
            self.set_next(task);
        }
    }

    /// A sleeping task that is still queued leaves for good before it is changed.
    fn finish_delayed_sleep(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        if t.asleep && t.on_rq && !t.on_cpu {
            self.dequeue_delayed(t.entity);
        }
    }

    fn put_prev(&mut self, task: TaskId) {
        if self.tasks[task].policy != Policy::Fifo {
            self.put_prev_task_fair(task, None);
        }
    }

    fn set_next(&mut self, task: TaskId) {
        if self.tasks[task].policy == Policy::Fifo {
            // It still runs, so it stands before the others.
            let fifo = &mut self.rqs[self.tasks[task].cpu].fifo;
            fifo.retain(|&other| other != task);
            fifo.push_front(task);
        } else {
            self.set_next_task_fair(task, None, false);
        }
    }

    /// Takes a CPU offline: its queues are unthrottled and unaccounted, its tasks go elsewhere. The
    /// running task moves when it stops, which a reschedule request asks for. Timers that were
    /// programmed on this CPU are for the host to program elsewhere (kernel: `sched_cpu_deactivate`,
    /// `unthrottle_offline_cfs_rqs`).
    ///
    /// Nothing happens to the last online CPU.
    pub fn cpu_offline(&mut self, now: Nanos, cpu: CpuId) {
        self.begin(now, cpu);
        if !self.rqs[cpu].online || self.online_cpus == 1 {
            return;
        }
        self.rqs[cpu].online = false;
        let mut work = Work::default();
        self.flush_csd_list(cpu, &mut work);
        // In A and B the balance of every limited queue is set, later only of throttled ones.
        let sets_all = self.config.kernel.throttle.per_hierarchy();
        for group in self.groups.ids() {
            let Some(queue) = self.groups[group].queues[cpu.index()] else {
                continue;
            };
            let q: &mut CfsRq = &mut self.queues[queue];
            if !q.runtime_enabled {
                continue;
            }
            q.runtime_enabled = false;
            if q.throttled || sets_all {
                q.runtime_remaining.0 = 1;
            }
            if q.throttled {
                self.unthrottle_cfs_rq(queue, &mut work);
            }
        }
        self.count_online_cpus();
        for task in self.tasks.ids() {
            let t = &self.tasks[task];
            if t.cpu != cpu || t.gone || !t.on_rq {
                continue;
            }
            if t.asleep && !t.on_cpu {
                self.finish_delayed_sleep(task);
                continue;
            }
            let to = self.fallback_cpu(task);
            if self.tasks[task].on_cpu {
                self.tasks[task].migrate_to = Some(to);
                self.resched_curr(cpu, Resched::Immediate);
            } else {
                self.migrate_queued(task, to);
            }
        }
    }

    /// Brings a CPU online (kernel: `update_runtime_enabled`).
    pub fn cpu_online(&mut self, now: Nanos, cpu: CpuId) {
        self.begin(now, cpu);
        self.rqs[cpu].online = true;
        self.count_online_cpus();
        for group in self.groups.ids() {
            let finite = self.groups[group].pool.limit().is_finite();
            if let Some(queue) = self.groups[group].queues[cpu.index()] {
                self.queues[queue].runtime_enabled =
                    finite && self.config.kernel.throttle != ThrottleModel::None;
            }
        }
    }
}

/// Weight of a task of the fair class.
fn policy_weight(policy: Policy, nice: Nice) -> Weight {
    match policy {
        Policy::Idle => Weight::IDLE,
        Policy::Normal | Policy::Batch | Policy::Fifo => nice.weight(),
    }
}
