//! What users of CPU limits have reported, as small scenarios.

use cpumax_sched::{Kernel, NoObserver};
use cpumax_sim::setup::RunOptions;
use cpumax_sim::{Outcome, Simulation};
use cpumax_workload::read_scenario;

fn run(scenario: &str, kernel: Kernel) -> Outcome {
    let scenario = read_scenario(scenario, "known.toml").unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions {
        kernel,
        seed: 1,
        check: true,
    };
    let mut simulation = Simulation::new(scenario.setup, &options, NoObserver).unwrap();
    simulation.run().unwrap()
}

/// The kernel's own test (`test_cpu.c`): a quota of 1 ms in 100 ms and one hog for a second; its usage is as near to the
/// quota as the test asks (10 % of the sum of the two).
#[test]
fn the_kernels_own_test_passes() {
    let flat = r#"
        duration = "1s"
        [machine]
        cpus = 4
        [groups."/a"]
        "cpu.max" = "1000 100000"
        [[tasks]]
        name = "hog"
        group = "/a"
        steps = ["spin"]
    "#;
    let nested = flat
        .replace("[groups.\"/a\"]", "[groups.\"/p\"]")
        .replace(
            "[[tasks]]",
            "[groups.\"/p/a\"]\n\"cpu.max\" = \"max 100000\"\n[[tasks]]",
        )
        .replace("group = \"/a\"", "group = \"/p/a\"");
    for kernel in Kernel::MEASURED {
        for (scenario, group) in [(flat, 0), (nested.as_str(), 0)] {
            let used = run(scenario, kernel).groups[group].stat.usage_usec as f64;
            let expected = 10_000.0;
            assert!(
                (used - expected).abs() <= (used + expected) * 0.1,
                "{kernel}: {used}"
            );
        }
    }
}

/// A server that takes 30 ms of CPU time for a request, one request a second, under 130m: throttled in two periods a
/// request although it uses 3 % of a CPU.
#[test]
fn a_server_is_throttled_at_three_percent_usage() {
    let scenario = r#"
        duration = "60s"
        [machine]
        cpus = 4
        [groups."/http"]
        "cpu.max" = "13000 100000"
        [[tasks]]
        name = "server"
        group = "/http"
        steps = [{ timer = "1s" }, { run = "30ms" }]
    "#;
    for kernel in Kernel::MEASURED {
        let stat = run(scenario, kernel).groups[0].stat;
        assert_eq!(stat.nr_throttled, 2 * 59, "{kernel}");
        assert!(stat.usage_usec < 1_800_000, "{kernel}");
    }
}

/// Threads against a quota: a service of as many threads as CPUs under two CPUs has a longer tail than one of two threads,
/// with the same throughput at best.
#[test]
fn more_threads_than_quota_lengthen_the_tail() {
    let scenario = |threads: u32| {
        format!(
            r#"
            duration = "5s"
            [machine]
            preset = "desktop"
            cpus = 24
            [groups."/lb"]
            "cpu.max" = "200000 100000"
            [[tasks]]
            name = "thread"
            group = "/lb"
            count = {threads}
            steps = [{{ run = "900us" }}, {{ sleep = "50us" }}]
            "#
        )
    };
    let tail_and_work = |threads: u32| {
        let outcome = run(&scenario(threads), Kernel::V6_12);
        let tasks = outcome.tasks.iter();
        let mut responses: Vec<u64> = tasks
            .flat_map(|task| &task.responses)
            .map(|time| time.0)
            .collect();
        responses.sort_unstable();
        (responses[responses.len() * 999 / 1000], responses.len())
    };
    let (two, work_of_two) = tail_and_work(2);
    let (eight, work_of_eight) = tail_and_work(8);
    let (all, work_of_all) = tail_and_work(24);
    assert!(
        two < 3_000_000 && eight > 50_000_000 && all > eight,
        "{two} {eight} {all}"
    );
    let works = [work_of_two, work_of_eight, work_of_all];
    assert!(
        work_of_eight < work_of_two * 11 / 10 && work_of_all < work_of_two * 11 / 10,
        "{works:?}"
    );
}
