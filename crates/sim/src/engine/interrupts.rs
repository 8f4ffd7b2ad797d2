//! Interrupts: their delivery, their handlers, and what the CPU goes back to.

use cpumax_bandwidth::Nanos;
use cpumax_sched::{CpuId, Leave, Observer, Preemption, Resched, Work as HandlerWork};

use super::{Next, Simulation};
use crate::cpu::State;
use crate::error::Error;
use crate::event_queue::{Event, Interrupt};
use crate::setup::TaskIndex;
use crate::task::{Activity, Phase, Work};

impl<O: Observer> Simulation<O> {
    /// An interrupt reaches a CPU: it is handled now, or when the CPU takes interrupts again.
    pub(super) fn interrupt(&mut self, cpu: CpuId, interrupt: Interrupt) -> Result<(), Error> {
        if self.is_stale(cpu, interrupt) {
            return Ok(());
        }
        match self.cpus[cpu.index()].state {
            State::Offline => {
                self.redirect(interrupt);
                return Ok(());
            }
            State::User => self.leave_user_mode(cpu),
            State::Kernel => self.save_kernel_work(cpu),
            State::Idle => {}
            _ => {
                self.cpus[cpu.index()].pending.push_back(interrupt);
                return Ok(());
            }
        }
        self.proceed_with(cpu, |simulation, cpu| {
            Ok(simulation.enter_interrupt(cpu, interrupt))
        })
    }

    /// Whether an interrupt was called off since it was programmed. Noted here for the tick: its event
    /// is gone.
    fn is_stale(&mut self, cpu: CpuId, interrupt: Interrupt) -> bool {
        let at = &mut self.cpus[cpu.index()];
        match interrupt {
            Interrupt::Tick => {
                if at.tick_queued != Some(self.now) {
                    return true;
                }
                at.tick_queued = None;
                !at.ticking
            }
            Interrupt::Hrtick { programming } => programming != at.hrtick,
            Interrupt::PeriodTimer { group, programming } => {
                programming != self.timers[group.index()].period
            }
            Interrupt::SlackTimer { group, programming } => {
                programming != self.timers[group.index()].slack
            }
            Interrupt::SleepTimer { .. }
            | Interrupt::Reschedule
            | Interrupt::Unthrottle
            | Interrupt::Stop => false,
        }
    }

    fn enter_interrupt(&mut self, cpu: CpuId, interrupt: Interrupt) -> Next {
        self.cpus[cpu.index()].state = State::Entering(interrupt);
        Next::For(match interrupt {
            // The latency of an IPI includes its entry.
            Interrupt::Reschedule | Interrupt::Unthrottle | Interrupt::Stop => Nanos::ZERO,
            _ => self.costs.interrupt_entry,
        })
    }

    /// Runs a handler, or its loop once more: its effects, at once, and then its cost.
    pub(super) fn handle_interrupt(
        &mut self,
        cpu: CpuId,
        interrupt: Interrupt,
    ) -> Result<Next, Error> {
        self.operations += 1;
        let mut again = false;
        if !matches!(
            self.cpus[cpu.index()].state,
            State::Handling { again: true, .. }
        ) {
            self.cpus[cpu.index()].handler_began = self.now;
        }
        let cost = match interrupt {
            Interrupt::Tick => self.tick(cpu),
            Interrupt::Hrtick { programming } => {
                if programming == self.cpus[cpu.index()].hrtick {
                    self.sched.handle_hrtick(self.now, cpu);
                }
                self.costs.tick
            }
            Interrupt::PeriodTimer { group, programming } => {
                if programming != self.timers[group.index()].period {
                    Nanos::ZERO
                } else if let Some(work) = self.sched.period_timer_iteration(self.now, cpu, group) {
                    again = true;
                    self.costs.period_timer + self.distribution(work)
                } else {
                    Nanos::ZERO
                }
            }
            Interrupt::SlackTimer { group, programming } => {
                if programming == self.timers[group.index()].slack {
                    let work = self.sched.handle_slack_timer(self.now, cpu, group);
                    self.costs.period_timer + self.distribution(work)
                } else {
                    Nanos::ZERO
                }
            }
            Interrupt::SleepTimer { task } => {
                self.wake(task, cpu, false);
                self.costs.wakeup + self.take_owed(cpu)
            }
            Interrupt::Reschedule => {
                self.cpus[cpu.index()].reschedule_sent = false;
                Nanos::ZERO
            }
            Interrupt::Unthrottle => {
                let work = self.sched.handle_unthrottle_ipi(self.now, cpu);
                let cost = self.cost_of(work);
                self.handlers.unthrottle.push(cost);
                cost
            }
            Interrupt::Stop => return self.stop(cpu),
        };
        self.carry_out(Some(cpu));
        self.cpus[cpu.index()].state = State::Handling { interrupt, again };
        Ok(Next::For(cost))
    }

