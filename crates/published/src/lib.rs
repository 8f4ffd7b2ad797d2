//! Published benchmarks of CPU bandwidth control, reproduced on simulated machines.
//!
//! [`published`] is what was measured on real machines, as data. [`simulate`] does the same on the simulated machine of
//! the row; [`judge`] says what the change would have been called there. [`calibrate`] fits the machine's calibrated costs
//! on those rows that were measured on the base kernel without a quota; every other row is a prediction.
//!
//! Nothing here prints, and nothing knows a command line.

mod calibrate;
mod judge;
mod row;
mod search;
mod simulate;

pub use calibrate::{CALIBRATED, Calibration, calibrate, present};
pub use judge::judge;
pub use row::{Benchmark, Change, Handler, Published, PublishedHistogram, Row, Side, published};
pub use search::Parameter;
pub use simulate::{simulate, simulate_histogram};
