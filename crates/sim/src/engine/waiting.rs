//! Tasks that wait for one another: how each object's operation goes on, who sleeps and who is woken.

use cpumax_bandwidth::Nanos;
use cpumax_sched::{CpuId, Leave, Observer};

use super::{Next, Simulation};
use crate::error::{Error, LockMisuse};
use crate::event_queue::{Event, Interrupt};
use crate::objects::{Mode, Waiters};
use crate::program::Call;
use crate::setup::{ObjectIndex, Start, TaskIndex};
use crate::task::{Activity, AfterWakes, Blocked, Phase, WakeTarget, Work};

// Going to sleep and coming back.
impl<O: Observer> Simulation<O> {
    pub(super) fn sleep_until(&mut self, cpu: CpuId, task: TaskIndex, at: Nanos) -> Next {
        let jobs = &mut self.tasks[task.0].jobs;
        jobs.end();
        jobs.next_release = at;
        self.events.push(
            at,
            Event::Interrupt {
                cpu,
                interrupt: Interrupt::SleepTimer { task },
            },
        );
        self.fall_asleep(cpu, task)
    }

    /// The task, which stands where its waker finds it, leaves the CPU.
    pub(super) fn fall_asleep(&mut self, cpu: CpuId, task: TaskIndex) -> Next {
        self.tasks[task.0].activity = Activity::Asleep;
        self.schedule(cpu, Leave::Sleep)
    }

    /// As [`Self::fall_asleep`], in a wait that no signal ends.
    fn block(&mut self, cpu: CpuId, task: TaskIndex) -> Next {
        self.tasks[task.0].blocked = Some(Blocked {
            since: self.now,
            seen: None,
        });
        self.fall_asleep(cpu, task)
    }

    /// Ready to sleep: it does, unless what it waits for has come.
    pub(super) fn park(&mut self, cpu: CpuId, task: TaskIndex) -> Next {
        self.tasks[task.0].transfer.waited = true;
        let waiters = match self.tasks[task.0].call {
            Call::PipeWrite { pipe, .. } => {
                if !self.objects.pipe(pipe).is_full() {
                    return self.write_pipe(cpu, task, pipe);
                }
                Waiters::PipeWriters(pipe)
            }
            Call::PipeRead { pipe, .. } => {
                if !self.objects.pipe(pipe).is_empty() {
                    return self.read_pipe(cpu, task, pipe);
                }
                Waiters::PipeReaders(pipe)
            }
            Call::SocketWrite { socket, .. } => {
                if !self.objects.stream(socket).is_full() {
                    return self.write_stream(cpu, task, socket);
                }
                Waiters::StreamWriters(socket)
            }
            Call::SocketRead { socket, .. } => {
                if !self.objects.stream(socket).is_empty() {
                    return self.read_stream(cpu, task, socket);
                }
                Waiters::StreamReaders(socket)
            }
            Call::UdpReceive(socket) => {
                if !self.objects.datagrams(socket).is_empty() {
                    return self.receive_datagram(cpu, task, socket);
                }
                Waiters::Receivers(socket)
            }
            Call::Lock(mutex) => {
                if self.objects.mutex(mutex).owner.is_none() {
                    return self.take_mutex(cpu, task, mutex);
                }
                self.objects.mutex(mutex).waiters.push_back(task);
                return self.block(cpu, task);
            }
            _ => return self.leave_call(cpu, task),
        };
        self.objects.waiters(waiters).push_back(task);
        if self.tasks[task.0].call.waits_for_data() {
            self.tasks[task.0].jobs.end();
        }
        self.fall_asleep(cpu, task)
    }

    /// Awake again: on with what it waited for.
    pub(super) fn unparked(&mut self, cpu: CpuId, task: TaskIndex) -> Next {
        match self.tasks[task.0].call {
            Call::PipeWrite { pipe, .. } => self.write_pipe(cpu, task, pipe),
            Call::PipeRead { pipe, .. } => self.read_pipe(cpu, task, pipe),
            Call::SocketWrite { socket, .. } => self.write_stream(cpu, task, socket),
            Call::SocketRead { socket, .. } => self.read_stream(cpu, task, socket),
            Call::UdpReceive(socket) => self.receive_datagram(cpu, task, socket),
            // The one who released it has made this task its owner.
            Call::Lock(mutex) => self.take_mutex(cpu, task, mutex),
            Call::Acquire(..) => self.has_semaphore(cpu, task),
            _ => {
                self.tasks[task.0].jobs.begin();
                self.leave_call(cpu, task)
            }
        }
    }

