//! The running task: its instructions, the phases of its calls, and its return to user mode.

use cpumax_bandwidth::Nanos;
use cpumax_sched::{CpuId, Leave, Observer, Preemption, Resched};

use super::{Next, Simulation};
use crate::cpu::State;
use crate::error::{Error, LockMisuse};
use crate::event_queue::Event;
use crate::objects::Waiters;
use crate::program::{Call, Instruction};
use crate::setup::TaskIndex;
use crate::task::{Activity, AfterWakes, ClockedRun, Phase, Transfer, UserWork, WakeTarget, Work};

// User mode and the way back to it.
impl<O: Observer> Simulation<O> {
    /// The checks before user mode (kernel: `exit_to_user_mode_loop`), then user mode.
    pub(super) fn return_to_user(&mut self, cpu: CpuId, task: TaskIndex) -> Result<Next, Error> {
        if self.sched.need_resched(cpu).is_some() {
            return Ok(self.schedule(cpu, Leave::Preempted));
        }
        if self.sched.has_task_work(self.tasks[task.0].id) {
            let work = Work::Cost(self.costs.throttle_work);
            self.tasks[task.0].activity = Activity::Kernel(Phase::TakeOff, work);
            return Ok(self.resume_kernel_work(cpu, task));
        }
        match self.tasks[task.0].user {
            UserWork::Next => self.next_instruction(cpu, task),
            UserWork::Until(until) if self.cpu_time_now(&self.cpus[cpu.index()], task) >= until => {
                self.next_instruction(cpu, task)
            }
            UserWork::WallUntil(until) if self.now >= until => self.next_instruction(cpu, task),
            UserWork::Until(_) | UserWork::WallUntil(_) | UserWork::Forever => {
                Ok(self.enter_user_mode(cpu, task))
            }
        }
    }

    fn enter_user_mode(&mut self, cpu: CpuId, task: TaskIndex) -> Next {
        let now = self.now;
        self.tasks[task.0].activity = Activity::User;
        let ends = match self.tasks[task.0].user {
            UserWork::Until(until) => {
                Some(now + (until - self.cpu_time_now(&self.cpus[cpu.index()], task)))
            }
            UserWork::WallUntil(until) => Some(until),
            UserWork::Next | UserWork::Forever => None,
        };
        let at = &mut self.cpus[cpu.index()];
        at.state = State::User;
        at.user_since = now;
        // After an interrupt the end is where it was, since the interrupt was the task's own time.
        if at.alarm_at != ends {
            at.alarm += 1;
            at.alarm_at = ends;
            if let Some(ends) = ends {
                self.events.push(
                    ends,
                    Event::UserEnd {
                        cpu,
                        alarm: at.alarm,
                    },
                );
            }
        }
        Next::Open
    }

    /// Adds the time in user mode up to now to the task's and its group's.
    pub(super) fn leave_user_mode(&mut self, cpu: CpuId) {
        let at = &self.cpus[cpu.index()];
        if let Some(task) = at.curr {
            let time = self.now - at.user_since;
            let task = &mut self.tasks[task.0];
            task.user_time += time;
            if let Some(group) = task.group {
                self.groups[group.0].user_time += time;
            }
        }
    }

    /// The task has used the CPU time that it wanted in user mode.
    pub(super) fn user_work_over(&mut self, cpu: CpuId) -> Result<Next, Error> {
        match self.cpus[cpu.index()].curr {
            Some(task) => self.next_instruction(cpu, task),
            None => Ok(Next::Open),
        }
    }

