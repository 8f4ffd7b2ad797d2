//! Sockets: Unix streams and UDP over the loopback device.
//!
//! Both limit what is under way by the memory that it takes, not by its bytes (kernel: `skb->truesize`).

use std::collections::VecDeque;

use crate::setup::TaskIndex;

/// Memory of a message in a buffer beside its bytes: the `sk_buff` and what stands around its data.
const OVERHEAD: u32 = 768 - SMALL;

/// A message up to this size takes as much memory as an empty one: it fits into what is allocated at least.
const SMALL: u32 = 320;

/// Size of a socket's buffers (kernel: `net.core.wmem_default` and `rmem_default`).
const BUFFER: u32 = 212_992;

/// Memory that a message takes.
fn true_size(bytes: u32) -> u32 {
    bytes.max(SMALL).saturating_add(OVERHEAD)
}

/// One direction of a Unix stream socket (kernel: `unix_stream_sendmsg`, `unix_stream_read_generic`).
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Bytes that are left of each message.
    messages: VecDeque<Message>,
    /// Memory that the messages take.
    used: u32,
    /// Tasks that wait for data.
    pub readers: VecDeque<TaskIndex>,
    /// Tasks that wait for room.
    pub writers: VecDeque<TaskIndex>,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    bytes: u32,
    size: u32,
}

impl Stream {
    /// Whether a reader has to wait.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether a writer has to wait (kernel: `sock_alloc_send_pskb`).
    pub fn is_full(&self) -> bool {
        self.used >= BUFFER
    }

    /// Adds a message.
    pub fn write(&mut self, bytes: u32) {
        let size = true_size(bytes);
        self.messages.push_back(Message { bytes, size });
        self.used = self.used.saturating_add(size);
    }

    /// Takes up to `remaining` bytes and takes them off it. Whether waiting writers are to be woken, which is when a
    /// message was used up and at most a quarter of the buffer is in use (kernel: `unix_write_space`).
    pub fn read(&mut self, remaining: &mut u32) -> bool {
        let mut freed = false;
        while *remaining > 0
            && let Some(first) = self.messages.front_mut()
        {
            let bytes = first.bytes.min(*remaining);
            first.bytes -= bytes;
            *remaining -= bytes;
            if first.bytes == 0 {
                self.used -= first.size;
                self.messages.pop_front();
                freed = true;
            }
        }
        freed && self.used <= BUFFER / 4
    }
}

/// The receiving side of a UDP socket (kernel: `udp_queue_rcv_skb`, `udp_recvmsg`).
#[derive(Debug, Default)]
pub(crate) struct Datagrams {
    /// Memory that each datagram takes.
    queue: VecDeque<u32>,
    /// The sum of these.
    used: u32,
    /// Tasks that wait for a datagram.
    pub readers: VecDeque<TaskIndex>,
}

impl Datagrams {
    /// Whether a receiver has to wait.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// A datagram arrives; it is dropped if the buffer is full already. Whether it was taken.
    pub fn deliver(&mut self, bytes: u32) -> bool {
        if self.used >= BUFFER {
            return false;
        }
        let size = true_size(bytes);
        self.queue.push_back(size);
        self.used = self.used.saturating_add(size);
        true
    }

    /// Takes the first datagram; `false` if there is none.
    pub fn receive(&mut self) -> bool {
        match self.queue.pop_front() {
            Some(size) => {
                self.used -= size;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_messages_take_768_bytes_each() {
        let mut stream = Stream::default();
        let mut written = 0;
        while !stream.is_full() {
            stream.write(100);
            written += 1;
        }
        assert_eq!(written, 278, "212992 / 768 = 277.3");
    }

    #[test]
    fn writers_are_woken_when_three_quarters_are_free() {
        let mut stream = Stream::default();
        for _ in 0..278 {
            stream.write(100);
        }
        let mut read = 0;
        while !stream.read(&mut 100) {
            read += 1;
        }
        // 69 messages take 52,992 bytes, a quarter of the buffer is 53,248.
        assert_eq!(read, 278 - 69 - 1);
    }

    #[test]
    fn a_reader_takes_bytes_and_not_messages() {
        let mut stream = Stream::default();
        stream.write(100);
        stream.write(100);
        let mut remaining = 150;
        stream.read(&mut remaining);
        assert_eq!((remaining, stream.is_empty()), (0, false));
        let mut remaining = 150;
        stream.read(&mut remaining);
        assert_eq!((remaining, stream.is_empty()), (100, true));
    }

    #[test]
    fn datagrams_are_dropped_when_the_buffer_is_full() {
        let mut socket = Datagrams::default();
        let taken = (0..1000).filter(|_| socket.deliver(1)).count();
        assert_eq!(taken, 278);
        assert!(socket.receive());
        assert!(socket.deliver(1));
        assert!(!socket.deliver(1));
        for _ in 0..278 {
            assert!(socket.receive());
        }
        assert!(!socket.receive());
    }
}
