//! Holds the simulator against results measured on real kernels.
//!
//! A file of results has one line per scenario, kernel and repetition. [`read_experiments`] collects the
//! repetitions of each scenario on each kernel into an [`Experiment`]; [`predict`] simulates the
//! experiment's own scenario over many seeds, because the phases of the period timers, which decide part
//! of what was measured, are random in the kernel too; the result is a [`Row`] per measured number: what
//! was measured, what is predicted, and whether the two are within the [`tolerance`].
//!
//! Nothing here prints, and nothing knows a command line.

mod error;
mod experiment;
mod measurement;
mod metric;
mod predict;
mod row;
pub mod tolerance;

pub use error::Error;
pub use experiment::{Experiment, read_experiments};
pub use measurement::{MeasuredGroup, MeasuredTask, Measurement, Responses, read_measurements};
pub use metric::Metric;
pub use predict::{Phases, predict};
pub use row::{HIGH_PERCENTILE, LOW_PERCENTILE, Row};
