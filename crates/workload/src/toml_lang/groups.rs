//! `[groups."/path"]`: limits and weights, and many groups at once.

use cpumax_bandwidth::Limit;

use super::fields::{Field, Fields};
use crate::cpu_files::{LimitWrite, parse_weight};
use crate::error::Result;
use crate::groups::GroupPlan;
use crate::problem::Problem;
use crate::scenario::MAX_GROUPS;

const KEYS: [&str; 4] = ["cpu.max", "cpu.max.burst", "cpu.weight", "count"];

/// Reads all groups under `[groups]`, in the order of the file.
pub(super) fn read(field: &Field<'_>) -> Result<Vec<GroupPlan>> {
    let mut plans = Vec::new();
    for group in field.entries()? {
        let fields = Fields::of(&group, "a group", &KEYS)?;
        let plan = plan(&group, group.key, &fields)?;
        match fields.get("count") {
            None => plans.push(plan),
            Some(count) => {
                let copies = count.number(1, MAX_GROUPS as i64)?;
                let given = plans.len() as u64 + copies as u64;
                if given > MAX_GROUPS as u64 {
                    let problem = Problem::TooMany {
                        what: "groups",
                        given,
                        max: MAX_GROUPS,
                    };
                    return Err(problem.at(count.span()));
                }
                plans.extend((0..copies).map(|copy| {
                    let path = format!("{}.{copy}", plan.path);
                    GroupPlan {
                        name: path.clone(),
                        path,
                        ..plan.clone()
                    }
                }));
            }
        }
    }
    Ok(plans)
}

/// A group with the settings that stand in `fields`.
pub(super) fn plan(at: &Field<'_>, path: &str, fields: &Fields<'_>) -> Result<GroupPlan> {
    let mut limit = Limit::UNLIMITED;
    if let Some(max) = fields.get("cpu.max") {
        let write = LimitWrite::Max(max.file_text()?);
        limit = write
            .apply(path, &limit)
            .map_err(|problem| problem.at(max.span()))?;
    }
    if let Some(burst) = fields.get("cpu.max.burst") {
        let write = LimitWrite::Burst(burst.file_text()?);
        limit = write
            .apply(path, &limit)
            .map_err(|problem| problem.at(burst.span()))?;
    }
    let weight = fields.get("cpu.weight").map_or(Ok(100), |field| {
        parse_weight(&field.file_text()?).map_err(|problem| problem.at(field.span()))
    })?;
    Ok(GroupPlan {
        path: path.to_string(),
        name: path.to_string(),
        limit,
        weight,
        created: None,
        span: at.key_span(),
    })
}
