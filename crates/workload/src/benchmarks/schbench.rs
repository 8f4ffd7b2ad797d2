//! schbench: how long workers wait to be woken, and how long their requests take.

use cpumax_bandwidth::{CpuStat, Nanos};
use cpumax_sched::Kernel;
use cpumax_sim::setup::{ObjectIndex, Start, Step};
use cpumax_sim::{Error, Machine};

use super::builder::{Builder, Limits, group_stat, program};

/// schbench, with the names of the program's options. A worker asks its message thread for a request and is woken with
/// it, thinks, computes, and asks again; the program's per-CPU lock around the computation is left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Schbench {
    /// Message threads (`-m`).
    pub message_threads: usize,
    /// Workers of each (`-t`).
    pub threads: usize,
    /// Sleep within a request (`-s`).
    pub sleep: Nanos,
    /// CPU time of a request.
    pub work: Nanos,
    /// How long it runs (`-r`).
    pub runtime: Nanos,
    /// CPU limits.
    pub limits: Limits,
}

/// What it measures.
#[derive(Clone, Debug, PartialEq)]
pub struct SchbenchResult {
    /// From the wakeup of a worker until it runs.
    pub wakeup_latencies: Vec<Nanos>,
    /// From the wakeup with a request until the next is asked for.
    pub requests: u64,
    /// Statistics of the group.
    pub stat: CpuStat,
    /// Simulated time.
    pub elapsed: Nanos,
}

impl Schbench {
    /// Runs it.
    ///
    /// # Errors
    /// What is wrong with the machine.
    pub fn run(
        &self,
        machine: &Machine,
        kernel: Kernel,
        seed: u64,
    ) -> Result<SchbenchResult, Error> {
        let mut builder = Builder::new(machine, self.runtime);
        let group = builder.groups(&self.limits).first().copied();
        let mut workers = Vec::new();
        for messenger in 0..self.message_threads {
            let (asked, handed) = (ObjectIndex(2 * messenger), ObjectIndex(2 * messenger + 1));
            let hand_out = vec![Step::PipeReadAll(asked, 1), Step::PipeWrite(handed, 1)];
            let start = Start::At(Nanos::ZERO);
            builder.task(
                "message".into(),
                group,
                start,
                &program(Vec::new(), hand_out, None),
            );
            let work = program(
                Vec::new(),
                vec![
                    Step::PipeWrite(asked, 1),
                    Step::PipeReadAll(handed, 1),
                    Step::Sleep(self.sleep),
                    Step::Run(self.work),
                ],
                None,
            );
            for _ in 0..self.threads {
                workers.push(builder.task("worker".into(), group, start, &work).0);
            }
        }
        let outcome = builder.run(kernel, seed)?;
        let of_workers = || workers.iter().map(|&worker| &outcome.tasks[worker]);
        Ok(SchbenchResult {
            wakeup_latencies: of_workers()
                .flat_map(|task| task.wake_latencies.iter().copied())
                .collect(),
            requests: of_workers().map(|task| task.rounds).sum(),
            stat: group_stat(&outcome),
            elapsed: outcome.elapsed,
        })
    }
}