    /// Begins the task's next instruction that takes time or calls the kernel.
    fn next_instruction(&mut self, cpu: CpuId, task: TaskIndex) -> Result<Next, Error> {
        loop {
            self.last_task = Some(task);
            self.count_at_this_instant()?;
            let cpu_time = self.cpu_time_now(&self.cpus[cpu.index()], task);
            let now = self.now;
            let running = &mut self.tasks[task.0];
            running.jobs.run(now);
            running.jobs.instruction_began = now;
            running.user = UserWork::Next;
            if running.clocked.is_some()
                && let Some(next) = self.go_on_by_clock(cpu, task)
            {
                return Ok(next);
            }
            let running = &mut self.tasks[task.0];
            let instruction = match running.call {
                // The bytes that one call did not bring are read by another.
                Call::PipeRead { all: true, .. } | Call::SocketRead { .. }
                    if running.transfer.remaining > 0 =>
                {
                    Instruction::Call(running.call)
                }
                _ => {
                    running.transfer = Transfer::default();
                    running.program.advance(&mut running.place)
                }
            };
            let until = match instruction {
                Instruction::Run(Nanos::ZERO) => continue,
                Instruction::Run(time) => Some(cpu_time + self.paced(cpu, time)),
                Instruction::Spin => None,
                Instruction::RunByClock(time) => {
                    running.clocked = Some(ClockedRun {
                        time,
                        target: None,
                        missing: None,
                    });
                    return Ok(self.enter_call(cpu, task, Call::ReadClock));
                }
                Instruction::Call(call) => return Ok(self.enter_call(cpu, task, call)),
            };
            let running = &mut self.tasks[task.0];
            if running.stays_in_kernel() {
                let work = until.map_or(Work::Forever, Work::Until);
                running.activity = Activity::Kernel(Phase::Run, work);
                return Ok(self.resume_kernel_work(cpu, task));
            }
            running.user = until.map_or(UserWork::Forever, UserWork::Until);
            return Ok(self.enter_user_mode(cpu, task));
        }
    }
}

// Runs that are measured by the CPU clock.
impl<O: Observer> Simulation<O> {
    /// Waits for what the last reading showed missing, or reads again; `None`: the run is over.
    fn go_on_by_clock(&mut self, cpu: CpuId, task: TaskIndex) -> Option<Next> {
        let now = self.now;
        let running = &mut self.tasks[task.0];
        let clocked = running.clocked.as_mut()?;
        match clocked.missing.take() {
            None => Some(self.enter_call(cpu, task, Call::ReadClock)),
            Some(Nanos::ZERO) => {
                running.clocked = None;
                None
            }
            Some(missing) => {
                running.user = UserWork::WallUntil(now + missing);
                Some(self.enter_user_mode(cpu, task))
            }
        }
    }

    /// Kernel: `task_sched_runtime`, which charges the task.
    fn read_clock(&mut self, cpu: CpuId, task: TaskIndex) -> Next {
        let shown = self.cpu_time_now(&self.cpus[cpu.index()], task);
        self.operations += 1;
        self.sched
            .read_task_runtime(self.now, self.tasks[task.0].id);
        self.carry_out(Some(cpu));
        if let Some(clocked) = &mut self.tasks[task.0].clocked {
            let target = *clocked.target.get_or_insert(shown + clocked.time);
            clocked.missing = Some(target.saturating_sub(shown));
        }
        self.leave_call(cpu, task)
    }
}

// The phases of a call.
impl<O: Observer> Simulation<O> {
    fn enter_call(&mut self, cpu: CpuId, task: TaskIndex, call: Call) -> Next {
        let costs = &self.costs;
        let running = &mut self.tasks[task.0];
        let own = match call {
            Call::PipeRead { .. } => costs.pipe_read,
            Call::PipeWrite { .. } => costs.pipe_write,
            Call::SocketRead { .. } => costs.socket_read,
            Call::SocketWrite { .. } => costs.socket_write,
            Call::UdpSend { .. } => costs.udp_send,
            Call::UdpReceive(_) => costs.udp_receive,
            Call::Sleep(_) | Call::Timer(_) => costs.sleep,
            Call::Wait(_) => costs.block / 2,
            Call::Lock(_) | Call::Unlock(_) | Call::Acquire(..) | Call::Release(..) => costs.lock,
            Call::Fork(_) => costs.fork,
            _ => Nanos::ZERO,
        };
        let entry = if running.stays_in_kernel() {
            Nanos::ZERO
        } else {
            costs.syscall / 2
        };
        running.call = call;
        if let Some(bytes) = call.bytes() {
            let remaining = if running.transfer.remaining > 0 {
                running.transfer.remaining
            } else {
                bytes
            };
            running.transfer = Transfer {
                remaining,
                waited: false,
            };
        }
        let (entry, own) = (self.paced(cpu, entry), self.paced(cpu, own));
        let cost = self.with_sharing(cpu, call, entry, own);
        self.tasks[task.0].activity = Activity::Kernel(Phase::Enter, Work::Cost(cost));
        self.resume_kernel_work(cpu, task)
    }

