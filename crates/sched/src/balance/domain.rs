//! Scheduling domains: CPUs that balance among each other, and the groups that they fall into.

use alloc::vec::Vec;

use cpumax_bandwidth::Nanos;

use super::RATIO_ONE;
use crate::topology::{CAPACITY_ONE, DomainLevel};
use crate::{CpuId, CpuMask, Topology};

/// Kernel: `struct sched_domain`, one CPU's.
#[derive(Clone, Debug)]
pub(crate) struct Domain {
    pub level: DomainLevel,
    /// The CPUs, in ascending order.
    pub span: Vec<CpuId>,
    /// The same as a set.
    pub mask: CpuMask,
    /// The span of the domain below, of each of the CPUs: the group of this CPU stands first, the others follow it in
    /// the order of their numbers (kernel: `struct sched_group`).
    pub groups: Vec<Vec<CpuId>>,
    /// The groups are domains themselves, between which tasks are rather spread than packed (kernel:
    /// `SD_PREFER_SIBLING` of the child).
    pub prefer_sibling: bool,
    /// Up to so many tasks a node may differ without being spread (kernel: `imb_numa_nr`).
    pub imb_numa_nr: u64,
    /// When this CPU balanced here last.
    pub last_balance: Nanos,
    /// Present interval between two balances of an idle CPU.
    pub balance_interval: Nanos,
    /// Balances in a row that should have moved something and did not.
    pub failures: u32,
    /// What a newly idle balance here has cost at most, forgotten slowly (kernel: `max_newidle_lb_cost`).
    pub max_newidle_cost: Nanos,
    /// When it was forgotten a little last.
    pub newidle_decay: Nanos,
    /// Newly idle balances, and those that pulled; halved together at 1024.
    newidle_calls: u32,
    newidle_success: u32,
    /// Probability, of 1024, that a newly idle CPU looks here.
    pub newidle_ratio: u32,
}

impl Domain {
    /// The domains of a CPU, smallest first.
    pub fn of_cpu(topology: &Topology, cpu: CpuId) -> Vec<Self> {
        let spans = topology.domains(cpu);
        let alike = topology
            .cpus
            .iter()
            .all(|place| place.capacity == CAPACITY_ONE);
        let imbalances = numa_imbalances(&spans);
        let mut domains: Vec<Self> = Vec::with_capacity(spans.len());
        for ((level, mask), imb_numa_nr) in spans.into_iter().zip(imbalances) {
            let span: Vec<CpuId> = mask.iter().collect();
            let below = domains.last().map(|domain| domain.level);
            domains.push(Self {
                level,
                groups: groups(topology, &span, below, cpu),
                prefer_sibling: below.is_some() && alike,
                imb_numa_nr,
                last_balance: Nanos::ZERO,
                balance_interval: Self::min_interval(span.len()),
                failures: 0,
                max_newidle_cost: Nanos::ZERO,
                newidle_decay: Nanos::ZERO,
                newidle_calls: 512,
                newidle_success: 256,
                newidle_ratio: RATIO_ONE / 2,
                span,
                mask,
            });
        }
        domains
    }

    /// A millisecond a CPU.
    pub fn min_interval(cpus: usize) -> Nanos {
        Nanos(cpus as u64 * 1_000_000)
    }

    /// How far loads may differ, in percent.
    pub fn imbalance_pct(&self) -> u64 {
        if self.level == DomainLevel::Smt {
            110
        } else {
            117
        }
    }

    /// Counts a newly idle balance (kernel: `update_newidle_stats`).
    pub fn count_newidle(&mut self, success: u32) {
        self.newidle_calls += 1;
        self.newidle_success += success;
        if self.newidle_calls >= RATIO_ONE {
            self.newidle_ratio = self.newidle_success.min(RATIO_ONE);
            self.newidle_calls /= 2;
            self.newidle_success /= 2;
        }
    }

    /// Remembers what a newly idle balance has cost; a hundredth is forgotten each second (kernel:
    /// `update_newidle_cost`).
    pub fn note_newidle_cost(&mut self, now: Nanos, cost: Nanos) {
        if cost > self.max_newidle_cost {
            self.max_newidle_cost = cost;
            self.newidle_decay = now;
        } else if now.0 > self.newidle_decay.0 + 1_000_000_000 {
            self.max_newidle_cost = Nanos(self.max_newidle_cost.0 * 253 / 256);
            self.newidle_decay = now;
        }
    }
}

