//! A simulated machine around the scheduler: CPUs, ticks, timers, interrupts and task programs.
//!
//! [`Setup`](setup::Setup) says what to simulate, [`Simulation`] does it, [`Outcome`] is the result.
//! Time is virtual, there is one thread, and every random choice comes from the seed: the same setup,
//! kernel and seed give the same outcome on every machine.
//!
//! The machine knows nothing of throttling. It calls the scheduler core at the moments at which the
//! kernel would (tick, timer, IPI, wakeup, preemption point, return to user mode) and carries out
//! the effects that the core leaves.

mod cpu;
mod engine;
mod error;
mod event_queue;
pub mod machine;
mod objects;
mod outcome;
mod program;
mod seed;
pub mod setup;
mod sharing;
mod task;

pub use engine::{Simulation, T0};
pub use error::{Error, LockMisuse};
pub use machine::{BackgroundThread, Caches, Costs, Machine};
pub use outcome::{GroupOutcome, HandlerTimes, HungTask, Outcome, SemaphoreOutcome, TaskOutcome};
