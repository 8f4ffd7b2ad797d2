//! `[machine]`: CPUs, what they share, the tick, preemption, costs.

use cpumax_bandwidth::Nanos;
use cpumax_sched::{CAPACITY_ONE, CpuPlace, Preemption, Topology};
use cpumax_sim::machine::{Costs, Machine};

use super::fields::{Field, Fields};
use crate::error::Result;
use crate::problem::Problem;
use crate::scenario::MAX_CPUS;

const KEYS: [&str; 10] = [
    "preset",
    "cpus",
    "threads-per-core",
    "cpus-per-llc",
    "cpus-per-node",
    "tick",
    "hz",
    "preempt",
    "costs",
    "name",
];
const PRESETS: [&str; 2] = ["lab", "ideal"];
const MODES: [Preemption; 4] = [
    Preemption::None,
    Preemption::Voluntary,
    Preemption::Full,
    Preemption::Lazy,
];
const MODE_NAMES: [&str; 4] = [
    MODES[0].name(),
    MODES[1].name(),
    MODES[2].name(),
    MODES[3].name(),
];
/// Longest cost, and longest tick.
const LONGEST: Nanos = Nanos::SECOND;
/// Shortest tick: HZ = 10000.
const SHORTEST_TICK: Nanos = Nanos::from_micros(100);

/// Reads the machine.
pub(super) fn read(field: &Field<'_>) -> Result<Machine> {
    let fields = Fields::of(field, "the machine", &KEYS)?;
    let cpus = read_cpus(&fields.need("cpus", "cpus = 4")?)?;
    let preset = fields
        .get("preset")
        .map_or(Ok(0), |field| field.one_of("machine preset", &PRESETS))?;
    let mut machine = match PRESETS[preset] {
        "ideal" => Machine::ideal(cpus),
        _ => Machine::lab(cpus),
    };
    if let Some(name) = fields.get("name") {
        machine.name = name.text()?.to_string();
    }
    machine.topology = read_topology(&fields, cpus)?;
    match (fields.get("tick"), fields.get("hz")) {
        (Some(tick), Some(hz)) => return Err(fields.conflict(&tick, &hz)),
        (Some(tick), None) => machine.tick = bounded(&tick, SHORTEST_TICK)?,
        (None, Some(hz)) => {
            machine.tick = Nanos::SECOND / hz.number(1, 10_000)? as u64;
        }
        (None, None) => {}
    }
    if let Some(preempt) = fields.get("preempt") {
        machine.preemption = Some(MODES[preempt.one_of("preemption mode", &MODE_NAMES)?]);
    }
    if let Some(costs) = fields.get("costs") {
        read_costs(&costs, &mut machine.costs)?;
    }
    Ok(machine)
}

fn read_cpus(field: &Field<'_>) -> Result<usize> {
    let number = field.number(i64::MIN, i64::MAX)?;
    let cpus = usize::try_from(number)
        .ok()
        .filter(|cpus| (1..=MAX_CPUS).contains(cpus));
    cpus.ok_or_else(|| {
        Problem::CpuCount {
            given: number.to_string(),
        }
        .at(field.span())
    })
}

/// CPUs with neighbouring numbers share cores, caches and nodes.
fn read_topology(fields: &Fields<'_>, cpus: usize) -> Result<Topology> {
    const PARTS: [&str; 3] = ["threads-per-core", "cpus-per-llc", "cpus-per-node"];
    let mut sizes = [1, cpus, cpus];
    for (size, key) in sizes.iter_mut().zip(PARTS) {
        if let Some(field) = fields.get(key) {
            *size = field.number(1, cpus as i64)? as usize;
        }
    }
    for part in 1..PARTS.len() {
        let (inner, outer) = (sizes[part - 1], sizes[part]);
        if outer % inner != 0 && outer != cpus {
            let problem = Problem::Topology {
                outer: PARTS[part],
                outer_cpus: outer,
                inner: PARTS[part - 1],
                inner_cpus: inner,
            };
            return Err(problem.at(fields.need(PARTS[part], "")?.span()));
        }
    }
    let [core, llc, node] = sizes;
    let place = |cpu: usize| CpuPlace {
        core: (cpu / core) as u32,
        llc: (cpu / llc) as u32,
        node: (cpu / node) as u32,
        capacity: CAPACITY_ONE,
    };
    Ok(Topology {
        cpus: (0..cpus).map(place).collect(),
    })
}

fn bounded(field: &Field<'_>, least: Nanos) -> Result<Nanos> {
    let time = field.duration()?;
    if (least..=LONGEST).contains(&time) {
        Ok(time)
    } else {
        let key = field.key.to_string();
        Err(Problem::TimeOutOfRange {
            key,
            given: time,
            from: least,
            to: LONGEST,
        }
        .at(field.span()))
    }
}

/// The names of [`Costs`], in its order.
const COST_KEYS: [&str; 28] = [
    "interrupt-entry",
    "ipi-latency",
    "tick",
    "softirq",
    "wakeup",
    "context-switch",
    "pick",
    "idle-exit",
    "syscall",
    "pipe-read",
    "pipe-write",
    "socket-write",
    "socket-read",
    "udp-send",
    "udp-softirq",
    "udp-receive",
    "lock",
    "fork",
    "cpu-search",
    "block",
    "sleep",
    "period-timer",
    "distribute-queue",
    "unthrottle-queue",
    "unthrottle-task",
    "throttle-work",
    "migration",
    "monitor",
];

fn read_costs(field: &Field<'_>, costs: &mut Costs) -> Result<()> {
    for cost in Fields::of(field, "the table of costs", &COST_KEYS)?.all() {
        let place = match cost.key {
            "interrupt-entry" => &mut costs.interrupt_entry,
            "ipi-latency" => &mut costs.ipi_latency,
            "tick" => &mut costs.tick,
            "softirq" => &mut costs.softirq,
            "wakeup" => &mut costs.wakeup,
            "context-switch" => &mut costs.context_switch,
            "pick" => &mut costs.pick,
            "idle-exit" => &mut costs.idle_exit,
            "syscall" => &mut costs.syscall,
            "pipe-read" => &mut costs.pipe_read,
            "pipe-write" => &mut costs.pipe_write,
            "socket-write" => &mut costs.socket_write,
            "socket-read" => &mut costs.socket_read,
            "udp-send" => &mut costs.udp_send,
            "udp-softirq" => &mut costs.udp_softirq,
            "udp-receive" => &mut costs.udp_receive,
            "lock" => &mut costs.lock,
            "fork" => &mut costs.fork,
            "cpu-search" => &mut costs.cpu_search,
            "block" => &mut costs.block,
            "sleep" => &mut costs.sleep,
            "period-timer" => &mut costs.period_timer,
            "distribute-queue" => &mut costs.distribute_queue,
            "unthrottle-queue" => &mut costs.unthrottle_queue,
            "unthrottle-task" => &mut costs.unthrottle_task,
            "throttle-work" => &mut costs.throttle_work,
            "migration" => &mut costs.migration,
            "monitor" => &mut costs.monitor,
            other => unreachable!("`{other}` is not among the keys"),
        };
        *place = bounded(cost, Nanos::ZERO)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cost_has_its_key() {
        let debug = format!("{:?}", Costs::ZERO);
        let inside = debug.trim_start_matches("Costs { ").trim_end_matches(" }");
        let names: Vec<String> = inside
            .split(", ")
            .map(|field| field.split(':').next().unwrap_or(field).replace('_', "-"))
            .collect();
        assert_eq!(names, COST_KEYS);
    }
}
