//! The border to the scheduler: switches, wakeups, and the effects that it leaves.

use cpumax_bandwidth::Nanos;
use cpumax_sched::{CpuId, Effect, Leave, Observer, Resched};

use super::{Next, Simulation};
use crate::cpu::State;
use crate::event_queue::{Event, Interrupt};
use crate::program::Call;
use crate::setup::TaskIndex;
use crate::task::{Activity, Phase, Work};

impl<O: Observer> Simulation<O> {
    /// The CPU's task leaves as told, and the next one is picked. It has the CPU from now on, so the
    /// switch is its time.
    pub(super) fn schedule(&mut self, cpu: CpuId, leave: Leave) -> Next {
        self.operations += 1;
        let now = self.now;
        let next = self
            .sched
            .schedule(now, cpu, leave)
            .map(|id| self.task_of[id.index()]);
        let at = &mut self.cpus[cpu.index()];
        let prev = at.curr;
        if let Some(prev) = prev {
            self.tasks[prev.0].cpu_time += now - at.since;
        }
        at.state = State::Switch;
        at.curr = next;
        at.since = now;
        let cost = if prev == next {
            if next.is_some() {
                self.costs.pick
            } else {
                Nanos::ZERO
            }
        } else {
            if let Some(prev) = prev {
                self.tasks[prev.0].switches += 1;
            }
            let migrated = next.is_some_and(|next| {
                let last = self.tasks[next.0].last_cpu.replace(cpu);
                last.is_some_and(|last| last != cpu)
            });
            self.costs.context_switch
                + if migrated {
                    self.costs.migration
                } else {
                    Nanos::ZERO
                }
        };
        if next.is_none() {
            at.ticking = false;
        } else if !at.ticking {
            at.ticking = true;
            self.queue_tick(cpu);
        }
        self.carry_out(Some(cpu));
        self.owe_search(cpu);
        let cost = self.paced(cpu, cost) + self.take_owed(cpu);
        Next::For(cost)
    }

    /// Queues the CPU's next tick: the first multiple of the tick period after now.
    pub(super) fn queue_tick(&mut self, cpu: CpuId) {
        let period = self.setup.machine.tick.0;
        let next = Nanos((self.now.0 / period + 1) * period);
        let at = &mut self.cpus[cpu.index()];
        // One that was queued before an idle moment serves again.
        if at.tick_queued != Some(next) {
            at.tick_queued = Some(next);
            self.events.push(
                next,
                Event::Interrupt {
                    cpu,
                    interrupt: Interrupt::Tick,
                },
            );
        }
    }

    /// Wakes a task that sleeps, on behalf of `waker`: the CPU whose timer it is or whose task does it.
    pub(super) fn wake(&mut self, task: TaskIndex, waker: CpuId, sync: bool) {
        let (now, costs) = (self.now, &self.costs);
        let woken = &mut self.tasks[task.0];
        debug_assert_eq!(woken.activity, Activity::Asleep);
        let back = match woken.call {
            Call::Sleep(_) | Call::Timer(_) => Nanos::ZERO,
            _ => costs.block - costs.block / 2,
        };
        if matches!(woken.call, Call::Wait(_)) || woken.call.waits_for_data() {
            woken.jobs.next_release = now;
        }
        woken.blocked = None;
        woken.activity = Activity::Kernel(Phase::Unpark, Work::Cost(back));
        woken.wakeups += 1;
        let id = woken.id;
        self.operations += 2;
        let target = self.sched.select_cpu(now, id, waker, sync);
        self.owe_search(waker);
        if target != waker {
            let lines = self.speeds.remote_wakeup(waker, target);
            self.cpus[waker.index()].owed += lines;
        }
        self.sched.wake(now, id, target);
        self.carry_out(Some(waker));
    }

    /// How long work takes on a CPU, as things are now.
    #[inline]
    pub(super) fn paced(&self, cpu: CpuId, work: Nanos) -> Nanos {
        self.speeds
            .paced(cpu, work, |other| self.cpus[other.index()].curr.is_some())
    }

