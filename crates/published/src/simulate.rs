//! The simulated counterpart of what was published.

use cpumax_bandwidth::{Limit, LimitError, Nanos};
use cpumax_sched::Kernel;
use cpumax_sim::{Error, Machine};
use cpumax_workload::benchmarks::{
    Hackbench, Limits, Netperf, PeriodTimer, Steady, SteadyResult, cpu_limit,
};

use crate::row::{Benchmark, Handler, PublishedHistogram, Row};

/// All published limits have this period, which is the default.
const PERIOD: Nanos = Nanos::from_millis(100);

/// Simulates a row on a machine, once; the value is in the row's unit.
///
/// # Errors
/// What is wrong with the machine.
pub fn simulate(
    row: &Row,
    machine: &Machine,
    kernel: Kernel,
    seed: u64,
) -> Result<SteadyResult, Error> {
    let cpus = machine.topology.cpu_count() as f64;
    let limits = match row.quota.map(|share| cpu_limit(share * cpus, PERIOD)) {
        Some(Ok(limit)) => Limits::Group(limit),
        _ => Limits::None,
    };
    let steady = match limits {
        Limits::None => Steady::UNLIMITED,
        _ => Steady::limited(PERIOD),
    };
    match row.benchmark {
        Benchmark::Hackbench { groups } => {
            Hackbench::published(groups as usize, limits).run(machine, kernel, seed, steady)
        }
        Benchmark::HackbenchNested { groups } => {
            let levels: Result<Vec<Limit>, LimitError> = [32.0, 16.0, 8.0]
                .map(|cpus| cpu_limit(cpus, PERIOD))
                .into_iter()
                .collect();
            let limits = levels.map_or(Limits::None, Limits::Nested);
            let hackbench = Hackbench {
                loops: 5_000_000,
                ..Hackbench::published(groups as usize, limits)
            };
            hackbench.run(machine, kernel, seed, Steady::limited(PERIOD))
        }
        Benchmark::Netperf { clients } => {
            let netperf = Netperf {
                clients: (clients * cpus).round() as usize,
                bytes: 1,
                limits,
            };
            netperf.run(machine, kernel, seed, steady)
        }
    }
}

/// The durations of the handler of a published histogram, in nanoseconds.
///
/// # Errors
/// What is wrong with the machine.
pub fn simulate_histogram(
    histogram: &PublishedHistogram,
    machine: &Machine,
    seed: u64,
) -> Result<Vec<u64>, Error> {
    let setup = match histogram.setup.as_str() {
        "desktop-800" => PeriodTimer::desktop_800(),
        _ => PeriodTimer::genoa_2000(),
    };
    let times = setup.run(machine, histogram.kernel, seed)?;
    let times = match histogram.handler {
        Handler::PeriodTimer => times.period_timer,
        Handler::Distribute => times.distribute,
    };
    Ok(times.into_iter().map(|time| time.0).collect())
}
