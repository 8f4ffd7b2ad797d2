//! The machine that this program runs on, from sysfs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cpumax_sched::{CAPACITY_ONE, CpuPlace, Topology};
use cpumax_sim::Machine;
use cpumax_workload::parse_cpu_list;
use miette::Diagnostic;
use thiserror::Error;

/// Why the machine cannot be read.
#[derive(Debug, Error, Diagnostic)]
pub enum HostError {
    /// A file that says which CPUs there are cannot be read.
    #[error("cannot read {}", .path.display())]
    #[diagnostic(help(
        "mount sysfs on /sys, or describe the machine in a file; see docs/machines.md"
    ))]
    Read {
        /// The file.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{} holds `{}`, which is not {expected}", .path.display(), .text.escape_debug())]
    #[diagnostic(help("describe the machine in a file; see docs/machines.md"))]
    Content {
        /// The file.
        path: PathBuf,
        /// What it holds.
        text: String,
        /// What it should.
        expected: &'static str,
    },
}

/// The online CPUs of the machine whose sysfs is mounted below `root`, in the order of their numbers, and the costs of the
/// `desktop` preset: sysfs knows what shares what, not what it costs.
///
/// What a virtual machine or a container does not show is filled in: without a core number a CPU is a core of its own,
/// without a cache that several share the whole node shares one, without nodes there is one.
///
/// # Errors
/// A file that must be there is not, or does not hold what it should.
pub fn host_machine(root: &Path) -> Result<Machine, HostError> {
    let cpus = root.join("sys/devices/system/cpu");
    let online = read_list(&cpus.join("online"))?;
    let nodes = nodes(&root.join("sys/devices/system/node"))?;
    let mut places = Vec::new();
    let (mut cores, mut caches) = (Vec::new(), Vec::new());
    let mut most_capacity = 1;
    for &cpu in &online {
        let folder = cpus.join(format!("cpu{cpu}"));
        let number = |file: &str| optional_number(&folder.join(file));
        let node = nodes
            .iter()
            .position(|of_node| of_node.contains(&cpu))
            .unwrap_or(0);
        let core = match number("topology/core_id")? {
            Some(core) => (
                number("topology/physical_package_id")?.unwrap_or(0),
                core,
                0,
            ),
            None => (0, 0, cpu as i64 + 1),
        };
        // Of the threads that share the last-level cache, the first stands for it.
        let cache = last_level_cache(&folder)?.map_or((1, node), |cache| (0, cache));
        let capacity = number("cpu_capacity")?.unwrap_or(0).max(0) as u32;
        most_capacity = most_capacity.max(capacity);
        places.push(CpuPlace {
            core: index_of(&mut cores, core),
            llc: index_of(&mut caches, cache),
            node: node as u32,
            capacity,
        });
    }
    for place in &mut places {
        place.capacity = match place.capacity {
            0 => CAPACITY_ONE,
            capacity => (capacity * CAPACITY_ONE / most_capacity).max(1),
        };
    }
    let desktop = cpumax_workload::preset("desktop").unwrap_or_else(|| Machine::ideal(1));
    Ok(Machine {
        name: "host".into(),
        topology: Topology { cpus: places },
        ..desktop
    })
}

/// The number of a key, in the order in which keys come.
fn index_of<T: PartialEq>(keys: &mut Vec<T>, key: T) -> u32 {
    let at = keys.iter().position(|known| *known == key);
    at.unwrap_or_else(|| {
        keys.push(key);
        keys.len() - 1
    }) as u32
}

/// The CPUs of each node; empty if the machine shows none.
fn nodes(folder: &Path) -> Result<Vec<Vec<usize>>, HostError> {
    let online = folder.join("online");
    if !online.exists() {
        return Ok(Vec::new());
    }
    let list = |node: &usize| read_list(&folder.join(format!("node{node}/cpulist")));
    let nodes: Result<Vec<Vec<usize>>, HostError> = read_list(&online)?.iter().map(list).collect();
    // A node may have memory only.
    Ok(nodes?.into_iter().filter(|cpus| !cpus.is_empty()).collect())
}

