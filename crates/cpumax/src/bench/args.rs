//! What `cpumax bench` can be asked for, as plain values.

#![allow(
    clippy::doc_markdown,
    reason = "doc comments are the texts of --help, where no backticks belong"
)]

use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use cpumax_bandwidth::Nanos;
use cpumax_sched::Kernel;
use cpumax_workload::benchmarks::{Limits, Transport, cpu_limit};

use crate::args::{Format, duration};

/// The known benchmarks on a machine that you need not have.
///
/// With --base and --head a benchmark runs on both kernels over several seeds, and the tables are those of the kernel
/// mailing list: is head better, and is it chance? Otherwise it runs on one kernel.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true)]
pub struct Bench {
    /// Fit the calibrated costs of the machines anew, on the published rows without a quota and the base kernel, and
    /// print them. Takes a quarter of an hour a machine. Nothing is changed.
    #[arg(long)]
    pub calibrate: bool,
    /// Calibrate this machine only.
    #[arg(long, value_name = "M", requires = "calibrate")]
    pub machine: Option<String>,
    #[command(subcommand)]
    pub which: Option<Which>,
}

/// Which benchmark.
#[derive(Debug, Subcommand)]
pub enum Which {
    /// Groups of tasks that send each other messages; seconds, less is better.
    Hackbench(HackbenchArgs),
    /// UDP request and response over the loopback device; transactions a second and client.
    Netperf(NetperfArgs),
    /// Wakeup latencies and throughput of workers that are handed requests.
    Schbench(SchbenchArgs),
    /// CPU hogs in a limited group: how much they get, and how evenly.
    Fibtest(FibtestArgs),
    /// Readers of a semaphore under a quota and a writer outside it: does the writer hang?
    Rwsem(RwsemArgs),
    /// Durations of sched_cfs_period_timer and distribute_cfs_runtime with thousands of groups.
    PeriodTimer(PeriodTimerArgs),
    /// All published measurements: published, simulated, error and verdict, row by row.
    Published(PublishedArgs),
}

/// What every benchmark takes.
#[derive(Debug, Args)]
pub struct Common {
    /// Machine: a preset (desktop, emr-2s240, genoa-2s384, epyc-2s512), `host` for this one, or a file.
    #[arg(long, value_name = "M")]
    pub machine: Option<String>,
    /// Kernel to simulate, as 6.18, task, or 6.18:hierarchy-async for a tree with another throttle model.
    #[arg(long, value_name = "K", default_value = "6.18", conflicts_with_all = ["base", "head"])]
    pub kernel: Kernel,
    /// Kernel to compare with.
    #[arg(long, value_name = "K", requires = "head")]
    pub base: Option<Kernel>,
    /// Kernel in question.
    #[arg(long, value_name = "K", requires = "base")]
    pub head: Option<Kernel>,
    /// Runs of each kernel, each with a seed of its own.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: u32,
    /// Seed of the first run; the others count up from it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Show the long table of each number as well, with Min, Max, Median, means and deviations.
    #[arg(long)]
    pub long: bool,
}

/// Under which limit.
#[derive(Debug, Args)]
pub struct Quota {
    /// CPU limit of the group that all of it runs in: `50%` of the machine, `32` CPUs, or `max`.
    #[arg(long, value_name = "Q", default_value = "max")]
    pub quota: Cpus,
    /// Period of the limit.
    #[arg(long, value_name = "D", default_value = "100ms", value_parser = duration)]
    pub period: Nanos,
}

/// A number of CPUs, or a share of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cpus {
    /// No limit.
    Max,
    /// So many.
    Count(f64),
    /// This share of the machine, of 1.
    Share(f64),
}

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self::Max);
        }
        let (number, share) = match text.strip_suffix('%') {
            Some(number) => (number, true),
            None => (text, false),
        };
        match number.trim().parse::<f64>() {
            Ok(number) if number > 0.0 && number <= 1e6 => Ok(if share {
                Self::Share(number / 100.0)
            } else {
                Self::Count(number)
            }),
            _ => Err(
                "write a share of the machine such as 50%, a number of CPUs such as 32, or max"
                    .into(),
            ),
        }
    }
}