/// The groups of a domain, from the one of `cpu` on.
fn groups(
    topology: &Topology,
    span: &[CpuId],
    below: Option<DomainLevel>,
    cpu: CpuId,
) -> Vec<Vec<CpuId>> {
    let key = |cpu: CpuId| {
        let place = topology.cpus[cpu.index()];
        match below {
            None => cpu.index() as u32,
            Some(DomainLevel::Smt) => place.core,
            Some(DomainLevel::Llc) => place.llc,
            Some(DomainLevel::Node | DomainLevel::Numa) => place.node,
        }
    };
    let mut groups: Vec<(u32, Vec<CpuId>)> = Vec::new();
    for &member in span {
        let of = key(member);
        match groups.iter_mut().rev().find(|(key, _)| *key == of) {
            Some((_, members)) => members.push(member),
            None => groups.push((of, alloc::vec![member])),
        }
    }
    let own = key(cpu);
    let first = groups.iter().position(|(key, _)| *key == own).unwrap_or(0);
    groups.rotate_left(first);
    groups.into_iter().map(|(_, members)| members).collect()
}

/// The allowed imbalance of each domain (kernel: the end of `build_sched_domains`): as many tasks as the first
/// domain above the caches has caches, or an eighth of its CPUs if it has one; in proportion above.
fn numa_imbalances(spans: &[(DomainLevel, CpuMask)]) -> Vec<u64> {
    let mut allowed: Option<(u64, u64)> = None;
    let mut imbalances = Vec::with_capacity(spans.len());
    for (at, (level, mask)) in spans.iter().enumerate() {
        if *level <= DomainLevel::Llc {
            imbalances.push(0);
            continue;
        }
        let weight = mask.count() as u64;
        match allowed {
            None => {
                let below = if at > 0 {
                    spans[at - 1].1.count() as u64
                } else {
                    1
                };
                let caches = weight / below;
                let imbalance = if caches == 1 { weight >> 3 } else { caches }.max(1);
                allowed = Some((imbalance, weight));
                imbalances.push(imbalance);
            }
            Some((imbalance, span)) => imbalances.push(imbalance * (weight / span).max(1)),
        }
    }
    imbalances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuPlace;

    /// Two nodes of two caches of two cores of two threads; the second threads behind all cores.
    fn topology() -> Topology {
        let place = |cpu: u32| CpuPlace {
            core: cpu % 8,
            llc: cpu % 8 / 2,
            node: cpu % 8 / 4,
            capacity: CAPACITY_ONE,
        };
        Topology {
            cpus: (0..16).map(place).collect(),
        }
    }

    #[test]
    fn groups_are_the_domains_below_from_the_own_on() {
        let domains = Domain::of_cpu(&topology(), CpuId::new(2));
        let numbers = |at: usize| -> Vec<Vec<usize>> {
            let groups = domains[at].groups.iter();
            groups
                .map(|group| group.iter().map(|cpu| cpu.index()).collect())
                .collect()
        };
        assert_eq!(numbers(0), [[2], [10]]);
        assert_eq!(numbers(1), [[2, 10], [3, 11]]);
        assert_eq!(numbers(2), [[2, 3, 10, 11], [0, 1, 8, 9]]);
        assert_eq!(
            numbers(3),
            [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]]
        );
        let prefer: Vec<bool> = domains.iter().map(|domain| domain.prefer_sibling).collect();
        assert_eq!(prefer, [false, true, true, true]);
    }

    #[test]
    fn nodes_may_differ_by_as_many_tasks_as_they_have_caches() {
        let domains = Domain::of_cpu(&topology(), CpuId::new(0));
        let allowed: Vec<u64> = domains.iter().map(|domain| domain.imb_numa_nr).collect();
        assert_eq!(allowed, [0, 0, 2, 4]);
    }

    #[test]
    fn a_cost_is_forgotten_slowly() {
        let mut domain = Domain::of_cpu(&topology(), CpuId::new(0)).remove(0);
        domain.note_newidle_cost(Nanos(5), Nanos(2560));
        domain.note_newidle_cost(Nanos(900_000_000), Nanos(10));
        assert_eq!(domain.max_newidle_cost, Nanos(2560));
        domain.note_newidle_cost(Nanos(1_100_000_000), Nanos(10));
        assert_eq!(domain.max_newidle_cost, Nanos(2530));
    }
}
