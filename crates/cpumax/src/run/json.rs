//! The result of `run` as JSON: an array with an object per kernel. The keys are a contract. All times
//! are in microseconds; those of responses have a fraction.

use cpumax_bandwidth::CpuStat;
use cpumax_report::Percentiles;
use cpumax_sim::{GroupOutcome, TaskOutcome};
use cpumax_workload::Scenario;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::json;

#[derive(Serialize)]
struct OfKernel<'a> {
    kernel: String,
    seed: u64,
    groups: Vec<Group<'a>>,
    tasks: Vec<Task<'a>>,
    /// Only if the scenario asks for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples: Vec<Sample<'a>>,
}

#[derive(Serialize)]
struct Group<'a> {
    path: &'a str,
    stat: Stat,
}

/// `cpu.stat`, in the kernel's order.
#[derive(Serialize)]
struct Stat {
    usage_usec: u64,
    user_usec: u64,
    system_usec: u64,
    nr_periods: u64,
    nr_throttled: u64,
    throttled_usec: u64,
    nr_bursts: u64,
    burst_usec: u64,
}

#[derive(Serialize)]
struct Task<'a> {
    name: &'a str,
    group: &'a str,
    cpu_usec: u64,
    wakeups: u64,
    response: Response,
    /// Of each job, in order; only if the scenario asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    responses: Option<Vec<f64>>,
}

/// All are null of a task none of whose jobs ended.
#[derive(Default, Serialize)]
struct Response {
    p50: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
}

#[derive(Serialize)]
struct Sample<'a> {
    /// From T0.
    at_usec: u64,
    groups: Vec<Group<'a>>,
}

pub fn render(scenario: &Scenario, results: &[super::KernelRun]) -> Result<String, Failure> {
    let kernels: Vec<OfKernel> = results
        .iter()
        .map(|result| OfKernel {
            kernel: result.outcome.kernel.to_string(),
            seed: result.outcome.seed,
            groups: result.outcome.groups.iter().map(Group::from).collect(),
            tasks: result
                .outcome
                .tasks
                .iter()
                .map(|task| Task::new(task, scenario.every_response))
                .collect(),
            samples: result.samples.iter().map(Sample::from).collect(),
        })
        .collect();
    json(&kernels)
}

impl<'a> From<&'a GroupOutcome> for Group<'a> {
    fn from(group: &'a GroupOutcome) -> Self {
        let CpuStat {
            usage_usec,
            user_usec,
            system_usec,
            nr_periods,
            nr_throttled,
            throttled_usec,
            nr_bursts,
            burst_usec,
            ..
        } = group.stat;
        Self {
            path: &group.path,
            stat: Stat {
                usage_usec,
                user_usec,
                system_usec,
                nr_periods,
                nr_throttled,
                throttled_usec,
                nr_bursts,
                burst_usec,
            },
        }
    }
}

impl<'a> Task<'a> {
    fn new(task: &'a TaskOutcome, every_response: bool) -> Self {
        let mut nanos: Vec<u64> = task.responses.iter().map(|time| time.0).collect();
        Self {
            name: &task.name,
            group: &task.group,
            cpu_usec: task.cpu_time.as_micros(),
            wakeups: task.wakeups,
            responses: every_response.then(|| nanos.iter().copied().map(usec).collect()),
            response: Percentiles::of(&mut nanos).map_or_else(Response::default, Response::from),
        }
    }
}

impl From<Percentiles> for Response {
    fn from(of: Percentiles) -> Self {
        Self {
            p50: Some(usec(of.p50)),
            p90: Some(usec(of.p90)),
            p99: Some(usec(of.p99)),
            max: Some(usec(of.max)),
        }
    }
}

impl<'a> From<&'a super::Sample> for Sample<'a> {
    fn from(sample: &'a super::Sample) -> Self {
        Self {
            at_usec: sample.at.as_micros(),
            groups: sample.groups.iter().map(Group::from).collect(),
        }
    }
}

fn usec(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}
