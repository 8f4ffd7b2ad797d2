//! The benchmarks as rows of a table.

use cpumax_bandwidth::{CpuStat, LimitError, Nanos};
use cpumax_report::{Better, Percentiles};
use cpumax_sim::Machine;
use cpumax_workload::benchmarks::{
    Fibtest, Hackbench, Limits, Netperf, Rwsem, Schbench, Steady, SteadyResult, cpu_limit,
};

use super::args::{
    Cpus, FibtestArgs, HackbenchArgs, NetperfArgs, RwsemArgs, SchbenchArgs, SteadyArgs,
};
use super::{Case, Metric, Reading};
use crate::failure::Failure;

const fn metric(name: &'static str, unit: &'static str, better: Better) -> Metric {
    Metric { name, unit, better }
}

pub const HACKBENCH: &[Metric] = &[metric("time", "s", Better::Lower)];
pub const NETPERF: &[Metric] = &[metric("transactions per client", "1/s", Better::Higher)];
pub const SCHBENCH: &[Metric] = &[
    metric("wakeup latency p50", "us", Better::Lower),
    metric("wakeup latency p99", "us", Better::Lower),
    metric("wakeup latency max", "us", Better::Lower),
    metric("requests", "1/s", Better::Higher),
];
pub const FIBTEST: &[Metric] = &[
    metric("cpu time", "s", Better::Higher),
    metric("least thread", "s", Better::Higher),
    metric("most thread", "s", Better::Lower),
    metric("throttled time", "s", Better::Lower),
];
pub const RWSEM: &[Metric] = &[
    metric("writer wait p50", "ms", Better::Lower),
    metric("writer wait max", "ms", Better::Lower),
    metric("writer rounds", "", Better::Higher),
    metric("readers piled up", "", Better::Lower),
    metric("hung-task reports", "", Better::Lower),
];

type Cases<'a> = Result<Vec<Case<'a>>, Failure>;

fn refused(source: LimitError) -> Failure {
    Failure::Quota { source }
}

fn steady(options: &SteadyArgs, limits: &Limits) -> Steady {
    let usual = match limits {
        Limits::None => Steady::UNLIMITED,
        Limits::Group(limit) => Steady::limited(limit.period()),
        Limits::Nested(levels) => levels
            .first()
            .map_or(Steady::UNLIMITED, |limit| Steady::limited(limit.period())),
    };
    Steady {
        warmup: options.warmup.unwrap_or(usual.warmup),
        window: options.window.unwrap_or(usual.window),
    }
}

fn reading(result: &SteadyResult) -> Reading {
    Reading {
        values: vec![result.value],
        extrapolated_from: (!result.complete).then_some(result.window.0 as f64 / 1e9),
        utilization: Some(result.utilization),
        throttled: throttled(&result.stat),
    }
}

/// What a run that was simulated to its end has shown.
fn whole(values: Vec<f64>, stat: &CpuStat) -> Reading {
    Reading {
        values,
        extrapolated_from: None,
        utilization: None,
        throttled: throttled(stat),
    }
}

fn throttled(stat: &CpuStat) -> (u64, u64) {
    (stat.nr_periods, stat.nr_throttled)
}

fn under(limits: &Limits, cpus: f64) -> String {
    match limits {
        Limits::None => String::new(),
        Limits::Group(limit) => {
            let quota = limit.quota().map_or(0.0, |quota| quota.0 as f64);
            let share = quota / limit.period().0 as f64;
            format!(", {share} of {cpus} CPUs")
        }
        Limits::Nested(_) => ", nested".into(),
    }
}

pub fn hackbench<'a>(options: &'a HackbenchArgs, machine: &'a Machine) -> Cases<'a> {
    let cpus = machine.topology.cpu_count();
    let limits = if options.nested.is_empty() {
        options.quota.limits(cpus).map_err(refused)?
    } else {
        let levels = options.nested.iter().map(|level| {
            let count = level.of(cpus).unwrap_or(cpus as f64);
            cpu_limit(count, options.quota.period)
        });
        Limits::Nested(levels.collect::<Result<_, _>>().map_err(refused)?)
    };
    let steady = steady(&options.steady, &limits);
    let case = |&groups: &u32| {
        let benchmark = Hackbench {
            groups: groups as usize,
            fds: options.fds as usize,
            loops: options.loops,
            datasize: options.datasize,
            transport: options.carrier.into(),
            limits: limits.clone(),
        };
        let plural = if groups == 1 { "" } else { "s" };
        Case {
            title: format!("{groups} group{plural}{}", under(&limits, cpus as f64)),
            run: Box::new(move |kernel, seed| {
                let result = benchmark.run(machine, kernel, seed, steady)?;
                Ok(reading(&result))
            }),
        }
    };
    Ok(options.groups.iter().map(case).collect())
}

