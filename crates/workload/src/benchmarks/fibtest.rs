//! fibtest: threads that compute, and how evenly they get the CPUs of a limited group.

use cpumax_bandwidth::{CpuStat, Nanos};
use cpumax_sched::Kernel;
use cpumax_sim::setup::{Start, Step};
use cpumax_sim::{Error, Machine};

use super::builder::{Builder, Limits, group_stat, program};

/// Threads that compute for ever.
#[derive(Clone, Debug, PartialEq)]
pub struct Fibtest {
    /// Threads.
    pub threads: usize,
    /// How long they run.
    pub length: Nanos,
    /// CPU limits.
    pub limits: Limits,
}

/// What they got.
#[derive(Clone, Debug, PartialEq)]
pub struct FibtestResult {
    /// CPU time of each thread.
    pub cpu_times: Vec<Nanos>,
    /// Statistics of the group.
    pub stat: CpuStat,
}

impl Fibtest {
    /// Runs it.
    ///
    /// # Errors
    /// What is wrong with the machine.
    pub fn run(
        &self,
        machine: &Machine,
        kernel: Kernel,
        seed: u64,
    ) -> Result<FibtestResult, Error> {
        let mut builder = Builder::new(machine, self.length);
        let places = builder.groups(&self.limits);
        let spin = program(Vec::new(), vec![Step::Spin], None);
        for group in &places {
            for _ in 0..self.threads {
                let start = Start::At(Nanos::ZERO);
                builder.task("fib".into(), Some(*group), start, &spin);
            }
        }
        let outcome = builder.run(kernel, seed)?;
        Ok(FibtestResult {
            cpu_times: outcome.tasks.iter().map(|task| task.cpu_time).collect(),
            stat: group_stat(&outcome),
        })
    }
}
