//! `cpumax run` as a person uses it.

mod program;

use program::{command, cpumax, cpumax_with_input};
use serde_json::Value;

const SERVICE: &str = "crates/cpumax/tests/data/service.toml";

fn json(arguments: &[&str]) -> Value {
    let text = cpumax(arguments).result();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn tables_for_people() {
    let kernels = ["--kernel", "6.12", "--kernel", "7.3"];
    let result = |more: &[&str]| cpumax(&[&["run", SERVICE], &kernels[..], more].concat()).result();
    insta::assert_snapshot!("run_table", result(&[]));
    insta::assert_snapshot!("run_table_all_quiet", result(&["--all", "--quiet"]));
    insta::assert_snapshot!("run_csv", result(&["--format", "csv"]));
}

#[test]
fn json_has_the_keys_that_scripts_depend_on() {
    let kernels = json(&["run", SERVICE, "--seed", "7", "--format", "json"]);
    let names: Vec<&str> = kernels
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["kernel"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["6.1", "6.12", "6.18", "7.3"]);

    for of in kernels.as_array().unwrap() {
        assert_eq!(of["seed"], 7);
        let group = &of["groups"][0];
        assert_eq!(group["path"], "/service");
        let keys: Vec<&String> = group["stat"].as_object().unwrap().keys().collect();
        let mut expected = [
            "usage_usec",
            "user_usec",
            "system_usec",
            "nr_periods",
            "nr_throttled",
            "throttled_usec",
            "nr_bursts",
            "burst_usec",
        ];
        expected.sort_unstable();
        assert_eq!(keys, expected);

        let worker = &of["tasks"][0];
        assert_eq!(worker["name"], "worker.0");
        assert_eq!(worker["group"], "/service");
        assert!(worker["cpu_usec"].is_u64() && worker["wakeups"].is_u64());
        for percentile in ["p50", "p90", "p99", "max"] {
            assert!(worker["response"][percentile].as_f64().unwrap() >= 40_000.0);
        }
        let spinner = &of["tasks"][2];
        assert_eq!(spinner["group"], "/");
        assert!(spinner["response"]["p99"].is_null());
    }
}

#[test]
fn the_same_input_and_seed_give_the_same_bytes() {
    for format in ["table", "json", "csv"] {
        let run = |threads| {
            let arguments = ["run", SERVICE, "--seed", "3", "--format", format];
            cpumax(&[&arguments[..], &["--threads", threads]].concat()).result()
        };
        let once = run("1");
        assert_eq!(once, run("1"));
        assert_eq!(once, run("4"));
    }
}

#[test]
fn another_seed_has_other_phases() {
    let of = |seed| cpumax(&["run", SERVICE, "--kernel", "6.12", "--seed", seed]).result();
    assert_ne!(of("1"), of("2"));
}

#[test]
fn a_shorter_duration_cuts_the_scenario() {
    let run = |more: &[&str]| {
        json(
            &[
                &[
                    "run",
                    "examples/quota-change.toml",
                    "--kernel",
                    "6.12",
                    "--format",
                    "json",
                ],
                more,
            ]
            .concat(),
        )
    };
    let cut = run(&["--duration", "500ms"]);
    let periods = |of: &Value| of[0]["groups"][0]["stat"]["nr_periods"].as_u64().unwrap();
    assert!((4..=5).contains(&periods(&cut)));
    assert!(periods(&run(&[])) > 5);
}

#[test]
fn the_measurements_own_language_is_read_from_standard_input() {
    let scenario = "smp 1\nduration 100000\nrawlat\nsample 50000\n\
                    group a quota=20000 period=100000\ntask c group=a kind=cycle run=5000 sleep=10000\n";
    let arguments = ["run", "-", "--kernel", "6.1", "--format", "json", "--check"];
    let text = cpumax_with_input(&arguments, scenario).result();
    let kernels: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(kernels[0]["groups"][0]["path"], "/a");
    let responses = kernels[0]["tasks"][0]["responses"].as_array().unwrap();
    assert!((3..=7).contains(&responses.len()), "{responses:?}");
    let samples = kernels[0]["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 2);
    assert_eq!(samples[0]["at_usec"], 50_000);
}

#[test]
fn a_reader_that_has_seen_enough_is_a_normal_end() {
    let mut child = command(&["run", SERVICE, "--format", "csv"])
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn every_kernel_model_and_number_that_is_listed_is_explained() {
    let topics = cpumax(&["explain"]).result();
    insta::assert_snapshot!("explain", topics);
    let names = topics
        .lines()
        .skip(1)
        .flat_map(|line| line.split(": ").nth(1).unwrap().split(", "));
    for topic in names.chain(["5.4", "6.1", "6.12", "6.18", "7.2", "7.3"]) {
        assert!(!cpumax(&["explain", topic]).result().is_empty());
    }
    insta::assert_snapshot!("explain_kernel", cpumax(&["explain", "6.18"]).result());
}
