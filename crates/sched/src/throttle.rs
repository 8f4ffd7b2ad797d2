//! Throttling: what happens when a queue runs out of runtime, and how it starts again.
//!
//! The models stand side by side here. A and B (`hierarchy-*`) unlink the group entity of the queue
//! that ran out, with everything below it. C and D (`task`, `unified`) only mark the queue; each task
//! below takes itself off when it is about to return to user mode, and waits in *limbo*. B, C and D
//! let each CPU unthrottle its own queues; A does it all on the CPU of the timer. D decides in the
//! charge itself, the others at the next scheduling point.

use cpumax_bandwidth::{Nanos, Runtime};

use crate::event::{Effect, Event, Observer, Resched, Work};
use crate::flags::{Dequeue, Enqueue};
use crate::load::LoadChange;
use crate::{CfsRqId, CpuId, GroupId, Sched, TaskId, ThrottleModel};

/// The least that a request can ask for: enough to be above zero.
const ONE: Nanos = Nanos(1);

impl<O: Observer> Sched<O> {
    /// Some group is limited, or was when it was removed (kernel: the static key
    /// `__cfs_bandwidth_used`).
    #[inline]
    pub(crate) fn bandwidth_used(&self) -> bool {
        self.bandwidth_users > 0 && self.config.kernel.throttle != ThrottleModel::None
    }

    /// The queue itself ran out and waits (kernel: `cfs_rq_throttled`).
    #[inline]
    pub(crate) fn cfs_rq_throttled(&self, queue: CfsRqId) -> bool {
        self.bandwidth_used() && self.queues[queue].throttled
    }

    /// The queue or an ancestor of it waits (kernel: `throttled_hierarchy`).
    #[inline]
    pub(crate) fn throttled_hierarchy(&self, queue: CfsRqId) -> bool {
        self.bandwidth_used() && self.queues[queue].in_throttled_hierarchy()
    }

    /// Charges run time to a queue; returns whether it is throttled (kernel:
    /// `account_cfs_rq_runtime`).
    #[inline]
    pub(crate) fn account_cfs_rq_runtime(&mut self, queue: CfsRqId, delta: u64) -> bool {
        if !self.bandwidth_used() || !self.queues[queue].runtime_enabled {
            return false;
        }
        let q = &mut self.queues[queue];
        q.runtime_remaining.0 -= delta as i64;
        if q.runtime_remaining.0 > 0 {
            return false;
        }
        // Once throttled the debt grows without asking again.
        if q.throttled {
            return true;
        }
        match self.config.kernel.throttle {
            // Unthrottling and throttling happen at a scheduling point, so ask for one.
            ThrottleModel::HierarchySync | ThrottleModel::HierarchyAsync | ThrottleModel::Task => {
                let slice = self.config.tunables.slice;
                if !self.assign_cfs_rq_runtime(queue, slice) && self.queues[queue].curr.is_some() {
                    self.resched_curr(self.queues[queue].cpu, Resched::Immediate);
                }
                false
            }
            ThrottleModel::Unified => self.throttle_cfs_rq(queue),
            ThrottleModel::None => false,
        }
    }

    /// Asks the pool for runtime; returns whether the balance is above zero now (kernel:
    /// `__assign_cfs_rq_runtime`).
    fn assign_cfs_rq_runtime(&mut self, queue: CfsRqId, target: Nanos) -> bool {
        let q = &mut self.queues[queue];
        let (group, cpu) = (q.group, q.cpu);
        let request = self.groups[group]
            .pool
            .request(self.now, &mut q.runtime_remaining, target);
        if let Some(expires) = request.arm_period {
            self.effects.push_back(Effect::ArmPeriodTimer {
                group,
                cpu,
                expires,
            });
        }
        self.observer.event(
            self.now,
            Event::Granted {
                group,
                cpu,
                amount: request.granted,
            },
        );
        request.success
    }