pub fn netperf<'a>(options: &'a NetperfArgs, machine: &'a Machine) -> Cases<'a> {
    let cpus = machine.topology.cpu_count();
    let limits = options.quota.limits(cpus).map_err(refused)?;
    let steady = steady(&options.steady, &limits);
    let case = |&clients: &Cpus| {
        let benchmark = Netperf {
            clients: (clients.of(cpus).unwrap_or(cpus as f64).round() as usize).max(1),
            bytes: options.bytes,
            limits: limits.clone(),
        };
        Case {
            title: format!(
                "{} clients{}",
                benchmark.clients,
                under(&limits, cpus as f64)
            ),
            run: Box::new(move |kernel, seed| {
                let result = benchmark.run(machine, kernel, seed, steady)?;
                Ok(reading(&result))
            }),
        }
    };
    Ok(options.clients.iter().map(case).collect())
}

pub fn schbench<'a>(options: &'a SchbenchArgs, machine: &'a Machine) -> Cases<'a> {
    let cpus = machine.topology.cpu_count();
    let benchmark = Schbench {
        message_threads: options.message_threads as usize,
        threads: options.threads.map_or(cpus, |threads| threads as usize),
        sleep: options.sleep,
        work: options.work,
        runtime: options.runtime,
        limits: options.quota.limits(cpus).map_err(refused)?,
    };
    let title = format!(
        "{} x {} workers{}",
        benchmark.message_threads,
        benchmark.threads,
        under(&benchmark.limits, cpus as f64)
    );
    let run = move |kernel, seed| {
        let result = benchmark.run(machine, kernel, seed)?;
        let mut waits: Vec<u64> = result.wakeup_latencies.iter().map(|wait| wait.0).collect();
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let of = Percentiles::of(&mut waits);
        let [p50, p99, max] = of.map_or([0.0; 3], |of| [of.p50, of.p99, of.max].map(micros));
        let rate = result.requests as f64 / (result.elapsed.0.max(1) as f64 / 1e9);
        Ok(whole(vec![p50, p99, max, rate], &result.stat))
    };
    Ok(vec![Case {
        title,
        run: Box::new(run),
    }])
}

pub fn fibtest<'a>(options: &'a FibtestArgs, machine: &'a Machine) -> Cases<'a> {
    let cpus = machine.topology.cpu_count();
    let benchmark = Fibtest {
        threads: options.threads.map_or(cpus, |threads| threads as usize),
        length: options.length,
        limits: options.quota.limits(cpus).map_err(refused)?,
    };
    let title = format!(
        "{} threads{}",
        benchmark.threads,
        under(&benchmark.limits, cpus as f64)
    );
    let run = move |kernel, seed| {
        let result = benchmark.run(machine, kernel, seed)?;
        let seconds = |time: Nanos| time.0 as f64 / 1e9;
        let times = &result.cpu_times;
        let total = times.iter().copied().map(seconds).sum();
        let least = times.iter().min().copied().map_or(0.0, seconds);
        let most = times.iter().max().copied().map_or(0.0, seconds);
        Ok(whole(
            vec![total, least, most, result.stat.throttled_usec as f64 / 1e6],
            &result.stat,
        ))
    };
    Ok(vec![Case {
        title,
        run: Box::new(run),
    }])
}

pub fn rwsem<'a>(options: &'a RwsemArgs, machine: &'a Machine) -> Cases<'a> {
    let cpus = machine.topology.cpu_count();
    let limits = match options.quota.of(cpus) {
        None => Limits::None,
        Some(count) => Limits::Group(cpu_limit(count, options.period).map_err(refused)?),
    };
    let benchmark = Rwsem {
        readers: options.readers as usize,
        hold: options.hold,
        user: options.user,
        writer_sleep: options.writer_sleep,
        writer_hold: Nanos::from_micros(10),
        length: options.length,
        limits,
    };
    let title = format!(
        "{} readers{}",
        benchmark.readers,
        under(&benchmark.limits, cpus as f64)
    );
    let run = move |kernel, seed| {
        let result = benchmark.run(machine, kernel, seed)?;
        let waits = &result.semaphore.writer_waits;
        let mut waits: Vec<u64> = waits.iter().map(|wait| wait.0).collect();
        let millis = |nanos: u64| nanos as f64 / 1e6;
        // A writer that never had it waits until the end.
        let open = result.hung.last().map_or(0, |hung| hung.blocked.0);
        let longest = waits.iter().copied().max().unwrap_or(0).max(open);
        let median = Percentiles::of(&mut waits).map_or(open, |of| of.p50);
        Ok(whole(
            vec![
                millis(median),
                millis(longest),
                result.writer_rounds as f64,
                f64::from(result.semaphore.most_waiting_readers),
                result.hung.len() as f64,
            ],
            &result.stat,
        ))
    };
    Ok(vec![Case {
        title,
        run: Box::new(run),
    }])
}
