//! The fair class: how tasks join and leave the hierarchy of queues, are charged, picked and switched.
//!
//! Up to 7.2 every queue orders its own entities, and a pick descends from the root through group
//! entities to a task. What 7.3 does instead stands in `flat.rs`; both share the accounting here.

use crate::entity::Owner;
use crate::event::{Observer, Resched};
use crate::flags::{Dequeue, Enqueue};
use crate::load::LoadChange;
use crate::{CfsRqId, CpuId, EntityId, PickRule, Sched, TaskId, ThrottleModel};

impl<O: Observer> Sched<O> {
    /// Whether this kernel keeps one timeline of tasks per CPU.
    #[inline]
    pub(crate) fn flat(&self) -> bool {
        self.config.kernel.pick_rule() == PickRule::EevdfFlat
    }

    /// Charges the running entity of a queue up to the CPU's clock (kernel: `update_curr`).
    ///
    /// Each level has its own start, so a level that is not touched lags behind.
    pub(crate) fn update_curr(&mut self, queue: CfsRqId) {
        let Some(curr) = self.queues[queue].curr else {
            return;
        };
        let cpu = self.queues[queue].cpu;
        let clock = self.rqs[cpu].clock;
        let e = &mut self.entities[curr];
        if clock <= e.exec_start {
            return;
        }
        let delta = clock.0 - e.exec_start.0;
        e.exec_start = clock;
        e.sum_exec_runtime += delta;
        if let Owner::Task(task) = e.owner {
            let group = self.tasks[task].group;
            self.groups[group].usage.0 += delta;
        }
        match self.config.kernel.pick_rule() {
            PickRule::Cfs => {
                let vdelta = self.virtual_time(delta, curr);
                self.entities[curr].vruntime += vdelta;
                self.update_min_vruntime(queue);
                self.account_cfs_rq_runtime(queue, delta);
            }
            PickRule::Eevdf | PickRule::EevdfVprot => {
                let vdelta = self.virtual_time(delta, curr);
                self.entities[curr].vruntime += vdelta;
                let renewed = self.update_deadline(curr);
                self.account_cfs_rq_runtime(queue, delta);
                if self.queues[queue].nr_queued > 1 {
                    self.resched_if_due(queue, curr, renewed);
                }
            }
            PickRule::EevdfFlat => {
                self.account_cfs_rq_runtime(queue, delta);
                if self.queues[queue].parent.is_none()
                    && let Some(task_entity) = self.rqs[cpu].flat_curr
                {
                    let vdelta = self.virtual_time(delta, task_entity);
                    self.entities[task_entity].vruntime += vdelta;
                    let renewed = self.update_deadline(task_entity);
                    if self.queues[queue].h_nr_queued > 1 {
                        self.resched_if_due(queue, task_entity, renewed);
                    }
                }
            }
        }
    }

    /// The request is used up, or the protection of the slice is over: let another run.
    fn resched_if_due(&mut self, queue: CfsRqId, curr: EntityId, renewed: bool) {
        let lost = !self.protected(curr);
        let due = match self.config.kernel.pick_rule() {
            // Protection lasts until renewal; it can only have been cancelled by a shorter slice.
            PickRule::Eevdf => renewed || (lost && !self.entity_eligible(curr)),
            _ => renewed || lost,
        };
        if due {
            self.resched_fair(self.queues[queue].cpu);
            self.clear_buddies(curr);
        }
    }

    /// The fair class asks for a reschedule: lazily from 6.18 on (kernel: `resched_curr_lazy`).
    pub(crate) fn resched_fair(&mut self, cpu: CpuId) {
        match self.config.kernel.pick_rule() {
            PickRule::Cfs | PickRule::Eevdf => self.resched_curr(cpu, Resched::Immediate),
            PickRule::EevdfVprot | PickRule::EevdfFlat => self.resched_curr(cpu, Resched::Lazy),
        }
    }

    /// Charges every level of the running task (what a reader of the clocks wants).
    pub(crate) fn update_curr_path(&mut self, entity: EntityId) {
        let mut next = Some(entity);
        while let Some(e) = next {
            self.update_curr(self.entities[e].cfs_rq);
            next = self.entities[e].parent;
        }
    }

