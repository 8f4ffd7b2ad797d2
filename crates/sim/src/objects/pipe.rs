//! Pipes.

use std::collections::VecDeque;

use crate::setup::TaskIndex;

/// Bytes in one slot of a pipe.
const PAGE: u32 = 4096;

/// Slots of a pipe (kernel: `PIPE_DEF_BUFFERS`).
const SLOTS: usize = 16;

/// A pipe of 16 slots of one page (kernel: `pipe_write`, `pipe_read`). Waiters are exclusive: a wakeup
/// takes one of them, the first to come.
#[derive(Debug, Default)]
pub(crate) struct Pipe {
    slots: VecDeque<Slot>,
    /// Tasks that wait for data.
    pub readers: VecDeque<TaskIndex>,
    /// Tasks that wait for room.
    pub writers: VecDeque<TaskIndex>,
}

/// Data in one page.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Bytes before the data, already read.
    offset: u32,
    length: u32,
}

impl Pipe {
    /// Whether a reader has to wait.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether a writer has to wait, even if the last slot has room.
    pub fn is_full(&self) -> bool {
        self.slots.len() >= SLOTS
    }

    /// Writes of `remaining` what there is room for and takes it off. The part of a write that does not
    /// fill a page goes to the last slot if it fits there whole; that is tried at the `start` of a
    /// write only, not after waiting for room.
    pub fn write(&mut self, remaining: &mut u32, start: bool) {
        let tail = *remaining % PAGE;
        if start
            && tail > 0
            && let Some(last) = self.slots.back_mut()
            && last.offset + last.length + tail <= PAGE
        {
            last.length += tail;
            *remaining -= tail;
        }
        while *remaining > 0 && !self.is_full() {
            let length = (*remaining).min(PAGE);
            self.slots.push_back(Slot { offset: 0, length });
            *remaining -= length;
        }
    }

    /// Reads up to `remaining` bytes and takes them off. Whether a slot of a full pipe became free,
    /// which is when a writer is woken.
    pub fn read(&mut self, remaining: &mut u32) -> bool {
        let was_full = self.is_full();
        let mut freed = false;
        while *remaining > 0
            && let Some(first) = self.slots.front_mut()
        {
            let length = first.length.min(*remaining);
            first.offset += length;
            first.length -= length;
            *remaining -= length;
            if first.length == 0 {
                self.slots.pop_front();
                freed = true;
            }
        }
        was_full && freed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(pipe: &mut Pipe, bytes: u32) -> u32 {
        let mut remaining = bytes;
        pipe.write(&mut remaining, true);
        bytes - remaining
    }

    fn read(pipe: &mut Pipe, bytes: u32) -> (u32, bool) {
        let mut remaining = bytes;
        let wake_writer = pipe.read(&mut remaining);
        (bytes - remaining, wake_writer)
    }

    #[test]
    fn small_writes_share_a_page() {
        let mut pipe = Pipe::default();
        for _ in 0..40 {
            assert_eq!(write(&mut pipe, 100), 100);
        }
        assert_eq!(pipe.slots.len(), 1);
        write(&mut pipe, 100);
        assert_eq!(pipe.slots.len(), 2, "4100 bytes do not fit into one page");
        assert_eq!(read(&mut pipe, 10_000), (4100, false));
        assert!(pipe.is_empty());
    }

    #[test]
    fn a_page_that_is_partly_read_does_not_regain_room() {
        let mut pipe = Pipe::default();
        write(&mut pipe, 3000);
        read(&mut pipe, 2000);
        write(&mut pipe, 2000);
        assert_eq!(pipe.slots.len(), 2);
    }

    #[test]
    fn a_full_pipe_takes_nothing_until_a_slot_is_free() {
        let mut pipe = Pipe::default();
        assert_eq!(write(&mut pipe, 100_000), 65_536);
        assert!(pipe.is_full());
        assert_eq!(read(&mut pipe, 100), (100, false), "no slot became free");
        assert_eq!(write(&mut pipe, 1), 0);
        assert_eq!(read(&mut pipe, 3996), (3996, true));
        assert_eq!(write(&mut pipe, 1), 1);
        assert_eq!(read(&mut pipe, 100_000).0, 15 * 4096 + 1);
    }

    #[test]
    fn nothing_is_conserved_in_nothing() {
        let mut pipe = Pipe::default();
        assert_eq!(write(&mut pipe, 0), 0);
        assert!(pipe.is_empty());
        assert_eq!(read(&mut pipe, 0), (0, false));
    }
}
