//! Benchmarks whose result is a rate: a stretch of their steady state stands for the whole.

use cpumax_bandwidth::{CpuStat, Nanos};
use cpumax_sched::Kernel;
use cpumax_sim::setup::{Setup, TaskIndex};
use cpumax_sim::{Error, Outcome, Simulation};

use super::builder::{self, group_stat};

/// Which stretch of time stands for all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    /// Time after the start that does not count.
    pub warmup: Nanos,
    /// Time that does. Under a limit it should be many periods, and whole ones.
    pub window: Nanos,
}

impl Steady {
    /// What is enough without a limit: nothing in such a run takes longer than some ticks.
    pub const UNLIMITED: Self = Self {
        warmup: Nanos::from_millis(60),
        window: Nanos::from_millis(100),
    };

    /// What is enough under a limit of this period: five periods after the first.
    pub fn limited(period: Nanos) -> Self {
        Self {
            warmup: period,
            window: period * 5,
        }
    }
}

/// What a stretch of steady state has shown.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyResult {
    /// The benchmark's result, in its unit.
    pub value: f64,
    /// Rounds of all counted tasks in the stretch.
    pub rounds: u64,
    /// Length of the stretch.
    pub window: Nanos,
    /// The whole was simulated, so that nothing is extrapolated.
    pub complete: bool,
    /// CPU time of the stretch, as a share of the machine's.
    pub utilization: f64,
    /// Statistics of the first group, up to the end.
    pub stat: CpuStat,
    /// Events of the machine.
    pub events: u64,
    /// Simulated time.
    pub simulated: Nanos,
}

/// Simulates a setup in which the first task starts the others and exits when they begin, and counts the `rounds` of
/// some tasks in the stretch after that. `value` makes the result of rounds and window; `whole` is the result if all
/// tasks exit before, from how long they took.
pub(super) fn run(
    setup: Setup,
    kernel: Kernel,
    seed: u64,
    steady: Steady,
    counted: &[TaskIndex],
    value: impl Fn(u64, Nanos) -> f64,
    whole: impl Fn(Nanos) -> f64,
) -> Result<SteadyResult, Error> {
    let cpus = setup.machine.topology.cpu_count() as f64;
    let mut simulation = builder::simulation(setup, kernel, seed)?;
    let starter = TaskIndex(0);
    while simulation.exit_time(starter).is_none() {
        if !simulation.step()? {
            break;
        }
    }
    let begin = simulation
        .exit_time(starter)
        .unwrap_or(simulation.elapsed());
    let rounds = |simulation: &Simulation| -> u64 {
        counted.iter().map(|&task| simulation.rounds(task)).sum()
    };
    simulation.run_until(begin + steady.warmup)?;
    let (from, before) = (simulation.elapsed(), rounds(&simulation));
    let used_before = cpu_time(&simulation.outcome());
    simulation.run_until(begin + steady.warmup + steady.window)?;
    let (to, after) = (simulation.elapsed(), rounds(&simulation));
    let outcome = simulation.outcome();
    let used = cpu_time(&outcome) - used_before;
    let exits = outcome.tasks.iter().map(|task| task.exited);
    let last_exit = exits.collect::<Option<Vec<Nanos>>>();
    let last_exit = last_exit.and_then(|exits| exits.into_iter().max());
    let window = to.saturating_sub(from);
    Ok(SteadyResult {
        value: match last_exit {
            Some(exit) => whole(exit.saturating_sub(begin)),
            None => value(after - before, window),
        },
        rounds: after - before,
        window,
        complete: last_exit.is_some(),
        utilization: used.0 as f64 / (window.0.max(1) as f64 * cpus),
        stat: group_stat(&outcome),
        events: outcome.events,
        simulated: outcome.elapsed,
    })
}

/// CPU time of all tasks.
fn cpu_time(outcome: &Outcome) -> Nanos {
    Nanos(outcome.tasks.iter().map(|task| task.cpu_time.0).sum())
}
