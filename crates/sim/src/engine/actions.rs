//! Timed changes from outside, as an observer of the machine would make them: at their exact time, at no
//! cost, from CPU 0.

use cpumax_bandwidth::{Limit, LimitError};
use cpumax_sched::{CpuId, CpuMask, GroupId, Observer, Weight};

use super::Simulation;
use crate::cpu::State;
use crate::error::Error;
use crate::event_queue::{Event, Interrupt};
use crate::setup::{Action, GroupIndex, TaskIndex};

impl<O: Observer> Simulation<O> {
    /// Performs a timed action of the setup.
    pub(super) fn act(&mut self, index: usize) -> Result<(), Error> {
        let timed = self.setup.events[index].clone();
        let line = timed.line;
        self.operations += 1;
        match timed.action {
            Action::SetMax {
                group,
                quota,
                period,
            } => {
                let id = self.group_id(group, line)?;
                let old = self.sched.limit(id);
                let new = Limit::new(quota, period.unwrap_or(old.period()), old.burst());
                self.write_limit(group, id, new, line)?;
            }
            Action::SetBurst(group, burst) => {
                let id = self.group_id(group, line)?;
                let old = self.sched.limit(id);
                let new = Limit::new(old.quota(), old.period(), burst);
                self.write_limit(group, id, new, line)?;
            }
            Action::SetWeight(group, weight) => {
                let id = self.group_id(group, line)?;
                self.sched
                    .set_group_weight(self.now, id, Weight::from_cpu_weight(weight));
            }
            Action::MoveTask(task, group) => {
                let id = match group {
                    None => GroupId::ROOT,
                    Some(group) => self.group_id(group, line)?,
                };
                self.settle_user_time(task);
                self.tasks[task.0].group = group;
                self.sched.move_task(self.now, self.tasks[task.0].id, id);
            }
            Action::SetAffinity(task, mask) => self.set_affinity(task, &mask)?,
            Action::SetNice(task, nice) => {
                self.sched.set_nice(self.now, self.tasks[task.0].id, nice);
            }
            Action::SetPolicy(task, policy) => {
                self.sched
                    .set_policy(self.now, self.tasks[task.0].id, policy.into());
            }
            Action::CreateGroup(group) => {
                if self.groups[group.0].id.is_some() {
                    let group = self.setup.groups[group.0].path.clone();
                    return Err(Error::GroupExists {
                        group,
                        at: timed.at,
                        line,
                    });
                }
                self.create_group(group, self.groups[group.0].phase, line)?;
            }
            Action::RemoveGroup(group) => self.remove_group(group, line)?,
            Action::CpuOffline(cpu) => self.take_offline(CpuId::new(cpu), line)?,
            Action::CpuOnline(cpu) => self.bring_online(CpuId::new(cpu)),
        }
        self.carry_out(None);
        Ok(())
    }

    /// The scheduler's number of a group, which must exist now.
    pub(super) fn group_id(
        &self,
        group: GroupIndex,
        line: Option<usize>,
    ) -> Result<GroupId, Error> {
        self.groups[group.0].id.ok_or_else(|| Error::NoSuchGroup {
            group: self.setup.groups[group.0].path.clone(),
            at: self.since_t0(),
            line,
        })
    }

    /// Writes a limit that is valid in itself.
    pub(super) fn set_limit(
        &mut self,
        group: GroupIndex,
        id: GroupId,
        limit: Limit,
        line: Option<usize>,
    ) -> Result<(), Error> {
        self.operations += 1;
        let written = self.sched.set_limit(self.now, CpuId::new(0), id, limit);
        written.map_err(|source| self.refused(group, source, line))
    }

    fn write_limit(
        &mut self,
        group: GroupIndex,
        id: GroupId,
        limit: Result<Limit, LimitError>,
        line: Option<usize>,
    ) -> Result<(), Error> {
        let limit = limit.map_err(|source| self.refused(group, source, line))?;
        self.set_limit(group, id, limit, line)
    }

    fn refused(&self, group: GroupIndex, source: LimitError, line: Option<usize>) -> Error {
        let group = self.setup.groups[group.0].path.clone();
        Error::Limit {
            group,
            at: self.since_t0(),
            line,
            source,
        }
    }

    /// Adds a running task's time in user mode up to now to its present group.
    fn settle_user_time(&mut self, task: TaskIndex) {
        let running = self
            .cpus
            .iter()
            .find(|cpu| cpu.curr == Some(task) && cpu.state == State::User);
        if let Some(cpu) = running.map(|cpu| cpu.id) {
            self.leave_user_mode(cpu);
            self.cpus[cpu.index()].user_since = self.now;
        }
    }

    fn set_affinity(&mut self, task: TaskIndex, mask: &CpuMask) -> Result<(), Error> {
        let cpus = self.cpus.len();
        let allowed: CpuMask = mask.iter().filter(|cpu| cpu.index() < cpus).collect();
        if allowed.is_empty() {
            return Err(Error::NoAllowedCpu {
                task: self.setup.tasks[task.0].name.clone(),
                cpus,
            });
        }
        // A task that must leave its CPU does so at the reschedule that the core requests.
        self.sched
            .set_affinity(self.now, self.tasks[task.0].id, allowed);
        Ok(())
    }

    fn remove_group(&mut self, group: GroupIndex, line: Option<usize>) -> Result<(), Error> {
        let id = self.group_id(group, line)?;
        let stat = self.sched.group_stat(id);
        self.sched
            .remove_group(self.now, id)
            .map_err(|source| Error::Remove {
                group: self.setup.groups[group.0].path.clone(),
                at: self.since_t0(),
                line,
                source,
            })?;
        // Its timers are cancelled with it.
        self.timers[id.index()].period += 1;
        self.timers[id.index()].slack += 1;
        let group = &mut self.groups[group.0];
        group.id = None;
        group.removed = Some(stat);
        Ok(())
    }

    fn take_offline(&mut self, cpu: CpuId, line: Option<usize>) -> Result<(), Error> {
        let mut others = self.cpus.iter().filter(|other| other.id != cpu);
        if others.all(|other| other.state == State::Offline) {
            return Err(Error::LastCpu {
                at: self.since_t0(),
                line,
            });
        }
        let interrupt = Interrupt::Stop;
        self.events
            .push(self.now, Event::Interrupt { cpu, interrupt });
        Ok(())
    }

    fn bring_online(&mut self, cpu: CpuId) {
        let at = &mut self.cpus[cpu.index()];
        if at.state == State::Offline {
            at.state = State::Idle;
            at.reschedule_sent = false;
            self.sched.cpu_online(self.now, cpu);
            // A request that came while it was away was not delivered.
            if self.sched.need_resched(cpu).is_some() {
                self.send_reschedule(cpu, None);
            }
        }
    }
}
