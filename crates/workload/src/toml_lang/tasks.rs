//! `[[tasks]]`: who runs where, and what.

use std::borrow::Cow;
use std::sync::Arc;

use cpumax_sched::{CpuId, CpuMask, Nice};
use cpumax_sim::setup::{Policy, Program};

use super::duration_or_zero;
use super::fields::{Field, Fields};
use super::steps::{Objects, StepReader, loops};
use crate::cpu_files::parse_nice;
use crate::cpus::parse_cpus;
use crate::draft::Draft;
use crate::error::Result;
use crate::problem::Problem;
use crate::programs;
use crate::scenario::MAX_TASKS;
use crate::tasks::{CpuChoice, GroupChoice, TaskPlan, Work};

const KEYS: [&str; 17] = [
    "name",
    "group",
    "count",
    "nice",
    "policy",
    "cpus",
    "pin",
    "start",
    "stagger",
    "steps",
    "loop",
    "program",
    "work",
    "senders",
    "receivers",
    "bytes",
    "kernel-thread",
];
const PROGRAMS: [&str; 4] = ["spin", "sysspin", "pingpong", "hack"];
const POLICIES: [&str; 4] = ["normal", "batch", "idle", "fifo"];

/// Reads one entry and makes its tasks.
pub(super) fn read(field: &Field<'_>, draft: &mut Draft, objects: &mut Objects) -> Result<()> {
    let fields = Fields::of(field, "a task", &KEYS)?;
    let name = fields.need("name", "name = \"worker\"")?;
    let copies = fields
        .get("count")
        .map_or(Ok(1), |field| field.number(1, MAX_TASKS as i64))? as u64;
    let plan = TaskPlan {
        name: name.text()?.to_string(),
        copies,
        groups: read_groups(&fields, copies, draft)?,
        cpus: read_cpus(&fields, draft)?,
        nice: fields
            .get("nice")
            .map_or(Ok(Nice::default()), |field| read_nice(&field))?,
        policy: fields
            .get("policy")
            .map_or(Ok(Policy::Normal), |field| read_policy(&field))?,
        kernel_thread: fields
            .get("kernel-thread")
            .map_or(Ok(false), |field| field.flag())?,
        start: duration_or_zero(&fields, "start")?,
        stagger: duration_or_zero(&fields, "stagger")?,
        work: read_work(&fields, &name, copies, draft, objects)?,
        span: name.span(),
    };
    draft.tasks.add(&plan)
}

/// The text with the copy's number in place of `{i}`.
pub(super) fn for_copy(text: &str, copy: u64) -> Cow<'_, str> {
    if text.contains("{i}") {
        Cow::Owned(text.replace("{i}", &copy.to_string()))
    } else {
        Cow::Borrowed(text)
    }
}

fn read_groups(fields: &Fields<'_>, copies: u64, draft: &Draft) -> Result<GroupChoice> {
    let Some(field) = fields.get("group") else {
        return Ok(GroupChoice::Same(None));
    };
    let text = field.text()?;
    let find = |path: &str| {
        draft
            .groups
            .find_at_start(path)
            .map_err(|problem| problem.at(field.span()))
    };
    if text.contains("{i}") {
        let groups = (0..copies).map(|copy| find(&for_copy(text, copy)));
        Ok(GroupChoice::Each(groups.collect::<Result<_>>()?))
    } else {
        Ok(GroupChoice::Same(find(text)?))
    }
}

fn read_cpus(fields: &Fields<'_>, draft: &Draft) -> Result<CpuChoice> {
    let mask = fields
        .get("cpus")
        .map(|field| read_mask(&field, draft))
        .transpose()?;
    let pin = fields
        .get("pin")
        .map(|field| field.one_of("way to pin", &["round-robin"]))
        .transpose()?;
    Ok(match (pin, mask) {
        (None, None) => CpuChoice::All,
        (None, Some(mask)) => CpuChoice::Mask(mask),
        (Some(_), Some(mask)) => CpuChoice::RoundRobin(mask.iter().collect()),
        (Some(_), None) => CpuChoice::RoundRobin((0..draft.cpus()).map(CpuId::new).collect()),
    })
}

