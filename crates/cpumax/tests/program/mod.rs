//! Runs the program as a person does.

#![allow(dead_code, reason = "each test file uses its part")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run of the program left.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the program at the root of the repository, so that paths are as the README has them.
pub fn cpumax(arguments: &[&str]) -> Ran {
    cpumax_with_input(arguments, "")
}

/// As [`cpumax`], with something on standard input.
pub fn cpumax_with_input(arguments: &[&str], input: &str) -> Ran {
    let mut child = command(arguments).spawn().unwrap();
    // The program may end without reading it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Ran {
        status: output.status.code().expect("ended by itself"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The program with these arguments, all its streams piped.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpumax"));
    command
        .args(arguments)
        .current_dir(root())
        .env_remove("RAYON_NUM_THREADS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file with this text, in the tests' own folder.
pub fn file(name: &str, text: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

impl Ran {
    /// Standard output of a run that went well and had nothing to say on standard error.
    pub fn result(self) -> String {
        assert_eq!(self.stderr, "");
        assert_eq!(self.status, 0, "{}", self.stdout);
        self.stdout
    }
}
