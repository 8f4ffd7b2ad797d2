//! A vector that is indexed by one kind of id only.

use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

/// An id that names a place in an [`Arena`].
pub trait ArenaId: Copy {
    /// The id of a place.
    fn from_index(index: usize) -> Self;
    /// The place.
    fn to_index(self) -> usize;
}

/// Elements that are created once and named by their id from then on.
#[derive(Clone, Debug)]
pub struct Arena<I, T> {
    items: Vec<T>,
    ids: PhantomData<I>,
}

impl<I, T> Default for Arena<I, T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            ids: PhantomData,
        }
    }
}

impl<I: ArenaId, T> Arena<I, T> {
    /// Adds an element and names it.
    pub fn push(&mut self, item: T) -> I {
        let id = self.next_id();
        self.items.push(item);
        id
    }

    /// The id that the next added element gets.
    pub fn next_id(&self) -> I {
        I::from_index(self.items.len())
    }

    /// All elements with their ids, in order of creation.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.items
            .iter()
            .enumerate()
            .map(|(index, item)| (I::from_index(index), item))
    }

    /// All ids, in order of creation.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }
}

impl<I: ArenaId, T> Index<I> for Arena<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.to_index()]
    }
}

impl<I: ArenaId, T> IndexMut<I> for Arena<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.to_index()]
    }
}
