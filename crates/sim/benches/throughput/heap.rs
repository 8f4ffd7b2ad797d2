//! The yardstick: a binary heap that always has the same number of keys.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use cpumax_bandwidth::Nanos;

use crate::Subject;
use crate::host::Random;

/// Pops the earliest key and pushes one for a random later time, over and over.
pub struct HeapLoop {
    /// (time, sequence number).
    heap: BinaryHeap<Reverse<(u64, u64)>>,
    sequence: u64,
    random: Random,
}

impl HeapLoop {
    pub fn new(keys: usize) -> Self {
        let mut random = Random::new();
        let heap = (0..keys as u64)
            .map(|sequence| Reverse((random.below(1 << 20), sequence)))
            .collect();
        Self {
            heap,
            sequence: keys as u64,
            random,
        }
    }
}

impl Subject for HeapLoop {
    fn work(&mut self) {
        for _ in 0..1000 {
            let Some(Reverse((time, _))) = self.heap.pop() else {
                return;
            };
            let later = black_box(time) + self.random.below(1 << 20);
            self.heap.push(Reverse((later, self.sequence)));
            self.sequence += 1;
        }
    }

    fn operations(&self) -> u64 {
        self.sequence
    }

    fn virtual_time(&self) -> Nanos {
        Nanos::ZERO
    }
}
