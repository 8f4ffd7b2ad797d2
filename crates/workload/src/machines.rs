//! Machines by name. Each stands in a file of its own, in the format in which a user describes a machine.

use cpumax_sim::Machine;

use crate::error::{Fault, ScenarioError};
use crate::problem::Problem;
use crate::scenario::MAX_FILE_BYTES;
use crate::toml_lang;

/// Names of the machines that `[machine] preset = ...` and `--machine` know. `lab` and `ideal` have as many CPUs as one
/// wants; the others are complete.
pub const MACHINE_NAMES: [&str; 6] = [
    "lab",
    "ideal",
    "desktop",
    "emr-2s240",
    "genoa-2s384",
    "epyc-2s512",
];

/// The file of a complete machine.
fn file(name: &str) -> Option<&'static str> {
    Some(match name {
        "desktop" => include_str!("../machines/desktop.toml"),
        "emr-2s240" => include_str!("../machines/emr-2s240.toml"),
        "genoa-2s384" => include_str!("../machines/genoa-2s384.toml"),
        "epyc-2s512" => include_str!("../machines/epyc-2s512.toml"),
        _ => return None,
    })
}

/// A complete machine by its name; `None` for one that does not exist or has no number of CPUs of its own.
pub fn preset(name: &str) -> Option<Machine> {
    let read = toml_lang::read_machine(file(name)?);
    read.ok()
}

/// Reads a machine's file: the keys of a scenario's `[machine]`, at the top. `file_name` stands in error messages.
///
/// # Errors
/// What is wrong with the file, where, and how to mend it.
pub fn read_machine(text: &str, file_name: &str) -> Result<Machine, ScenarioError> {
    if text.len() > MAX_FILE_BYTES {
        let problem = Problem::FileTooLarge { bytes: text.len() };
        return Err(ScenarioError::without_text(file_name, problem));
    }
    toml_lang::read_machine(text).map_err(|fault: Fault| ScenarioError::new(file_name, text, fault))
}

#[cfg(test)]
mod tests {
    use cpumax_sched::CpuId;
    use cpumax_sched::DomainLevel::{self, Llc, Node, Numa, Smt};

    use super::*;

    #[test]
    fn every_complete_machine_reads_and_is_called_by_its_name() {
        for name in MACHINE_NAMES {
            let Some(text) = file(name) else {
                assert_eq!(preset(name), None, "{name}");
                continue;
            };
            let machine = read_machine(text, name).unwrap_or_else(|error| panic!("{error:?}"));
            assert_eq!(machine.name, name);
            assert_eq!(preset(name), Some(machine));
        }
    }

    #[test]
    fn machines_have_the_domains_of_their_hardware() {
        let domains = |name: &str, cpu: usize| -> Vec<(DomainLevel, usize)> {
            let topology = preset(name).unwrap().topology;
            let domains = topology.domains(CpuId::new(cpu)).into_iter();
            domains.map(|(level, span)| (level, span.count())).collect()
        };
        assert_eq!(domains("emr-2s240", 0), [(Smt, 2), (Llc, 120), (Numa, 240)]);
        assert_eq!(
            domains("genoa-2s384", 383),
            [(Smt, 2), (Llc, 16), (Node, 192), (Numa, 384)]
        );
        assert_eq!(
            domains("epyc-2s512", 100),
            [(Smt, 2), (Llc, 16), (Node, 256), (Numa, 512)]
        );
        assert_eq!(domains("desktop", 7), [(Smt, 2), (Llc, 8)]);
    }

    #[test]
    fn second_threads_are_numbered_behind_all_cores() {
        let places = preset("genoa-2s384").unwrap().topology.cpus;
        assert_eq!(places[0].core, places[192].core);
        assert_ne!(places[0].core, places[1].core);
        assert_eq!(places[7].llc, places[0].llc);
        assert_ne!(places[8].llc, places[0].llc);
        assert_eq!((places[95].node, places[96].node), (0, 1));
    }

    #[test]
    fn a_machine_can_be_changed_in_single_keys() {
        let machine = read_machine(
            "preset = \"desktop\"\nhz = 1000\ncosts.syscall = \"1us\"",
            "m",
        )
        .unwrap();
        let desktop = preset("desktop").unwrap();
        assert_eq!(machine.topology, desktop.topology);
        assert_eq!(machine.tick.0, 1_000_000);
        assert_eq!(machine.costs.syscall.0, 1000);
        assert_eq!(machine.costs.wakeup, desktop.costs.wakeup);
    }
}
