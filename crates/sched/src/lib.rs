//! The Linux fair scheduler with CPU bandwidth control, as a state machine without a clock.
//!
//! [`Sched`] knows tasks, groups and CPUs. A host calls it with the present time and an event, and it
//! leaves [`Effect`]s: reschedule a CPU, program a timer, send an IPI. It never reads a clock, sleeps
//! or prints, so that the same code runs in a simulator, under a model checker and in a live process.
//!
//! ```
//! use cpumax_bandwidth::{Limit, Nanos, Tunables};
//! use cpumax_sched::*;
//!
//! let config = SchedConfig {
//!     kernel: Kernel::V6_18,
//!     preemption: Preemption::Lazy,
//!     topology: Topology::flat(1),
//!     tick: Nanos::from_millis(4),
//!     tunables: Tunables::default(),
//!     search_cost: Nanos::ZERO,
//! };
//! let mut sched = Sched::new(config, NoObserver);
//! let cpu = CpuId::new(0);
//! let group = sched.create_group(Nanos::ZERO, GroupId::ROOT, Weight::NICE_0, Nanos::ZERO);
//! let limit = Limit::new(Some(Nanos::from_millis(10)), Nanos::from_millis(100), Nanos::ZERO)?;
//! sched.set_limit(Nanos::ZERO, cpu, group, limit)?;
//!
//! let task = sched.create_task(
//!     TaskParams {
//!         group,
//!         nice: Nice::default(),
//!         policy: Policy::Normal,
//!         affinity: CpuMask::all(1),
//!         kernel_thread: false,
//!     },
//!     cpu,
//! );
//! sched.wake(Nanos::ZERO, task, cpu);
//! assert_eq!(sched.schedule(Nanos::ZERO, cpu, Leave::Preempted), Some(task));
//! # Ok::<(), LimitError>(())
//! ```
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod arena;
mod balance;
mod cfs;
mod cfs_rq;
mod cpumask;
mod eevdf;
mod entity;
mod event;
mod fair;
mod flags;
mod flat;
mod fork;
mod group;
mod ids;
mod invariants;
mod kernel;
mod lifecycle;
mod load;
mod pelt;
mod placement;
mod rq;
mod sched;
mod shares;
mod switch;
mod task;
#[cfg(test)]
mod tests;
mod throttle;
mod timeline;
mod topology;
mod weight;

pub use cpumask::CpuMask;
pub use cpumax_bandwidth::LimitError;
pub use event::{Effect, Event, NoObserver, Observer, Resched, Work};
pub use group::GroupStat;
pub use ids::{CfsRqId, CpuId, EntityId, GroupId, TaskId};
pub use invariants::InvariantViolation;
pub use kernel::{Kernel, PickRule, Preemption, Release, ThrottleModel, UnknownKernel};
pub use sched::{RemoveGroupError, Sched, SchedConfig};
pub use switch::Leave;
pub use task::{Policy, TaskParams, TaskState};
pub use topology::{CAPACITY_ONE, CpuPlace, DomainLevel, Topology};
pub use weight::{Nice, Weight};
