//! The known benchmarks, as workloads for a simulated machine.
//!
//! A benchmark turns a machine into a [`Setup`](cpumax_sim::setup::Setup) and reads its result off the simulation. The
//! ones that would take long simulate a stretch of their steady state and extrapolate what is linear in it: see
//! [`Steady`].

mod builder;
mod fibtest;
mod hackbench;
mod netperf;
mod period_timer;
mod rwsem;
mod schbench;
mod steady;

pub use builder::{Limits, cpu_limit};
pub use fibtest::{Fibtest, FibtestResult};
pub use hackbench::{Hackbench, Transport};
pub use netperf::Netperf;
pub use period_timer::PeriodTimer;
pub use rwsem::{Rwsem, RwsemResult};
pub use schbench::{Schbench, SchbenchResult};
pub use steady::{Steady, SteadyResult};
