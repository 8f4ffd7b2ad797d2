//! Why an entity joins or leaves its queue.

/// How an entity joins (kernel: `ENQUEUE_*`).
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags, as in the kernel"
)]
pub(crate) struct Enqueue {
    /// It slept.
    pub wakeup: bool,
    /// It was just forked.
    pub initial: bool,
    /// It comes from another CPU.
    pub migrated: bool,
    /// It is a delayed entity that becomes runnable in place.
    pub delayed: bool,
}

impl Enqueue {
    pub const WAKEUP: Self = Self {
        wakeup: true,
        initial: false,
        migrated: false,
        delayed: false,
    };
    /// Back after an attribute change, without having slept.
    pub const RESTORE: Self = Self {
        wakeup: false,
        initial: false,
        migrated: false,
        delayed: false,
    };
}

/// How an entity leaves (kernel: `DEQUEUE_*`).
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags, as in the kernel"
)]
pub(crate) struct Dequeue {
    /// It goes to sleep.
    pub sleep: bool,
    /// A delayed dequeue is completed.
    pub delayed: bool,
    /// Delayed dequeue does not apply.
    pub special: bool,
    /// It is taken off by throttling.
    pub throttle: bool,
    /// It leaves for another CPU.
    pub migrating: bool,
}

impl Dequeue {
    pub const SAVE: Self = Self {
        sleep: false,
        delayed: false,
        special: false,
        throttle: false,
        migrating: false,
    };
    pub const SLEEP: Self = Self {
        sleep: true,
        ..Self::SAVE
    };
    pub const FINISH_DELAYED: Self = Self {
        sleep: true,
        delayed: true,
        ..Self::SAVE
    };
    pub const THROTTLE: Self = Self {
        sleep: true,
        throttle: true,
        ..Self::SAVE
    };
    pub const MIGRATE: Self = Self {
        migrating: true,
        ..Self::SAVE
    };
}
