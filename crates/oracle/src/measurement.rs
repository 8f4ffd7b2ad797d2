//! One line of a file of results: what one kernel did with one scenario, once.
//!
//! The reader takes the file line by line and keeps of each only what is compared, so that the size of a
//! file does not matter.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use cpumax_sched::Kernel;
use serde::Deserialize;

use crate::{Error, Metric};

/// Most bytes of a line. A measurement of 100 groups with snapshots has some 100 KB.
const LONGEST_LINE: u64 = 64 << 20;

/// What a kernel did with a scenario, once.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Line of the file, from 1.
    pub line: usize,
    /// Name of the scenario.
    pub scenario: String,
    /// The kernel, as precisely as the simulator tells kernels apart.
    pub kernel: Kernel,
    /// The scenario itself.
    pub text: String,
    /// Groups in the file's order.
    pub groups: Vec<MeasuredGroup>,
    /// Tasks in the file's order.
    pub tasks: Vec<MeasuredTask>,
}

/// A group's statistics since T0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredGroup {
    /// Name in the scenario.
    pub name: String,
    usage_usec: i64,
    nr_periods: i64,
    nr_throttled: i64,
    throttled_usec: i64,
}

/// What a task did since T0.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct MeasuredTask {
    /// Name in the scenario.
    pub name: String,
    /// CPU time in microseconds.
    #[serde(rename = "cpu_us")]
    pub cpu_usec: f64,
    /// Response times, if the task has jobs.
    #[serde(rename = "resp")]
    pub responses: Option<Responses>,
}

/// Response times in microseconds. What was not measured is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Responses {
    /// Half took at most so long.
    pub p50: Option<f64>,
    /// 90 of 100 took at most so long.
    pub p90: Option<f64>,
    /// 99 of 100 took at most so long.
    pub p99: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
}

impl MeasuredGroup {
    /// One of the statistics in [`Metric::OF_GROUP`]; `None` for what a group does not have.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        let value = match metric {
            Metric::Usage => self.usage_usec,
            Metric::Periods => self.nr_periods,
            Metric::Throttled => self.nr_throttled,
            Metric::ThrottledTime => self.throttled_usec,
            _ => return None,
        };
        Some(value as f64)
    }
}

impl MeasuredTask {
    /// All that was measured, in the order of the rows.
    pub fn values(&self) -> impl Iterator<Item = (Metric, f64)> {
        let response = |pick: fn(&Responses) -> Option<f64>| self.responses.as_ref().and_then(pick);
        [
            (Metric::CpuTime, Some(self.cpu_usec)),
            (Metric::ResponseP50, response(|r| r.p50)),
            (Metric::ResponseP90, response(|r| r.p90)),
            (Metric::ResponseP99, response(|r| r.p99)),
            (Metric::ResponseMax, response(|r| r.max)),
        ]
        .into_iter()
        .filter_map(|(metric, value)| Some((metric, value?)))
    }
}

/// Reads a file of results line by line. Blank lines are passed over; after an error nothing follows.
///
/// `file` stands in error messages.
pub fn read_measurements<R: BufRead>(
    mut reader: R,
    file: &str,
) -> impl Iterator<Item = Result<Measurement, Error>> {
    let mut line = 0;
    let mut text = String::new();
    let mut failed = false;
    std::iter::from_fn(move || {
        while !failed {
            text.clear();
            let read = (&mut reader).take(LONGEST_LINE + 1).read_line(&mut text);
            let result = match read {
                Ok(0) => return None,
                Ok(bytes) if bytes as u64 > LONGEST_LINE => Err(Error::LongLine {
                    file: file.to_owned(),
                    line: line + 1,
                    max: LONGEST_LINE,
                }),
                Ok(_) => {
                    line += 1;
                    if text.trim().is_empty() {
                        continue;
                    }
                    measurement(text.trim_end(), file, line)
                }
                Err(source) => Err(Error::Read {
                    file: file.to_owned(),
                    line,
                    source,
                }),
            };
            failed = result.is_err();
            return Some(result);
        }
        None
    })
}

/// A line as it stands in the file.
#[derive(Deserialize)]
struct Line {
    scenario: String,
    kernel: String,
    text: String,
    #[serde(default)]
    error: Option<serde_json::Value>,
    result: Option<LineResult>,
}

#[derive(Deserialize)]
struct LineResult {
    before: Vec<LineGroup>,
    groups: Vec<LineGroup>,
    tasks: Vec<MeasuredTask>,
}

#[derive(Deserialize)]
struct LineGroup {
    name: String,
    stat: LineStat,
}

#[derive(Deserialize)]
struct LineStat {
    usage_usec: i64,
    nr_periods: i64,
    nr_throttled: i64,
    throttled_usec: i64,
}