    /// Puts a task into the fair class's queues (kernel: `enqueue_task_fair`).
    pub(crate) fn enqueue_task_fair(&mut self, task: TaskId, flags: Enqueue) {
        if self.tasks[task].throttled && self.enqueue_throttled_task(task) {
            return;
        }
        let entity = self.tasks[task].entity;
        if flags.delayed {
            self.requeue_delayed_entity(entity);
            return;
        }
        if self.flat() {
            self.enqueue_task_flat(task, flags);
        } else {
            self.enqueue_hierarchy(entity, flags);
        }
    }

    fn enqueue_hierarchy(&mut self, task_entity: EntityId, flags: Enqueue) {
        let stops = self.config.kernel.throttle.per_hierarchy();
        let cpu = self.queues[self.entities[task_entity].cfs_rq].cpu;
        let mut flags = flags;
        let mut slice = None;
        let mut next = Some(task_entity);
        while let Some(entity) = next {
            if self.entities[entity].on_rq {
                if self.entities[entity].sched_delayed {
                    self.requeue_delayed_entity(entity);
                }
                break;
            }
            self.inherit_slice(entity, slice);
            self.enqueue_entity(entity, flags);
            let queue = self.entities[entity].cfs_rq;
            slice = Some(self.min_slice(queue));
            self.queues[queue].h_nr_queued += 1;
            self.queues[queue].h_nr_runnable += 1;
            if stops && self.cfs_rq_throttled(queue) {
                return;
            }
            flags = Enqueue::WAKEUP;
            next = self.entities[entity].parent;
        }
        while let Some(entity) = next {
            self.update_load_avg(entity, LoadChange::Publish);
            self.update_cfs_group(entity);
            let queue = self.entities[entity].cfs_rq;
            self.inherit_slice(entity, slice);
            slice = Some(self.min_slice(queue));
            self.queues[queue].h_nr_queued += 1;
            self.queues[queue].h_nr_runnable += 1;
            if stops && self.cfs_rq_throttled(queue) {
                return;
            }
            next = self.entities[entity].parent;
        }
        self.add_nr_running(cpu, 1);
    }

    /// A group entity's slice is the shortest in its queue.
    fn inherit_slice(&mut self, entity: EntityId, slice: Option<u64>) {
        if let Some(slice) = slice {
            let e = &mut self.entities[entity];
            e.slice = slice;
            e.custom_slice = true;
        }
    }

    /// Takes a task out of the fair class's queues; `false`: it stays for a while, as a delayed entity
    /// (kernel: `dequeue_task_fair`).
    pub(crate) fn dequeue_task_fair(&mut self, task: TaskId, flags: Dequeue) -> bool {
        if self.tasks[task].throttled {
            self.dequeue_throttled_task(task, flags);
            return true;
        }
        if self.flat() {
            self.dequeue_task_flat(task, flags)
        } else {
            self.dequeue_hierarchy(self.tasks[task].entity, flags)
        }
    }

    /// Kernel: `dequeue_entities`. The entity is a task's, or a delayed group entity that was picked.
    pub(crate) fn dequeue_hierarchy(&mut self, start: EntityId, flags: Dequeue) -> bool {
        let stops = self.config.kernel.throttle.per_hierarchy();
        let start_is_task = self.entities[start].task().is_some();
        let task_sleeps = start_is_task && flags.sleep;
        let count = u32::from(start_is_task);
        // A delayed task does not count as runnable any more.
        let runnable = u32::from(start_is_task && !self.entities[start].sched_delayed);
        let cpu = self.queues[self.entities[start].cfs_rq].cpu;
        let throttle = flags.throttle;
        let mut flags = flags;
        let mut slice = None;
        let mut next = Some(start);
        while let Some(entity) = next {
            let queue = self.entities[entity].cfs_rq;
            if !self.dequeue_entity(entity, flags) {
                if entity == start && start_is_task {
                    return false;
                }
                // A group entity stays delayed in its queue; the levels above keep it.
                slice = Some(self.min_slice(queue));
                break;
            }
            self.queues[queue].h_nr_queued -= count;
            self.queues[queue].h_nr_runnable -= runnable;
            if throttle {
                self.record_throttle_clock(queue);
            }
            if stops && self.cfs_rq_throttled(queue) {
                return true;
            }
            next = self.entities[entity].parent;
            if self.queues[queue].nr_queued > 0 {
                slice = Some(self.min_slice(queue));
                // A sleeping task's group is picked again before others: it has not used its slice.
                if task_sleeps
                    && let Some(parent) = next
                    && !(stops && self.queues[queue].in_throttled_hierarchy())
                {
                    self.set_next_buddy(parent);
                }
                break;
            }
            flags = Dequeue {
                sleep: true,
                delayed: false,
                special: false,
                ..flags
            };
        }
        // After a delayed group entity its own level still has to lose the task.
        while let Some(entity) = next {
            let queue = self.entities[entity].cfs_rq;
            self.update_load_avg(entity, LoadChange::Publish);
            self.update_cfs_group(entity);
            self.inherit_slice(entity, slice);
            slice = Some(self.min_slice(queue));
            self.queues[queue].h_nr_queued -= count;
            self.queues[queue].h_nr_runnable -= runnable;
            if throttle {
                self.record_throttle_clock(queue);
            }
            if stops && self.cfs_rq_throttled(queue) {
                return true;
            }
            next = self.entities[entity].parent;
        }
        self.sub_nr_running(cpu, count);
        true
    }

