//! A scenario in the making, which both languages fill.

use std::ops::Range;

use cpumax_bandwidth::Nanos;
use cpumax_sched::Kernel;
use cpumax_sim::machine::Machine;
use cpumax_sim::setup::Setup;

use crate::error::{Lines, Result};
use crate::groups::Groups;
use crate::problem::Problem;
use crate::scenario::{MAX_EVENTS, Scenario};
use crate::tasks::Tasks;
use crate::timeline::{EventPlan, settle};

/// A scenario in the making.
#[derive(Debug)]
pub(crate) struct Draft {
    pub name: String,
    pub kernels: Vec<Kernel>,
    pub duration: Nanos,
    pub sample: Option<Nanos>,
    pub every_response: bool,
    pub machine: Machine,
    pub groups: Groups,
    pub tasks: Tasks,
    pub events: Vec<EventPlan>,
}

impl Draft {
    pub fn new(name: &str, duration: Nanos, machine: Machine) -> Self {
        Self {
            name: name.to_string(),
            kernels: Kernel::MEASURED.to_vec(),
            duration,
            sample: None,
            every_response: false,
            machine,
            groups: Groups::default(),
            tasks: Tasks::default(),
            events: Vec::new(),
        }
    }

    pub fn cpus(&self) -> usize {
        self.machine.topology.cpu_count()
    }

    /// Refuses so many more events if that is too much.
    pub fn check_events(&self, more: usize, span: &Range<usize>) -> Result<()> {
        let events = self.events.len().saturating_add(more);
        if events > MAX_EVENTS {
            let given = events as u64;
            return Err(Problem::TooMany {
                what: "events",
                given,
                max: MAX_EVENTS,
            }
            .at(span.clone()));
        }
        Ok(())
    }

    /// The scenario, once its events are checked against each other.
    pub fn finish(self, text: &str) -> Result<Scenario> {
        let cpus = self.cpus();
        let events = settle(
            self.events,
            &self.groups,
            cpus,
            self.duration,
            &Lines::of(text),
        )?;
        Ok(Scenario {
            name: self.name,
            kernels: self.kernels,
            setup: Setup {
                machine: self.machine,
                groups: self.groups.specs,
                tasks: self.tasks.specs,
                events,
                duration: self.duration,
                ends_with_tasks: false,
            },
            group_names: self.groups.names,
            sample: self.sample,
            every_response: self.every_response,
        })
    }
}
