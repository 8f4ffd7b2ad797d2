//! Events in the order of time: whether each can happen when it does.

use std::ops::Range;

use cpumax_bandwidth::{Limit, Nanos};
use cpumax_sim::setup::{Action, GroupIndex, TimedAction};

use crate::cpu_files::LimitWrite;
use crate::error::{Lines, Result};
use crate::groups::Groups;
use crate::problem::Problem;

/// An event as a file describes it.
#[derive(Clone, Debug)]
pub(crate) struct EventPlan {
    /// Time from T0.
    pub at: Nanos,
    pub change: Change,
    /// Where the file says what happens.
    pub span: Range<usize>,
}

/// What happens.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A write whose meaning and rightness depend on the limit at that time.
    Limit(GroupIndex, LimitWrite),
    /// Anything else.
    Do(Action),
}

/// What is known of the machine while time goes on.
struct World<'a> {
    groups: &'a Groups,
    limits: Vec<Limit>,
    exists: Vec<bool>,
    online: Vec<bool>,
}

/// Sorts the events by time, those of one time as they stand, and checks each against what went before.
pub(crate) fn settle(
    mut plans: Vec<EventPlan>,
    groups: &Groups,
    cpus: usize,
    end: Nanos,
    lines: &Lines,
) -> Result<Vec<TimedAction>> {
    plans.sort_by_key(|plan| plan.at);
    let mut world = World {
        groups,
        limits: groups.specs.iter().map(|spec| spec.limit).collect(),
        exists: groups
            .specs
            .iter()
            .map(|spec| !spec.created_later)
            .collect(),
        online: vec![true; cpus],
    };
    let mut events = Vec::with_capacity(plans.len());
    for EventPlan { at, change, span } in plans {
        if at >= end {
            return Err(Problem::EventAfterEnd { at, end }.at(span));
        }
        let line = Some(lines.number(span.start));
        let action = match change {
            Change::Limit(group, write) => world.write_limit(at, group, &write),
            Change::Do(action) => world.check(at, &action).map(|()| action),
        };
        events.push(TimedAction {
            at,
            action: action.map_err(|problem| problem.at(span))?,
            line,
        });
    }
    Ok(events)
}

impl World<'_> {
    fn write_limit(
        &mut self,
        at: Nanos,
        group: GroupIndex,
        write: &LimitWrite,
    ) -> std::result::Result<Action, Problem> {
        self.must_exist(at, group)?;
        let limit = write.apply(&self.groups.specs[group.0].path, &self.limits[group.0])?;
        self.limits[group.0] = limit;
        Ok(match write {
            LimitWrite::Max(_) => Action::SetMax {
                group,
                quota: limit.quota(),
                period: write.names_period().then_some(limit.period()),
            },
            LimitWrite::Burst(_) => Action::SetBurst(group, limit.burst()),
        })
    }

    fn check(&mut self, at: Nanos, action: &Action) -> std::result::Result<(), Problem> {
        match *action {
            Action::SetWeight(group, _) | Action::MoveTask(_, Some(group)) => {
                self.must_exist(at, group)?;
            }
            Action::CreateGroup(group) => {
                let spec = &self.groups.specs[group.0];
                if self.exists[group.0] {
                    return Err(Problem::GroupExists {
                        group: spec.path.clone(),
                        at,
                    });
                }
                if let Some(parent) = spec.parent {
                    self.must_exist(at, parent)?;
                }
                self.exists[group.0] = true;
            }
            Action::RemoveGroup(group) => {
                self.must_exist(at, group)?;
                self.exists[group.0] = false;
            }
            Action::CpuOffline(cpu) => {
                self.online[cpu] = false;
                if !self.online.contains(&true) {
                    return Err(Problem::LastCpu { cpu, at });
                }
            }
            Action::CpuOnline(cpu) => self.online[cpu] = true,
            Action::SetMax { .. }
            | Action::SetBurst(..)
            | Action::MoveTask(_, None)
            | Action::SetAffinity(..)
            | Action::SetNice(..)
            | Action::SetPolicy(..) => {}
        }
        Ok(())
    }

    fn must_exist(&self, at: Nanos, group: GroupIndex) -> std::result::Result<(), Problem> {
        if self.exists[group.0] {
            return Ok(());
        }
        let path = self.groups.specs[group.0].path.clone();
        let created = self.groups.created[group.0].filter(|&created| created > at);
        Err(Problem::GroupAbsent {
            group: path,
            at,
            created,
        })
    }
}
