//! What cpumax reads of the Linux machine that it runs on. No other crate touches it.

mod host;

pub use host::{HostError, host_machine};
