//! Files that are read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use cpumax_sim::Machine;
use cpumax_workload::{MAX_FILE_BYTES, Scenario, read_machine, read_scenario};

use crate::failure::Failure;

/// A file by its path; `-` is standard input.
pub struct Input {
    /// Name for messages.
    pub name: String,
    reader: Box<dyn Read>,
}

impl Input {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Self {
                name: "standard input".to_owned(),
                reader: Box::new(io::stdin()),
            });
        }
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Ok(Self {
                name,
                reader: Box::new(file),
            }),
            Err(source) => Err(Failure::Read { file: name, source }),
        }
    }

    /// To be read line by line.
    pub fn lines(self) -> impl BufRead {
        BufReader::new(self.reader)
    }

    /// Reads it as a scenario.
    pub fn scenario(self) -> Result<Scenario, Failure> {
        let (name, text) = self.text()?;
        Ok(read_scenario(&text, &name)?)
    }

    /// Reads it as the description of a machine.
    pub fn machine(self) -> Result<Machine, Failure> {
        let (name, text) = self.text()?;
        Ok(read_machine(&text, &name)?)
    }

    /// Its name and its text. Of a file that is too large no more is read than shows that.
    fn text(self) -> Result<(String, String), Failure> {
        let Self { name, reader } = self;
        let mut bytes = Vec::new();
        let most = MAX_FILE_BYTES as u64 + 1;
        if let Err(source) = reader.take(most).read_to_end(&mut bytes) {
            return Err(Failure::Read { file: name, source });
        }
        if bytes.len() > MAX_FILE_BYTES {
            return Err(Failure::TooLarge { file: name });
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            Failure::NotText {
                line: valid.split(|&byte| byte == b'\n').count(),
                file: name.clone(),
            }
        })?;
        Ok((name, text))
    }
}
