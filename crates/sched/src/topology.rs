//! Which CPUs share what: the scheduling domains, smallest first.

use alloc::vec::Vec;

use crate::{CpuId, CpuMask};

/// What the CPUs of one domain have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DomainLevel {
    /// Hardware threads of one core.
    Smt,
    /// Cores under one last-level cache.
    Llc,
    /// CPUs of one NUMA node.
    Node,
    /// Nodes of the machine.
    Numa,
}

/// The CPUs of a machine and where each stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// One entry a CPU, in the order of CPU numbers.
    pub cpus: Vec<CpuPlace>,
}

/// Where a CPU stands. CPUs with the same number share the thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPlace {
    /// Core (SMT siblings share it).
    pub core: u32,
    /// Last-level cache.
    pub llc: u32,
    /// NUMA node.
    pub node: u32,
    /// Computing power, [`CAPACITY_ONE`] for the most powerful CPU of the machine.
    pub capacity: u32,
}

/// Capacity of the most powerful CPU (kernel: `SCHED_CAPACITY_SCALE`).
pub const CAPACITY_ONE: u32 = 1024;

impl Topology {
    /// So many CPUs without SMT under one cache, in one node.
    pub fn flat(cpus: usize) -> Self {
        Self {
            cpus: (0..cpus)
                .map(|cpu| CpuPlace {
                    core: cpu as u32,
                    llc: 0,
                    node: 0,
                    capacity: CAPACITY_ONE,
                })
                .collect(),
        }
    }

    /// Number of CPUs.
    pub fn cpu_count(&self) -> usize {
        self.cpus.len()
    }

    /// The domains of a CPU, smallest first; levels that add no CPU are left out, as the kernel
    /// degenerates them.
    pub fn domains(&self, cpu: CpuId) -> Vec<(DomainLevel, CpuMask)> {
        let here = self.cpus[cpu.index()];
        let shares = |level: DomainLevel, place: &CpuPlace| match level {
            DomainLevel::Smt => place.core == here.core,
            DomainLevel::Llc => place.llc == here.llc,
            DomainLevel::Node => place.node == here.node,
            DomainLevel::Numa => true,
        };
        let mut domains = Vec::new();
        let mut covered = 1;
        for level in [
            DomainLevel::Smt,
            DomainLevel::Llc,
            DomainLevel::Node,
            DomainLevel::Numa,
        ] {
            let span: CpuMask = (0..self.cpus.len())
                .filter(|&other| shares(level, &self.cpus[other]))
                .map(CpuId::new)
                .collect();
            if span.count() > covered {
                covered = span.count();
                domains.push((level, span));
            }
        }
        domains
    }
}
