//! Sets of CPUs as people write them: a list (`0-3,8`) or a hexadecimal mask (`0x10f`).

use cpumax_sched::{CpuId, CpuMask};
use thiserror::Error;

use crate::scenario::MAX_CPUS;

/// Why a text names no set of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CpusError {
    /// Neither a list nor a mask.
    #[error("`{text}` is not a set of CPUs")]
    NotASet {
        /// The text, or the part of it that is wrong.
        text: String,
    },
    /// A range that goes down.
    #[error("the range `{text}` goes down")]
    Backwards {
        /// The range.
        text: String,
    },
    /// None of the CPUs is there.
    #[error("`{text}` names none of the machine's {cpus} CPUs")]
    NoneExists {
        /// The text.
        text: String,
        /// How many CPUs the machine has.
        cpus: usize,
    },
}

impl CpusError {
    /// What to write instead.
    pub fn help(&self) -> String {
        match self {
            Self::NotASet { .. } => {
                "write a list, as in \"0-3,8\", or a hexadecimal mask, as in \"0x10f\"".into()
            }
            Self::Backwards { text } => {
                let turned = text
                    .split_once('-')
                    .map(|(from, to)| format!("{to}-{from}"));
                format!("write \"{}\"", turned.unwrap_or_default())
            }
            Self::NoneExists { cpus: 1, .. } => "the machine has CPU 0 only".into(),
            Self::NoneExists { cpus, .. } => format!("the machine has the CPUs 0-{}", cpus - 1),
        }
    }
}

/// Reads a list of CPU numbers as sysfs writes it (`0-3,8`), in ascending order; `None` if it is none.
pub fn parse_cpu_list(text: &str) -> Option<Vec<usize>> {
    let cpus = parse_list(text.trim(), MAX_CPUS).ok()?;
    Some(cpus.iter().map(CpuId::index).collect())
}

/// Reads a list or a `0x` mask, and leaves out the CPUs that the machine does not have, as the kernel
/// does.
pub(crate) fn parse_cpus(text: &str, cpus: usize) -> Result<CpuMask, CpusError> {
    let trimmed = text.trim();
    match trimmed
        .strip_prefix("0x")
        .or_else(|| trimmed.strip_prefix("0X"))
    {
        Some(digits) => parse_hex_mask(trimmed, digits, cpus),
        None => parse_list(trimmed, cpus),
    }
}

/// Reads a mask as C does: hexadecimal with `0x`, otherwise decimal.
pub(crate) fn parse_mask(text: &str, cpus: usize) -> Result<CpuMask, CpusError> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return parse_hex_mask(text, digits, cpus);
    }
    let number: u64 = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
    .ok_or_else(|| CpusError::NotASet { text: text.into() })?;
    existing(text, cpus, CpuMask::from_bits(number).iter())
}

fn parse_hex_mask(text: &str, digits: &str, cpus: usize) -> Result<CpuMask, CpusError> {
    let not_a_set = || CpusError::NotASet { text: text.into() };
    let values: Option<Vec<u32>> = digits
        .chars()
        .rev()
        .map(|digit| digit.to_digit(16))
        .collect();
    let values = values
        .filter(|values| !values.is_empty())
        .ok_or_else(not_a_set)?;
    let bits = values
        .iter()
        .take(MAX_CPUS / 4)
        .enumerate()
        .flat_map(|(place, &value)| {
            (0..4)
                .filter(move |bit| value >> bit & 1 == 1)
                .map(move |bit| CpuId::new(place * 4 + bit))
        });
    existing(text, cpus, bits)
}

fn parse_list(text: &str, cpus: usize) -> Result<CpuMask, CpusError> {
    let mut mask = CpuMask::empty(cpus);
    for part in text.split(',') {
        let part = part.trim();
        let not_a_set = || CpusError::NotASet { text: part.into() };
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            // A number that does not fit is of no CPU either way.
            if digits {
                Ok(text.parse().unwrap_or(usize::MAX))
            } else {
                Err(not_a_set())
            }
        };
        let (from, to) = match part.split_once('-') {
            Some((from, to)) => (number(from.trim())?, number(to.trim())?),
            None => (number(part)?, number(part)?),
        };
        if from > to {
            return Err(CpusError::Backwards { text: part.into() });
        }
        for cpu in from..=to.min(cpus.saturating_sub(1)) {
            mask.insert(CpuId::new(cpu));
        }
    }
    existing(text, cpus, mask.iter())
}

fn existing(
    text: &str,
    cpus: usize,
    named: impl Iterator<Item = CpuId>,
) -> Result<CpuMask, CpusError> {
    let mut mask = CpuMask::empty(cpus);
    named
        .filter(|cpu| cpu.index() < cpus)
        .for_each(|cpu| mask.insert(cpu));
    if mask.is_empty() {
        Err(CpusError::NoneExists {
            text: text.into(),
            cpus,
        })
    } else {
        Ok(mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(text: &str) -> Vec<usize> {
        parse_cpus(text, 128)
            .unwrap()
            .iter()
            .map(CpuId::index)
            .collect()
    }

    #[test]
    fn lists_and_masks() {
        assert_eq!(cpus("0"), [0]);
        assert_eq!(cpus("0-3,8, 100"), [0, 1, 2, 3, 8, 100]);
        assert_eq!(cpus("0x10f"), [0, 1, 2, 3, 8]);
        assert_eq!(cpus("0x80000000000000000000000000000000"), [127]);
        assert_eq!(cpus("126-99999999999999999999999"), [126, 127]);
        let decimal: Vec<usize> = parse_mask("5", 4)
            .unwrap()
            .iter()
            .map(CpuId::index)
            .collect();
        assert_eq!(decimal, [0, 2]);
    }

    #[test]
    fn equal_sets_are_equal_however_written() {
        assert_eq!(parse_cpus("0-3", 8), parse_cpus("0xf", 8));
        assert_eq!(parse_cpus("0-3", 4), parse_mask("15", 4));
    }

    #[test]
    fn what_is_no_set_says_why() {
        let why = |text| parse_cpus(text, 4).unwrap_err();
        for text in [
            "", "0x", "0xg", "a", "1,,2", "-1", "1-", "0-1-2", "+1", "all",
        ] {
            assert!(matches!(why(text), CpusError::NotASet { .. }), "{text}");
        }
        assert_eq!(why("3-1").help(), "write \"1-3\"");
        for text in ["4", "7-9", "0xf0"] {
            assert!(matches!(why(text), CpusError::NoneExists { .. }), "{text}");
        }
    }
}