    /// The cost of a call, its entry and its own work, with what it takes that other CPUs work on the same object. A
    /// datagram is handed over in the softirq, so its sender does not touch the socket before.
    fn with_sharing(&mut self, cpu: CpuId, call: Call, entry: Nanos, own: Nanos) -> Nanos {
        if matches!(call, Call::UdpSend { .. }) {
            return entry + own;
        }
        let (begins, lines) = (self.now + entry, self.speeds.lines_of(call));
        match self.objects.sharing(call) {
            Some(sharing) => sharing.use_for(cpu, begins, own, lines, &self.speeds) - self.now,
            None => entry + own,
        }
    }

    /// Goes on with the task's kernel work for as long as it takes.
    pub(super) fn resume_kernel_work(&mut self, cpu: CpuId, task: TaskIndex) -> Next {
        let at = &mut self.cpus[cpu.index()];
        at.state = State::Kernel;
        match self.tasks[task.0].activity {
            Activity::Kernel(_, Work::Cost(cost)) => Next::For(cost),
            Activity::Kernel(_, Work::Until(until)) => {
                let cpu_time = self.cpu_time_now(&self.cpus[cpu.index()], task);
                Next::For(until.saturating_sub(cpu_time))
            }
            _ => Next::Open,
        }
    }

    /// Goes on in the kernel with this phase; here the task can be preempted.
    pub(super) fn go_on(&mut self, cpu: CpuId, task: TaskIndex, phase: Phase, work: Work) -> Next {
        let work = match work {
            Work::Cost(cost) => Work::Cost(self.paced(cpu, cost) + self.take_owed(cpu)),
            other => other,
        };
        self.tasks[task.0].activity = Activity::Kernel(phase, work);
        let requested = self.sched.need_resched(cpu);
        let preempt = match self.preemption {
            Preemption::None => false,
            // Kernel: the cond_resched() in might_sleep().
            Preemption::Voluntary => requested.is_some(),
            Preemption::Full | Preemption::Lazy => requested == Some(Resched::Immediate),
        };
        if preempt {
            self.schedule(cpu, Leave::Preempted)
        } else {
            self.resume_kernel_work(cpu, task)
        }
    }

    /// What happens at the end of a phase.
    pub(super) fn phase_over(&mut self, cpu: CpuId) -> Result<Next, Error> {
        let Some(task) = self.cpus[cpu.index()].curr else {
            return Ok(Next::Open);
        };
        let Activity::Kernel(phase, _) = self.tasks[task.0].activity else {
            return Ok(Next::Open);
        };
        match phase {
            Phase::Enter => self.call_takes_effect(cpu, task),
            Phase::Body => Ok(self.leave_call(cpu, task)),
            Phase::Softirq => Ok(self.deliver_datagram(cpu, task)),
            Phase::Run | Phase::Stay => self.next_instruction(cpu, task),
            Phase::Wake => Ok(self.wake_one(cpu, task)),
            Phase::Park => Ok(self.park(cpu, task)),
            Phase::Unpark => Ok(self.unparked(cpu, task)),
            Phase::Exit => {
                self.tasks[task.0].activity = Activity::User;
                self.return_to_user(cpu, task)
            }
            Phase::TakeOff => {
                self.tasks[task.0].activity = Activity::User;
                self.operations += 1;
                let taken_off = self.sched.return_to_user_work(self.now, cpu);
                self.carry_out(Some(cpu));
                if taken_off {
                    Ok(self.schedule(cpu, Leave::Preempted))
                } else {
                    self.return_to_user(cpu, task)
                }
            }
        }
    }

