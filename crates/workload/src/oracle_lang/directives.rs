//! `group`, `task` and `event`.

use std::collections::HashMap;

use cpumax_bandwidth::{Limit, LimitError, Nanos};
use cpumax_sched::{CpuId, Nice};
use cpumax_sim::setup::{Action, GroupIndex, Policy, Step, TaskIndex};

use super::words::{Line, Options, Word};
use crate::cpu_files::{LimitWrite, parse_nice, parse_weight};
use crate::cpus::parse_mask;
use crate::draft::Draft;
use crate::error::{Fault, Result};
use crate::groups::{GroupPlan, unknown_group};
use crate::problem::Problem;
use crate::programs;
use crate::scenario::{MAX_CPUS, MAX_GROUPS, MAX_TASKS};
use crate::tasks::{CpuChoice, GroupChoice, TaskPlan, Work};
use crate::timeline::{Change, EventPlan};

const GROUP_OPTIONS: [&str; 6] = ["parent", "quota", "period", "burst", "weight", "n"];
const TASK_OPTIONS: [&str; 16] = [
    "kind",
    "group",
    "n",
    "cpus",
    "percpu",
    "nice",
    "phase",
    "stagger",
    "eachgroup",
    "run",
    "sleep",
    "every",
    "work",
    "senders",
    "receivers",
    "bytes",
];
const KINDS: [&str; 5] = ["spin", "sysspin", "cycle", "pingpong", "hack"];
const CHANGES: [&str; 5] = ["max", "burst", "weight", "move", "cpus"];

