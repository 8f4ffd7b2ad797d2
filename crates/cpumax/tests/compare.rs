//! `cpumax compare` as a person uses it.

mod program;

use program::cpumax;
use serde_json::Value;

const SERVICE: &str = "crates/cpumax/tests/data/service.toml";
const KERNELS: [&str; 4] = ["--base", "6.12", "--head", "none"];

fn compare(more: &[&str]) -> String {
    cpumax(&[&["compare", SERVICE], &KERNELS[..], &["--runs", "8"], more].concat()).result()
}

#[test]
fn both_tables_of_the_mailing_list() {
    insta::assert_snapshot!(
        "compare_table",
        compare(&["--metric", "p99,throttled_usec"])
    );
    insta::assert_snapshot!("compare_csv", compare(&["--format", "csv"]));
}

#[test]
fn without_bandwidth_control_nothing_is_throttled_and_responses_are_shorter() {
    let result: Value = serde_json::from_str(&compare(&["--format", "json"])).unwrap();
    assert_eq!(result["base"], "6.12");
    assert_eq!(result["head"], "none");
    assert_eq!(result["runs"], 8);
    let verdict_of = |subject: &str, metric: &str| {
        let cases = result["cases"].as_array().unwrap();
        let is_it = |case: &&Value| case["subject"] == subject && case["metric"] == metric;
        cases.iter().find(is_it).unwrap()["verdict"].clone()
    };
    assert_eq!(verdict_of("/service", "throttled_usec"), "better");
    assert_eq!(verdict_of("worker", "p99"), "better");
}

#[test]
fn a_kernel_does_not_differ_from_itself() {
    let arguments = [
        "compare", SERVICE, "--base", "6.18", "--head", "6.18", "--runs", "4",
    ];
    let text = cpumax(&arguments).result();
    assert!(text.contains("no clear change"), "{text}");
    assert!(
        !text.contains("better") && !text.contains("worse"),
        "{text}"
    );
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for format in ["table", "json", "csv"] {
        let of = |threads| compare(&["--threads", threads, "--format", format]);
        assert_eq!(of("1"), of("4"));
    }
}
