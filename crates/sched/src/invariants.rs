//! What must hold between any two events.
//!
//! The numbers are those of the specification; most are warnings in the kernel. Some hold only inside
//! a transition and are assertions where that happens: I4, I7, I9, I10, I15, I17, I18, I19.

use alloc::format;
use alloc::string::String;
use core::fmt;

use crate::event::Observer;
use crate::{CfsRqId, CpuId, GroupId, Policy, Sched, TaskId};

/// A statement about the scheduler's state that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvariantViolation {
    /// Its number: I1 to I25, or 0 for the bookkeeping that they rest on.
    pub number: u8,
    /// What is wrong, and where.
    pub what: String,
}

impl fmt::Display for InvariantViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invariant I{} does not hold: {}", self.number, self.what)
    }
}

impl core::error::Error for InvariantViolation {}

type Check = Result<(), InvariantViolation>;

/// Fails with a number and a sentence that is only written when it is needed.
macro_rules! ensure {
    ($holds:expr, $number:literal, $($what:tt)+) => {
        if !$holds {
            return Err(InvariantViolation { number: $number, what: format!($($what)+) });
        }
    };
}

impl<O: Observer> Sched<O> {
    /// Checks every invariant. Slow: it looks at everything.
    ///
    /// # Errors
    /// The first that does not hold.
    pub fn check_invariants(&self) -> Check {
        for group in self.groups.ids() {
            if !self.groups[group].removed {
                self.check_group(group)?;
            }
        }
        for queue in self.queues.ids() {
            if !self.groups[self.queues[queue].group].removed {
                self.check_queue(queue)?;
            }
        }
        for cpu in self.cpu_ids() {
            self.check_cpu(cpu)?;
        }
        for task in self.tasks.ids() {
            self.check_task(task)?;
        }
        self.check_static_key()
    }

    fn check_group(&self, group: GroupId) -> Check {
        let g = &self.groups[group];
        for (at, &queue) in g.throttled.iter().enumerate() {
            ensure!(
                self.queues[queue].throttled,
                2,
                "{queue} is on the list of {group} and not throttled"
            );
            ensure!(
                !g.throttled.iter().skip(at + 1).any(|&other| other == queue),
                2,
                "{queue} is listed twice"
            );
        }
        let limited = g.pool.limit().is_finite();
        if limited && !g.throttled.is_empty() {
            ensure!(
                g.pool.period_active(),
                6,
                "{group} has throttled queues and no period timer"
            );
        }
        Ok(())
    }

    fn check_queue(&self, queue: CfsRqId) -> Check {
        let q = &self.queues[queue];
        let listed = self.groups[q.group].throttled.contains(&queue);
        ensure!(
            q.throttled == listed,
            2,
            "{queue}: throttled {} but listed {listed}",
            q.throttled
        );
        let above = q
            .parent
            .map_or(0, |parent| self.queues[parent].throttle_count);
        ensure!(
            q.throttle_count == u32::from(q.throttled) + above,
            3,
            "{queue}: throttle_count {} with {above} above it and throttled {}",
            q.throttle_count,
            q.throttled
        );
        let on_csd = self.rqs[q.cpu]
            .csd_list
            .iter()
            .filter(|&&other| other == queue)
            .count();
        ensure!(
            on_csd == usize::from(q.on_csd_list),
            5,
            "{queue} is {on_csd} times on the pending list"
        );
        if q.on_leaf_list
            && let Some(parent) = q.parent
            && self.queues[parent].parent.is_some()
        {
            ensure!(
                self.queues[parent].on_leaf_list,
                11,
                "{queue} is on the leaf list and its parent is not"
            );
        }
        self.check_counts(queue)?;
        if self.config.kernel.throttle.per_hierarchy() {
            if let Some(entity) = q.entity.filter(|_| q.throttled) {
                ensure!(
                    !self.entities[entity].on_rq,
                    13,
                    "{queue} is throttled and its entity queued"
                );
            }
        } else if self.config.kernel.throttle.per_task() {
            self.check_limbo(queue)?;
        }
        Ok(())
    }

    /// The counters of a queue against what stands in it.
    fn check_counts(&self, queue: CfsRqId) -> Check {
        let q = &self.queues[queue];
        let stops = self.config.kernel.throttle.per_hierarchy();
        let mut tasks = 0;
        let mut runnable = 0;
        let mut entities = 0;
        let mut load = 0;
        for (_, e) in self
            .entities
            .iter()
            .filter(|(_, e)| e.cfs_rq == queue && e.on_rq)
        {
            entities += 1;
            load += e.weight.0;
            match e.owned_queue() {
                None => {
                    tasks += 1;
                    runnable += u32::from(!e.sched_delayed);
                }
                Some(owned) if !(stops && self.queues[owned].throttled) => {
                    tasks += self.queues[owned].h_nr_queued;
                    runnable += self.queues[owned].h_nr_runnable;
                }
                Some(_) => {}
            }
        }
        ensure!(
            q.nr_queued == entities,
            0,
            "{queue}: nr_queued {} with {entities} entities",
            q.nr_queued
        );
        ensure!(
            q.load == load,
            0,
            "{queue}: load {} with entities of {load}",
            q.load
        );
        // I13, I14: what is stopped with its hierarchy is not counted above. I23: nor is limbo.
        ensure!(
            q.h_nr_queued == tasks,
            13,
            "{queue}: h_nr_queued {} with {tasks} tasks below",
            q.h_nr_queued
        );
        ensure!(
            q.h_nr_runnable == runnable,
            13,
            "{queue}: h_nr_runnable {} with {runnable} below",
            q.h_nr_runnable
        );
        if self.flat() && q.parent.is_some() {
            ensure!(
                q.timeline.len() == 0,
                25,
                "{queue} is below the root and has a timeline"
            );
        }
        Ok(())
    }

