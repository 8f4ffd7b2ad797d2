//! Statistics of repeated runs, comparison of two versions, and the tables that show both.
//!
//! The crate knows numbers and names only: no scheduler, no simulator, no file, no terminal. A caller
//! hands in samples (one `f64` per run, or response times in nanoseconds) and gets back plain data,
//! which serialises for `--format json`, or a [`Table`], which renders for people, CSV and Markdown.
//!
//! The results are the same bytes on every machine: the logarithm, the exponential and the
//! distributions are computed here with operations that IEEE 754 defines exactly, not by the
//! platform's mathematics library, and a sample is summed in ascending order.
//!
//! # Example
//!
//! Five runs of hackbench on two kernels; seconds, so less is better.
//!
//! ```
//! use cpumax_report::{Better, Comparison, Labels, Sample, Style, Verdict, mailing_list_short};
//!
//! let base = Sample::new([18.1, 18.3, 18.4, 18.2, 18.5])?;
//! let head = Sample::new([19.0, 18.9, 19.2, 19.1, 19.3])?;
//! let comparison = Comparison::new(&base, &head, Better::Lower)?;
//! assert!(matches!(comparison.verdict, Verdict::Worse { p } if p < 0.01));
//!
//! let labels = Labels { base: "6.12", head: "6.18" };
//! let table = mailing_list_short("hackbench", labels, &[("16 groups".to_owned(), comparison)]);
//! assert_eq!(
//!     table.render(Style::default()),
//!     "hackbench\n\
//!      case         6.12             6.18            change %       p   verdict\n\
//!      16 groups   18.30 +-0.86 %   19.10 +-0.83 %    -4.37 %   0.008   worse\n"
//! );
//! # Ok::<(), cpumax_report::Error>(())
//! ```

#![allow(
    clippy::float_cmp,
    reason = "ties, samples that never vary and exact results are equal to the bit, or they are not"
)]

mod colour;
mod compare;
mod error;
pub mod format;
mod histogram;
mod mailing_list;
mod percentiles;
mod significance;
mod special;
mod stats;
mod table;

pub use colour::Tone;
pub use compare::{Better, Comparison, SIGNIFICANCE, Verdict};
pub use error::Error;
pub use histogram::{Bucket, Histogram, TimeUnit};
pub use mailing_list::{Labels, mailing_list_long, mailing_list_short};
pub use percentiles::{Percentiles, Quantile};
pub use significance::{MannWhitney, Welch};
pub use stats::{LARGEST, SMALLEST, Sample, Summary};
pub use table::{Cell, Column, Style, Table};
