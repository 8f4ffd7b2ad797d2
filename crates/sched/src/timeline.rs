//! The ordered queue of entities that wait to run: by deadline under EEVDF, by vruntime under CFS.
//!
//! A sorted array. Run queues are short, the pick reads the array from its front, and an insertion
//! moves a few neighbouring bytes. Entities with equal keys stand in order of arrival.

use alloc::vec::Vec;

use crate::EntityId;

/// An entity in the queue, with what the pick needs to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Deadline (EEVDF) or vruntime (CFS).
    pub key: i64,
    /// Its vruntime, which decides whether it is eligible.
    pub vruntime: i64,
    /// The entity.
    pub entity: EntityId,
}

/// The queue.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    slots: Vec<Slot>,
}

impl Timeline {
    /// Adds an entity behind those with the same key.
    #[inline]
    pub fn insert(&mut self, slot: Slot) {
        let at = self.slots.partition_point(|other| other.key <= slot.key);
        self.slots.insert(at, slot);
    }

    /// Takes an entity out that was inserted with this key.
    #[inline]
    pub fn remove(&mut self, key: i64, entity: EntityId) {
        let from = self.slots.partition_point(|other| other.key < key);
        let offset = self.slots[from..]
            .iter()
            .position(|slot| slot.entity == entity);
        let at = from + offset.expect("a queued entity stands under the key it was queued with");
        self.slots.remove(at);
    }

    /// The first entity.
    #[inline]
    pub fn first(&self) -> Option<&Slot> {
        self.slots.first()
    }

    /// The second entity.
    #[inline]
    pub fn second(&self) -> Option<&Slot> {
        self.slots.get(1)
    }

    /// The entities in order.
    #[inline]
    pub fn iter(&self) -> core::slice::Iter<'_, Slot> {
        self.slots.iter()
    }

    /// Number of entities.
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len()
    }
}