    /// A queue gets its first entity: it may not run on credit (kernel: `check_enqueue_throttle`).
    fn check_enqueue_throttle(&mut self, queue: CfsRqId) {
        let q = &self.queues[queue];
        if !self.bandwidth_used() || !q.runtime_enabled || q.curr.is_some() || q.throttled {
            return;
        }
        self.account_cfs_rq_runtime(queue, 0);
        let unified = self.config.kernel.throttle == ThrottleModel::Unified;
        if !unified && self.queues[queue].runtime_remaining.0 <= 0 {
            self.throttle_cfs_rq(queue);
        }
    }

    /// At a scheduling point: throttles a queue that is out of runtime; returns whether it is
    /// throttled (models A to C; kernel: `check_cfs_rq_runtime`).
    pub(crate) fn check_cfs_rq_runtime(&mut self, queue: CfsRqId) -> bool {
        let q = &self.queues[queue];
        if !self.bandwidth_used() || !q.runtime_enabled || q.runtime_remaining.0 > 0 {
            return false;
        }
        q.throttled || self.throttle_cfs_rq(queue)
    }

    /// Tries for runtime a last time and throttles the queue if there is none; returns whether it is
    /// throttled (kernel: `throttle_cfs_rq`).
    pub(crate) fn throttle_cfs_rq(&mut self, queue: CfsRqId) -> bool {
        let q = &self.queues[queue];
        let running = q.curr.is_some_and(|curr| self.entities[curr].on_rq);
        let target = match self.config.kernel.throttle {
            // The only attempt: a slice for a queue that runs, else just enough to be queued.
            ThrottleModel::Unified if running => self.config.tunables.slice,
            // The second attempt, in case that bandwidth came back since the first.
            _ => ONE,
        };
        if self.assign_cfs_rq_runtime(queue, target) {
            return false;
        }
        let (group, cpu) = (self.queues[queue].group, self.queues[queue].cpu);
        self.groups[group].throttled.push_back(queue);
        debug_assert!(
            self.queues[queue].throttled_clock.is_none(),
            "I9: no throttled stretch is being counted"
        );
        let clock = self.rqs[cpu].clock;
        self.queues_throttled += self.queues_in_walk(group);
        let subtree = self.take_subtree(queue);
        for &below in &subtree {
            self.tg_throttle_down(below);
        }
        self.return_subtree(subtree);
        match self.config.kernel.throttle {
            ThrottleModel::HierarchySync => {
                self.unlink_group_entity(queue);
                self.queues[queue].throttled_clock = Some(clock);
            }
            ThrottleModel::HierarchyAsync => {
                self.unlink_group_entity(queue);
                // Time in which nobody waits is not counted.
                if self.queues[queue].nr_queued > 0 {
                    self.queues[queue].throttled_clock = Some(clock);
                }
            }
            ThrottleModel::Task | ThrottleModel::Unified | ThrottleModel::None => {}
        }
        self.queues[queue].throttled = true;
        self.observer
            .event(self.now, Event::Throttled { group, cpu });
        if self.config.kernel.throttle == ThrottleModel::Unified
            && running
            && let Some(donor) = self.rqs[cpu].curr
        {
            self.task_throttle_setup_work(donor);
        }
        true
    }

    /// One more throttled queue on the path (kernel: `tg_throttle_down`).
    fn tg_throttle_down(&mut self, queue: CfsRqId) {
        let clock = self.clock(queue);
        let per_task = self.config.kernel.throttle.per_task();
        let counts_self = self.config.kernel.throttle == ThrottleModel::HierarchyAsync;
        let q = &mut self.queues[queue];
        q.throttle_count += 1;
        if q.throttle_count > 1 {
            return;
        }
        if per_task {
            debug_assert!(
                q.limbo.is_empty(),
                "I18: nobody is in limbo before the first throttle"
            );
            if q.nr_queued == 0 {
                self.freeze_pelt(queue);
            }
        } else {
            q.throttled_clock_pelt = clock.0;
            if counts_self && q.nr_queued > 0 {
                debug_assert!(
                    q.throttled_clock_self.is_none(),
                    "I9: no stretch is being counted"
                );
                q.throttled_clock_self = Some(clock);
            }
            self.leaf_remove(queue);
        }
    }