    /// Kernel: `enqueue_entity`.
    pub(crate) fn enqueue_entity(&mut self, entity: EntityId, flags: Enqueue) {
        let queue = self.entities[entity].cfs_rq;
        let curr = self.queues[queue].curr == Some(entity);
        let cfs = self.config.kernel.pick_rule() == PickRule::Cfs;
        // Under CFS an entity that did not sleep carries its vruntime relative to its queue.
        let renormalise = cfs && (!flags.wakeup || flags.migrated);
        if renormalise && curr {
            self.entities[entity].vruntime += self.queues[queue].min_vruntime;
        }
        // A current entity is placed before it is charged, so that it pays from its new place.
        if !cfs && curr {
            self.place_entity(entity, flags);
        }
        self.update_curr(queue);
        if renormalise && !curr {
            self.entities[entity].vruntime += self.queues[queue].min_vruntime;
        }
        self.update_load_avg(entity, LoadChange::Attach);
        self.update_cfs_group(entity);
        if !cfs && !curr {
            self.place_entity(entity, flags);
        }
        self.account_entity_enqueue(entity);
        if cfs && flags.wakeup {
            self.place_entity_cfs(entity, false);
        }
        if !curr {
            self.timeline_insert(entity);
        }
        self.entities[entity].on_rq = true;
        if self.queues[queue].nr_queued == 1 {
            self.first_entity_queued(queue);
        }
    }

    /// Kernel: `dequeue_entity`; `false`: the entity is delayed instead.
    pub(crate) fn dequeue_entity(&mut self, entity: EntityId, flags: Dequeue) -> bool {
        let queue = self.entities[entity].cfs_rq;
        let cfs = self.config.kernel.pick_rule() == PickRule::Cfs;
        self.update_curr(queue);
        self.clear_buddies(entity);
        if !flags.delayed && self.delays_dequeue(entity, flags) {
            self.update_load_avg(entity, LoadChange::Age);
            if self.config.kernel.pick_rule() != PickRule::Eevdf {
                self.update_entity_lag(entity);
            }
            self.set_delayed(entity);
            return false;
        }
        let leaves = flags.migrating && self.entities[entity].task().is_some();
        self.update_load_avg(
            entity,
            if leaves {
                LoadChange::Detach
            } else {
                LoadChange::Publish
            },
        );
        if !cfs {
            self.update_entity_lag(entity);
        }
        if self.queues[queue].curr != Some(entity) {
            self.timeline_remove(entity);
        }
        if !cfs && !flags.sleep {
            self.make_deadline_relative(entity);
        }
        self.entities[entity].on_rq = false;
        self.account_entity_dequeue(entity);
        if cfs && !flags.sleep {
            self.entities[entity].vruntime -= self.queues[queue].min_vruntime;
        }
        self.return_cfs_rq_runtime(queue);
        self.update_cfs_group(entity);
        if cfs {
            self.update_min_vruntime(queue);
        }
        if flags.delayed {
            self.finish_delayed_dequeue(entity);
        }
        if self.queues[queue].nr_queued == 0 {
            self.last_entity_left(queue);
        }
        true
    }

    /// A sleeper that is not eligible stays queued until its lag is paid (kernel: `DELAY_DEQUEUE`).
    pub(crate) fn delays_dequeue(&self, entity: EntityId, flags: Dequeue) -> bool {
        self.config.kernel.pick_rule() != PickRule::Cfs
            && flags.sleep
            && !flags.special
            && !flags.throttle
            && !self.entity_eligible(entity)
    }

