//! `cpumax oracle` as a person uses it.

mod program;

use program::{cpumax, cpumax_with_input, root};
use serde_json::Value;

/// Three repetitions of a spinning task under 1 ms of 10 ms.
const RESULTS: &str = "crates/cpumax/tests/data/spin.jsonl";

fn oracle(more: &[&str]) -> program::Ran {
    cpumax(&[&["oracle", RESULTS, "--phases", "32"], more].concat())
}

#[test]
fn rows_are_an_array_of_objects_with_exactly_these_keys() {
    let text = oracle(&["--format", "json"]).result();
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    let names: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| {
            (
                row["subject"].as_str().unwrap(),
                row["metric"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("/a", "usage_usec"),
        ("/a", "nr_periods"),
        ("/a", "nr_throttled"),
        ("/a", "throttled_usec"),
        ("s", "cpu_usec"),
    ];
    assert_eq!(names, expected);
    let mut keys = [
        "scenario",
        "kernel",
        "subject",
        "metric",
        "measured",
        "predicted",
        "low",
        "high",
        "error",
        "ok",
    ];
    keys.sort_unstable();
    for row in &rows {
        assert_eq!(row.as_object().unwrap().keys().collect::<Vec<_>>(), keys);
        assert_eq!(row["scenario"], "02_spin_1_10");
        assert_eq!(row["kernel"], "6.12");
        let number = |key: &str| row[key].as_f64().unwrap();
        assert!(number("low") <= number("predicted") && number("predicted") <= number("high"));
        let error = (number("predicted") - number("measured")) / number("measured");
        assert!((number("error") - error).abs() < 1e-12);
    }
}

#[test]
fn tables_for_people() {
    insta::assert_snapshot!("oracle_table", oracle(&[]).result());
    insta::assert_snapshot!("oracle_table_all", oracle(&["--all"]).result());
}

#[test]
fn a_row_outside_is_shown_and_ends_in_status_1() {
    let results = std::fs::read_to_string(root().join(RESULTS)).unwrap();
    let other = results.replace("\"cpu_us\":", "\"cpu_us\":9");
    assert_ne!(results, other);
    let ran = cpumax_with_input(&["oracle", "-", "--phases", "32"], &other);
    assert_eq!((ran.status, ran.stderr.as_str()), (1, ""));
    insta::assert_snapshot!("oracle_outside", ran.stdout);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for format in ["table", "json", "csv"] {
        let of = |threads| oracle(&["--all", "--threads", threads, "--format", format]).result();
        assert_eq!(of("1"), of("4"));
    }
}

#[test]
fn what_is_not_in_the_file_cannot_be_compared() {
    let ran = oracle(&["--kernel", "6.18"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("on 6.12"), "{}", ran.stderr);
    assert_eq!(
        oracle(&["--kernel", "hierarchy-async", "--scenario", "spin"]).status,
        0
    );
}

#[test]
fn a_malformed_line_is_named() {
    let results = std::fs::read_to_string(root().join(RESULTS)).unwrap();
    let cut = &results[..results.len() - 100];
    let ran = cpumax_with_input(&["oracle", "-"], cut);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(
        ran.stderr.contains("standard input, line 3, column"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_wrong_scenario_within_a_line_is_shown() {
    let results = std::fs::read_to_string(root().join(RESULTS)).unwrap();
    let wrong = results.replace("period=10000", "period=100");
    let ran = cpumax_with_input(&["oracle", "-"], &wrong);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    insta::assert_snapshot!("oracle_wrong_scenario", ran.stderr);
}
