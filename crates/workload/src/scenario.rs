//! A scenario, and the way from a file's text to it.

use std::ffi::OsStr;
use std::path::Path;

use cpumax_bandwidth::Nanos;
use cpumax_sched::Kernel;
use cpumax_sim::setup::Setup;

use crate::error::{Fault, ScenarioError};
use crate::problem::Problem;
use crate::{oracle_lang, toml_lang};

/// Largest file that is read.
pub const MAX_FILE_BYTES: usize = 16 << 20;
/// Most CPUs of a machine.
pub const MAX_CPUS: usize = 4096;
/// Most groups of a scenario.
pub const MAX_GROUPS: usize = 100_000;
/// Most tasks of a scenario.
pub const MAX_TASKS: usize = 1_000_000;
/// Most events of a scenario; one that concerns many tasks counts for each.
pub const MAX_EVENTS: usize = 1_000_000;
/// Most steps of all programs together.
pub const MAX_STEPS: usize = 4_000_000;

/// What a scenario file says.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Title for reports; the file's name without its ending if the file gives none.
    pub name: String,
    /// Kernels on which to simulate it unless the user names others. Not empty.
    pub kernels: Vec<Kernel>,
    /// What to simulate.
    pub setup: Setup,
    /// What the file calls each group of [`Setup::groups`], in the same order: the path in TOML, the
    /// short name in the measurements' language.
    pub group_names: Vec<String>,
    /// Read all statistics each time so much has passed.
    pub sample: Option<Nanos>,
    /// Report every response time, not only percentiles.
    pub every_response: bool,
}

/// Reads a scenario. `file_name` stands in error messages and gives the scenario a name if the text
/// does not. A name that ends in `.toml` is TOML; otherwise the first directive decides.
///
/// # Errors
/// What is wrong with the file, where, and how to mend it.
pub fn read_scenario(text: &str, file_name: &str) -> Result<Scenario, ScenarioError> {
    let path = Path::new(file_name);
    let name = path
        .file_stem()
        .and_then(OsStr::to_str)
        .unwrap_or(file_name);
    let is_toml = path.extension().is_some_and(|ending| ending == "toml");
    let read = if text.len() > MAX_FILE_BYTES {
        return Err(ScenarioError::without_text(
            file_name,
            Problem::FileTooLarge { bytes: text.len() },
        ));
    } else if is_blank(text) {
        Err(Problem::EmptyFile.at(0..0))
    } else if !is_toml && oracle_lang::is_this(text) {
        oracle_lang::read(text, name)
    } else {
        toml_lang::read(text, name)
    };
    read.map_err(|fault: Fault| ScenarioError::new(file_name, text, fault))
}

/// Whether there is nothing but white space and comments; both languages comment with `#`.
fn is_blank(text: &str) -> bool {
    content_lines(text).next().is_none()
}

/// Lines that are not blank, trimmed, without a byte order mark and without lines of comment.
pub(crate) fn content_lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text
        .lines()
        .map(|line| line.trim_start_matches('\u{feff}').trim());
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}