    /// The tick, which the CPU may have stopped while it waited.
    fn tick(&mut self, cpu: CpuId) -> Nanos {
        if !self.cpus[cpu.index()].ticking {
            return Nanos::ZERO;
        }
        self.sched.handle_tick(self.now, cpu);
        self.queue_tick(cpu);
        self.costs.tick
    }

    fn cost_of(&self, work: HandlerWork) -> Nanos {
        self.costs.distribute_queue * u64::from(work.queues_walked)
            + self.costs.unthrottle_queue * u64::from(work.queues_unthrottled)
            + self.costs.unthrottle_task * u64::from(work.entities_enqueued)
    }

    /// The cost of a distribution, which is noted if it had someone to give to.
    fn distribution(&mut self, work: HandlerWork) -> Nanos {
        let cost = self.cost_of(work);
        if work.queues_walked > 0 {
            self.handlers.distribute.push(cost);
        }
        cost
    }

    /// The softirq that the interrupt raised.
    pub(super) fn handle_softirq(&mut self, cpu: CpuId) -> Next {
        self.operations += 1;
        self.sched.handle_softirq(self.now, cpu);
        self.carry_out(Some(cpu));
        self.owe_search(cpu);
        self.cpus[cpu.index()].state = State::Softirq;
        Next::For(self.costs.softirq + self.take_owed(cpu))
    }

    /// The handler is done: the next interrupt that waits, then the softirq, then back.
    pub(super) fn handler_over(&mut self, cpu: CpuId) -> Result<Next, Error> {
        let at = &self.cpus[cpu.index()];
        if let State::Handling {
            interrupt: Interrupt::PeriodTimer { .. },
            ..
        } = at.state
        {
            let took = self.now - at.handler_began;
            self.handlers.period_timer.push(took);
        }
        if let Some(next) = self.cpus[cpu.index()].pending.pop_front() {
            return self.handle_interrupt(cpu, next);
        }
        let at = &mut self.cpus[cpu.index()];
        if std::mem::take(&mut at.softirq_raised) {
            at.state = State::SoftirqDue;
            // The number that the open segment, which begins now, will have.
            let segment = at.segment + 1;
            self.events.push(self.now, Event::Softirq { cpu, segment });
            return Ok(Next::Open);
        }
        let Some(task) = self.cpus[cpu.index()].curr else {
            return Ok(self.back_to_idleness(cpu));
        };
        match self.tasks[task.0].activity {
            Activity::User => self.return_to_user(cpu, task),
            Activity::Kernel(phase, _) if self.preempts_after_interrupt(cpu, task, phase) => {
                Ok(self.schedule(cpu, Leave::Preempted))
            }
            _ => Ok(self.resume_kernel_work(cpu, task)),
        }
    }

    fn back_to_idleness(&mut self, cpu: CpuId) -> Next {
        if self.sched.need_resched(cpu).is_some() {
            self.cpus[cpu.index()].state = State::IdleExit;
            Next::For(self.costs.idle_exit)
        } else {
            self.cpus[cpu.index()].state = State::Idle;
            Next::Open
        }
    }