    /// Stops the queue's PELT clock: nothing is queued that could run (models C, D).
    fn freeze_pelt(&mut self, queue: CfsRqId) {
        let clock = self.clock(queue);
        self.leaf_remove(queue);
        let q = &mut self.queues[queue];
        q.throttled_clock_pelt = clock.0;
        q.pelt_clock_throttled = true;
    }

    /// Starts it again where it stood.
    fn thaw_pelt(&mut self, queue: CfsRqId) {
        let clock = self.clock(queue);
        let q = &mut self.queues[queue];
        q.pelt_clock_throttled = false;
        q.throttled_clock_pelt_time += clock.0 - q.throttled_clock_pelt;
    }

    /// Takes the group entity of a queue out of its parent queue, and empty ancestors with it, and the
    /// queue's tasks out of the counts above (models A, B).
    fn unlink_group_entity(&mut self, queue: CfsRqId) {
        let q = &self.queues[queue];
        let (cpu, queued, runnable) = (q.cpu, q.h_nr_queued, q.h_nr_runnable);
        let mut flags = Dequeue {
            sleep: true,
            special: true,
            ..Dequeue::SAVE
        };
        let mut next = q.entity;
        while let Some(entity) = next {
            // Below an entity that is not queued everything is out of the counts already.
            if !self.entities[entity].on_rq {
                return;
            }
            let parent = self.entities[entity].cfs_rq;
            // A dequeue that was put off is completed on this occasion.
            flags.delayed = self.entities[entity].sched_delayed;
            self.dequeue_entity(entity, flags);
            self.queues[parent].h_nr_queued -= queued;
            self.queues[parent].h_nr_runnable -= runnable;
            next = self.entities[entity].parent;
            if self.queues[parent].nr_queued > 0 {
                break;
            }
        }
        while let Some(entity) = next {
            if !self.entities[entity].on_rq {
                return;
            }
            self.update_load_avg(entity, LoadChange::Age);
            let parent = self.entities[entity].cfs_rq;
            self.queues[parent].h_nr_queued -= queued;
            self.queues[parent].h_nr_runnable -= runnable;
            next = self.entities[entity].parent;
        }
        self.sub_nr_running(cpu, queued);
    }

    /// Lets a queue run again (kernel: `unthrottle_cfs_rq`).
    pub(crate) fn unthrottle_cfs_rq(&mut self, queue: CfsRqId, work: &mut Work) {
        let (group, cpu) = (self.queues[queue].group, self.queues[queue].cpu);
        self.update_rq_clock(cpu);
        if self.config.kernel.throttle.per_task() {
            if self.config.kernel.throttle == ThrottleModel::Unified {
                // Tasks that still run in the kernel may have used the grant up.
                self.update_curr(queue);
            }
            let q = &self.queues[queue];
            if q.runtime_enabled && q.runtime_remaining.0 <= 0 {
                // It stays on the pool's list, for the next distribution.
                self.observer
                    .event(self.now, Event::UnthrottleRefused { group, cpu });
                return;
            }
        }
        let clock = self.rqs[cpu].clock;
        let q = &mut self.queues[queue];
        q.throttled = false;
        let counted = q
            .throttled_clock
            .take()
            .map_or(Nanos::ZERO, |since| Nanos(clock.0 - since.0));
        let pool_group = &mut self.groups[group];
        if counted > Nanos::ZERO {
            pool_group.pool.add_throttled_time(counted);
        }
        pool_group.throttled.retain(|&other| other != queue);
        self.observer.event(
            self.now,
            Event::Unthrottled {
                group,
                cpu,
                counted,
            },
        );

        work.queues_unthrottled += self.queues_in_walk(group);
        let subtree = self.take_subtree(queue);
        // Children before parents, the released queue last.
        for &below in subtree.iter().rev() {
            self.tg_unthrottle_up(below, work);
        }
        self.return_subtree(subtree);
        if self.queues[queue].load > 0 && self.config.kernel.throttle.per_hierarchy() {
            self.relink_group_entity(queue, work);
        }
        let rq = &self.rqs[cpu];
        if rq.curr.is_none() && self.queues[rq.root].nr_queued > 0 {
            self.resched_curr(cpu, Resched::Immediate);
        }
    }

