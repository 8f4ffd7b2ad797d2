//! What tasks wait for and wake each other through: pipes, sockets, wait queues, mutexes and semaphores.
//!
//! These hold data and waiters only. The engine decides when their operations happen and what they
//! cost, and does the wakeups.

mod mutex;
mod pipe;
mod semaphore;
mod socket;

use std::collections::VecDeque;

use crate::program::Call;
use crate::setup::{ObjectIndex, TaskIndex};
use crate::sharing::Sharing;

pub(crate) use mutex::Mutex;
pub(crate) use pipe::Pipe;
pub(crate) use semaphore::{Mode, Semaphore};
pub(crate) use socket::{Datagrams, Stream};

/// All objects of a run; each kind has its own numbers.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pipes: Vec<Shared<Pipe>>,
    streams: Vec<Shared<Stream>>,
    datagrams: Vec<Shared<Datagrams>>,
    queues: Vec<VecDeque<TaskIndex>>,
    mutexes: Vec<Mutex>,
    semaphores: Vec<Semaphore>,
}

/// An object whose data pass from one CPU's cache to another's.
#[derive(Debug, Default)]
struct Shared<T> {
    object: T,
    sharing: Sharing,
}

/// Tasks that wait at an object, in the order in which they are woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiters {
    /// For data in a pipe.
    PipeReaders(ObjectIndex),
    /// For room in a pipe.
    PipeWriters(ObjectIndex),
    /// For data in a Unix socket.
    StreamReaders(ObjectIndex),
    /// For room in a Unix socket.
    StreamWriters(ObjectIndex),
    /// For a datagram.
    Receivers(ObjectIndex),
    /// In a wait queue.
    Queue(ObjectIndex),
    /// For nothing any more: they have the semaphore and do not know it yet.
    Granted(ObjectIndex),
}

impl Waiters {
    /// Whether the one who wakes them says that it is about to wait itself (kernel: `WF_SYNC`).
    pub fn wakes_sync(self) -> bool {
        !matches!(self, Self::Queue(_) | Self::Granted(_))
    }
}

impl Objects {
    /// Makes the object that a call uses exist.
    pub fn provide(&mut self, call: Call) {
        fn grow<T: Default>(objects: &mut Vec<T>, index: ObjectIndex) {
            if objects.len() <= index.0 {
                objects.resize_with(index.0 + 1, T::default);
            }
        }
        match call {
            Call::PipeWrite { pipe, .. } | Call::PipeRead { pipe, .. } => {
                grow(&mut self.pipes, pipe);
            }
            Call::SocketWrite { socket, .. } | Call::SocketRead { socket, .. } => {
                grow(&mut self.streams, socket);
            }
            Call::UdpSend { socket, .. } | Call::UdpReceive(socket) => {
                grow(&mut self.datagrams, socket);
            }
            Call::Wait(queue) | Call::Wake { queue, .. } => grow(&mut self.queues, queue),
            Call::Lock(mutex) | Call::Unlock(mutex) => grow(&mut self.mutexes, mutex),
            Call::Acquire(semaphore, _) | Call::Release(semaphore, _) => {
                grow(&mut self.semaphores, semaphore);
            }
            Call::Nothing
            | Call::ReadClock
            | Call::Run(_)
            | Call::Sleep(_)
            | Call::Timer(_)
            | Call::Fork(_)
            | Call::Yield
            | Call::Exit => {}
        }
    }

    /// A pipe.
    pub fn pipe(&mut self, index: ObjectIndex) -> &mut Pipe {
        &mut self.pipes[index.0].object
    }

    /// One direction of a Unix socket.
    pub fn stream(&mut self, index: ObjectIndex) -> &mut Stream {
        &mut self.streams[index.0].object
    }

    /// The receiving side of a UDP socket.
    pub fn datagrams(&mut self, index: ObjectIndex) -> &mut Datagrams {
        &mut self.datagrams[index.0].object
    }

    /// A mutex.
    pub fn mutex(&mut self, index: ObjectIndex) -> &mut Mutex {
        &mut self.mutexes[index.0]
    }

    /// A read-write semaphore.
    pub fn semaphore(&mut self, index: ObjectIndex) -> &mut Semaphore {
        &mut self.semaphores[index.0]
    }

    /// All read-write semaphores.
    pub fn semaphores(&self) -> &[Semaphore] {
        &self.semaphores
    }

    /// Tasks that wait.
    pub fn waiters(&mut self, waiters: Waiters) -> &mut VecDeque<TaskIndex> {
        match waiters {
            Waiters::PipeReaders(index) => &mut self.pipe(index).readers,
            Waiters::PipeWriters(index) => &mut self.pipe(index).writers,
            Waiters::StreamReaders(index) => &mut self.stream(index).readers,
            Waiters::StreamWriters(index) => &mut self.stream(index).writers,
            Waiters::Receivers(index) => &mut self.datagrams(index).readers,
            Waiters::Queue(index) => &mut self.queues[index.0],
            Waiters::Granted(index) => &mut self.semaphore(index).granted,
        }
    }

    /// How the object that a call works on is shared, if its data pass between CPUs.
    pub fn sharing(&mut self, call: Call) -> Option<&mut Sharing> {
        match call {
            Call::PipeWrite { pipe, .. } | Call::PipeRead { pipe, .. } => {
                Some(&mut self.pipes[pipe.0].sharing)
            }
            Call::SocketWrite { socket, .. } | Call::SocketRead { socket, .. } => {
                Some(&mut self.streams[socket.0].sharing)
            }
            Call::UdpSend { socket, .. } | Call::UdpReceive(socket) => {
                Some(&mut self.datagrams[socket.0].sharing)
            }
            _ => None,
        }
    }
}