    /// Kernel: `set_delayed`. Of group entities nothing is counted: their tasks are gone already.
    pub(crate) fn set_delayed(&mut self, entity: EntityId) {
        self.entities[entity].sched_delayed = true;
        if self.entities[entity].task().is_some() {
            self.count_runnable(entity, -1);
        }
    }

    /// Kernel: `clear_delayed`.
    pub(crate) fn clear_delayed(&mut self, entity: EntityId) {
        self.entities[entity].sched_delayed = false;
        if self.entities[entity].task().is_some() {
            self.count_runnable(entity, 1);
        }
    }

    fn count_runnable(&mut self, entity: EntityId, change: i32) {
        let stops = self.config.kernel.throttle.per_hierarchy();
        let mut next = Some(entity);
        while let Some(e) = next {
            let queue = self.entities[e].cfs_rq;
            let count = &mut self.queues[queue].h_nr_runnable;
            *count = count.wrapping_add_signed(change);
            if stops && self.cfs_rq_throttled(queue) {
                break;
            }
            next = self.entities[e].parent;
        }
    }

    /// A delayed entity has really left: lag that it is owed is not kept (kernel:
    /// `finish_delayed_dequeue_entity`, `DELAY_ZERO`).
    pub(crate) fn finish_delayed_dequeue(&mut self, entity: EntityId) {
        let e = &mut self.entities[entity];
        e.sched_delayed = false;
        e.vlag = e.vlag.min(0);
    }

    /// A delayed entity becomes runnable where it stands (kernel: `requeue_delayed_entity`).
    pub(crate) fn requeue_delayed_entity(&mut self, entity: EntityId) {
        let queue = self.timeline_queue(entity);
        let replace = match self.config.kernel.pick_rule() {
            PickRule::Cfs | PickRule::Eevdf => {
                self.update_entity_lag(entity);
                let e = &mut self.entities[entity];
                let positive = e.vlag > 0;
                if positive {
                    e.vlag = 0;
                }
                positive
            }
            PickRule::EevdfVprot | PickRule::EevdfFlat => {
                let lag = self.entity_lag(entity);
                // Lag was stored when it was delayed; it does not fall below that, nor rise above 0.
                let kept = lag.max(self.entities[entity].vlag).min(0);
                self.entities[entity].vlag = kept;
                kept != lag
            }
        };
        if replace {
            let curr = self.timeline_curr(queue) == Some(entity);
            if !curr {
                self.timeline_remove(entity);
            }
            self.entities[entity].on_rq = false;
            self.place_entity(entity, Enqueue::RESTORE);
            self.entities[entity].on_rq = true;
            if !curr {
                self.timeline_insert(entity);
            }
        }
        self.update_load_avg(entity, LoadChange::Age);
        self.clear_delayed(entity);
    }

    /// Kernel: `account_entity_enqueue`.
    pub(crate) fn account_entity_enqueue(&mut self, entity: EntityId) {
        let e = &self.entities[entity];
        let q = &mut self.queues[e.cfs_rq];
        q.load += e.weight.0;
        q.nr_queued += 1;
        if let Owner::Task(task) = e.owner {
            self.rqs[q.cpu].cfs_tasks.push(task);
        }
    }

    /// Kernel: `account_entity_dequeue`.
    pub(crate) fn account_entity_dequeue(&mut self, entity: EntityId) {
        let e = &self.entities[entity];
        let q = &mut self.queues[e.cfs_rq];
        q.load -= e.weight.0;
        q.nr_queued -= 1;
        if let Owner::Task(task) = e.owner {
            let tasks = &mut self.rqs[q.cpu].cfs_tasks;
            let at = tasks.iter().rposition(|&other| other == task);
            tasks.remove(at.expect("a queued task is on its CPU's list"));
        }
    }

