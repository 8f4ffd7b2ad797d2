//! How long the handlers of bandwidth control take where there are many groups.

use cpumax_bandwidth::{Limit, Nanos};
use cpumax_sched::Kernel;
use cpumax_sim::setup::{Action, GroupIndex, Start, Step, TimedAction};
use cpumax_sim::{Error, HandlerTimes, Machine};

use super::builder::{Builder, cpu_limit, program};

/// Groups with a quota, each with a tree of groups below it, and CPU hogs in the leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct PeriodTimer {
    /// Number of groups at each level: those with a quota, the children of each, and so on.
    pub groups: Vec<usize>,
    /// CPU hogs in each leaf.
    pub hogs: usize,
    /// Quotas of the outermost groups, in CPUs. If there are several, each holds for an equal part of the time, in turn.
    pub quotas: Vec<f64>,
    /// Their period.
    pub period: Nanos,
    /// How long it is simulated.
    pub length: Nanos,
}

impl PeriodTimer {
    /// As published with asynchronous unthrottling: 800 groups under 2 with a quota.
    pub fn desktop_800() -> Self {
        Self {
            groups: vec![2, 400],
            hogs: 1,
            quotas: vec![1.0],
            period: Nanos::from_millis(100),
            length: Nanos::from_secs(4),
        }
    }

    /// As published in March 2025: 2 groups with a quota x 100 x 10, 10 hogs in each leaf, the quota cycled over 20, 10
    /// and 5 CPUs.
    pub fn genoa_2000() -> Self {
        Self {
            groups: vec![2, 100, 10],
            hogs: 10,
            quotas: vec![20.0, 10.0, 5.0],
            period: Nanos::from_millis(100),
            length: Nanos::from_secs(3),
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// What is wrong with the machine or the quotas.
    pub fn run(&self, machine: &Machine, kernel: Kernel, seed: u64) -> Result<HandlerTimes, Error> {
        let mut builder = Builder::new(machine, self.length);
        let quota = |cpus: f64| Nanos((self.period.0 as f64 * cpus).round() as u64);
        let first = self.quotas.first();
        let limit = first.and_then(|&cpus| cpu_limit(cpus, self.period).ok());
        let limit = limit.unwrap_or(Limit::UNLIMITED);
        let mut level: Vec<(String, Option<GroupIndex>)> = vec![(String::new(), None)];
        for (depth, &children) in self.groups.iter().enumerate() {
            let mut next = Vec::with_capacity(level.len() * children);
            for (path, parent) in &level {
                for child in 0..children {
                    let path = format!("{path}/{child}");
                    let own = if depth == 0 { limit } else { Limit::UNLIMITED };
                    let group = builder.group(path.clone(), *parent, own);
                    next.push((path, Some(group)));
                }
            }
            level = next;
        }
        let spin = program(Vec::new(), vec![Step::Spin], None);
        for (_, leaf) in &level {
            for _ in 0..self.hogs {
                builder.task("hog".into(), *leaf, Start::At(Nanos::ZERO), &spin);
            }
        }
        let limited = builder.setup.groups.iter().enumerate();
        let limited: Vec<GroupIndex> = limited
            .filter(|(_, group)| group.parent.is_none())
            .map(|(index, _)| GroupIndex(index))
            .collect();
        for (turn, &cpus) in self.quotas.iter().enumerate().skip(1) {
            let at = Nanos(self.length.0 / self.quotas.len() as u64 * turn as u64);
            let write = |&group: &GroupIndex| TimedAction {
                at,
                action: Action::SetMax {
                    group,
                    quota: Some(quota(cpus)),
                    period: None,
                },
                line: None,
            };
            builder.setup.events.extend(limited.iter().map(write));
        }
        Ok(builder.run(kernel, seed)?.handlers)
    }
}
