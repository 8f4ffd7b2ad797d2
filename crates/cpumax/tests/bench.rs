//! `cpumax bench` as a person uses it, on machines small enough to be quick.

mod program;

use program::{cpumax, file};
use serde_json::Value;

/// Four CPUs of two cores, as a file.
const SMALL: &str = "\
preset = \"desktop\"
name = \"small\"
cpus = 4
threads-per-core = 2
";

fn small() -> String {
    file("small.toml", SMALL)
}

#[test]
fn hackbench_as_a_table_and_for_programs() {
    let machine = small();
    let bench = |more: &[&str]| {
        let common = [
            "bench",
            "hackbench",
            "--machine",
            &machine,
            "--groups",
            "1,2",
            "--runs",
            "4",
        ];
        cpumax(&[&common[..], more].concat()).result()
    };
    insta::assert_snapshot!("bench_hackbench", bench(&["--quota", "50%"]));
    let compared = [
        "--base",
        "6.18:hierarchy-async",
        "--head",
        "6.18",
        "--quota",
        "2",
        "--long",
    ];
    insta::assert_snapshot!("bench_hackbench_compared", bench(&compared));
    let json: Value = serde_json::from_str(&bench(&["--format", "json"])).unwrap();
    assert_eq!(json["cases"][0]["values"].as_array().unwrap().len(), 4);
    assert_eq!(json["cases"][1]["case"], "2 groups");
    assert!(json["cases"][0]["extrapolated_from"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_result_does_not_depend_on_the_threads() {
    let machine = small();
    let run = |threads: &str| {
        let arguments = [
            "bench",
            "netperf",
            "--machine",
            &machine,
            "--clients",
            "2,4",
            "--threads",
            threads,
        ];
        cpumax(&arguments).result()
    };
    assert_eq!(run("1"), run("2"));
}

#[test]
fn sockets_nested_groups_and_the_other_benchmarks_run() {
    let machine = small();
    let cases: [&[&str]; 4] = [
        &["hackbench", "--groups", "1", "--carrier", "socket"],
        &["hackbench", "--groups", "1", "--nested", "2/1/0.5"],
        &["schbench", "--quota", "1", "--runtime", "1s"],
        &["fibtest", "--quota", "150%", "--length", "1s"],
    ];
    for arguments in cases {
        let common = ["--machine", &machine, "--runs", "2", "--format", "csv"];
        let csv = cpumax(&[&["bench"], arguments, &common[..]].concat()).result();
        assert!(csv.lines().count() > 2, "{csv}");
    }
}

/// The value of a metric of the `rwsem` benchmark, with its defaults, in the first run.
fn rwsem(kernel: &str, metric: &str) -> f64 {
    let arguments = [
        "bench", "rwsem", "--kernel", kernel, "--runs", "1", "--format", "json",
    ];
    let json: Value = serde_json::from_str(&cpumax(&arguments).result()).unwrap();
    let cases = json["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["metric"] == metric).unwrap();
    case["values"][0].as_f64().unwrap()
}

fn the_writer_hangs(kernel: &str) {
    assert!(rwsem(kernel, "writer wait max") > 120_000.0, "{kernel}");
    assert!(rwsem(kernel, "readers piled up") > 150.0, "{kernel}");
    assert!(rwsem(kernel, "hung-task reports") > 0.0, "{kernel}");
}

fn the_writer_waits_for_running_readers_only(kernel: &str) {
    assert!(rwsem(kernel, "writer wait max") < 1000.0, "{kernel}");
    assert!(rwsem(kernel, "writer rounds") > 5000.0, "{kernel}");
    assert!(rwsem(kernel, "hung-task reports") < 1.0, "{kernel}");
}

#[test]
fn the_writer_hangs_under_hierarchy_sync() {
    the_writer_hangs("hierarchy-sync");
}

#[test]
fn the_writer_hangs_under_hierarchy_async() {
    the_writer_hangs("hierarchy-async");
}

#[test]
fn the_writer_does_not_hang_under_task() {
    the_writer_waits_for_running_readers_only("task");
}

#[test]
fn the_writer_does_not_hang_under_unified() {
    the_writer_waits_for_running_readers_only("unified");
}

#[test]
fn histograms_of_the_period_timer() {
    let arguments = [
        "bench",
        "period-timer",
        "--runs",
        "1",
        "--base",
        "6.1",
        "--head",
        "6.1:hierarchy-async",
    ];
    insta::assert_snapshot!("bench_period_timer", cpumax(&arguments).result());
}

#[test]
fn what_is_wrong_is_said() {
    for (arguments, expected) in [
        (
            &["hackbench", "--machine", "genoa"][..],
            "there is no machine `genoa`",
        ),
        (
            &["hackbench", "--quota", "lots"],
            "write a share of the machine such as 50%",
        ),
        (
            &["fibtest", "--quota", "0.000001"],
            "the kernel refuses this limit",
        ),
        (&["hackbench", "--base", "6.12"], "--head"),
        (
            &["hackbench", "--kernel", "7.3:hierarchy-sync"],
            "unknown kernel",
        ),
        (&["netperf", "--machine", "./no/such.toml"], "cannot read"),
    ] {
        let ran = cpumax(&[&["bench"], arguments].concat());
        assert_eq!(ran.status, 2, "{arguments:?}");
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
    let broken = file("broken.toml", "cpus = 4\nsmt-percent = 0\n");
    let ran = cpumax(&["bench", "hackbench", "--machine", &broken]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("smt-percent"), "{}", ran.stderr);
}