    fn call_takes_effect(&mut self, cpu: CpuId, task: TaskIndex) -> Result<Next, Error> {
        let now = self.now;
        match self.tasks[task.0].call {
            Call::Nothing => Ok(self.leave_call(cpu, task)),
            Call::ReadClock => Ok(self.read_clock(cpu, task)),
            Call::Run(time) => {
                let time = self.paced(cpu, time);
                let until = self.cpu_time_now(&self.cpus[cpu.index()], task) + time;
                Ok(self.go_on(cpu, task, Phase::Body, Work::Until(until)))
            }
            Call::Sleep(time) => Ok(self.sleep_until(cpu, task, now + time)),
            Call::Timer(period) => {
                let jobs = &mut self.tasks[task.0].jobs;
                let at = jobs.next_timer(period);
                if at > now {
                    return Ok(self.sleep_until(cpu, task, at));
                }
                jobs.end();
                jobs.next_release = at;
                jobs.begin();
                Ok(self.leave_call(cpu, task))
            }
            Call::PipeWrite { pipe, .. } => Ok(self.write_pipe(cpu, task, pipe)),
            Call::PipeRead { pipe, .. } => Ok(self.read_pipe(cpu, task, pipe)),
            Call::SocketWrite { socket, .. } => Ok(self.write_stream(cpu, task, socket)),
            Call::SocketRead { socket, .. } => Ok(self.read_stream(cpu, task, socket)),
            Call::UdpSend { .. } => Ok(self.enter_receive_softirq(cpu, task)),
            Call::UdpReceive(socket) => Ok(self.receive_datagram(cpu, task, socket)),
            Call::Wait(queue) => {
                self.objects.waiters(Waiters::Queue(queue)).push_back(task);
                self.tasks[task.0].jobs.end();
                Ok(self.fall_asleep(cpu, task))
            }
            Call::Wake { queue, all } => {
                let waiters = Waiters::Queue(queue);
                let waiting = self.objects.waiters(waiters).len() as u32;
                let count = if all { waiting } else { waiting.min(1) };
                self.tasks[task.0].wakes = [Some(WakeTarget::Waiters(waiters, count)), None];
                self.tasks[task.0].after_wakes = AfterWakes::Leave;
                Ok(self.next_wake(cpu, task))
            }
            Call::Lock(mutex) => match self.objects.mutex(mutex).owner {
                None => Ok(self.take_mutex(cpu, task, mutex)),
                Some(owner) if owner == task => Err(self.misuse(task, LockMisuse::Relock)),
                Some(_) => {
                    let work = Work::Cost(self.costs.block / 2);
                    Ok(self.go_on(cpu, task, Phase::Park, work))
                }
            },
            Call::Unlock(mutex) => self.release_mutex(cpu, task, mutex),
            Call::Acquire(semaphore, mode) => {
                Ok(self.acquire_semaphore(cpu, task, semaphore, mode))
            }
            Call::Release(semaphore, mode) => self.release_semaphore(cpu, task, semaphore, mode),
            Call::Fork(child) => {
                self.fork(cpu, child)?;
                Ok(self.leave_call(cpu, task))
            }
            Call::Yield => {
                self.operations += 1;
                self.sched.yield_task(now, cpu);
                self.carry_out(Some(cpu));
                self.tasks[task.0].activity = self.end_of_call(task);
                Ok(self.schedule(cpu, Leave::Preempted))
            }
            Call::Exit => {
                let exiting = &mut self.tasks[task.0];
                if exiting.locks_held > 0 {
                    return Err(self.misuse(task, LockMisuse::ExitHolding));
                }
                exiting.jobs.end();
                exiting.activity = Activity::Gone;
                exiting.exited = Some(now);
                self.sched.set_exiting(exiting.id);
                if task.0 < self.visible_tasks {
                    self.alive -= 1;
                }
                Ok(self.schedule(cpu, Leave::Exit))
            }
        }
    }

    /// The call is done.
    pub(super) fn leave_call(&mut self, cpu: CpuId, task: TaskIndex) -> Next {
        match self.end_of_call(task) {
            Activity::Kernel(phase, work) => self.go_on(cpu, task, phase, work),
            _ => Next::Open,
        }
    }

    /// What follows a call: the way out, or the next instruction for a task that stays in the kernel.
    fn end_of_call(&self, task: TaskIndex) -> Activity {
        if self.tasks[task.0].stays_in_kernel() {
            Activity::Kernel(Phase::Stay, Work::Cost(Nanos::ZERO))
        } else {
            let exit = self.costs.syscall - self.costs.syscall / 2;
            Activity::Kernel(Phase::Exit, Work::Cost(exit))
        }
    }

    pub(super) fn misuse(&self, task: TaskIndex, misuse: LockMisuse) -> Error {
        Error::Lock {
            task: self.setup.tasks[task.0].name.clone(),
            at: self.since_t0(),
            misuse,
        }
    }
}