    /// The CPU has to pay for what the core has searched and walked on its behalf.
    pub(super) fn owe_search(&mut self, cpu: CpuId) {
        let searched = self.costs.cpu_search * u64::from(self.sched.take_cpus_searched());
        let walked = self.costs.unthrottle_queue * u64::from(self.sched.take_queues_throttled());
        self.cpus[cpu.index()].owed += searched + walked;
    }

    /// What the CPU has to pay for beside what it does next.
    pub(super) fn take_owed(&mut self, cpu: CpuId) -> Nanos {
        std::mem::take(&mut self.cpus[cpu.index()].owed)
    }

    /// Carries out what the core left to do. `by` is the CPU that called the core, which sees requests
    /// to itself by itself; `None` is a call from outside the machine.
    pub(super) fn carry_out(&mut self, by: Option<CpuId>) {
        while let Some(effect) = self.sched.poll_effect() {
            match effect {
                Effect::Resched { cpu, kind } => {
                    // A lazy request to a busy CPU is a mark that it finds by itself.
                    let idle = self.cpus[cpu.index()].curr.is_none();
                    if by != Some(cpu) && (kind == Resched::Immediate || idle) {
                        self.send_reschedule(cpu, by);
                    }
                }
                Effect::UnthrottleIpi { cpu } => {
                    let at = self.now + self.ipi_latency(cpu, by);
                    let interrupt = Interrupt::Unthrottle;
                    self.events.push(at, Event::Interrupt { cpu, interrupt });
                }
                Effect::ArmPeriodTimer {
                    group,
                    cpu,
                    expires,
                } => {
                    let programming = &mut self.timers[group.index()].period;
                    *programming += 1;
                    let interrupt = Interrupt::PeriodTimer {
                        group,
                        programming: *programming,
                    };
                    self.events
                        .push(expires.max(self.now), Event::Interrupt { cpu, interrupt });
                }
                Effect::ArmSlackTimer {
                    group,
                    cpu,
                    expires,
                } => {
                    let programming = &mut self.timers[group.index()].slack;
                    *programming += 1;
                    let interrupt = Interrupt::SlackTimer {
                        group,
                        programming: *programming,
                    };
                    self.events
                        .push(expires.max(self.now), Event::Interrupt { cpu, interrupt });
                }
                Effect::ArmHrtick { cpu, expires } => {
                    let programming = &mut self.cpus[cpu.index()].hrtick;
                    *programming += 1;
                    let interrupt = Interrupt::Hrtick {
                        programming: *programming,
                    };
                    self.events
                        .push(expires.max(self.now), Event::Interrupt { cpu, interrupt });
                }
                Effect::CancelHrtick { cpu } => self.cpus[cpu.index()].hrtick += 1,
                // Raised by a tick, so its handler looks at it when it ends.
                Effect::RaiseSoftirq { cpu } => self.cpus[cpu.index()].softirq_raised = true,
                // Looked at where it matters: on the return to user mode.
                Effect::AddTaskWork { .. } => {}
            }
        }
    }

    /// Sends a reschedule IPI, unless one is on its way.
    pub(super) fn send_reschedule(&mut self, cpu: CpuId, by: Option<CpuId>) {
        let at = self.now + self.ipi_latency(cpu, by);
        let target = &mut self.cpus[cpu.index()];
        if target.state != State::Offline && !target.reschedule_sent {
            target.reschedule_sent = true;
            let interrupt = Interrupt::Reschedule;
            self.events.push(at, Event::Interrupt { cpu, interrupt });
        }
    }

    fn ipi_latency(&self, to: CpuId, by: Option<CpuId>) -> Nanos {
        let from = by.unwrap_or(CpuId::new(0));
        if from == to {
            Nanos::ZERO
        } else {
            self.costs.ipi_latency
        }
    }
}
