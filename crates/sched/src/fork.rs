//! On which CPU a task starts (kernel: `sched_balance_find_dst_cpu` and what it calls).

use cpumax_bandwidth::Nanos;

use crate::balance::{GroupStatistics, GroupType, adjust_numa_imbalance};
use crate::event::Observer;
use crate::topology::DomainLevel;
use crate::{CpuId, Policy, Sched, TaskId};

/// Load of one task of nice 0.
const NICE_0_LOAD: u64 = 1024;

impl<O: Observer> Sched<O> {
    /// Chooses the CPU on which a task that was just created starts, on behalf of the one on `parent_cpu` that forked
    /// it. Call [`Self::wake`] with the result.
    ///
    /// From the largest domain down to the smallest, it goes to the group that is least busy, and there to the CPU that
    /// is, if that is better than where it is.
    pub fn select_cpu_fork(&mut self, now: Nanos, task: TaskId, parent_cpu: CpuId) -> CpuId {
        self.now = self.now.max(now);
        if self.tasks[task].policy == Policy::Fifo {
            return self.allowed_or_any(task, parent_cpu);
        }
        let mut cpu = parent_cpu;
        let mut below = usize::MAX;
        // The largest domain of the CPU that is smaller than the last one looked at.
        while let Some(at) = (0..self.rqs[cpu].domains.len())
            .rfind(|&at| self.rqs[cpu].domains[at].span.len() < below)
        {
            below = self.rqs[cpu].domains[at].span.len();
            self.cpus_searched += below as u32;
            if let Some(group) = self.idlest_group(task, cpu, at) {
                cpu = self.idlest_cpu(task, cpu, at, group).unwrap_or(cpu);
            }
        }
        self.allowed_or_any(task, cpu)
    }

    /// The index of a group that the task is better off in than in this CPU's (kernel: `sched_balance_find_dst_group`).
    fn idlest_group(&self, task: TaskId, cpu: CpuId, at: usize) -> Option<usize> {
        let domain = &self.rqs[cpu].domains[at];
        let pct = domain.imbalance_pct();
        let allowed = |group: &[CpuId]| {
            let affinity = &self.tasks[task].affinity;
            group
                .iter()
                .any(|&cpu| affinity.contains(cpu) && self.rqs[cpu].online)
        };
        let mut idlest: Option<(usize, GroupStatistics)> = None;
        for (index, group) in domain.groups.iter().enumerate().skip(1) {
            if !allowed(group) {
                continue;
            }
            let sums = self.group_statistics(group, pct);
            if idlest
                .as_ref()
                .is_none_or(|(_, idlest)| is_idler(&sums, idlest))
            {
                idlest = Some((index, sums));
            }
        }
        let (index, idlest) = idlest?;
        if !allowed(&domain.groups[0]) {
            return Some(index);
        }
        let local = self.group_statistics(&domain.groups[0], pct);
        let numa = domain.level == DomainLevel::Numa;
        let better = if local.group_type == idlest.group_type {
            match local.group_type {
                GroupType::FullyBusy | GroupType::Overloaded => {
                    let margin = NICE_0_LOAD * (pct - 100) / 100;
                    let (here, there) = (local.avg_load(), idlest.avg_load());
                    !(numa && there + margin >= here)
                        && there < here + margin
                        && 100 * here > pct * there
                }
                GroupType::HasSpare => {
                    let difference = idlest.idle_cpus.saturating_sub(local.idle_cpus);
                    let counts = !numa
                        || adjust_numa_imbalance(
                            idlest.idle_cpus.abs_diff(local.idle_cpus),
                            local.nr_running + 1,
                            domain.imb_numa_nr,
                        ) > 0;
                    counts && difference > 0
                }
            }
        } else {
            local.group_type > idlest.group_type
        };
        better.then_some(index)
    }

    /// An idle CPU, the last one to go idle, or the one with the least load (kernel: `sched_balance_find_dst_group_cpu`).
    fn idlest_cpu(&self, task: TaskId, cpu: CpuId, at: usize, group: usize) -> Option<CpuId> {
        let mut idle: Option<(Option<Nanos>, CpuId)> = None;
        let mut least: Option<(u64, CpuId)> = None;
        for &cpu in &self.rqs[cpu].domains[at].groups[group] {
            let rq = &self.rqs[cpu];
            if !rq.online || !self.tasks[task].affinity.contains(cpu) {
                continue;
            }
            if rq.is_idle() {
                if idle.is_none_or(|(latest, _)| rq.idle_stamp > latest) {
                    idle = Some((rq.idle_stamp, cpu));
                }
            } else if least.is_none_or(|(least, _)| self.cpu_load(cpu) < least) {
                least = Some((self.cpu_load(cpu), cpu));
            }
        }
        idle.map(|(_, cpu)| cpu).or(least.map(|(_, cpu)| cpu))
    }
}

/// Kernel: `update_pick_idlest`.
fn is_idler(group: &GroupStatistics, idlest: &GroupStatistics) -> bool {
    if group.group_type != idlest.group_type {
        return group.group_type < idlest.group_type;
    }
    match group.group_type {
        GroupType::FullyBusy | GroupType::Overloaded => group.avg_load() < idlest.avg_load(),
        GroupType::HasSpare => {
            group.idle_cpus > idlest.idle_cpus
                || group.idle_cpus == idlest.idle_cpus && group.util < idlest.util
        }
    }
}