    /// Starts a task that waits for it (kernel: `wake_up_new_task`).
    pub(super) fn fork(&mut self, cpu: CpuId, child: TaskIndex) -> Result<(), Error> {
        let now = self.now;
        let spec = &self.setup.tasks[child.0];
        let started = &mut self.tasks[child.0];
        if spec.start != Start::Forked || started.forked {
            return Err(Error::Fork {
                task: spec.name.clone(),
                at: self.since_t0(),
            });
        }
        started.forked = true;
        started.jobs.starts(now);
        started.activity = Activity::Kernel(Phase::Unpark, Work::Cost(Nanos::ZERO));
        let id = started.id;
        self.operations += 2;
        let target = self.sched.select_cpu_fork(now, id, cpu);
        self.owe_search(cpu);
        self.sched.wake(now, id, target);
        self.carry_out(Some(cpu));
        Ok(())
    }
}

// Pipes and sockets.
impl<O: Observer> Simulation<O> {
    /// Kernel: `pipe_write`, from where it looks at the pipe.
    pub(super) fn write_pipe(&mut self, cpu: CpuId, task: TaskIndex, index: ObjectIndex) -> Next {
        let writer = &mut self.tasks[task.0];
        let pipe = self.objects.pipe(index);
        let was_empty = pipe.is_empty();
        let before = writer.transfer.remaining;
        pipe.write(&mut writer.transfer.remaining, !writer.transfer.waited);
        let wrote = writer.transfer.remaining < before;
        let done = writer.transfer.remaining == 0;
        let reader = was_empty && wrote;
        // Who was woken for room wakes the next writer if there is room left.
        let next_writer = done && writer.transfer.waited && !pipe.is_full();
        self.then_wake(
            cpu,
            task,
            reader.then_some(WakeTarget::Waiters(Waiters::PipeReaders(index), 1)),
            next_writer.then_some(WakeTarget::Waiters(Waiters::PipeWriters(index), 1)),
            done,
        )
    }

    /// Kernel: `pipe_read`, from where it looks at the pipe.
    pub(super) fn read_pipe(&mut self, cpu: CpuId, task: TaskIndex, index: ObjectIndex) -> Next {
        let reader = &mut self.tasks[task.0];
        let pipe = self.objects.pipe(index);
        let before = reader.transfer.remaining;
        let made_room = pipe.read(&mut reader.transfer.remaining);
        let nothing = before > 0 && reader.transfer.remaining == before;
        if nothing {
            return self.then_wake(cpu, task, None, None, false);
        }
        if reader.transfer.waited {
            reader.jobs.go_on();
        }
        if !matches!(reader.call, Call::PipeRead { all: true, .. }) {
            reader.transfer.remaining = 0;
        }
        // Who was woken for data wakes the next reader if there is data left.
        let next_reader = reader.transfer.waited && !pipe.is_empty();
        self.then_wake(
            cpu,
            task,
            made_room.then_some(WakeTarget::Waiters(Waiters::PipeWriters(index), 1)),
            next_reader.then_some(WakeTarget::Waiters(Waiters::PipeReaders(index), 1)),
            true,
        )
    }

    /// Kernel: `unix_stream_sendmsg`, from where it allocates the message.
    pub(super) fn write_stream(&mut self, cpu: CpuId, task: TaskIndex, index: ObjectIndex) -> Next {
        let stream = self.objects.stream(index);
        if stream.is_full() {
            return self.then_wake(cpu, task, None, None, false);
        }
        let remaining = &mut self.tasks[task.0].transfer.remaining;
        stream.write(std::mem::take(remaining));
        let reader = WakeTarget::Waiters(Waiters::StreamReaders(index), 1);
        self.then_wake(cpu, task, Some(reader), None, true)
    }

