//! `[[events]]`: what changes while the machine runs.

use cpumax_bandwidth::Nanos;
use cpumax_sim::setup::{Action, TaskIndex};

use super::fields::{Field, Fields};
use super::groups::plan;
use super::tasks::{read_mask, read_nice, read_policy};
use crate::cpu_files::{FILES, LimitWrite, parse_weight};
use crate::draft::Draft;
use crate::error::Result;
use crate::groups::GroupPlan;
use crate::timeline::{Change, EventPlan};

const KEYS: [&str; 14] = [
    "at",
    "group",
    "cpu.max",
    "cpu.max.burst",
    "cpu.weight",
    "task",
    "move",
    "cpus",
    "nice",
    "policy",
    "create",
    "remove",
    "offline",
    "online",
];
/// What an event is about; it has one of them.
const SUBJECTS: [&str; 6] = ["group", "task", "create", "remove", "offline", "online"];
/// What can be changed of a task.
const OF_TASK: [&str; 4] = ["move", "cpus", "nice", "policy"];

/// The group that an event creates, if that is what it does.
pub(super) fn created_group(event: &Field<'_>) -> Result<Option<GroupPlan>> {
    let fields = Fields::of(event, "an event", &KEYS)?;
    let Some(path) = fields.get("create") else {
        return Ok(None);
    };
    let created = Some(at(&fields)?);
    let plan = plan(&path, path.text()?, &fields)?;
    Ok(Some(GroupPlan {
        created,
        span: path.span(),
        ..plan
    }))
}

/// Reads one event.
pub(super) fn read(event: &Field<'_>, draft: &mut Draft) -> Result<()> {
    let fields = Fields::of(event, "an event", &KEYS)?;
    let at = at(&fields)?;
    let subject = fields.one_of(&SUBJECTS)?;
    if !matches!(subject.key, "group" | "create") {
        fields.none_of(&FILES, "`group` and `create`")?;
    }
    if subject.key != "task" {
        fields.none_of(&OF_TASK, "`task`")?;
    }
    let mut plans = Vec::new();
    let mut plan = |change, field: &Field<'_>| {
        plans.push(EventPlan {
            at,
            change,
            span: field.span(),
        });
    };
    match subject.key {
        "group" => {
            let group = draft.groups.find_below_root(subject.text()?);
            let group = group.map_err(|problem| problem.at(subject.span()))?;
            let writes = some_of(&fields, &FILES)?;
            for write in writes {
                let text = write.file_text()?;
                let change = match write.key {
                    "cpu.max" => Change::Limit(group, LimitWrite::Max(text)),
                    "cpu.max.burst" => Change::Limit(group, LimitWrite::Burst(text)),
                    _ => {
                        let weight =
                            parse_weight(&text).map_err(|problem| problem.at(write.span()))?;
                        Change::Do(Action::SetWeight(group, weight))
                    }
                };
                plan(change, &write);
            }
        }
        "task" => {
            let tasks = draft.tasks.find(subject.text()?);
            let tasks = tasks.map_err(|problem| problem.at(subject.span()))?;
            for field in some_of(&fields, &OF_TASK)? {
                draft.check_events(tasks.len(), &field.span())?;
                for task in tasks.clone() {
                    plan(Change::Do(of_task(&field, TaskIndex(task), draft)?), &field);
                }
            }
        }
        "create" | "remove" => {
            let group = draft.groups.find_below_root(subject.text()?);
            let group = group.map_err(|problem| problem.at(subject.span()))?;
            let create = subject.key == "create";
            let action = if create {
                Action::CreateGroup(group)
            } else {
                Action::RemoveGroup(group)
            };
            plan(Change::Do(action), &subject);
        }
        _ => {
            let cpu = subject.number(0, draft.cpus() as i64 - 1)? as usize;
            let offline = subject.key == "offline";
            let action = if offline {
                Action::CpuOffline(cpu)
            } else {
                Action::CpuOnline(cpu)
            };
            plan(Change::Do(action), &subject);
        }
    }
    draft.events.extend(plans);
    Ok(())
}

fn at(fields: &Fields<'_>) -> Result<Nanos> {
    fields.need("at", "at = \"1s\"")?.duration()
}

/// The keys that say what changes, one at least, in the order of the file, which is that of the writes.
fn some_of<'t>(fields: &Fields<'t>, keys: &'static [&'static str]) -> Result<Vec<Field<'t>>> {
    let found = fields.among(keys);
    if found.is_empty() {
        return Err(fields.nothing_to_do(keys));
    }
    Ok(found)
}

fn of_task(field: &Field<'_>, task: TaskIndex, draft: &Draft) -> Result<Action> {
    Ok(match field.key {
        "move" => {
            let group = draft.groups.find(field.text()?);
            Action::MoveTask(task, group.map_err(|problem| problem.at(field.span()))?)
        }
        "cpus" => Action::SetAffinity(task, read_mask(field, draft)?),
        "nice" => Action::SetNice(task, read_nice(field)?),
        _ => Action::SetPolicy(task, read_policy(field)?),
    })
}