/// The first CPU that shares the largest cache, if sysfs shows caches.
fn last_level_cache(cpu: &Path) -> Result<Option<usize>, HostError> {
    let mut last: Option<(i64, usize)> = None;
    for index in 0.. {
        let cache = cpu.join(format!("cache/index{index}"));
        let Some(level) = optional_number(&cache.join("level"))? else {
            break;
        };
        let shared = cache.join("shared_cpu_list");
        if !shared.exists() {
            continue;
        }
        if let Some(&first) = read_list(&shared)?.first()
            && last.is_none_or(|(highest, _)| level >= highest)
        {
            last = Some((level, first));
        }
    }
    Ok(last.map(|(_, first)| first))
}

fn read(path: &Path) -> Result<String, HostError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(source) => Err(HostError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// A list of CPUs or nodes.
fn read_list(path: &Path) -> Result<Vec<usize>, HostError> {
    let text = read(path)?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    parse_cpu_list(&text).ok_or_else(|| HostError::Content {
        path: path.to_owned(),
        text,
        expected: "a list such as 0-3,8",
    })
}

fn optional_number(path: &Path) -> Result<Option<i64>, HostError> {
    if !path.exists() {
        return Ok(None);
    }
    let text = read(path)?;
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(HostError::Content {
            path: path.to_owned(),
            text,
            expected: "a number",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sysfs with these files.
    fn sysfs(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = root.path().join("sys/devices/system").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn read_places(files: &[(&str, &str)]) -> Vec<[u32; 4]> {
        let machine = host_machine(sysfs(files).path()).unwrap();
        let places = machine.topology.cpus.into_iter();
        places
            .map(|place| [place.core, place.llc, place.node, place.capacity])
            .collect()
    }

    #[test]
    fn two_nodes_of_two_threads_and_an_offline_cpu() {
        let places = read_places(&[
            ("cpu/online", "0-2\n"),
            ("cpu/cpu0/topology/core_id", "0"),
            ("cpu/cpu0/topology/physical_package_id", "0"),
            ("cpu/cpu1/topology/core_id", "0"),
            ("cpu/cpu1/topology/physical_package_id", "0"),
            ("cpu/cpu2/topology/core_id", "0"),
            ("cpu/cpu2/topology/physical_package_id", "1"),
            ("cpu/cpu0/cache/index0/level", "1"),
            ("cpu/cpu0/cache/index0/shared_cpu_list", "0"),
            ("cpu/cpu0/cache/index1/level", "3"),
            ("cpu/cpu0/cache/index1/shared_cpu_list", "0-1"),
            ("cpu/cpu1/cache/index0/level", "3"),
            ("cpu/cpu1/cache/index0/shared_cpu_list", "0-1"),
            ("cpu/cpu2/cache/index0/level", "3"),
            ("cpu/cpu2/cache/index0/shared_cpu_list", "2-3"),
            ("node/online", "0-1"),
            ("node/node0/cpulist", "0-1"),
            ("node/node1/cpulist", "2-3"),
        ]);
        assert_eq!(places, [[0, 0, 0, 1024], [0, 0, 0, 1024], [1, 1, 1, 1024]]);
    }

    #[test]
    fn what_is_not_shown_is_filled_in() {
        let places = read_places(&[("cpu/online", "0,2")]);
        assert_eq!(places, [[0, 0, 0, 1024], [1, 0, 0, 1024]]);
    }

    #[test]
    fn small_cores_have_less_capacity() {
        let places = read_places(&[
            ("cpu/online", "0-1"),
            ("cpu/cpu0/cpu_capacity", "400"),
            ("cpu/cpu1/cpu_capacity", "800"),
        ]);
        assert_eq!([places[0][3], places[1][3]], [512, 1024]);
    }

    #[test]
    fn errors_name_the_file() {
        let error = host_machine(sysfs(&[]).path()).unwrap_err();
        assert!(
            error.to_string().ends_with("sys/devices/system/cpu/online"),
            "{error}"
        );
        let error = host_machine(sysfs(&[("cpu/online", "zero")]).path()).unwrap_err();
        assert!(error.to_string().contains("holds `zero`"), "{error}");
    }

    #[test]
    fn this_machine_can_be_read() {
        if !Path::new("/sys/devices/system/cpu/online").exists() {
            eprintln!("skipped: there is no sysfs here");
            return;
        }
        assert!(host_machine(Path::new("/")).unwrap().topology.cpu_count() > 0);
    }
}