    /// Kernel: `unix_stream_read_generic`.
    pub(super) fn read_stream(&mut self, cpu: CpuId, task: TaskIndex, index: ObjectIndex) -> Next {
        let reader = &mut self.tasks[task.0];
        let stream = self.objects.stream(index);
        if stream.is_empty() {
            return self.then_wake(cpu, task, None, None, false);
        }
        let made_room = stream.read(&mut reader.transfer.remaining);
        if reader.transfer.waited {
            reader.jobs.go_on();
        }
        let writers = WakeTarget::Waiters(Waiters::StreamWriters(index), u32::MAX);
        self.then_wake(cpu, task, made_room.then_some(writers), None, true)
    }

    /// The datagram goes through the loopback device: it is received on the sender's CPU, before its call returns
    /// (kernel: `do_softirq` at the end of `__dev_queue_xmit`).
    pub(super) fn enter_receive_softirq(&mut self, cpu: CpuId, task: TaskIndex) -> Next {
        let call = self.tasks[task.0].call;
        let work = self.paced(cpu, self.costs.udp_softirq);
        let lines = self.speeds.lines_of(call);
        let ends = match self.objects.sharing(call) {
            Some(sharing) => sharing.use_for(cpu, self.now, work, lines, &self.speeds),
            None => self.now + work,
        };
        let work = Work::Cost(ends - self.now);
        self.tasks[task.0].activity = Activity::Kernel(Phase::Softirq, work);
        self.resume_kernel_work(cpu, task)
    }

    /// Kernel: `udp_queue_rcv_skb`, and the wakeup of its receiver.
    pub(super) fn deliver_datagram(&mut self, cpu: CpuId, task: TaskIndex) -> Next {
        let Call::UdpSend { socket, bytes } = self.tasks[task.0].call else {
            return self.leave_call(cpu, task);
        };
        let taken = self.objects.datagrams(socket).deliver(bytes);
        let receiver = WakeTarget::Waiters(Waiters::Receivers(socket), 1);
        self.then_wake(cpu, task, taken.then_some(receiver), None, true)
    }

    /// Kernel: `udp_recvmsg`.
    pub(super) fn receive_datagram(
        &mut self,
        cpu: CpuId,
        task: TaskIndex,
        index: ObjectIndex,
    ) -> Next {
        let received = self.objects.datagrams(index).receive();
        if received && self.tasks[task.0].transfer.waited {
            self.tasks[task.0].jobs.go_on();
        }
        self.then_wake(cpu, task, None, None, received)
    }
}

// Locks.
impl<O: Observer> Simulation<O> {
    pub(super) fn take_mutex(&mut self, cpu: CpuId, task: TaskIndex, mutex: ObjectIndex) -> Next {
        self.objects.mutex(mutex).owner = Some(task);
        self.tasks[task.0].locks_held += 1;
        self.leave_call(cpu, task)
    }

    pub(super) fn release_mutex(
        &mut self,
        cpu: CpuId,
        task: TaskIndex,
        index: ObjectIndex,
    ) -> Result<Next, Error> {
        if self.objects.mutex(index).owner != Some(task) {
            return Err(self.misuse(task, LockMisuse::NotOwner));
        }
        let next = self.objects.mutex(index).hand_over();
        self.tasks[task.0].locks_held -= 1;
        Ok(self.then_wake(cpu, task, next.map(WakeTarget::Task), None, true))
    }

    /// Kernel: `percpu_down_read`, `percpu_down_write`.
    pub(super) fn acquire_semaphore(
        &mut self,
        cpu: CpuId,
        task: TaskIndex,
        index: ObjectIndex,
        mode: Mode,
    ) -> Next {
        let now = self.now;
        if self.objects.semaphore(index).acquire(now, task, mode) {
            self.has_semaphore(cpu, task)
        } else {
            self.block(cpu, task)
        }
    }

    fn has_semaphore(&mut self, cpu: CpuId, task: TaskIndex) -> Next {
        self.tasks[task.0].locks_held += 1;
        self.leave_call(cpu, task)
    }

