//! Which CPU to take tasks from, and how much: the statistics of a domain's groups and the decision.

use cpumax_bandwidth::Nanos;

use super::{Domain, Idle};
use crate::event::Observer;
use crate::topology::{CAPACITY_ONE, DomainLevel};
use crate::{CpuId, Sched};

/// A difference of so many tasks between nodes is none (kernel: `NUMA_IMBALANCE_MIN`).
const NUMA_IMBALANCE_MIN: u64 = 2;

/// How busy a group is, in rising order of what is done about it (kernel: `enum group_type`; the types for
/// misfit tasks, asymmetric packing and failed affinities are left out).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GroupType {
    /// It could run more.
    HasSpare,
    /// It has nothing to spare, and nobody waits long.
    FullyBusy,
    /// It has more tasks than it can run.
    Overloaded,
}

/// Sums over the CPUs of a group (kernel: `struct sg_lb_stats`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupStatistics {
    pub load: u64,
    pub util: u64,
    pub runnable: u64,
    pub nr_running: u64,
    pub idle_cpus: u64,
    pub capacity: u64,
    pub weight: u64,
    pub group_type: GroupType,
}

impl GroupStatistics {
    /// Load for each unit of capacity, of [`CAPACITY_ONE`].
    pub fn avg_load(&self) -> u64 {
        self.load * u64::from(CAPACITY_ONE) / self.capacity.max(1)
    }

    /// Kernel: `group_classify`, `group_is_overloaded`, `group_has_capacity`.
    fn classify(&mut self, pct: u64) {
        let (capacity, util, runnable) = (self.capacity, self.util, self.runnable);
        let short = capacity * 100 < util * pct || capacity * pct < runnable * 100;
        let has_capacity = self.nr_running < self.weight
            || (capacity * pct >= runnable * 100 && capacity * 100 > util * pct);
        self.group_type = if self.nr_running > self.weight && short {
            GroupType::Overloaded
        } else if has_capacity {
            GroupType::HasSpare
        } else {
            GroupType::FullyBusy
        };
    }

    /// Whether this group is a better one to take from than `busiest` (kernel: `update_sd_pick_busiest`).
    fn is_busier_than(&self, busiest: &Self) -> bool {
        if self.group_type != busiest.group_type {
            return self.group_type > busiest.group_type;
        }
        match self.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => self.avg_load() > busiest.avg_load(),
            GroupType::HasSpare => {
                self.idle_cpus < busiest.idle_cpus
                    || self.idle_cpus == busiest.idle_cpus && self.nr_running > busiest.nr_running
            }
        }
    }
}

/// What to move (kernel: `enum migration_type` with `lb_env::imbalance`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Imbalance {
    /// So many tasks.
    Tasks(u64),
    /// So much load.
    Load(u64),
    /// So much utilisation.
    Util(u64),
}

impl Imbalance {
    pub fn is_done(self) -> bool {
        matches!(self, Self::Tasks(0) | Self::Load(0) | Self::Util(0))
    }
}

impl<O: Observer> Sched<O> {
    /// The sums over some CPUs.
    pub(crate) fn group_statistics(&self, cpus: &[CpuId], pct: u64) -> GroupStatistics {
        let mut sums = GroupStatistics {
            load: 0,
            util: 0,
            runnable: 0,
            nr_running: 0,
            idle_cpus: 0,
            capacity: 0,
            weight: 0,
            group_type: GroupType::HasSpare,
        };
        for &cpu in cpus {
            let rq = &self.rqs[cpu];
            if !rq.online {
                continue;
            }
            let capacity = self.cpu_capacity(cpu);
            let avg = &self.queues[rq.root].avg;
            sums.load += avg.load_avg;
            sums.util += avg.util_avg.min(capacity);
            sums.runnable += avg.runnable_avg;
            sums.nr_running += u64::from(rq.nr_running);
            sums.idle_cpus += u64::from(rq.is_idle());
            sums.capacity += capacity;
            sums.weight += 1;
        }
        sums.classify(pct);
        sums
    }

    /// Kernel: `capacity_of`.
    pub(crate) fn cpu_capacity(&self, cpu: CpuId) -> u64 {
        u64::from(self.config.topology.cpus[cpu.index()].capacity)
    }

