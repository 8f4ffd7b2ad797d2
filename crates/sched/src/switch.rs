//! The scheduling point of a CPU: who leaves, who is next; the tick; and who asks for a switch.
//!
//! Kernel: `__schedule`, `sched_tick`, `wakeup_preempt` in `core.c`.

use cpumax_bandwidth::Nanos;

use crate::event::{Effect, Event, Observer, Resched};
use crate::flags::{Dequeue, Enqueue};
use crate::{CpuId, Policy, Release, Sched, TaskId};

/// How the running task leaves its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Leave {
    /// It could run on: preempted, yielded, or just taken off.
    Preempted,
    /// It waits for a wakeup.
    Sleep,
    /// It is gone.
    Exit,
}

/// The shortest distance at which the high-resolution tick is programmed.
const HRTICK_MIN: i64 = 10_000;

impl<O: Observer> Sched<O> {
    /// The running task; `None` is the idle task.
    #[inline]
    pub fn curr(&self, cpu: CpuId) -> Option<TaskId> {
        self.rqs[cpu].curr
    }

    /// The pending reschedule request of a CPU.
    #[inline]
    pub fn need_resched(&self, cpu: CpuId) -> Option<Resched> {
        self.rqs[cpu].need_resched
    }

    /// Tasks that the CPU could run, the running one included.
    pub fn nr_running(&self, cpu: CpuId) -> usize {
        self.rqs[cpu].nr_running as usize
    }

    /// The CPU's scheduling point: the running task leaves as told, the next one is picked and
    /// switched to. Returns it; `None` is the idle task.
    pub fn schedule(&mut self, now: Nanos, cpu: CpuId, leave: Leave) -> Option<TaskId> {
        self.begin(now, cpu);
        let prev = self.rqs[cpu].curr;
        if let Some(prev) = prev {
            self.leave(prev, leave);
        }
        let moving = prev.filter(|&prev| self.leaves_cpu(prev));
        if let Some(task) = moving {
            self.dequeue_task(task, Dequeue::MIGRATE);
        }
        let (next, out_of_runtime) = self.pick_next_task(cpu);
        if next == prev {
            if out_of_runtime && let Some(task) = next {
                self.task_throttle_setup_work(task);
            }
        } else {
            self.switch(cpu, prev, next);
            if out_of_runtime && let Some(task) = next {
                self.task_throttle_setup_work(task);
            }
            self.observer
                .event(self.now, Event::Switched { cpu, prev, next });
        }
        // Charges on the way may have asked for the very switch that was made.
        self.rqs[cpu].need_resched = None;
        if let Some(task) = moving {
            let to = self.tasks[task]
                .migrate_to
                .take()
                .expect("a moving task has a destination");
            self.arrive(task, to);
        }
        self.program_hrtick(cpu);
        next
    }

    /// What the task's own call makes of it.
    fn leave(&mut self, task: TaskId, leave: Leave) {
        match leave {
            Leave::Preempted => {}
            Leave::Sleep => {
                self.tasks[task].asleep = true;
                if self.dequeue_task(task, Dequeue::SLEEP) {
                    self.tasks[task].on_rq = false;
                }
            }
            Leave::Exit => {
                self.tasks[task].exiting = true;
                self.dequeue_task(
                    task,
                    Dequeue {
                        special: true,
                        ..Dequeue::SLEEP
                    },
                );
                let t = &mut self.tasks[task];
                (t.on_rq, t.gone, t.migrate_to) = (false, true, None);
                self.groups[t.group].nr_tasks -= 1;
            }
        }
    }

    /// The running task must go to another CPU, and is not asleep.
    fn leaves_cpu(&mut self, task: TaskId) -> bool {
        let t = &self.tasks[task];
        let Some(to) = t.migrate_to.filter(|_| t.on_rq && !t.asleep) else {
            return false;
        };
        if !self.rqs[to].online {
            // It went offline since it was chosen.
            let other = self.fallback_cpu(task);
            let t = &mut self.tasks[task];
            t.migrate_to = (other != t.cpu).then_some(other);
        }
        self.tasks[task].migrate_to.is_some()
    }

    /// FIFO tasks first, then the fair class; a CPU that would go idle looks for work elsewhere.
    fn pick_next_task(&mut self, cpu: CpuId) -> (Option<TaskId>, bool) {
        let mut balanced = false;
        loop {
            if let Some(&task) = self.rqs[cpu].fifo.front() {
                return (Some(task), false);
            }
            if let Some((task, out_of_runtime)) = self.pick_task_fair(cpu) {
                return (Some(task), out_of_runtime);
            }
            if balanced || !self.newidle_balance(cpu) {
                return (None, false);
            }
            balanced = true;
        }
    }

    /// Kernel: `put_prev_set_next_task`.
    fn switch(&mut self, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) {
        let fair = |sched: &Self, task: Option<TaskId>| {
            task.filter(|&task| sched.tasks[task].policy != Policy::Fifo)
        };
        let (fair_prev, fair_next) = (fair(self, prev), fair(self, next));
        let shared = match (fair_prev, fair_next) {
            (Some(prev), Some(next)) if !self.flat() => self.shared_queue(prev, next),
            _ => None,
        };
        if let Some(task) = fair_prev {
            self.put_prev_task_fair(task, shared);
        }
        if let Some(task) = fair_next {
            self.set_next_task_fair(task, shared, fair_prev.is_some());
        }
        if let Some(prev) = prev {
            self.tasks[prev].on_cpu = false;
        }
        if let Some(next) = next {
            self.tasks[next].on_cpu = true;
        }
        self.rqs[cpu].curr = next;
        if next.is_none() {
            self.update_idle_core(cpu);
        }
    }

