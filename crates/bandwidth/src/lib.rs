//! The pool of Linux CPU bandwidth control: quota, period, burst, refill, slack, and the text of
//! `cpu.max` and `cpu.stat`.
//!
//! A cgroup with a limit has one [`Pool`] of CPU time. A period timer fills it with the quota; each
//! CPU that runs the group keeps a local balance ([`Runtime`]) and asks the pool for a slice when the
//! balance is used up. A CPU that gets nothing stops running the group until the pool gives again.
//!
//! This crate is the arithmetic of one pool, exact to the nanosecond and with the kernel's rounding.
//! It reads no clock, arms no timer, allocates nothing outside error texts and knows no tasks: the
//! caller says what time it is, and a returned `Some(expiry)` is a timer that the caller programs.
//! Which queue waits, and how it is stopped and started again, is the scheduler's part.
//!
//! # Example
//!
//! 20 ms in every 100 ms; one CPU of the group runs out.
//!
//! ```
//! use cpumax_bandwidth::{Nanos, PeriodIteration, Pool, Runtime, Tunables, parse_cpu_max, Limit};
//!
//! let limit = parse_cpu_max("20000 100000", &Limit::UNLIMITED)?;
//! let slice = Tunables::default().slice;
//! let mut pool = Pool::new(Limit::UNLIMITED, Nanos::ZERO);
//! let period_timer = pool.configure(Nanos::ZERO, limit);
//! assert_eq!(period_timer, Some(Nanos::from_millis(100)));
//!
//! // The CPU takes slices of 5 ms until the pool is empty.
//! let mut local = Runtime(0);
//! let mut used = Nanos::ZERO;
//! while pool.request(used, &mut local, slice).success {
//!     local.charge(slice);
//!     used += slice;
//! }
//! assert_eq!(used, Nanos::from_millis(20));
//!
//! // At 100 ms the period timer fires: refill, then 1 ns to the CPU that waits.
//! let now = Nanos::from_millis(100);
//! pool.enter_period_timer();
//! assert_eq!(pool.period_iteration(now, true), PeriodIteration::Distribute);
//! assert_eq!(pool.give_to_throttled(&mut local), Nanos(1));
//! pool.after_distribution();
//! assert_eq!(pool.period_iteration(now, false), PeriodIteration::Done);
//! assert_eq!(pool.leave_period_timer(false), Some(Nanos::from_millis(200)));
//!
//! assert_eq!(pool.stat().nr_periods, 1);
//! assert_eq!(pool.stat().nr_throttled, 1);
//! assert_eq!(pool.limit().cpu_max().to_string(), "20000 100000");
//! # Ok::<(), cpumax_bandwidth::LimitError>(())
//! ```
#![no_std]

extern crate alloc;

mod hierarchy;
mod limit;
mod nanos;
mod pool;
mod text;
mod timer;

pub use hierarchy::{effective_ratio_v1, effective_ratio_v2, effective_ratio_v2_legacy};
pub use limit::{
    DEFAULT_PERIOD, Limit, LimitError, LimitField, MAX_PERIOD, MAX_QUOTA, MIN_PERIOD, MIN_QUOTA,
    RATIO_ONE,
};
pub use nanos::{Nanos, Runtime};
pub use pool::{
    BandwidthStat, MIN_BANDWIDTH_EXPIRATION, MIN_CFS_RQ_RUNTIME, PeriodIteration, PeriodTooShort,
    Pool, Request, SLACK_PERIOD, Tunables,
};
pub use text::{
    CpuMax, CpuStat, LegacyCpuStat, StatError, parse_burst, parse_cfs_burst_us,
    parse_cfs_period_us, parse_cfs_quota_us, parse_cpu_max,
};