    /// The CPU to take from, and how much; `pinned` CPUs are left out (kernel: `sched_balance_find_src_group`,
    /// `sched_balance_find_src_rq`).
    pub(crate) fn find_busiest(
        &mut self,
        dst: CpuId,
        at: usize,
        idle: Idle,
        pinned: &[CpuId],
    ) -> Option<(CpuId, Imbalance)> {
        self.cpus_searched += self.rqs[dst].domains[at].span.len() as u32;
        let domain = &self.rqs[dst].domains[at];
        // Nothing is taken from a CPU that has a single task.
        if !domain
            .mask
            .iter_common(&self.overloaded)
            .any(|cpu| cpu != dst)
        {
            self.note_idle_scan(dst, at, idle);
            return None;
        }
        let pct = domain.imbalance_pct();
        let local = self.group_statistics(&domain.groups[0], pct);
        let (mut load, mut capacity, mut util) = (local.load, local.capacity, local.util);
        let mut busiest: Option<(usize, GroupStatistics)> = None;
        for (index, group) in domain.groups.iter().enumerate().skip(1) {
            let sums = self.group_statistics(group, pct);
            load += sums.load;
            capacity += sums.capacity;
            util += sums.util;
            let busier = |(_, busiest): &(usize, GroupStatistics)| sums.is_busier_than(busiest);
            if sums.nr_running > 0 && busiest.as_ref().is_none_or(busier) {
                busiest = Some((index, sums));
            }
        }
        let average = load * u64::from(CAPACITY_ONE) / capacity.max(1);
        let found = busiest.and_then(|(index, busiest)| {
            let imbalance = imbalance(domain, idle, &local, &busiest, average)?;
            let src = self.busiest_cpu(&domain.groups[index], dst, imbalance, pinned)?;
            Some((src, imbalance))
        });
        self.update_idle_scan(dst, at, idle, util);
        found
    }

    /// As [`Self::update_idle_scan`], where the sums were not needed otherwise.
    fn note_idle_scan(&mut self, dst: CpuId, at: usize, idle: Idle) {
        if idle != Idle::Newly && self.rqs[dst].domains[at].span.len() == self.rqs[dst].llc().len()
        {
            let domain = &self.rqs[dst].domains[at];
            let util = self
                .group_statistics(&domain.span, domain.imbalance_pct())
                .util;
            self.update_idle_scan(dst, at, idle, util);
        }
    }

    /// How many CPUs of a cache a wakeup may look at from now on: the fewer, the busier they are (kernel:
    /// `update_idle_cpu_scan`).
    fn update_idle_scan(&mut self, dst: CpuId, at: usize, idle: Idle, util: u64) {
        let domain = &self.rqs[dst].domains[at];
        let weight = domain.span.len() as u64;
        if idle == Idle::Newly || weight != self.rqs[dst].llc().len() as u64 {
            return;
        }
        let (one, pct) = (u64::from(CAPACITY_ONE), domain.imbalance_pct());
        let mean = util / weight;
        let used = (mean * mean * pct * pct / (10_000 * one)).min(one);
        let scan = (one - used) * weight / one;
        let llc = self.config.topology.cpus[dst.index()].llc;
        self.caches[llc as usize].nr_idle_scan = scan as u32;
    }

    /// Kernel: `sched_balance_find_src_rq`.
    fn busiest_cpu(
        &self,
        group: &[CpuId],
        dst: CpuId,
        imbalance: Imbalance,
        pinned: &[CpuId],
    ) -> Option<CpuId> {
        let mut best: Option<(u64, CpuId)> = None;
        for &cpu in group {
            let rq = &self.rqs[cpu];
            if cpu == dst || !rq.online || rq.nr_running == 0 || pinned.contains(&cpu) {
                continue;
            }
            let avg = &self.queues[rq.root].avg;
            let value = match imbalance {
                Imbalance::Load(most) => {
                    if rq.nr_running == 1 && avg.load_avg > most {
                        continue;
                    }
                    avg.load_avg * u64::from(CAPACITY_ONE) / self.cpu_capacity(cpu).max(1)
                }
                Imbalance::Util(_) if rq.nr_running <= 1 => continue,
                Imbalance::Util(_) => avg.util_avg,
                Imbalance::Tasks(_) => u64::from(rq.nr_running),
            };
            if best.is_none_or(|(most, _)| value > most) {
                best = Some((value, cpu));
            }
        }
        best.map(|(_, cpu)| cpu)
    }

    /// Whether it falls to this CPU to balance a domain for its group: to the first idle one, rather on an idle core,
    /// or if there is none, to the first (kernel: `should_we_balance`).
    pub(crate) fn should_balance(&self, cpu: CpuId, at: usize) -> bool {
        let domain = &self.rqs[cpu].domains[at];
        let mut idle_thread = None;
        for &member in &domain.groups[0] {
            if !self.rqs[member].is_idle() {
                continue;
            }
            if domain.level > DomainLevel::Smt && !self.is_core_idle(member) {
                idle_thread = idle_thread.or(Some(member));
                continue;
            }
            return member == cpu;
        }
        idle_thread.or(domain.groups[0].first().copied()) == Some(cpu)
    }

    /// No thread of a CPU's core is busy, the CPU itself not asked (kernel: `is_core_idle`).
    pub(crate) fn is_core_idle(&self, cpu: CpuId) -> bool {
        let threads = self.rqs[cpu].smt();
        threads
            .iter()
            .all(|&thread| thread == cpu || self.rqs[thread].is_idle())
    }

    /// What looking at so many CPUs costs.
    pub(crate) fn search_time(&self, cpus: u32) -> Nanos {
        Nanos(self.config.search_cost.0 * u64::from(cpus))
    }
}

