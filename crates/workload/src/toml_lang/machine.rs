//! `[machine]`: CPUs, what they share, the tick, preemption, costs.

use cpumax_bandwidth::Nanos;
use cpumax_sched::{CAPACITY_ONE, CpuPlace, Kernel, Preemption, Release, Topology};
use cpumax_sim::machine::{BackgroundThread, Caches, Costs, Machine};
use toml::de::DeTable;

use super::fields::{Field, Fields};
use crate::cpus::parse_cpus;
use crate::error::Result;
use crate::machines::{self, MACHINE_NAMES};
use crate::problem::Problem;
use crate::scenario::MAX_CPUS;

const KEYS: [&str; 16] = [
    "preset",
    "cpus",
    "threads-per-core",
    "thread-numbering",
    "cpus-per-llc",
    "cpus-per-node",
    "capacities",
    "tick",
    "hz",
    "preempt",
    "smt-percent",
    "caches",
    "costs",
    "hung-task",
    "background",
    "name",
];
/// Keys that say what CPUs there are.
const TOPOLOGY_KEYS: [&str; 6] = [
    "cpus",
    "threads-per-core",
    "thread-numbering",
    "cpus-per-llc",
    "cpus-per-node",
    "capacities",
];
const NUMBERINGS: [&str; 2] = ["adjacent", "split"];
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

/// Reads a scenario's machine.
pub(super) fn read(field: &Field<'_>) -> Result<Machine> {
    read_fields(&Fields::of(field, "the machine", &KEYS)?)
}

/// Reads a machine's own file.
pub(super) fn read_file(table: &DeTable<'_>) -> Result<Machine> {
    read_fields(&Fields::of_table(table, 0..0, "the machine", &KEYS)?)
}

fn read_fields(fields: &Fields<'_>) -> Result<Machine> {
    let preset = match fields.get("preset") {
        Some(field) => MACHINE_NAMES[field.one_of("machine preset", &MACHINE_NAMES)?],
        None => "lab",
    };
    let has_topology = !fields.among(&TOPOLOGY_KEYS).is_empty();
    let mut machine = match machines::preset(preset) {
        Some(machine) if !has_topology => machine,
        complete => {
            let cpus = read_cpus(&fields.need("cpus", "cpus = 4")?)?;
            let mut machine = match complete {
                Some(machine) => machine,
                None if preset == "ideal" => Machine::ideal(cpus),
                None => Machine::lab(cpus),
            };
            machine.topology = read_topology(fields, cpus)?;
            machine
        }
    };
    if let Some(name) = fields.get("name") {
        machine.name = name.text()?.to_string();
    }
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
    if let Some(percent) = fields.get("smt-percent") {
        machine.smt_percent = percent.number(1, 100)? as u32;
    }
    if let Some(caches) = fields.get("caches") {
        read_caches(&caches, &mut machine.caches)?;
    }
    if let Some(costs) = fields.get("costs") {
        read_costs(&costs, &mut machine.costs)?;
    }
    if let Some(patience) = fields.get("hung-task") {
        machine.hung_task = patience.positive_duration()?;
    }
    if let Some(threads) = fields.get("background") {
        let threads = threads.list()?;
        machine.background = threads.iter().map(read_background).collect::<Result<_>>()?;
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
    let numbering = fields.get("thread-numbering");
    let split = numbering.map_or(Ok(0), |field| field.one_of("numbering", &NUMBERINGS))? == 1;
    let cores = cpus.div_ceil(core);
    let place = |cpu: usize| {
        // Where it stands if the threads of a core stand side by side.
        let at = if split {
            cpu % cores * core + cpu / cores
        } else {
            cpu
        };
        CpuPlace {
            core: (at / core) as u32,
            llc: (at / llc) as u32,
            node: (at / node) as u32,
            capacity: CAPACITY_ONE,
        }
    };
    let mut topology = Topology {
        cpus: (0..cpus).map(place).collect(),
    };
    if let Some(capacities) = fields.get("capacities") {
        for entry in capacities.list()? {
            let entry = Fields::of(&entry, "a capacity", &["cpus", "capacity"])?;
            let field = entry.need("cpus", "cpus = \"0-3\"")?;
            let set = parse_cpus(field.text()?, cpus)
                .map_err(|error| Problem::Cpus(error).at(field.span()))?;
            let capacity = entry.need("capacity", "capacity = 512")?;
            let capacity = capacity.number(1, i64::from(CAPACITY_ONE))? as u32;
            for cpu in set.iter() {
                topology.cpus[cpu.index()].capacity = capacity;
            }
        }
    }
    Ok(topology)
}

fn read_background(field: &Field<'_>) -> Result<BackgroundThread> {
    const KEYS: [&str; 5] = ["name", "since", "per-cpu", "run", "sleep"];
    let fields = Fields::of(field, "a background thread", &KEYS)?;
    let since = match fields.get("since") {
        None => Release::V6_1,
        Some(field) => {
            let kernel: std::result::Result<Kernel, _> = field.text()?.parse();
            let unknown = |unknown| Problem::UnknownKernel(unknown).at(field.span());
            kernel.map_err(unknown)?.release
        }
    };
    Ok(BackgroundThread {
        name: fields
            .need("name", "name = \"kworker\"")?
            .text()?
            .to_string(),
        since,
        per_cpu: fields
            .get("per-cpu")
            .map_or(Ok(false), |field| field.flag())?,
        run: fields.need("run", "run = \"7us\"")?.positive_duration()?,
        sleep: fields
            .need("sleep", "sleep = \"400ms\"")?
            .positive_duration()?,
    })
}

/// Most cache lines of an operation.
const MOST_LINES: i64 = 10_000;

fn read_caches(field: &Field<'_>, caches: &mut Caches) -> Result<()> {
    const KEYS: [&str; 7] = [
        "same-llc",
        "same-node",
        "other-node",
        "pipe-lines",
        "socket-lines",
        "udp-lines",
        "wakeup-lines",
    ];
    for value in Fields::of(field, "the table of caches", &KEYS)?.all() {
        let lines = match value.key {
            "same-llc" => {
                caches.same_llc = bounded(value, Nanos::ZERO)?;
                continue;
            }
            "same-node" => {
                caches.same_node = bounded(value, Nanos::ZERO)?;
                continue;
            }
            "other-node" => {
                caches.other_node = bounded(value, Nanos::ZERO)?;
                continue;
            }
            "pipe-lines" => &mut caches.pipe_lines,
            "socket-lines" => &mut caches.socket_lines,
            "udp-lines" => &mut caches.udp_lines,
            _ => &mut caches.wakeup_lines,
        };
        *lines = value.number(0, MOST_LINES)? as u32;
    }
    Ok(())
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
