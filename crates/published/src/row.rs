//! What was published, as data.

use cpumax_report::Better;
use cpumax_sched::Kernel;
use serde::{Deserialize, Deserializer};

/// Everything that was published.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Comparisons of two kernels.
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
    /// Durations of handlers.
    #[serde(rename = "histogram")]
    pub histograms: Vec<PublishedHistogram>,
}

/// A comparison of two kernels.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Name of the machine's preset.
    pub machine: String,
    /// What ran there.
    pub benchmark: Benchmark,
    /// CPU limit of everything that ran, as a share of the machine's CPUs; `None` is no limit. The nested
    /// hackbench has its own.
    pub quota: Option<f64>,
    /// The kernel that was compared with.
    pub base: Side,
    /// The kernel in question.
    pub head: Side,
    /// Costs are fitted on the base of this row.
    #[serde(default)]
    pub fit: bool,
    /// What the change is, in the words of who measured it.
    #[serde(default)]
    pub verdict: Change,
}

/// A benchmark with its size.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Benchmark {
    /// hackbench over pipes, 150000 loops; seconds.
    #[serde(rename_all = "kebab-case")]
    Hackbench {
        /// Groups of 20 senders and 20 receivers.
        groups: u64,
    },
    /// hackbench in the leaves of three levels of limited groups, 5000000 loops; seconds.
    #[serde(rename_all = "kebab-case")]
    HackbenchNested {
        /// Groups in each leaf.
        groups: u64,
    },
    /// netperf's `UDP_RR`; transactions a second and client.
    #[serde(rename_all = "kebab-case")]
    Netperf {
        /// Clients as a share of the machine's CPUs.
        clients: f64,
    },
}

/// One kernel's result.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Side {
    /// The kernel.
    #[serde(deserialize_with = "kernel")]
    pub kernel: Kernel,
    /// Mean over the runs.
    pub mean: f64,
    /// Standard deviation over the runs, in percent of the mean.
    pub sd_percent: f64,
}

/// A change from base to head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Head is better.
    Better,
    /// Head is worse.
    Worse,
    /// No clear change.
    #[default]
    None,
}

/// The fullest bucket of a published histogram.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PublishedHistogram {
    /// Name of the setup.
    pub setup: String,
    /// Whose durations.
    pub handler: Handler,
    /// On which kernel.
    #[serde(deserialize_with = "kernel")]
    pub kernel: Kernel,
    /// Least duration of the bucket, or of the two neighbours that were published together.
    pub low: u64,
    /// The next longer duration.
    pub high: u64,
}

/// A handler of bandwidth control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handler {
    /// `sched_cfs_period_timer`.
    PeriodTimer,
    /// `distribute_cfs_runtime`.
    Distribute,
}

impl Benchmark {
    /// Which direction is an improvement.
    pub fn better(self) -> Better {
        match self {
            Self::Hackbench { .. } | Self::HackbenchNested { .. } => Better::Lower,
            Self::Netperf { .. } => Better::Higher,
        }
    }
}

impl Row {
    /// `hackbench, 16 groups, half of all CPUs`.
    pub fn title(&self) -> String {
        let what = match self.benchmark {
            Benchmark::Hackbench { groups: 1 } => "hackbench, 1 group".into(),
            Benchmark::Hackbench { groups } => format!("hackbench, {groups} groups"),
            Benchmark::HackbenchNested { .. } => "hackbench, nested 32/16/8".into(),
            Benchmark::Netperf { clients } => format!("netperf, {} % clients", clients * 100.0),
        };
        match self.quota {
            None => what,
            Some(share) => format!("{what}, {} % quota", share * 100.0),
        }
    }
}

impl PublishedHistogram {
    /// Name of the preset that stands for the machine of its setup.
    pub fn machine(&self) -> &'static str {
        if self.setup == "desktop-800" {
            "desktop"
        } else {
            "genoa-2s384"
        }
    }

    /// The fullest of some buckets of powers of two, of which each has a least and a last duration in nanoseconds and a
    /// count, lies in what was published.
    pub fn is_right(&self, low: u64, end: u64) -> bool {
        self.low <= low && end <= self.high
    }
}

/// What was published.
///
/// # Panics
/// Never: the data are part of this crate, and a test reads them.
pub fn published() -> Published {
    match toml::from_str(include_str!("../data/published.toml")) {
        Ok(published) => published,
        Err(error) => panic!("{error}"),
    }
}

fn kernel<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kernel, D::Error> {
    let name = String::deserialize(deserializer)?;
    name.parse().map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_published_reads() {
        let published = published();
        assert_eq!(published.rows.len(), 19);
        assert_eq!(published.histograms.len(), 4);
        let titles: Vec<String> = published.rows.iter().map(Row::title).collect();
        assert_eq!(titles[3], "hackbench, 16 groups, 50 % quota");
        assert_eq!(titles[9], "netperf, 50 % clients");
    }

    #[test]
    fn costs_are_fitted_on_rows_without_a_quota_only() {
        for row in published().rows {
            assert!(!row.fit || row.quota.is_none(), "{}", row.title());
            assert!(
                cpumax_workload::preset(&row.machine).is_some(),
                "{}",
                row.machine
            );
        }
    }
}