/// How much the local group should take from the busiest, if anything (kernel: the second half of
/// `sched_balance_find_src_group`, and `calculate_imbalance`).
fn imbalance(
    domain: &Domain,
    idle: Idle,
    local: &GroupStatistics,
    busiest: &GroupStatistics,
    average: u64,
) -> Option<Imbalance> {
    if local.group_type > busiest.group_type {
        return None;
    }
    let more_tasks = busiest.nr_running.saturating_sub(local.nr_running);
    if local.group_type == GroupType::Overloaded {
        let (here, there) = (local.avg_load(), busiest.avg_load());
        if here >= there || here >= average || 100 * there <= domain.imbalance_pct() * here {
            return None;
        }
    }
    let spread = domain.prefer_sibling
        && local.group_type == GroupType::HasSpare
        && idle != Idle::No
        && more_tasks > 1;
    if !spread && busiest.group_type != GroupType::Overloaded {
        // A busy CPU leaves it to an idle one; and one task is not worth its way.
        if idle == Idle::No
            || busiest.weight > 1 && local.idle_cpus <= busiest.idle_cpus + 1
            || busiest.nr_running == 1
        {
            return None;
        }
    }
    let found = match local.group_type {
        GroupType::HasSpare => {
            if busiest.group_type > GroupType::FullyBusy && domain.level > DomainLevel::Llc {
                let room = local.capacity.max(local.util) - local.util;
                if idle != Idle::No && room == 0 {
                    Imbalance::Tasks(1)
                } else {
                    Imbalance::Util(room)
                }
            } else {
                let difference = if busiest.weight == 1 || domain.prefer_sibling {
                    more_tasks
                } else {
                    local.idle_cpus.saturating_sub(busiest.idle_cpus)
                };
                let difference = if domain.level == DomainLevel::Numa {
                    adjust_numa_imbalance(difference, local.nr_running + 1, domain.imb_numa_nr)
                } else {
                    difference
                };
                Imbalance::Tasks(difference / 2)
            }
        }
        GroupType::FullyBusy | GroupType::Overloaded => {
            let (here, there) = (local.avg_load(), busiest.avg_load());
            if here >= there || here >= average {
                return None;
            }
            let from = there.saturating_sub(average) * busiest.capacity;
            let to = (average - here) * local.capacity;
            Imbalance::Load(from.min(to) / u64::from(CAPACITY_ONE))
        }
    };
    (!found.is_done()).then_some(found)
}

/// Kernel: `adjust_numa_imbalance`.
pub(crate) fn adjust_numa_imbalance(imbalance: u64, running: u64, allowed: u64) -> u64 {
    if running <= allowed && imbalance <= NUMA_IMBALANCE_MIN {
        0
    } else {
        imbalance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Topology;

    fn sums(nr_running: u64, weight: u64, util: u64, runnable: u64) -> GroupStatistics {
        let mut sums = GroupStatistics {
            load: nr_running * 1024,
            util,
            runnable,
            nr_running,
            idle_cpus: weight.saturating_sub(nr_running),
            capacity: weight * 1024,
            weight,
            group_type: GroupType::HasSpare,
        };
        sums.classify(117);
        sums
    }

    #[test]
    fn groups_are_classified_by_tasks_and_utilisation() {
        assert_eq!(sums(1, 2, 1024, 1024).group_type, GroupType::HasSpare);
        assert_eq!(sums(2, 2, 2048, 2048).group_type, GroupType::FullyBusy);
        assert_eq!(sums(3, 2, 2048, 3072).group_type, GroupType::Overloaded);
        // Many tasks that hardly run are no overload.
        assert_eq!(sums(3, 2, 500, 600).group_type, GroupType::HasSpare);
    }

    fn decide(idle: Idle, local: &GroupStatistics, busiest: &GroupStatistics) -> Option<Imbalance> {
        let domain = &Domain::of_cpu(&Topology::flat(4), CpuId::new(0))[0];
        let average = (local.load + busiest.load) * 1024 / (local.capacity + busiest.capacity);
        imbalance(domain, idle, local, busiest, average)
    }

    #[test]
    fn an_idle_cpu_takes_half_the_difference() {
        let found = decide(Idle::Yes, &sums(0, 1, 0, 0), &sums(5, 1, 1024, 5120));
        assert_eq!(found, Some(Imbalance::Tasks(2)));
    }

    #[test]
    fn a_busy_cpu_takes_load_up_to_the_average() {
        let found = decide(Idle::No, &sums(1, 1, 1024, 1024), &sums(4, 1, 1024, 4096));
        // 1024 and 4096: 1536 below the average of 2560.
        assert_eq!(found, Some(Imbalance::Load(1536)));
        let found = decide(Idle::No, &sums(2, 1, 1024, 2048), &sums(2, 1, 1024, 2048));
        assert_eq!(found, None);
    }

    #[test]
    fn nodes_keep_small_differences() {
        assert_eq!(adjust_numa_imbalance(2, 3, 4), 0);
        assert_eq!(adjust_numa_imbalance(3, 3, 4), 3);
        assert_eq!(adjust_numa_imbalance(2, 5, 4), 2);
    }
}
