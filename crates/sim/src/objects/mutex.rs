//! Mutexes of the kernel on which tasks sleep.

use std::collections::VecDeque;

use crate::setup::TaskIndex;

/// A sleeping mutex. Its release hands it to the first waiter, who is woken as its owner.
#[derive(Debug, Default)]
pub(crate) struct Mutex {
    /// Who holds it.
    pub owner: Option<TaskIndex>,
    /// Who waits for it, in order.
    pub waiters: VecDeque<TaskIndex>,
}

impl Mutex {
    /// Passes ownership to the first waiter, if there is one.
    pub fn hand_over(&mut self) -> Option<TaskIndex> {
        self.owner = self.waiters.pop_front();
        self.owner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutex_goes_to_its_waiters_in_order() {
        let mut mutex = Mutex {
            owner: Some(TaskIndex(0)),
            ..Mutex::default()
        };
        mutex.waiters.extend([TaskIndex(2), TaskIndex(1)]);
        assert_eq!(mutex.hand_over(), Some(TaskIndex(2)));
        assert_eq!(mutex.hand_over(), Some(TaskIndex(1)));
        assert_eq!(mutex.hand_over(), None);
        assert_eq!(mutex.owner, None);
    }
}