/// A set of CPUs of which the machine has one at least.
pub(super) fn read_mask(field: &Field<'_>, draft: &Draft) -> Result<CpuMask> {
    parse_cpus(field.text()?, draft.cpus()).map_err(|error| Problem::Cpus(error).at(field.span()))
}

/// A nice value.
pub(super) fn read_nice(field: &Field<'_>) -> Result<Nice> {
    parse_nice(&field.file_text()?).map_err(|problem| problem.at(field.span()))
}

/// A scheduling policy.
pub(super) fn read_policy(field: &Field<'_>) -> Result<Policy> {
    Ok([Policy::Normal, Policy::Batch, Policy::Idle, Policy::Fifo]
        [field.one_of("policy", &POLICIES)?])
}

fn read_work(
    fields: &Fields<'_>,
    name: &Field<'_>,
    copies: u64,
    draft: &mut Draft,
    objects: &mut Objects,
) -> Result<Work> {
    let what = fields.one_of(&["steps", "program"])?;
    let kind = if what.key == "program" {
        PROGRAMS[what.one_of("program", &PROGRAMS)?]
    } else {
        ""
    };
    if kind != "pingpong" {
        fields.none_of(&["work"], "`program = \"pingpong\"`")?;
    }
    if kind != "hack" {
        fields.none_of(&["senders", "receivers", "bytes"], "`program = \"hack\"`")?;
    }
    if kind.is_empty() {
        return read_steps(fields, &what, name.text()?, copies, draft, objects);
    }
    fields.none_of(&["loop"], "`steps`")?;
    let many = |key: &'static str| {
        let example = if key == "senders" {
            "senders = 20"
        } else {
            "receivers = 20"
        };
        Ok(fields.need(key, example)?.number(1, MAX_TASKS as i64)? as u64)
    };
    Ok(match kind {
        "spin" => Work::Programs(vec![programs::spin()]),
        "sysspin" => Work::Programs(vec![programs::sysspin()]),
        "pingpong" => Work::PingPong {
            work: duration_or_zero(fields, "work")?,
        },
        _ => Work::Hack {
            senders: many("senders")?,
            receivers: many("receivers")?,
            bytes: fields
                .get("bytes")
                .map_or(Ok(100), |field| field.number(1, i64::from(u32::MAX)))?
                as u32,
        },
    })
}

fn read_steps(
    fields: &Fields<'_>,
    steps: &Field<'_>,
    task: &str,
    copies: u64,
    draft: &mut Draft,
    objects: &mut Objects,
) -> Result<Work> {
    let times = fields
        .get("loop")
        .map_or(Ok(None), |field| loops(&field, true))?;
    let mut reader = StepReader {
        copy: 0,
        depends_on_copy: false,
        objects,
        tasks: &mut draft.tasks,
    };
    let first = reader.read(steps)?;
    if times.is_none() && !programs::takes_time(&first, &draft.machine.costs) {
        return Err(Problem::NoProgress { task: task.into() }.at(steps.span()));
    }
    let mut copies_of_steps = vec![first];
    if reader.depends_on_copy {
        let in_each = programs::count_steps(&copies_of_steps[0]);
        reader
            .tasks
            .check_steps(in_each.saturating_mul(copies as usize), &steps.span())?;
        for copy in 1..copies {
            reader.copy = copy;
            copies_of_steps.push(reader.read(steps)?);
        }
    }
    let program = |steps| {
        Arc::new(Program {
            prelude: vec![],
            steps,
            times,
        })
    };
    Ok(Work::Programs(
        copies_of_steps.into_iter().map(program).collect(),
    ))
}
