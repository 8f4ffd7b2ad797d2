//! Scenario files: what to simulate, as a person writes it.
//!
//! [`read_scenario`] turns the text of a file into a [`Scenario`], whose [`Setup`](cpumax_sim::setup::Setup)
//! the simulator runs. Two languages end in the same thing: TOML, which people write, and the
//! one-directive-a-line language in which the measurements on real kernels are described. Whatever is
//! wrong with a file is one [`ScenarioError`], which knows the place and the mend.
//!
//! ```
//! use cpumax_bandwidth::Nanos;
//! use cpumax_workload::read_scenario;
//!
//! let scenario = read_scenario(
//!     r#"
//!     name = "A spinning task under a fifth of a CPU"
//!     duration = "3s"
//!     [machine]
//!     cpus = 2
//!     [groups."/a"]
//!     "cpu.max" = "20000 100000"
//!     [[tasks]]
//!     name = "s"
//!     group = "/a"
//!     program = "spin"
//!     "#,
//!     "spin.toml",
//! )?;
//! assert_eq!(scenario.setup.groups[0].limit.quota(), Some(Nanos::from_millis(20)));
//! # Ok::<(), cpumax_workload::ScenarioError>(())
//! ```
//!
//! # How a file is read
//!
//! `toml_lang` and `oracle_lang` know how things are written, and nothing else. Both fill a `Draft`, which
//! knows what is right: paths, names, limits, affinities, and at the end the order of events in time.

pub mod benchmarks;
mod cpu_files;
mod cpus;
mod draft;
mod duration;
mod error;
mod groups;
mod machines;
mod oracle_lang;
mod problem;
mod programs;
mod scenario;
mod suggest;
mod tasks;
mod timeline;
mod toml_lang;

pub use cpus::{CpusError, parse_cpu_list};
pub use duration::{DurationError, parse_duration};
pub use error::ScenarioError;
pub use groups::PathError;
pub use machines::{MACHINE_NAMES, preset, read_machine};
pub use problem::Problem;
pub use scenario::{
    MAX_CPUS, MAX_EVENTS, MAX_FILE_BYTES, MAX_GROUPS, MAX_STEPS, MAX_TASKS, Scenario, read_scenario,
};