    /// Picks the next fair task without switching to it. The second value: a queue on its path is out
    /// of runtime, so that it must be tagged (model C). Kernel: `pick_task_fair`.
    pub(crate) fn pick_task_fair(&mut self, cpu: CpuId) -> Option<(TaskId, bool)> {
        if self.flat() {
            return self.pick_task_flat(cpu).map(|task| (task, false));
        }
        let root = self.rqs[cpu].root;
        'again: loop {
            if self.queues[root].nr_queued == 0 {
                return None;
            }
            let mut throttled = false;
            let mut queue = root;
            loop {
                let queued_curr = self.queues[queue]
                    .curr
                    .filter(|&curr| self.entities[curr].on_rq);
                if queued_curr.is_some() {
                    self.update_curr(queue);
                }
                let out = match self.config.kernel.throttle {
                    ThrottleModel::None | ThrottleModel::Unified => false,
                    // Only where an entity runs (its charge has just been made).
                    ThrottleModel::HierarchySync => {
                        self.queues[queue].curr.is_some() && self.check_cfs_rq_runtime(queue)
                    }
                    ThrottleModel::HierarchyAsync | ThrottleModel::Task => {
                        self.check_cfs_rq_runtime(queue)
                    }
                };
                if out {
                    if self.config.kernel.throttle.per_hierarchy() {
                        continue 'again;
                    }
                    throttled = true;
                }
                let Some(entity) = self.pick_next_entity(queue) else {
                    continue 'again;
                };
                match self.entities[entity].owner {
                    Owner::Task(task) => return Some((task, throttled)),
                    Owner::Group(owned) => queue = owned,
                }
            }
        }
    }

    /// Picks in one queue; `None`: a delayed entity was dequeued, start again (kernel:
    /// `pick_next_entity`).
    fn pick_next_entity(&mut self, queue: CfsRqId) -> Option<EntityId> {
        if self.config.kernel.pick_rule() == PickRule::Cfs {
            return Some(self.pick_next_entity_cfs(queue));
        }
        let picked = match self.queues[queue].next {
            Some(next) if self.entity_eligible(next) => next,
            _ => self.pick_eevdf(queue, true)?,
        };
        if self.entities[picked].sched_delayed {
            self.dequeue_delayed(picked);
            return None;
        }
        Some(picked)
    }

    /// Completes the delayed dequeue of an entity.
    pub(crate) fn dequeue_delayed(&mut self, entity: EntityId) {
        match self.entities[entity].owner {
            Owner::Task(task) => {
                self.dequeue_task_fair(task, Dequeue::FINISH_DELAYED);
                self.tasks[task].on_rq = false;
            }
            Owner::Group(_) => {
                self.dequeue_hierarchy(entity, Dequeue::FINISH_DELAYED);
            }
        }
    }

    /// The current task stops being current, on the levels below `shared` and there (kernel:
    /// `put_prev_task_fair`). `None` is every level.
    pub(crate) fn put_prev_task_fair(&mut self, task: TaskId, shared: Option<CfsRqId>) {
        if self.flat() {
            self.put_prev_task_flat(task);
            return;
        }
        let charges_at_put = matches!(
            self.config.kernel.throttle,
            ThrottleModel::HierarchySync | ThrottleModel::HierarchyAsync | ThrottleModel::Task
        );
        let mut next = Some(self.tasks[task].entity);
        while let Some(entity) = next {
            let queue = self.entities[entity].cfs_rq;
            if self.entities[entity].on_rq {
                self.update_curr(queue);
            }
            if charges_at_put {
                self.check_cfs_rq_runtime(queue);
            }
            self.queues[queue].curr = None;
            if self.entities[entity].on_rq {
                self.timeline_insert(entity);
                self.update_load_avg(entity, LoadChange::Age);
            }
            if Some(queue) == shared {
                break;
            }
            next = self.entities[entity].parent;
        }
    }

    /// A task becomes current, on the levels below `shared` and there (kernel: `set_next_task_fair`).
    /// `fair_switch`: the previous task was fair as well.
    pub(crate) fn set_next_task_fair(
        &mut self,
        task: TaskId,
        shared: Option<CfsRqId>,
        fair_switch: bool,
    ) {
        let cpu = self.tasks[task].cpu;
        let entity = self.tasks[task].entity;
        if self.entities[entity].on_rq {
            // The most recently run task stands at the head of the list.
            let tasks = &mut self.rqs[cpu].cfs_tasks;
            if let Some(at) = tasks.iter().rposition(|&other| other == task) {
                let moved = tasks.remove(at);
                tasks.push(moved);
            }
        }
        if self.flat() {
            self.set_next_task_flat(task);
            return;
        }
        // Models A to C switch between fair tasks on a path that makes no charge, and tag nobody here.
        let unified = self.config.kernel.throttle == ThrottleModel::Unified;
        let charges = !fair_switch || unified;
        let mut throttled = false;
        let mut next = Some(entity);
        while let Some(e) = next {
            let queue = self.entities[e].cfs_rq;
            self.set_next_entity(e);
            if charges {
                throttled |= self.account_cfs_rq_runtime(queue, 0);
            }
            if Some(queue) == shared {
                break;
            }
            next = self.entities[e].parent;
        }
        if throttled && unified {
            self.task_throttle_setup_work(task);
        }
    }

    /// Kernel: `set_next_entity`.
    pub(crate) fn set_next_entity(&mut self, entity: EntityId) {
        let queue = self.entities[entity].cfs_rq;
        self.clear_buddies(entity);
        if self.entities[entity].on_rq {
            self.timeline_remove(entity);
            self.update_load_avg(entity, LoadChange::Publish);
        }
        let clock = self.rqs[self.queues[queue].cpu].clock;
        let e = &mut self.entities[entity];
        e.exec_start = clock;
        e.prev_sum_exec_runtime = e.sum_exec_runtime;
        self.queues[queue].curr = Some(entity);
        if self.entities[entity].on_rq {
            self.set_protect_slice(entity);
        }
    }

    /// Kernel: `task_tick_fair`.
    pub(crate) fn task_tick_fair(&mut self, task: TaskId) {
        let mut next = Some(self.tasks[task].entity);
        while let Some(entity) = next {
            let queue = self.entities[entity].cfs_rq;
            self.update_curr(queue);
            self.update_load_avg(entity, LoadChange::Publish);
            self.update_cfs_group(entity);
            if self.config.kernel.pick_rule() == PickRule::Cfs && self.queues[queue].nr_queued > 1 {
                self.check_preempt_tick(queue, entity);
            }
            next = self.entities[entity].parent;
        }
        if self.flat() {
            self.reweight_flat(self.tasks[task].entity);
        }
    }

    /// Lowest queue that both tasks have entities in.
    pub(crate) fn shared_queue(&self, a: TaskId, b: TaskId) -> Option<CfsRqId> {
        let (a, b) = self.matching_entities(self.tasks[a].entity, self.tasks[b].entity)?;
        debug_assert_eq!(self.entities[a].cfs_rq, self.entities[b].cfs_rq);
        Some(self.entities[a].cfs_rq)
    }

    /// The ancestors of two entities that are siblings in one queue (kernel: `find_matching_se`).
    pub(crate) fn matching_entities(
        &self,
        a: EntityId,
        b: EntityId,
    ) -> Option<(EntityId, EntityId)> {
        let depth = |mut entity: EntityId| {
            let mut depth = 0;
            while let Some(parent) = self.entities[entity].parent {
                depth += 1;
                entity = parent;
            }
            depth
        };
        let (mut a, mut b) = (a, b);
        let (mut depth_a, mut depth_b) = (depth(a), depth(b));
        while depth_a > depth_b {
            a = self.entities[a].parent?;
            depth_a -= 1;
        }
        while depth_b > depth_a {
            b = self.entities[b].parent?;
            depth_b -= 1;
        }
        while self.entities[a].cfs_rq != self.entities[b].cfs_rq {
            a = self.entities[a].parent?;
            b = self.entities[b].parent?;
        }
        Some((a, b))
    }

    /// Whether a queued task should take the CPU from the current one now (kernel:
    /// `check_preempt_wakeup_fair`, from 7.2 on `wakeup_preempt_fair`).
    pub(crate) fn check_preempt_wakeup_fair(&mut self, curr: TaskId, wakee: TaskId, fork: bool) {
        use crate::Policy;
        if curr == wakee {
            return;
        }
        let cpu = self.tasks[curr].cpu;
        let entity = self.tasks[wakee].entity;
        let stopped = if self.config.kernel.throttle.per_hierarchy() {
            self.throttled_hierarchy(self.entities[entity].cfs_rq)
        } else {
            self.tasks[wakee].throttled
        };
        if stopped || self.rqs[cpu].need_resched.is_some() && !self.flat() {
            return;
        }
        let tasks = (self.tasks[curr].entity, entity);
        let siblings = if self.flat() {
            Some(tasks)
        } else {
            self.matching_entities(tasks.0, tasks.1)
        };
        let Some((se, pse)) = siblings else { return };
        // 6.1 compares the tasks' policies, later kernels those of the siblings: no group is idle.
        let compared = if self.config.kernel.pick_rule() == PickRule::Cfs {
            tasks
        } else {
            (se, pse)
        };
        let idle = |entity: EntityId| {
            self.entities[entity]
                .task()
                .is_some_and(|task| self.tasks[task].policy == Policy::Idle)
        };
        let (curr_idle, wakee_idle) = (idle(compared.0), idle(compared.1));
        if curr_idle && !wakee_idle {
            // 6.12 leaves an idle entity its protection, so that the switch comes at the slice's end.
            if matches!(
                self.config.kernel.pick_rule(),
                PickRule::EevdfVprot | PickRule::EevdfFlat
            ) {
                self.cancel_protect_slice(se);
            }
            self.resched_fair(cpu);
            return;
        }
        if curr_idle != wakee_idle || self.tasks[wakee].policy != Policy::Normal {
            return;
        }
        let queue = self.timeline_queue(se);
        match self.config.kernel.pick_rule() {
            PickRule::Cfs => self.check_preempt_wakeup_cfs(queue, se, pse),
            PickRule::Eevdf => {
                self.update_curr(queue);
                let (s, p) = (&self.entities[se], &self.entities[pse]);
                if p.slice < s.slice
                    && self.entity_eligible(pse)
                    && (p.deadline < s.deadline || !self.entity_eligible(se))
                {
                    self.cancel_protect_slice(se);
                }
                if self.pick_eevdf(queue, true) == Some(pse) {
                    self.resched_fair(cpu);
                }
            }
            PickRule::EevdfVprot | PickRule::EevdfFlat => {
                self.update_curr(queue);
                if self.entities[pse].sched_delayed || fork {
                    return;
                }
                let shorter = self.entities[pse].slice < self.entities[se].slice;
                let chosen = self.pick_eevdf(queue, !shorter) == Some(pse);
                let eligible = self.flat() && shorter && self.entity_eligible(pse);
                if chosen || eligible {
                    if shorter || self.flat() {
                        self.cancel_protect_slice(se);
                    }
                    if eligible && !chosen {
                        self.set_next_buddy(pse);
                    }
                    self.resched_fair(cpu);
                } else {
                    self.update_protect_slice(se);
                }
            }
        }
    }

    /// Kernel: `set_next_buddy`.
    pub(crate) fn set_next_buddy(&mut self, entity: EntityId) {
        if self.flat() {
            // Only tasks stand in the timeline.
            let queue = self.timeline_queue(entity);
            self.queues[queue].next = Some(entity);
            return;
        }
        let mut next = Some(entity);
        while let Some(e) = next {
            if !self.entities[e].on_rq {
                return;
            }
            self.queues[self.entities[e].cfs_rq].next = Some(e);
            next = self.entities[e].parent;
        }
    }

    /// Forgets that an entity, or its group, was to be picked next, last or not (kernel:
    /// `clear_buddies`).
    pub(crate) fn clear_buddies(&mut self, entity: EntityId) {
        let flat = self.flat();
        let mut next = Some(entity);
        while let Some(e) = next {
            let queue = if flat {
                self.timeline_queue(e)
            } else {
                self.entities[e].cfs_rq
            };
            let q = &mut self.queues[queue];
            let mut cleared = false;
            for buddy in [&mut q.next, &mut q.last, &mut q.skip] {
                if *buddy == Some(e) {
                    *buddy = None;
                    cleared = true;
                }
            }
            if !cleared || flat {
                break;
            }
            next = self.entities[e].parent;
        }
    }

    /// Kernel: `yield_task_fair`.
    pub(crate) fn yield_task_fair(&mut self, task: TaskId) {
        let entity = self.tasks[task].entity;
        let cpu = self.tasks[task].cpu;
        if self.rqs[cpu].nr_running == 1 {
            return;
        }
        self.clear_buddies(entity);
        let queue = self.entities[entity].cfs_rq;
        if self.flat() {
            self.update_curr_path(entity);
        } else {
            self.update_curr(queue);
        }
        if self.config.kernel.pick_rule() == PickRule::Cfs {
            self.queues[queue].skip = Some(entity);
        } else if self.entity_eligible(entity) {
            let deadline = self.entities[entity].deadline;
            self.entities[entity].vruntime = deadline;
            self.update_deadline(entity);
        }
    }
}
