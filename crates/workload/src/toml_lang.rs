//! The TOML language: how a scenario is written. `docs/scenarios.md` is its reference.

mod events;
mod fields;
mod groups;
mod machine;
mod steps;
mod tasks;

use cpumax_bandwidth::Nanos;
use cpumax_sched::Kernel;
use cpumax_sim::Machine;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::draft::Draft;
use crate::error::Result;
use crate::problem::Problem;
use crate::scenario::Scenario;
use fields::{Field, Fields};

const KEYS: [&str; 9] = [
    "name",
    "duration",
    "kernels",
    "machine",
    "groups",
    "tasks",
    "events",
    "sample",
    "every-response",
];

/// Reads the file of a machine.
pub(crate) fn read_machine(text: &str) -> Result<Machine> {
    machine::read_file(parse(text)?.get_ref())
}

fn parse(text: &str) -> Result<Spanned<DeTable<'_>>> {
    DeTable::parse(text).map_err(|error| {
        let message = error.message().trim_end().replace('\n', "; ");
        Problem::Toml { message }.at(error.span().unwrap_or(0..0))
    })
}

/// Reads a scenario. `name` is its name if it gives itself none.
pub(crate) fn read(text: &str, name: &str) -> Result<Scenario> {
    let document = parse(text)?;
    let file = Fields::of_table(document.get_ref(), 0..0, "a scenario", &KEYS)?;
    let duration = file
        .need("duration", "duration = \"10s\"")?
        .positive_duration()?;
    let machine = machine::read(&file.need("machine", "[machine]` with `cpus = 4")?)?;
    let name = file.get("name").map_or(Ok(name), |field| field.text())?;
    let mut draft = Draft::new(name, duration, machine);
    if let Some(kernels) = file.get("kernels") {
        draft.kernels = read_kernels(&kernels)?;
    }
    draft.sample = file
        .get("sample")
        .map(|field| field.positive_duration())
        .transpose()?;
    draft.every_response = file
        .get("every-response")
        .map_or(Ok(false), |field| field.flag())?;

    let events = file
        .get("events")
        .map_or(Ok(Vec::new()), |field| field.list())?;
    let tasks = file
        .get("tasks")
        .map_or(Ok(Vec::new()), |field| field.list())?;
    let mut groups = file
        .get("groups")
        .map_or(Ok(Vec::new()), |field| groups::read(&field))?;
    for event in &events {
        groups.extend(events::created_group(event)?);
    }
    draft.groups.add_all(groups)?;
    let mut objects = steps::Objects::default();
    for task in &tasks {
        tasks::read(task, &mut draft, &mut objects)?;
    }
    for event in &events {
        events::read(event, &mut draft)?;
    }
    draft.finish(text)
}

/// One kernel or a list of them.
fn read_kernels(field: &Field<'_>) -> Result<Vec<Kernel>> {
    let named = match field.value.get_ref() {
        DeValue::Array(_) => field.list()?,
        _ => vec![*field],
    };
    if named.is_empty() {
        return Err(Problem::NoKernels.at(field.span()));
    }
    let kernel = |field: &Field<'_>| {
        field
            .text()?
            .parse()
            .map_err(|unknown| Problem::UnknownKernel(unknown).at(field.span()))
    };
    named.iter().map(kernel).collect()
}

/// Times that a key may leave out.
fn duration_or_zero(fields: &Fields<'_>, key: &'static str) -> Result<Nanos> {
    fields
        .get(key)
        .map_or(Ok(Nanos::ZERO), |field| field.duration())
}