    fn check_limbo(&self, queue: CfsRqId) -> Check {
        let q = &self.queues[queue];
        if q.throttle_count == 0 {
            ensure!(
                q.limbo.is_empty(),
                20,
                "{queue} holds tasks in limbo and is not throttled"
            );
            ensure!(
                !q.pelt_clock_throttled,
                20,
                "{queue} is frozen and not throttled"
            );
        }
        if q.pelt_clock_throttled {
            ensure!(q.nr_queued == 0, 21, "{queue} is frozen and has entities");
            for &child in &q.children {
                ensure!(
                    self.queues[child].pelt_clock_throttled,
                    21,
                    "{queue} is frozen and its child {child} is not"
                );
            }
        }
        for &task in &q.limbo {
            let t = &self.tasks[task];
            ensure!(
                t.in_limbo && t.throttled,
                16,
                "{task} is on a limbo list and not flagged"
            );
            ensure!(
                self.entities[t.entity].cfs_rq == queue,
                16,
                "{task} is in limbo at {queue}, not its own queue"
            );
            ensure!(
                !t.kernel_thread && !t.exiting,
                22,
                "{task} is a kernel thread or exiting, and in limbo"
            );
        }
        if q.throttled && q.runtime_enabled && q.runtime_remaining.0 > 0 {
            ensure!(
                q.on_csd_list,
                24,
                "{queue} has runtime, is throttled, and no unthrottle is pending"
            );
        }
        Ok(())
    }

    fn check_cpu(&self, cpu: CpuId) -> Check {
        let rq = &self.rqs[cpu];
        let fair = self.queues[rq.root].h_nr_queued;
        let fifo = rq.fifo.len() as u32;
        ensure!(
            rq.nr_running == fair + fifo,
            14,
            "{cpu}: nr_running {} with {fair} + {fifo}",
            rq.nr_running
        );
        ensure!(
            self.overloaded.contains(cpu) == (rq.nr_running > 1),
            14,
            "{cpu}: overloaded with {}",
            rq.nr_running
        );
        if let Some(curr) = rq.curr {
            let t = &self.tasks[curr];
            ensure!(
                t.on_cpu && t.cpu == cpu,
                0,
                "{curr} is current on {cpu} and says otherwise"
            );
            if t.policy != Policy::Fifo {
                let mut entity = Some(t.entity);
                while let Some(e) = entity {
                    let queue = self.entities[e].cfs_rq;
                    ensure!(
                        self.queues[queue].curr == Some(e),
                        0,
                        "{queue} does not know its current entity"
                    );
                    entity = self.entities[e].parent;
                }
            }
        }
        Ok(())
    }

    fn check_task(&self, task: TaskId) -> Check {
        let t = &self.tasks[task];
        let e = &self.entities[t.entity];
        ensure!(!t.in_limbo || !e.on_rq, 16, "{task} is in limbo and queued");
        let listed = self.queues[e.cfs_rq]
            .limbo
            .iter()
            .filter(|&&other| other == task)
            .count();
        ensure!(
            listed == usize::from(t.in_limbo),
            16,
            "{task} is {listed} times on its queue's limbo list"
        );
        // I23: a task is exactly one of queued or running, in limbo, asleep, gone.
        let queued = e.on_rq || self.rqs[t.cpu].fifo.contains(&task);
        if t.gone {
            ensure!(
                !queued && !t.in_limbo,
                23,
                "{task} is gone and still somewhere"
            );
        } else if t.asleep {
            ensure!(
                queued == e.sched_delayed && !t.in_limbo,
                23,
                "{task} is asleep and queued or in limbo"
            );
        } else {
            ensure!(
                queued != t.in_limbo,
                23,
                "{task} is awake and lost: queued {queued}, limbo {}",
                t.in_limbo
            );
        }
        Ok(())
    }

    fn check_static_key(&self) -> Check {
        let limited = |removed: bool| {
            self.groups
                .iter()
                .filter(|(_, g)| g.removed == removed && g.pool.limit().is_finite())
                .count()
        };
        let count = (limited(false) + limited(true)) as u32;
        ensure!(
            count == self.bandwidth_users,
            12,
            "{} users of bandwidth control, {count} limits",
            self.bandwidth_users
        );
        if !self.bandwidth_used() {
            let throttled = self.queues.iter().find(|(_, q)| q.throttled);
            ensure!(
                throttled.is_none(),
                12,
                "nothing is limited, and a queue is throttled"
            );
        }
        Ok(())
    }
}