impl Cpus {
    /// In CPUs of a machine that has so many; `None` is no limit.
    pub fn of(self, cpus: usize) -> Option<f64> {
        match self {
            Self::Max => None,
            Self::Count(count) => Some(count),
            Self::Share(share) => Some(share * cpus as f64),
        }
    }
}

impl Quota {
    /// The limits on a machine of so many CPUs.
    pub fn limits(&self, cpus: usize) -> Result<Limits, cpumax_bandwidth::LimitError> {
        Ok(match self.quota.of(cpus) {
            None => Limits::None,
            Some(count) => Limits::Group(cpu_limit(count, self.period)?),
        })
    }
}

/// Groups of tasks that send each other messages.
///
/// 150,000 loops would take minutes to hours to simulate. A stretch of the steady state is simulated, and the time is
/// extrapolated from it, which is linear in the number of loops.
#[derive(Debug, Args)]
pub struct HackbenchArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub quota: Quota,
    #[command(flatten)]
    pub steady: SteadyArgs,
    /// Groups of 2 x fds tasks; several numbers are several cases.
    #[arg(long, short, value_name = "N", value_delimiter = ',', default_value = "1,8,16",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub groups: Vec<u32>,
    /// Senders, and receivers, of a group.
    #[arg(long, short, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub fds: u32,
    /// Messages from each sender to each receiver.
    #[arg(long, short, value_name = "N", default_value_t = 150_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    pub loops: u64,
    /// Bytes of a message.
    #[arg(long, short = 's', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub datasize: u32,
    /// What carries the messages. (The program itself uses sockets unless told otherwise.)
    #[arg(long, value_enum, default_value_t = Carrier::Pipe)]
    pub carrier: Carrier,
    /// Three levels of limited groups, in CPUs, such as 32/16/8: a group of each level has two of the next, and in each
    /// of the last a hackbench of its own runs.
    #[arg(
        long,
        value_name = "CPUS",
        value_delimiter = '/',
        conflicts_with = "quota"
    )]
    pub nested: Vec<Cpus>,
}

/// What carries hackbench's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Carrier {
    /// Pipes.
    Pipe,
    /// Unix stream sockets.
    Socket,
}

impl From<Carrier> for Transport {
    fn from(carrier: Carrier) -> Self {
        match carrier {
            Carrier::Pipe => Self::Pipes,
            Carrier::Socket => Self::Sockets,
        }
    }
}

/// Which stretch is simulated.
#[derive(Debug, Args)]
pub struct SteadyArgs {
    /// Time after the start that does not count. Unless given: 60 ms, or one period under a limit.
    #[arg(long, value_name = "D", value_parser = duration)]
    pub warmup: Option<Nanos>,
    /// Time that is simulated and stands for the whole. Unless given: 100 ms, or five periods under a limit.
    #[arg(long, value_name = "D", value_parser = duration)]
    pub window: Option<Nanos>,
}

/// UDP request and response over the loopback device.
///
/// Transactions are counted over a stretch of the steady state, which the rate of a longer run is the same as.
#[derive(Debug, Args)]
pub struct NetperfArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub quota: Quota,
    #[command(flatten)]
    pub steady: SteadyArgs,
    /// Clients, each with a server of its own: a share of the CPUs, or a number. Several are several cases.
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "25%,50%,75%,100%"
    )]
    pub clients: Vec<Cpus>,
    /// Bytes of a request and of a response.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_507))]
    pub bytes: u32,
}

/// Wakeup latencies and throughput of workers that are handed requests.
#[derive(Debug, Args)]
pub struct SchbenchArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub quota: Quota,
    /// Message threads.
    #[arg(long, short, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub message_threads: u32,
    /// Workers of each message thread; as many as CPUs unless given.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub threads: Option<u32>,
    /// Sleep within a request.
    #[arg(long, value_name = "D", default_value = "100us", value_parser = duration)]
    pub sleep: Nanos,
    /// CPU time of a request.
    #[arg(long, value_name = "D", default_value = "1ms", value_parser = duration)]
    pub work: Nanos,
    /// How long to simulate.
    #[arg(long, short, value_name = "D", default_value = "5s", value_parser = duration)]
    pub runtime: Nanos,
}