/// Makes all groups.
pub(super) fn read_groups<'l, 't: 'l>(
    lines: impl Iterator<Item = &'l Line<'t>>,
    draft: &mut Draft,
) -> Result<()> {
    let mut plans: Vec<GroupPlan> = Vec::new();
    // Path of each group so far, by its short name.
    let mut paths: HashMap<String, (String, Word<'t>)> = HashMap::new();
    for line in lines {
        let (name, options) = line.name_and_options("a group", &GROUP_OPTIONS)?;
        if name.text.contains('/') {
            return Err(Problem::BadName {
                text: name.text.into(),
            }
            .at(name.span()));
        }
        let parent = match options
            .get("parent")
            .map(|parent| (parent, paths.get(parent.text)))
        {
            None => "",
            Some((_, Some((path, _)))) => path,
            Some((parent, None)) => {
                let known: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
                return Err(unknown_group(parent.text, &known).at(parent.span()));
            }
        };
        let path = format!("{parent}/{}", name.text);
        let plan = GroupPlan {
            limit: read_limit(&path, &options, name)?,
            weight: options.get("weight").map_or(Ok(100), |word| {
                parse_weight(word.text).map_err(|problem| problem.at(word.span()))
            })?,
            path,
            name: name.text.into(),
            created: None,
            span: name.span(),
        };
        let copies = copies(&options, MAX_GROUPS)?;
        if plans.len() as u64 + copies > MAX_GROUPS as u64 {
            let given = plans.len() as u64 + copies;
            return Err(Problem::TooMany {
                what: "groups",
                given,
                max: MAX_GROUPS,
            }
            .at(name.span()));
        }
        for copy in 0..copies {
            let mut plan = plan.clone();
            if copies > 1 {
                plan.path = format!("{}.{copy}", plan.path);
                plan.name = format!("{}.{copy}", plan.name);
            }
            if let Some((_, first)) = paths.insert(plan.name.clone(), (plan.path.clone(), name)) {
                let twice = Problem::Duplicate {
                    what: "groups",
                    name: plan.name,
                };
                return Err(twice.at(name.span()).after(first.span()));
            }
            plans.push(plan);
        }
    }
    draft.groups.add_all(plans)
}

fn read_limit(path: &str, options: &Options<'_>, name: Word<'_>) -> Result<Limit> {
    let (quota, period) = (options.get("quota"), options.get("period"));
    let mut limit = Limit::UNLIMITED;
    if quota.is_some() || period.is_some() {
        let text = [
            Some(quota.map_or("max", |word| word.text)),
            period.map(|word| word.text),
        ];
        let write = LimitWrite::Max(text.into_iter().flatten().collect::<Vec<_>>().join(" "));
        limit = write.apply(path, &limit).map_err(|problem| {
            let of_period = matches!(
                problem,
                Problem::Limit {
                    source: LimitError::PeriodTooSmall { .. } | LimitError::PeriodTooLarge { .. },
                    ..
                }
            );
            let place = if of_period {
                period.or(quota)
            } else {
                quota.or(period)
            };
            problem.at(place.unwrap_or(name).span())
        })?;
    }
    if let Some(burst) = options.get("burst") {
        let write = LimitWrite::Burst(burst.text.into());
        limit = write
            .apply(path, &limit)
            .map_err(|problem| problem.at(burst.span()))?;
    }
    Ok(limit)
}

fn copies(options: &Options<'_>, max: usize) -> Result<u64> {
    options
        .get("n")
        .map_or(Ok(1), |word| word.number("n", 1, max as u64))
}

/// The group of a short name; `/` is the root.
fn find_group(word: Word<'_>, draft: &Draft) -> Result<Option<GroupIndex>> {
    find_name(word.text, draft).map_err(|problem| problem.at(word.span()))
}

fn find_name(name: &str, draft: &Draft) -> std::result::Result<Option<GroupIndex>, Problem> {
    if name == "/" {
        return Ok(None);
    }
    draft.groups.by_name(name).map(Some).ok_or_else(|| {
        let known: Vec<&str> = draft.groups.names.iter().map(String::as_str).collect();
        unknown_group(name, &known)
    })
}

/// Makes the tasks of one line.
pub(super) fn read_task(line: &Line<'_>, draft: &mut Draft) -> Result<()> {
    let (name, options) = line.name_and_options("a task", &TASK_OPTIONS)?;
    let copies = copies(&options, MAX_TASKS)?;
    options.not_both("cpus", "percpu")?;
    options.not_both("group", "eachgroup")?;
    let micros = |key| {
        options
            .get(key)
            .map_or(Ok(Nanos::ZERO), |word| word.micros())
    };
    let plan = TaskPlan {
        name: name.text.into(),
        copies,
        groups: match (options.get("group"), options.get("eachgroup")) {
            (_, Some(each)) => GroupChoice::Each(each_group(each, copies, draft)?),
            (Some(group), None) => GroupChoice::Same(find_group(group, draft)?),
            (None, None) => GroupChoice::Same(None),
        },
        cpus: match (options.get("cpus"), options.get("percpu")) {
            (_, Some(modulus)) => CpuChoice::RoundRobin(per_cpu(modulus, draft)?),
            (Some(mask), None) => CpuChoice::Mask(
                parse_mask(mask.text, draft.cpus())
                    .map_err(|error| Problem::Cpus(error).at(mask.span()))?,
            ),
            (None, None) => CpuChoice::All,
        },
        nice: options.get("nice").map_or(Ok(Nice::default()), |word| {
            parse_nice(word.text).map_err(|problem| problem.at(word.span()))
        })?,
        policy: Policy::Normal,
        kernel_thread: false,
        start: micros("phase")?,
        stagger: micros("stagger")?,
        work: read_kind(&options, name, draft)?,
        span: name.span(),
    };
    draft.tasks.add(&plan)
}

fn each_group(each: Word<'_>, copies: u64, draft: &Draft) -> Result<Vec<Option<GroupIndex>>> {
    let find = |copy| find_name(&format!("{}.{copy}", each.text), draft);
    (0..copies)
        .map(|copy| find(copy).map_err(|problem| problem.at(each.span())))
        .collect()
}

/// CPUs 0 to M - 1.
fn per_cpu(modulus: Word<'_>, draft: &Draft) -> Result<Vec<CpuId>> {
    let cpus = modulus.number("percpu", 1, draft.cpus().min(MAX_CPUS) as u64)?;
    Ok((0..cpus as usize).map(CpuId::new).collect())
}

fn read_kind(options: &Options<'_>, task: Word<'_>, draft: &Draft) -> Result<Work> {
    let kind = KINDS[options
        .need("kind", "kind=spin")?
        .one_of("kind of task", &KINDS)?];
    if kind != "cycle" {
        options.none_of(&["run", "sleep", "every"], "`kind=cycle`")?;
    }
    if kind != "pingpong" {
        options.none_of(&["work"], "`kind=pingpong`")?;
    }
    if kind != "hack" {
        options.none_of(&["senders", "receivers", "bytes"], "`kind=hack`")?;
    }
    let many = |key: &'static str, example: &'static str| {
        options.need(key, example)?.number(key, 1, MAX_TASKS as u64)
    };
    Ok(match kind {
        "spin" => Work::Programs(vec![programs::spin()]),
        "sysspin" => Work::Programs(vec![programs::sysspin()]),
        "cycle" => {
            options.not_both("sleep", "every")?;
            // The measuring program looks at its CPU clock until it has used enough.
            let run = Step::RunByClock(options.need("run", "run=2000")?.micros()?);
            let wait = match options.get("every") {
                Some(period) => Step::Timer(period.positive_micros("every")?),
                None => Step::Sleep(options.need("sleep", "sleep=8000")?.micros()?),
            };
            let steps = vec![run, wait];
            if !programs::takes_time(&steps, &draft.machine.costs) {
                return Err(Problem::NoProgress {
                    task: task.text.into(),
                }
                .at(task.span()));
            }
            Work::Programs(vec![programs::for_ever(steps)])
        }
        "pingpong" => Work::PingPong {
            work: options
                .get("work")
                .map_or(Ok(Nanos::ZERO), |word| word.micros())?,
        },
        _ => Work::Hack {
            senders: many("senders", "senders=4")?,
            receivers: many("receivers", "receivers=4")?,
            bytes: options
                .get("bytes")
                .map_or(Ok(100), |word| word.number("bytes", 1, u64::from(u32::MAX)))?
                as u32,
        },
    })
}

/// Reads one event.
pub(super) fn read_event(line: &Line<'_>, draft: &mut Draft) -> Result<()> {
    let malformed = |expected| -> Fault {
        Problem::Malformed {
            directive: line.directive.text.into(),
            expected,
        }
        .at(line.span())
    };
    let [at, change, rest @ ..] = line.words.as_slice() else {
        return Err(malformed(
            "a time and a change, as in `event 1000000 max a 20000 100000`",
        ));
    };
    let at = at.micros()?;
    let kind = CHANGES[change.one_of("change", &CHANGES)?];
    let span = line.span();
    let group = |word: &Word<'_>| {
        let root = || {
            let source = LimitError::RootGroup;
            Problem::Limit {
                file: "limit",
                group: "/".into(),
                source,
            }
            .at(word.span())
        };
        find_group(*word, draft)?.ok_or_else(root)
    };
    let tasks = |word: &Word<'_>| {
        draft
            .tasks
            .find(word.text)
            .map_err(|problem| problem.at(word.span()))
    };
    let changes: Vec<Change> = match (kind, rest) {
        ("max", [name, quota]) => {
            vec![Change::Limit(
                group(name)?,
                LimitWrite::Max(quota.text.into()),
            )]
        }
        ("max", [name, quota, period]) => {
            let text = format!("{} {}", quota.text, period.text);
            vec![Change::Limit(group(name)?, LimitWrite::Max(text))]
        }
        ("max", _) => return Err(malformed("`max GROUP QUOTA [PERIOD]` behind the time")),
        ("burst", [name, burst]) => {
            vec![Change::Limit(
                group(name)?,
                LimitWrite::Burst(burst.text.into()),
            )]
        }
        ("burst", _) => return Err(malformed("`burst GROUP US` behind the time")),
        ("weight", [name, weight]) => {
            let value = parse_weight(weight.text).map_err(|problem| problem.at(weight.span()))?;
            vec![Change::Do(Action::SetWeight(group(name)?, value))]
        }
        ("weight", _) => return Err(malformed("`weight GROUP WEIGHT` behind the time")),
        ("move", [name, to]) => {
            let (tasks, to) = (tasks(name)?, find_group(*to, draft)?);
            draft.check_events(tasks.len(), &span)?;
            tasks
                .map(|task| Change::Do(Action::MoveTask(TaskIndex(task), to)))
                .collect()
        }
        ("move", _) => return Err(malformed("`move TASK GROUP` behind the time")),
        (_, [name, mask]) => {
            let tasks = tasks(name)?;
            draft.check_events(tasks.len(), &span)?;
            let mask = parse_mask(mask.text, draft.cpus())
                .map_err(|error| Problem::Cpus(error).at(mask.span()))?;
            tasks
                .map(|task| Change::Do(Action::SetAffinity(TaskIndex(task), mask.clone())))
                .collect()
        }
        _ => return Err(malformed("`cpus TASK MASK` behind the time")),
    };
    let plan = |change| EventPlan {
        at,
        change,
        span: span.clone(),
    };
    draft.events.extend(changes.into_iter().map(plan));
    Ok(())
}
