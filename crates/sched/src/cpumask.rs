//! A set of CPUs.

use alloc::boxed::Box;
use alloc::vec;
use core::fmt;

use crate::CpuId;

/// A set of CPUs, as in `/proc/PID/status` or `taskset`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CpuMask {
    words: Box<[u64]>,
}

impl CpuMask {
    /// No CPU, with room for `cpus` of them.
    pub fn empty(cpus: usize) -> Self {
        Self {
            words: vec![0; cpus.div_ceil(64)].into_boxed_slice(),
        }
    }

    /// The CPUs 0 to `cpus - 1`.
    pub fn all(cpus: usize) -> Self {
        let mut mask = Self::empty(cpus);
        for cpu in 0..cpus {
            mask.insert(CpuId::new(cpu));
        }
        mask
    }

    /// The CPUs whose bits are set in `bits`.
    pub fn from_bits(bits: u64) -> Self {
        Self {
            words: vec![bits].into_boxed_slice(),
        }
    }

    /// Adds a CPU, growing the set where needed.
    pub fn insert(&mut self, cpu: CpuId) {
        let word = cpu.index() / 64;
        if word >= self.words.len() {
            let mut grown = self.words.to_vec();
            grown.resize(word + 1, 0);
            self.words = grown.into_boxed_slice();
        }
        self.words[word] |= 1 << (cpu.index() % 64);
    }

    /// Takes a CPU out.
    pub fn remove(&mut self, cpu: CpuId) {
        if let Some(word) = self.words.get_mut(cpu.index() / 64) {
            *word &= !(1 << (cpu.index() % 64));
        }
    }

    /// Whether a CPU is in the set.
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.words
            .get(cpu.index() / 64)
            .is_some_and(|word| word >> (cpu.index() % 64) & 1 == 1)
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.words
            .iter()
            .enumerate()
            .flat_map(|(index, &word)| bits(index, word))
    }

    /// The CPUs that are in another set as well, in ascending order.
    pub(crate) fn iter_common<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = CpuId> + 'a {
        let words = self.words.iter().zip(&other.words).enumerate();
        words.flat_map(|(index, (&word, &others))| bits(index, word & others))
    }

    /// Whether one CPU is in the set, and no other.
    pub(crate) fn is_single(&self) -> bool {
        let mut used = self.words.iter().filter(|&&word| word != 0);
        used.next().is_some_and(|word| word.is_power_of_two()) && used.next().is_none()
    }

    /// How many CPUs are in the set.
    pub fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether no CPU is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
}

/// The CPUs of a set's word, in ascending order.
#[inline]
fn bits(index: usize, word: u64) -> impl Iterator<Item = CpuId> {
    let mut left = word;
    core::iter::from_fn(move || {
        let bit = left.trailing_zeros() as usize;
        // Without its lowest bit; of nothing, nothing.
        left &= left.wrapping_sub(1);
        (bit < 64).then(|| CpuId::new(index * 64 + bit))
    })
}

impl FromIterator<CpuId> for CpuMask {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        let mut mask = Self::empty(0);
        for cpu in cpus {
            mask.insert(cpu);
        }
        mask
    }
}

impl fmt::Debug for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
