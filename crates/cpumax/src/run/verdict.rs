//! The result of `run` in one sentence.

use cpumax_report::Percentiles;
use cpumax_report::format::{decimal, duration};
use cpumax_sched::Kernel;
use cpumax_sim::Outcome;
use cpumax_workload::Scenario;

use crate::family::Family;

/// What a person should know: is a limit too tight, for whom, and do the kernels differ?
///
/// `outcomes` has at least one.
pub fn sentence(scenario: &Scenario, outcomes: &[&Outcome]) -> String {
    let Some(group) = most_throttled(scenario, outcomes) else {
        return if scenario
            .setup
            .groups
            .iter()
            .any(|group| group.limit.is_finite())
        {
            "No group is throttled: the limits leave room.".to_owned()
        } else {
            "No group has a limit, so nothing is throttled.".to_owned()
        };
    };
    let path = &outcomes[0].groups[group].path;
    let throttled = throttled_share(group, outcomes);
    match busiest_family(scenario, group, outcomes) {
        Some(response) => format!("{path} {throttled}; {response}."),
        None => format!("{path} {throttled}."),
    }
}

/// The group that is throttled in the largest share of its periods on any kernel.
fn most_throttled(scenario: &Scenario, outcomes: &[&Outcome]) -> Option<usize> {
    (0..scenario.setup.groups.len())
        .map(|group| {
            let shares = outcomes.iter().map(|outcome| throttled(outcome, group));
            (shares.fold(0.0, f64::max), group)
        })
        .filter(|&(share, _)| share > 0.0)
        // The first of equals.
        .reduce(|most, next| if next.0 > most.0 { next } else { most })
        .map(|(_, group)| group)
}

/// Share of its periods in which a group is throttled, 0 to 1.
fn throttled(outcome: &Outcome, group: usize) -> f64 {
    let stat = &outcome.groups[group].stat;
    if stat.nr_periods == 0 {
        0.0
    } else {
        stat.nr_throttled as f64 / stat.nr_periods as f64
    }
}

fn throttled_share(group: usize, outcomes: &[&Outcome]) -> String {
    let shares: Vec<(f64, Kernel)> = outcomes
        .iter()
        .map(|outcome| (throttled(outcome, group), outcome.kernel))
        .collect();
    let show = |share: f64| format!("{} %", decimal(share * 100.0, 1));
    let (least, most) = ends(&shares);
    if show(least.0) == show(most.0) {
        return format!("is throttled in {} of its periods", show(most.0));
    }
    format!(
        "is throttled in {} of its periods on {} and in {} on {}",
        show(least.0),
        least.1,
        show(most.0),
        most.1
    )
}

/// The p99 response of the family that does most jobs in the group, or in one below it.
fn busiest_family(scenario: &Scenario, group: usize, outcomes: &[&Outcome]) -> Option<String> {
    let path = &outcomes[0].groups[group].path;
    let names = scenario.setup.tasks.iter().map(|task| task.name.as_str());
    let (_, family) = Family::of(names)
        .into_iter()
        .filter(|family| {
            let mut tasks = family.tasks(outcomes[0]);
            tasks.any(|task| is_below(&task.group, path))
        })
        .map(|family| (family.responses(outcomes[0]).len(), family))
        .filter(|&(jobs, _)| jobs > 0)
        // The first of equals.
        .reduce(|most, next| if next.0 > most.0 { next } else { most })?;
    let title = family.title();
    let responses: Vec<(u64, Kernel)> = outcomes
        .iter()
        .filter_map(|outcome| {
            let of = Percentiles::of(&mut family.responses(outcome))?;
            Some((of.p99, outcome.kernel))
        })
        .collect();
    let (best, worst) = ends(&responses);
    Some(if duration(best.0) == duration(worst.0) {
        format!("the p99 response of {title} is {}", duration(worst.0))
    } else {
        format!(
            "the p99 response of {title} is {} on {} and {} on {}",
            duration(best.0),
            best.1,
            duration(worst.0),
            worst.1
        )
    })
}

/// Whether a group is `ancestor` or below it.
fn is_below(group: &str, ancestor: &str) -> bool {
    group
        .strip_prefix(ancestor)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The least and the largest value, each with the first kernel that has it. `values` is not empty.
fn ends<T: PartialOrd + Copy>(values: &[(T, Kernel)]) -> ((T, Kernel), (T, Kernel)) {
    let (mut least, mut most) = (values[0], values[0]);
    for &value in values {
        if value.0 < least.0 {
            least = value;
        }
        if value.0 > most.0 {
            most = value;
        }
    }
    (least, most)
}