    /// One throttled queue less on the path (kernel: `tg_unthrottle_up`).
    fn tg_unthrottle_up(&mut self, queue: CfsRqId, work: &mut Work) {
        let model = self.config.kernel.throttle;
        let clock = self.clock(queue);
        if model == ThrottleModel::Unified {
            self.update_curr(queue);
        }
        let q = &mut self.queues[queue];
        q.throttle_count -= 1;
        if q.throttle_count > 0 {
            return;
        }
        if model.per_task() {
            if self.queues[queue].pelt_clock_throttled {
                self.thaw_pelt(queue);
            }
        } else {
            q.throttled_clock_pelt_time += clock.0 - q.throttled_clock_pelt;
        }
        let q = &mut self.queues[queue];
        if let Some(since) = q.throttled_clock_self.take() {
            // I10: the clock does not go back.
            q.throttled_clock_self_time.0 += clock.0.saturating_sub(since.0);
        }
        if model.per_task() {
            self.release_limbo(queue, work);
        }
        if !self.queues[queue].is_decayed() {
            self.leaf_add(queue);
        }
    }

    /// Puts the tasks in limbo back, the last one taken off first (models C, D).
    fn release_limbo(&mut self, queue: CfsRqId, work: &mut Work) {
        // Both kernels walk the list from its head; D moves it to a list of its own first, because an
        // enqueue can run out of runtime and throttle this very hierarchy again.
        let mut waiting = core::mem::take(&mut self.queues[queue].limbo);
        while let Some(task) = waiting.pop() {
            if self.config.kernel.throttle == ThrottleModel::Unified
                && self.queues[queue].throttle_count > 0
            {
                // The rest goes back to where it stood, before whoever came in meanwhile.
                waiting.push(task);
                let arrived = core::mem::replace(&mut self.queues[queue].limbo, waiting);
                let limbo = &mut self.queues[queue].limbo;
                let rest = core::mem::replace(limbo, arrived);
                limbo.extend(rest);
                return;
            }
            self.tasks[task].in_limbo = false;
            self.tasks[task].throttled = false;
            self.observer.event(self.now, Event::LimboReleased { task });
            work.entities_enqueued += 1;
            self.enqueue_task_fair(task, Enqueue::WAKEUP);
        }
    }

    /// Puts the group entity of a queue back into its parent queue, and ancestors where they are
    /// missing, and the queue's tasks into the counts above (models A, B).
    fn relink_group_entity(&mut self, queue: CfsRqId, work: &mut Work) {
        let q = &self.queues[queue];
        let (cpu, queued, runnable) = (q.cpu, q.h_nr_queued, q.h_nr_runnable);
        let mut next = q.entity;
        while let Some(entity) = next {
            if self.entities[entity].sched_delayed {
                self.dequeue_entity(entity, Dequeue::FINISH_DELAYED);
            } else if self.entities[entity].on_rq {
                break;
            }
            self.enqueue_entity(entity, Enqueue::WAKEUP);
            work.entities_enqueued += 1;
            let parent = self.entities[entity].cfs_rq;
            self.queues[parent].h_nr_queued += queued;
            self.queues[parent].h_nr_runnable += runnable;
            if self.cfs_rq_throttled(parent) {
                return;
            }
            next = self.entities[entity].parent;
        }
        while let Some(entity) = next {
            self.update_load_avg(entity, LoadChange::Publish);
            let parent = self.entities[entity].cfs_rq;
            self.queues[parent].h_nr_queued += queued;
            self.queues[parent].h_nr_runnable += runnable;
            if self.cfs_rq_throttled(parent) {
                return;
            }
            next = self.entities[entity].parent;
        }
        self.add_nr_running(cpu, queued);
    }