    /// Kernel: `percpu_up_read`, `percpu_up_write`.
    pub(super) fn release_semaphore(
        &mut self,
        cpu: CpuId,
        task: TaskIndex,
        index: ObjectIndex,
        mode: Mode,
    ) -> Result<Next, Error> {
        let now = self.now;
        if !self.objects.semaphore(index).release(now, task, mode) {
            return Err(self.misuse(task, LockMisuse::NotHolder));
        }
        self.tasks[task.0].locks_held -= 1;
        let granted = WakeTarget::Waiters(Waiters::Granted(index), u32::MAX);
        Ok(self.then_wake(cpu, task, Some(granted), None, true))
    }

    /// Looks for tasks that have waited uninterruptibly for too long. One is reported once, at the first look that
    /// comes `hung_task` or more after the look that saw it first (kernel: `check_hung_task`).
    pub(super) fn look_for_hung_tasks(&mut self) {
        let (now, patience) = (self.now, self.setup.machine.hung_task);
        for index in 0..self.visible_tasks {
            let Some(blocked) = &mut self.tasks[index].blocked else {
                continue;
            };
            let seen = *blocked.seen.get_or_insert(now);
            // The look that reports it; later ones come too late.
            if now - seen == patience {
                let blocked = now - blocked.since;
                self.hung.push(crate::outcome::HungTask {
                    task: TaskIndex(index),
                    reported: self.since_t0(),
                    blocked,
                });
            }
        }
        self.events.push(now + patience, Event::HungTaskCheck);
    }
}

// Wakeups.
impl<O: Observer> Simulation<O> {
    /// The call does these wakeups, and is then over if it is `done`, or else waits.
    fn then_wake(
        &mut self,
        cpu: CpuId,
        task: TaskIndex,
        first: Option<WakeTarget>,
        second: Option<WakeTarget>,
        done: bool,
    ) -> Next {
        let running = &mut self.tasks[task.0];
        running.wakes = match first {
            Some(_) => [first, second],
            None => [second, None],
        };
        running.after_wakes = if done {
            AfterWakes::Leave
        } else {
            AfterWakes::Park
        };
        self.next_wake(cpu, task)
    }

    /// The cost of the call's next wakeup, or what follows the last. Without a waiter there is no cost.
    pub(super) fn next_wake(&mut self, cpu: CpuId, task: TaskIndex) -> Next {
        while let Some(target) = self.tasks[task.0].wakes[0] {
            let waiting = match target {
                WakeTarget::Waiters(waiters, count) => {
                    count > 0 && !self.objects.waiters(waiters).is_empty()
                }
                WakeTarget::Task(_) => true,
            };
            if waiting {
                let work = Work::Cost(self.costs.wakeup);
                return self.go_on(cpu, task, Phase::Wake, work);
            }
            self.drop_wake(task);
        }
        match self.tasks[task.0].after_wakes {
            AfterWakes::Leave => self.leave_call(cpu, task),
            AfterWakes::Park => {
                let work = Work::Cost(self.costs.block / 2);
                self.go_on(cpu, task, Phase::Park, work)
            }
        }
    }

    /// The wakeup itself. Another task may have taken the waiter meanwhile.
    pub(super) fn wake_one(&mut self, cpu: CpuId, task: TaskIndex) -> Next {
        let (waiter, sync) = match self.tasks[task.0].wakes[0] {
            Some(WakeTarget::Waiters(waiters, _)) => (
                self.objects.waiters(waiters).pop_front(),
                waiters.wakes_sync(),
            ),
            Some(WakeTarget::Task(waiter)) => (Some(waiter), false),
            None => (None, false),
        };
        match &mut self.tasks[task.0].wakes[0] {
            Some(WakeTarget::Waiters(_, count)) if *count > 1 => *count -= 1,
            _ => self.drop_wake(task),
        }
        if let Some(waiter) = waiter {
            self.wake(waiter, cpu, sync);
        }
        self.next_wake(cpu, task)
    }

    fn drop_wake(&mut self, task: TaskIndex) {
        let wakes = &mut self.tasks[task.0].wakes;
        *wakes = [wakes[1], None];
    }
}
