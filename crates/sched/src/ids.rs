//! Typed indices into the scheduler's arenas.

use core::fmt;
use core::num::NonZeroU32;

use crate::arena::ArenaId;

/// Defines an id: four bytes, and `Option` of it four bytes as well.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The id of the arena's `index`-th element.
            #[inline]
            pub const fn new(index: usize) -> Self {
                match NonZeroU32::new(index as u32 + 1) {
                    Some(raw) => Self(raw),
                    None => panic!("an arena holds fewer than 2^32 - 1 elements"),
                }
            }

            /// Position in the arena.
            #[inline]
            pub const fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        impl ArenaId for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                Self::new(index)
            }

            #[inline]
            fn to_index(self) -> usize {
                self.index()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.index())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self, f)
            }
        }
    };
}

id!(
    /// A task.
    TaskId,
    "t"
);
id!(
    /// A task group. [`GroupId::ROOT`] is the root group.
    GroupId,
    "g"
);
id!(
    /// A CPU, by its number.
    CpuId,
    "cpu"
);
id!(
    /// The queue of one (group, CPU) pair.
    CfsRqId,
    "q"
);
id!(
    /// A scheduling entity: a task, or a group on one CPU.
    EntityId,
    "e"
);

impl GroupId {
    /// The root group; it is never limited.
    pub const ROOT: Self = Self::new(0);
}