    /// The running task gives way (kernel: `do_sched_yield`). Call [`Self::schedule`] next.
    pub fn yield_task(&mut self, now: Nanos, cpu: CpuId) {
        self.begin(now, cpu);
        let Some(task) = self.rqs[cpu].curr else {
            return;
        };
        if self.tasks[task].policy == Policy::Fifo {
            let fifo = &mut self.rqs[cpu].fifo;
            fifo.rotate_left(usize::from(fifo.len() > 1));
        } else if self.tasks[task].on_rq && !self.tasks[task].throttled {
            self.yield_task_fair(task);
        }
    }

    /// The periodic tick (kernel: `sched_tick`).
    pub fn handle_tick(&mut self, now: Nanos, cpu: CpuId) {
        self.begin(now, cpu);
        if self.rqs[cpu].need_resched == Some(Resched::Lazy) {
            // It has waited long enough.
            self.resched_curr(cpu, Resched::Immediate);
        }
        if let Some(task) = self.rqs[cpu].curr
            && self.tasks[task].policy != Policy::Fifo
        {
            self.task_tick_fair(task);
        }
        self.trigger_load_balance(cpu);
    }

    /// The high-resolution tick: the request of the running task is used up (kernel: `hrtick`).
    pub fn handle_hrtick(&mut self, now: Nanos, cpu: CpuId) {
        self.begin(now, cpu);
        self.rqs[cpu].hrtick = None;
        if let Some(task) = self.rqs[cpu].curr
            && self.tasks[task].policy != Policy::Fifo
        {
            self.update_curr_path(self.tasks[task].entity);
            self.resched_fair(cpu);
        }
    }

    /// Programs the high-resolution tick for the running task's deadline; kernels before 7.2 have it
    /// off (kernel: `hrtick_start_fair`).
    pub(crate) fn program_hrtick(&mut self, cpu: CpuId) {
        if !matches!(self.config.kernel.release, Release::V7_2 | Release::V7_3) {
            return;
        }
        let expires = self.hrtick_expiry(cpu);
        let rq = &mut self.rqs[cpu];
        if rq.hrtick == expires {
            return;
        }
        rq.hrtick = expires;
        self.effects.push_back(match expires {
            Some(expires) => Effect::ArmHrtick { cpu, expires },
            None => Effect::CancelHrtick { cpu },
        });
    }

    fn hrtick_expiry(&self, cpu: CpuId) -> Option<Nanos> {
        let rq = &self.rqs[cpu];
        let task = rq.curr?;
        let t = &self.tasks[task];
        let e = &self.entities[t.entity];
        // Alone there is nobody to switch to.
        if t.policy == Policy::Fifo || !e.on_rq || self.queues[rq.root].h_nr_queued < 2 {
            return None;
        }
        let span = (i128::from(e.deadline - e.vruntime) * i128::from(e.h_load.0)) >> 20;
        Some(Nanos(e.exec_start.0 + (span as i64).max(HRTICK_MIN) as u64))
    }

    /// Whether a task that was queued takes the CPU (kernel: `wakeup_preempt`).
    pub(crate) fn check_preempt(&mut self, wakee: TaskId, fork: bool) {
        let cpu = self.tasks[wakee].cpu;
        let wakee_fifo = self.tasks[wakee].policy == Policy::Fifo;
        match self.rqs[cpu].curr {
            None => self.resched_curr(cpu, Resched::Immediate),
            Some(curr) => match (self.tasks[curr].policy == Policy::Fifo, wakee_fifo) {
                (false, true) => self.resched_curr(cpu, Resched::Immediate),
                (false, false) => self.check_preempt_wakeup_fair(curr, wakee, fork),
                // One FIFO task does not preempt another: they have one priority.
                (true, _) => {}
            },
        }
    }

    /// Kernel: `add_nr_running`.
    #[inline]
    pub(crate) fn add_nr_running(&mut self, cpu: CpuId, count: u32) {
        self.set_nr_running(cpu, self.rqs[cpu].nr_running + count);
    }

    /// Kernel: `sub_nr_running`.
    #[inline]
    pub(crate) fn sub_nr_running(&mut self, cpu: CpuId, count: u32) {
        self.set_nr_running(cpu, self.rqs[cpu].nr_running - count);
    }

    #[inline]
    fn set_nr_running(&mut self, cpu: CpuId, count: u32) {
        let before = core::mem::replace(&mut self.rqs[cpu].nr_running, count);
        match (before > 1, count > 1) {
            (false, true) => self.overloaded.insert(cpu),
            (true, false) => self.overloaded.remove(cpu),
            (false, false) | (true, true) => {}
        }
    }

    /// Puts a task into its class's queues on its CPU (kernel: `enqueue_task`).
    pub(crate) fn enqueue_task(&mut self, task: TaskId, flags: Enqueue) {
        let cpu = self.tasks[task].cpu;
        if self.tasks[task].policy == Policy::Fifo {
            self.rqs[cpu].fifo.push_back(task);
            self.add_nr_running(cpu, 1);
        } else {
            self.enqueue_task_fair(task, flags);
        }
    }

    /// Takes a task out of its class's queues; `false`: it stays as a delayed entity (kernel:
    /// `dequeue_task`).
    pub(crate) fn dequeue_task(&mut self, task: TaskId, flags: Dequeue) -> bool {
        let cpu = self.tasks[task].cpu;
        if self.tasks[task].policy == Policy::Fifo {
            let fifo = &mut self.rqs[cpu].fifo;
            let before = fifo.len();
            fifo.retain(|&other| other != task);
            let left = (before - fifo.len()) as u32;
            self.sub_nr_running(cpu, left);
            true
        } else {
            self.dequeue_task_fair(task, flags)
        }
    }
}