    /// Whether a task that was interrupted in the kernel is switched away from.
    fn preempts_after_interrupt(&self, cpu: CpuId, task: TaskIndex, phase: Phase) -> bool {
        if phase == Phase::Softirq {
            return false;
        }
        let requested = self.sched.need_resched(cpu);
        match self.preemption {
            Preemption::Full | Preemption::Lazy => requested == Some(Resched::Immediate),
            // The work of a kernel thread is full of cond_resched(), a long system call is not.
            Preemption::None | Preemption::Voluntary => {
                requested.is_some() && phase == Phase::Run && self.tasks[task.0].kernel_thread
            }
        }
    }

    /// The switch is over: interrupts are taken again, then the scheduler looks for another request
    /// (kernel: the loop in `schedule`), then the task goes on.
    pub(super) fn switch_over(&mut self, cpu: CpuId) -> Result<Next, Error> {
        if let Some(next) = self.cpus[cpu.index()].pending.pop_front() {
            return Ok(self.enter_interrupt(cpu, next));
        }
        if self.sched.need_resched(cpu) == Some(Resched::Immediate) {
            return Ok(self.schedule(cpu, Leave::Preempted));
        }
        let Some(task) = self.cpus[cpu.index()].curr else {
            return Ok(self.back_to_idleness(cpu));
        };
        match self.tasks[task.0].activity {
            Activity::User => self.return_to_user(cpu, task),
            _ => Ok(self.resume_kernel_work(cpu, task)),
        }
    }

    /// Keeps what is left of the kernel work that an interrupt cuts short.
    fn save_kernel_work(&mut self, cpu: CpuId) {
        let at = &self.cpus[cpu.index()];
        if let (Some(task), Some(ends)) = (at.curr, at.ends)
            && let Activity::Kernel(phase, Work::Cost(_)) = self.tasks[task.0].activity
        {
            self.tasks[task.0].activity = Activity::Kernel(phase, Work::Cost(ends - self.now));
        }
    }

    /// Takes the CPU offline. Its task stays where it is in its work; the core moves it elsewhere.
    fn stop(&mut self, cpu: CpuId) -> Result<Next, Error> {
        let mut others = self.cpus.iter().filter(|other| other.id != cpu);
        if others.all(|other| other.state == State::Offline) {
            return Err(Error::LastCpu {
                at: self.since_t0(),
                line: None,
            });
        }
        self.sched.cpu_offline(self.now, cpu);
        self.carry_out(Some(cpu));
        if self.cpus[cpu.index()].curr.is_some() {
            self.schedule(cpu, Leave::Preempted);
        }
        let at = &mut self.cpus[cpu.index()];
        debug_assert_eq!(at.curr, None, "an offline CPU picks nothing");
        at.state = State::Offline;
        at.ticking = false;
        at.softirq_raised = false;
        let waiting = std::mem::take(&mut at.pending);
        for interrupt in waiting {
            self.redirect(interrupt);
        }
        Ok(Next::Open)
    }

    /// A timer of an offline CPU fires on the first CPU that is online; what concerned the CPU itself is
    /// dropped.
    fn redirect(&mut self, interrupt: Interrupt) {
        match interrupt {
            Interrupt::PeriodTimer { .. }
            | Interrupt::SlackTimer { .. }
            | Interrupt::SleepTimer { .. } => {
                if let Some(other) = self.cpus.iter().find(|cpu| cpu.state != State::Offline) {
                    self.events.push(
                        self.now,
                        Event::Interrupt {
                            cpu: other.id,
                            interrupt,
                        },
                    );
                }
            }
            Interrupt::Tick
            | Interrupt::Hrtick { .. }
            | Interrupt::Reschedule
            | Interrupt::Unthrottle
            | Interrupt::Stop => {}
        }
    }
}