    /// A queue went from no entity to one: the end of `enqueue_entity`.
    pub(crate) fn first_entity_queued(&mut self, queue: CfsRqId) {
        self.check_enqueue_throttle(queue);
        match self.config.kernel.throttle {
            ThrottleModel::None => self.leaf_add(queue),
            ThrottleModel::HierarchySync => {
                if !self.throttled_hierarchy(queue) {
                    self.leaf_add(queue);
                }
            }
            ThrottleModel::HierarchyAsync => {
                if self.throttled_hierarchy(queue) {
                    // Somebody waits from now on.
                    let clock = self.clock(queue);
                    let q = &mut self.queues[queue];
                    if q.throttled {
                        q.throttled_clock.get_or_insert(clock);
                    }
                    q.throttled_clock_self.get_or_insert(clock);
                } else {
                    self.leaf_add(queue);
                }
            }
            ThrottleModel::Task | ThrottleModel::Unified => {
                if self.queues[queue].pelt_clock_throttled {
                    self.thaw_pelt(queue);
                }
                self.leaf_add(queue);
            }
        }
    }

    /// A queue lost its last entity: the end of `dequeue_entity`.
    pub(crate) fn last_entity_left(&mut self, queue: CfsRqId) {
        if self.config.kernel.throttle.per_task()
            && self.throttled_hierarchy(queue)
            && !self.queues[queue].pelt_clock_throttled
        {
            self.freeze_pelt(queue);
        }
    }

    /// Returns what a queue without entities has above a millisecond (kernel:
    /// `return_cfs_rq_runtime`).
    #[inline]
    pub(crate) fn return_cfs_rq_runtime(&mut self, queue: CfsRqId) {
        let used = self.bandwidth_used();
        let q = &mut self.queues[queue];
        if !used || !q.runtime_enabled || q.nr_queued > 0 {
            return;
        }
        let (group, cpu, before) = (q.group, q.cpu, q.runtime_remaining);
        let waiting = !self.groups[group].throttled.is_empty();
        let slice = self.config.tunables.slice;
        let armed = self.groups[group].pool.return_slack(
            self.now,
            &mut q.runtime_remaining,
            waiting,
            slice,
        );
        let returned = before.0 - q.runtime_remaining.0;
        if returned > 0 {
            self.observer.event(
                self.now,
                Event::SlackReturned {
                    group,
                    cpu,
                    amount: Nanos(returned as u64),
                },
            );
        }
        if let Some(expires) = armed {
            self.effects.push_back(Effect::ArmSlackTimer {
                group,
                cpu,
                expires,
            });
        }
    }

    /// Gives the pool's runtime to its throttled queues in order; returns whether one remains
    /// throttled for lack of it (kernel: `distribute_cfs_runtime`). Runs on `cpu`.
    pub(crate) fn distribute_cfs_runtime(
        &mut self,
        group: GroupId,
        cpu: CpuId,
        work: &mut Work,
    ) -> bool {
        let model = self.config.kernel.throttle;
        let mut remaining = false;
        // A: on this CPU as on any. B, C: a queue of this CPU is let go after all others were told.
        let mut local: Option<CfsRqId> = None;
        let mut local_pending = false;
        // Queues leave the list while it is walked; those handed over stay on it.
        let mut at = 0;
        while let Some(&queue) = self.groups[group].throttled.get(at) {
            if model != ThrottleModel::HierarchySync
                && self.groups[group].pool.runtime() == Nanos::ZERO
            {
                remaining = true;
                break;
            }
            at += 1;
            work.queues_walked += 1;
            if self.queues[queue].on_csd_list {
                continue;
            }
            let owner = self.queues[queue].cpu;
            if model == ThrottleModel::Unified && self.queues[queue].curr.is_some() {
                // What runs in the kernel meanwhile has deepened the debt.
                self.update_rq_clock(owner);
                self.update_curr(queue);
            }
            let amount = self.groups[group]
                .pool
                .give_to_throttled(&mut self.queues[queue].runtime_remaining);
            self.observer.event(
                self.now,
                Event::Distributed {
                    group,
                    cpu: owner,
                    amount,
                },
            );
            if self.queues[queue].runtime_remaining.0 <= 0 {
                remaining = true;
                if matches!(model, ThrottleModel::Unified) {
                    break;
                }
            } else {
                match model {
                    ThrottleModel::HierarchySync | ThrottleModel::None => {
                        self.unthrottle_cfs_rq(queue, work);
                        at -= 1;
                    }
                    ThrottleModel::HierarchyAsync | ThrottleModel::Task if owner == cpu => {
                        local = Some(queue);
                    }
                    ThrottleModel::Unified if owner == cpu => {
                        local_pending = self.rqs[cpu].csd_list.is_empty();
                        self.queues[queue].on_csd_list = true;
                        self.rqs[cpu].csd_list.push(queue);
                    }
                    _ => self.unthrottle_async(queue, work),
                }
            }
            if model == ThrottleModel::HierarchySync
                && self.groups[group].pool.runtime() == Nanos::ZERO
            {
                break;
            }
        }
        if let Some(queue) = local
            && self.queues[queue].throttled
        {
            self.unthrottle_cfs_rq(queue, work);
        }
        if local_pending {
            self.flush_csd_list(cpu, work);
        }
        remaining
    }

