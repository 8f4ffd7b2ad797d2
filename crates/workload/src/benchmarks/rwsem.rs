//! Readers of a read-write semaphore under a quota, and a writer outside it.

use cpumax_bandwidth::{CpuStat, Nanos};
use cpumax_sched::Kernel;
use cpumax_sim::setup::{ObjectIndex, Start, Step};
use cpumax_sim::{Error, HungTask, Machine, SemaphoreOutcome};

use super::builder::{Builder, Limits, group_stat, program};

/// A `percpu_rwsem` of the kernel that tasks of a limited group take for reading, and a task outside the group for
/// writing. A reader that is throttled while it holds or waits for the semaphore keeps the writer waiting, and with it
/// all readers that come later.
#[derive(Clone, Debug, PartialEq)]
pub struct Rwsem {
    /// Readers.
    pub readers: usize,
    /// CPU time in the kernel for which a reader holds the semaphore.
    pub hold: Nanos,
    /// CPU time in user mode between two times.
    pub user: Nanos,
    /// Sleep of the writer between two times.
    pub writer_sleep: Nanos,
    /// CPU time for which the writer holds it.
    pub writer_hold: Nanos,
    /// How long it is simulated.
    pub length: Nanos,
    /// CPU limits of the readers.
    pub limits: Limits,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub struct RwsemResult {
    /// Waits at the semaphore.
    pub semaphore: SemaphoreOutcome,
    /// Reports of the hung-task detector.
    pub hung: Vec<HungTask>,
    /// How often the writer has had it.
    pub writer_rounds: u64,
    /// Statistics of the readers' group.
    pub stat: CpuStat,
}

impl Rwsem {
    /// Runs it.
    ///
    /// # Errors
    /// What is wrong with the machine.
    pub fn run(&self, machine: &Machine, kernel: Kernel, seed: u64) -> Result<RwsemResult, Error> {
        const SEMAPHORE: ObjectIndex = ObjectIndex(0);
        let mut builder = Builder::new(machine, self.length);
        let group = builder.groups(&self.limits).first().copied();
        let write = vec![
            Step::Sleep(self.writer_sleep),
            Step::WriteLock(SEMAPHORE),
            Step::RunKernel(self.writer_hold),
            Step::WriteUnlock(SEMAPHORE),
        ];
        let start = Start::At(Nanos::ZERO);
        builder.task(
            "writer".into(),
            None,
            start,
            &program(Vec::new(), write, None),
        );
        let read = program(
            Vec::new(),
            vec![
                Step::ReadLock(SEMAPHORE),
                Step::RunKernel(self.hold),
                Step::ReadUnlock(SEMAPHORE),
                Step::Run(self.user),
            ],
            None,
        );
        for _ in 0..self.readers {
            builder.task("reader".into(), group, start, &read);
        }
        let outcome = builder.run(kernel, seed)?;
        Ok(RwsemResult {
            semaphore: outcome.semaphores.first().cloned().unwrap_or_default(),
            writer_rounds: outcome.tasks[0].rounds,
            stat: group_stat(&outcome),
            hung: outcome.hung,
        })
    }
}