/// CPU hogs in a limited group.
#[derive(Debug, Args)]
pub struct FibtestArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub quota: Quota,
    /// Threads; as many as CPUs unless given.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub threads: Option<u32>,
    /// How long to simulate.
    #[arg(long, value_name = "D", default_value = "10s", value_parser = duration)]
    pub length: Nanos,
}

/// Readers of a semaphore under a quota and a writer outside it.
///
/// The defaults are a group that is far over its quota: a reader that is throttled while it holds the semaphore has to
/// wait for its turn in a group whose every period is used up by others.
#[derive(Debug, Args)]
pub struct RwsemArgs {
    #[command(flatten)]
    pub common: Common,
    /// CPU limit of the readers.
    #[arg(long, value_name = "Q", default_value = "0.05")]
    pub quota: Cpus,
    /// Period of the limit.
    #[arg(long, value_name = "D", default_value = "100ms", value_parser = duration)]
    pub period: Nanos,
    /// Readers.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub readers: u32,
    /// CPU time in the kernel for which a reader holds the semaphore.
    #[arg(long, value_name = "D", default_value = "60ms", value_parser = duration)]
    pub hold: Nanos,
    /// CPU time in user mode between two times.
    #[arg(long, value_name = "D", default_value = "20ms", value_parser = duration)]
    pub user: Nanos,
    /// Sleep of the writer between two times.
    #[arg(long, value_name = "D", default_value = "100ms", value_parser = duration)]
    pub writer_sleep: Nanos,
    /// How long to simulate. The hung-task detector looks each 120 s, and reports
    /// who waits already at one look and still does at the next.
    #[arg(long, value_name = "D", default_value = "600s", value_parser = duration)]
    pub length: Nanos,
}

/// Durations of the handlers of bandwidth control.
#[derive(Debug, Args)]
pub struct PeriodTimerArgs {
    #[command(flatten)]
    pub common: Common,
    /// A published setup: 800 groups under 2 with a quota, or 2 x 100 x 10 with 10 CPU hogs in each.
    #[arg(long, value_enum, default_value_t = TimerSetup::Desktop800)]
    pub setup: TimerSetup,
    /// Own numbers of groups at each level, such as 2/100/10.
    #[arg(long, value_name = "N", value_delimiter = '/', value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub groups: Vec<u32>,
    /// CPU hogs in each leaf.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hogs: Option<u32>,
    /// Quotas of the outermost groups in CPUs; several hold in turn.
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    pub quotas: Vec<f64>,
    /// How long to simulate.
    #[arg(long, value_name = "D", value_parser = duration)]
    pub length: Option<Nanos>,
}

/// A published setup of many groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimerSetup {
    /// 800 groups under 2 with a quota, on a desktop.
    #[value(name = "desktop-800")]
    Desktop800,
    /// 2 x 100 x 10 groups with 20,000 CPU hogs, on 384 CPUs.
    #[value(name = "genoa-2000")]
    Genoa2000,
}

/// All published measurements.
#[derive(Debug, Args)]
pub struct PublishedArgs {
    /// Only rows of this machine.
    #[arg(long, value_name = "M")]
    pub machine: Option<String>,
    /// Runs of each kernel.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Seed of the first run; the others count up from it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_shares_numbers_or_none() {
        let of = |text: &str| text.parse::<Cpus>().map(|cpus| cpus.of(240));
        assert_eq!(of("50%"), Ok(Some(120.0)));
        assert_eq!(of("32"), Ok(Some(32.0)));
        assert_eq!(of("0.05"), Ok(Some(0.05)));
        assert_eq!(of("max"), Ok(None));
        for refused in ["", "-1", "0", "50 CPUs", "inf", "nan"] {
            assert!(of(refused).is_err(), "{refused}");
        }
    }
}