    /// Hands a queue to its CPU; an IPI is under way if others wait there already (kernel:
    /// `unthrottle_cfs_rq_async`).
    fn unthrottle_async(&mut self, queue: CfsRqId, work: &mut Work) {
        let q = &self.queues[queue];
        // Not later: a write of the limit may release it before its CPU gets here.
        debug_assert!(
            q.throttled && q.runtime_remaining.0 > 0,
            "I5: who is handed over waits and has runtime"
        );
        let cpu = q.cpu;
        let first = self.rqs[cpu].csd_list.is_empty();
        self.queues[queue].on_csd_list = true;
        self.rqs[cpu].csd_list.push(queue);
        if first {
            work.ipis += 1;
            self.effects.push_back(Effect::UnthrottleIpi { cpu });
        }
    }

    /// Unthrottles what was handed to this CPU (kernel: `__cfsb_csd_unthrottle`).
    pub(crate) fn flush_csd_list(&mut self, cpu: CpuId, work: &mut Work) {
        self.update_rq_clock(cpu);
        let mut pending = core::mem::take(&mut self.rqs[cpu].csd_list);
        for queue in pending.drain(..) {
            self.queues[queue].on_csd_list = false;
            if self.queues[queue].throttled {
                self.unthrottle_cfs_rq(queue, work);
            }
        }
        // Nothing can have been added meanwhile: unthrottling distributes nothing.
        self.rqs[cpu].csd_list = pending;
    }

    /// Gives a task its return-to-user work item (models C, D; kernel: `task_throttle_setup_work`).
    pub(crate) fn task_throttle_setup_work(&mut self, task: TaskId) {
        let t = &mut self.tasks[task];
        if t.has_work || t.kernel_thread || t.exiting || t.policy == crate::Policy::Fifo {
            return;
        }
        t.has_work = true;
        self.effects.push_back(Effect::AddTaskWork { task });
        self.observer.event(self.now, Event::Tagged { task });
    }

    /// A flagged task is enqueued: back into limbo if its queue is in a throttled hierarchy; `false`:
    /// it is to be enqueued for real (models C, D; kernel: `enqueue_throttled_task`).
    pub(crate) fn enqueue_throttled_task(&mut self, task: TaskId) -> bool {
        let t = &self.tasks[task];
        debug_assert!(
            !t.in_limbo,
            "I19: a task that is enqueued is on no limbo list"
        );
        let queue = self.entities[t.entity].cfs_rq;
        let current = self.rqs[t.cpu].curr == Some(task);
        if self.throttled_hierarchy(queue) && !current {
            self.tasks[task].in_limbo = true;
            self.queues[queue].limbo.push(task);
            return true;
        }
        self.tasks[task].throttled = false;
        false
    }

