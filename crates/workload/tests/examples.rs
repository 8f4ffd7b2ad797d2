//! The example scenarios of the repository: each is read, and each runs on every kernel that it names.
//! The scenario in the reference is read too.

use std::fs;
use std::path::PathBuf;

use cpumax_bandwidth::Nanos;
use cpumax_sched::NoObserver;
use cpumax_sim::Simulation;
use cpumax_sim::setup::RunOptions;
use cpumax_workload::{Scenario, read_scenario};

fn examples() -> Vec<(PathBuf, Scenario)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the repository has examples")
        .map(|file| file.expect("a readable folder").path())
        .filter(|file| file.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).expect("a readable file");
        let scenario = read_scenario(&text, &file.to_string_lossy())
            .unwrap_or_else(|error| panic!("{}:{}: {error}", file.display(), error.line()));
        (file, scenario)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn every_example_runs_on_its_kernels() {
    let examples = examples();
    assert!(examples.len() >= 5);
    for (file, scenario) in examples {
        for &kernel in &scenario.kernels {
            let mut setup = scenario.setup.clone();
            setup.duration = setup.duration.min(Nanos::from_millis(500));
            setup.events.retain(|event| event.at < setup.duration);
            let options = RunOptions {
                kernel,
                seed: 1,
                check: true,
            };
            let outcome = Simulation::new(setup, &options, NoObserver)
                .and_then(|mut simulation| simulation.run())
                .unwrap_or_else(|error| panic!("{} on {kernel}: {error}", file.display()));
            let idle: Vec<&str> = outcome
                .tasks
                .iter()
                .filter(|task| task.cpu_time == Nanos::ZERO)
                .map(|task| task.name.as_str())
                .collect();
            assert!(
                idle.is_empty(),
                "{} on {kernel}: {idle:?} never ran",
                file.display()
            );
        }
    }
}

#[test]
fn the_scenario_in_the_reference_is_right() {
    let reference = include_str!("../../../docs/scenarios.md");
    let (_, rest) = reference.split_once("```toml\n").expect("an example");
    let (text, _) = rest.split_once("```").expect("the example's end");
    let scenario = read_scenario(text, "scenarios.md.toml").expect("a scenario");
    assert_eq!(scenario.setup.tasks.len(), 8);
}