fn measurement(text: &str, file: &str, number: usize) -> Result<Measurement, Error> {
    let line: Line = serde_json::from_str(text).map_err(|error| {
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = error.to_string();
        Error::Malformed {
            file: file.to_owned(),
            line: number,
            column: error.column(),
            message: message.strip_suffix(&place).unwrap_or(&message).to_owned(),
        }
    })?;
    if let Some(error) = line.error {
        return Err(Error::Failed {
            file: file.to_owned(),
            line: number,
            message: match error {
                serde_json::Value::String(message) => message,
                other => other.to_string(),
            },
        });
    }
    let kernel = line.kernel.parse().map_err(|source| Error::Kernel {
        file: file.to_owned(),
        line: number,
        source,
    })?;
    let mismatch = |problem: String| Error::Mismatch {
        file: file.to_owned(),
        line: number,
        problem,
    };
    let result = line
        .result
        .ok_or_else(|| mismatch("`result` is null, and `error` too".to_owned()))?;

    let before: HashMap<&str, &LineStat> = result
        .before
        .iter()
        .map(|group| (group.name.as_str(), &group.stat))
        .collect();
    let groups = result
        .groups
        .iter()
        .map(|group| {
            let before = before.get(group.name.as_str()).ok_or_else(|| {
                mismatch(format!(
                    "`before` lacks group `{}`",
                    group.name.escape_debug()
                ))
            })?;
            Ok(group.since(before))
        })
        .collect::<Result<_, Error>>()?;
    Ok(Measurement {
        line: number,
        scenario: line.scenario,
        kernel,
        text: line.text,
        groups,
        tasks: result.tasks,
    })
}

impl LineGroup {
    /// What was counted since T0: the set-up leaves a few periods and some usage behind.
    fn since(&self, before: &LineStat) -> MeasuredGroup {
        let LineStat {
            usage_usec,
            nr_periods,
            nr_throttled,
            throttled_usec,
        } = self.stat;
        MeasuredGroup {
            name: self.name.clone(),
            usage_usec: usage_usec.saturating_sub(before.usage_usec),
            nr_periods: nr_periods.saturating_sub(before.nr_periods),
            nr_throttled: nr_throttled.saturating_sub(before.nr_throttled),
            throttled_usec: throttled_usec.saturating_sub(before.throttled_usec),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line with one group and one task.
    const LINE: &str = r#"{"scenario":"s","kernel":"6.12.117","k":"612","rep":0,"smp":1,"text":"smp 1","error":null,"result":{"before":[{"name":"a","stat":{"usage_usec":16,"nr_periods":2,"nr_throttled":0,"throttled_usec":0}}],"groups":[{"name":"a","stat":{"usage_usec":619480,"nr_periods":32,"nr_throttled":30,"throttled_usec":2380435}}],"tasks":[{"name":"t","group":"a","cpu_us":619632,"resp":{"n":3,"p50":10,"p90":11,"p99":12,"max":13}}]}}"#;

    fn read(text: &str) -> Vec<Result<Measurement, Error>> {
        read_measurements(text.as_bytes(), "r.jsonl").collect()
    }

    fn error_of(text: &str) -> String {
        read(text).pop().unwrap().unwrap_err().to_string()
    }

    #[test]
    fn what_happened_before_t0_is_taken_off() {
        let measurement = read(LINE).pop().unwrap().unwrap();
        assert_eq!(measurement.kernel, Kernel::V6_12);
        let of_group = |metric| measurement.groups[0].get(metric);
        assert_eq!(of_group(Metric::Usage), Some(619_464.0));
        assert_eq!(of_group(Metric::Periods), Some(30.0));
        assert_eq!(of_group(Metric::CpuTime), None);
        let of_task: Vec<_> = measurement.tasks[0]
            .values()
            .map(|(m, v)| (m.name(), v))
            .collect();
        assert_eq!(of_task[0], ("cpu_usec", 619_632.0));
        assert_eq!(of_task[4], ("resp_max", 13.0));
    }

    #[test]
    fn errors_name_the_line_and_end_the_reading() {
        let text = format!("{LINE}\n\n{}\n{LINE}\n", &LINE[..40]);
        let read = read(&text);
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].as_ref().unwrap().line, 1);
        let message = read[1].as_ref().unwrap_err().to_string();
        assert!(
            message.starts_with("r.jsonl, line 3, column 40: this is not"),
            "{message}"
        );
    }

    #[test]
    fn what_is_no_measurement_says_why() {
        let without_text = LINE.replace("\"text\"", "\"txt\"");
        assert!(error_of(&without_text).contains("missing field `text`"));
        let other_kernel = LINE.replace("6.12.117", "2.6.32");
        assert!(error_of(&other_kernel).contains("line 1: this kernel cannot be simulated"));
        let failed = LINE.replace("\"error\":null", "\"error\":\"no boot\"");
        assert!(error_of(&failed).ends_with("the measurement failed: no boot"));
        let other_group = LINE.replacen("\"name\":\"a\"", "\"name\":\"b\"", 1);
        assert!(error_of(&other_group).contains("`before` lacks group `a`"));
    }
}