    /// A flagged task is dequeued: it only leaves its limbo list (models C, D; kernel:
    /// `dequeue_throttled_task`).
    pub(crate) fn dequeue_throttled_task(&mut self, task: TaskId, flags: Dequeue) {
        let entity = self.tasks[task].entity;
        debug_assert!(
            !self.entities[entity].on_rq,
            "I16: a task in limbo is not queued"
        );
        let queue = self.entities[entity].cfs_rq;
        self.queues[queue].limbo.retain(|&other| other != task);
        self.tasks[task].in_limbo = false;
        if flags.sleep {
            self.tasks[task].throttled = false;
        }
        if flags.migrating && self.entities[entity].avg.last_update_time != 0 {
            self.update_load_avg(entity, LoadChange::Detach);
        }
    }

    /// A task was taken off below this queue: its throttled time begins to count (models C, D;
    /// kernel: `record_throttle_clock`).
    pub(crate) fn record_throttle_clock(&mut self, queue: CfsRqId) {
        let clock = self.clock(queue);
        let q = &mut self.queues[queue];
        if q.throttle_count == 0 {
            return;
        }
        if q.throttled {
            q.throttled_clock.get_or_insert(clock);
        }
        q.throttled_clock_self.get_or_insert(clock);
    }

    /// The running task of `cpu` is about to return to user mode with a work item: takes it off if its
    /// hierarchy is throttled (models C, D; kernel: `throttle_cfs_rq_work`).
    ///
    /// Returns whether it was taken off; then the host must call [`Self::schedule`].
    pub fn return_to_user_work(&mut self, now: Nanos, cpu: CpuId) -> bool {
        self.begin(now, cpu);
        let Some(task) = self.rqs[cpu].curr else {
            return false;
        };
        let t = &mut self.tasks[task];
        if !core::mem::take(&mut t.has_work) || t.exiting || t.policy == crate::Policy::Fifo {
            return false;
        }
        debug_assert!(
            !t.throttled && !t.in_limbo,
            "I17: a running task is not in limbo"
        );
        let entity = t.entity;
        let queue = self.entities[entity].cfs_rq;
        if !self.throttled_hierarchy(queue) {
            return false;
        }
        self.dequeue_task_fair(task, Dequeue::THROTTLE);
        self.queues[queue].limbo.push(task);
        self.tasks[task].in_limbo = true;
        // Not before the dequeue, which would take it for a task in limbo.
        self.tasks[task].throttled = true;
        self.observer.event(self.now, Event::Limbo { task });
        self.resched_curr(cpu, Resched::Immediate);
        true
    }

    /// Queues that the kernel visits in a walk from a group down (`walk_tg_tree_from`): it has one for each group and
    /// CPU, while here those that were never used do not exist.
    fn queues_in_walk(&self, group: GroupId) -> u32 {
        1 + self.groups[group].descendants
    }

    /// Queues that were visited to throttle hierarchies since this was last asked (kernel: `tg_throttle_down`), for the
    /// host to charge.
    pub fn take_queues_throttled(&mut self) -> u32 {
        core::mem::take(&mut self.queues_throttled)
    }

    /// The queue and all queues below it on the same CPU, parents before children.
    fn take_subtree(&mut self, queue: CfsRqId) -> alloc::vec::Vec<CfsRqId> {
        let mut subtree = core::mem::take(&mut self.subtree);
        subtree.clear();
        subtree.push(queue);
        let mut at = 0;
        while let Some(&visited) = subtree.get(at) {
            at += 1;
            subtree.extend_from_slice(&self.queues[visited].children);
        }
        subtree
    }

    /// Keeps the buffer for the next walk.
    fn return_subtree(&mut self, subtree: alloc::vec::Vec<CfsRqId>) {
        self.subtree = subtree;
    }

    /// Local balance that every online queue gets by a write of `cpu.max`: nothing in models A and B;
    /// in C and D a nanosecond, so that the release is not refused.
    pub(crate) fn runtime_after_write(&self) -> Runtime {
        if self.config.kernel.throttle.per_task() {
            Runtime(1)
        } else {
            Runtime(0)
        }
    }
}
