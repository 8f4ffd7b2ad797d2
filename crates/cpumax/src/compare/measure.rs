//! The numbers that are compared.

use cpumax_report::{Better, Percentiles};
use cpumax_sim::Outcome;
use cpumax_workload::Scenario;

use crate::args::Metric;
use crate::family::Family;

/// A number of a group or of a family of tasks.
pub struct Measure {
    /// Which number.
    pub metric: Metric,
    subject: Subject,
}

enum Subject {
    /// A limited group: its index in the setup, and its path.
    Group(usize, String),
    /// Tasks.
    Family(Family),
}

/// What there is to compare in a scenario, in the order of the table. `wanted` empty is all.
pub fn measures(scenario: &Scenario, wanted: &[Metric]) -> Vec<Measure> {
    let setup = &scenario.setup;
    let is_wanted = |metric: &Metric| wanted.is_empty() || wanted.contains(metric);
    let mut measures = Vec::new();
    for (index, group) in setup.groups.iter().enumerate() {
        if group.limit.is_finite() {
            for metric in [Metric::ThrottledTime, Metric::Throttled, Metric::Usage] {
                let subject = Subject::Group(index, group.path.clone());
                measures.push(Measure { metric, subject });
            }
        }
    }
    for family in Family::of(setup.tasks.iter().map(|task| task.name.as_str())) {
        for metric in [Metric::CpuTime, Metric::P50, Metric::P99, Metric::Max] {
            let subject = Subject::Family(family.clone());
            measures.push(Measure { metric, subject });
        }
    }
    measures.retain(|measure| is_wanted(&measure.metric));
    measures
}

impl Measure {
    /// The number in an outcome, in microseconds or a count; `None` if none of the family's jobs ended.
    pub fn of(&self, outcome: &Outcome) -> Option<f64> {
        let usec = |nanos: u64| nanos as f64 / 1e3;
        match &self.subject {
            Subject::Group(index, _) => {
                let stat = &outcome.groups[*index].stat;
                Some(match self.metric {
                    Metric::ThrottledTime => stat.throttled_usec as f64,
                    Metric::Throttled => stat.nr_throttled as f64,
                    _ => stat.usage_usec as f64,
                })
            }
            Subject::Family(family) => {
                let response = |pick: fn(&Percentiles) -> u64| {
                    Percentiles::of(&mut family.responses(outcome)).map(|of| usec(pick(&of)))
                };
                match self.metric {
                    Metric::P50 => response(|of| of.p50),
                    Metric::P99 => response(|of| of.p99),
                    Metric::Max => response(|of| of.max),
                    _ => Some(usec(
                        family.tasks(outcome).map(|task| task.cpu_time.0).sum(),
                    )),
                }
            }
        }
    }

    /// The group's path, or the family's name.
    pub fn subject(&self) -> &str {
        match &self.subject {
            Subject::Group(_, path) => path,
            Subject::Family(family) => &family.name,
        }
    }

    /// What a row is called: `/api throttled, ms`.
    pub fn title(&self) -> String {
        let subject = match &self.subject {
            Subject::Group(_, path) => path.clone(),
            Subject::Family(family) => family.title(),
        };
        format!("{subject} {}", self.metric.title())
    }
}

impl Metric {
    /// The name in JSON and on the command line.
    pub fn key(self) -> &'static str {
        match self {
            Self::ThrottledTime => "throttled_usec",
            Self::Throttled => "nr_throttled",
            Self::Usage => "usage_usec",
            Self::CpuTime => "cpu_usec",
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::Max => "max",
        }
    }

    /// The name in tables, with the unit.
    fn title(self) -> &'static str {
        match self {
            Self::ThrottledTime => "throttled time, ms",
            Self::Throttled => "nr_throttled",
            Self::Usage => "usage, ms",
            Self::CpuTime => "cpu time, ms",
            Self::P50 => "response p50, ms",
            Self::P99 => "response p99, ms",
            Self::Max => "response max, ms",
        }
    }

    /// How many of JSON's units one of the tables' has.
    pub fn scale(self) -> f64 {
        if self == Self::Throttled { 1.0 } else { 1e3 }
    }

    /// A limited group is better off with more of the CPU time that it may use.
    pub fn better(self) -> Better {
        match self {
            Self::Usage | Self::CpuTime => Better::Higher,
            Self::ThrottledTime | Self::Throttled | Self::P50 | Self::P99 | Self::Max => {
                Better::Lower
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn metrics_are_called_the_same_everywhere() {
        for metric in Metric::value_variants() {
            let value = metric.to_possible_value().unwrap();
            assert_eq!(value.get_name(), metric.key());
        }
    }
}
