//! Kernel versions, and the rules in which they differ.

use core::fmt;
use core::str::FromStr;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// How a group that has used up its runtime is stopped and restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThrottleModel {
    /// Bandwidth control is compiled out: no accounting, no throttling.
    None,
    /// Up to 6.2: the group's subtree is dequeued; the period timer's CPU unthrottles all CPUs itself.
    HierarchySync,
    /// 6.3 to 6.17: as [`Self::HierarchySync`], but each CPU unthrottles itself, told by an IPI.
    HierarchyAsync,
    /// 6.18 to 7.1: queues are only marked; each task takes itself off on its return to user mode.
    Task,
    /// 7.2 and later: as [`Self::Task`], and the charge itself requests runtime and marks the queue.
    Unified,
}

impl ThrottleModel {
    /// Tasks are taken off one by one at return to user mode (models C and D).
    #[inline]
    pub const fn per_task(self) -> bool {
        matches!(self, Self::Task | Self::Unified)
    }

    /// The group entity is unlinked as a whole (models A and B).
    #[inline]
    pub const fn per_hierarchy(self) -> bool {
        matches!(self, Self::HierarchySync | Self::HierarchyAsync)
    }

    /// The name in the tool.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::HierarchySync => "hierarchy-sync",
            Self::HierarchyAsync => "hierarchy-async",
            Self::Task => "task",
            Self::Unified => "unified",
        }
    }
}

/// How the next task is picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PickRule {
    /// 6.1: CFS, smallest vruntime first.
    Cfs,
    /// 6.12: EEVDF in per-queue trees; a slice is protected until the deadline is renewed.
    Eevdf,
    /// 6.18 to 7.2: EEVDF in per-queue trees; protection ends at a point in virtual time.
    EevdfVprot,
    /// 7.3: EEVDF in one tree of tasks per CPU.
    EevdfFlat,
}

/// When a kernel can switch away from a task that runs in kernel mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Preemption {
    /// Never; only at return to user mode or when the task blocks.
    None,
    /// At explicit points (`cond_resched`) as well.
    Voluntary,
    /// Anywhere that preemption is not disabled.
    Full,
    /// Lazily: a fair-class reschedule waits for the return to user mode, or for the next tick.
    Lazy,
}

impl Preemption {
    /// The name in the tool, as in `/sys/kernel/debug/sched/preempt`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Voluntary => "voluntary",
            Self::Full => "full",
            Self::Lazy => "lazy",
        }
    }
}

/// A kernel to simulate: a release, with the rules that go with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Release {
    /// 6.1 (and 5.4 to 6.2): CFS, synchronous unthrottle.
    V6_1,
    /// 6.3 to 6.5: CFS, asynchronous unthrottle.
    V6_3,
    /// 6.12 (and 6.6 to 6.17): EEVDF, asynchronous unthrottle.
    V6_12,
    /// 6.18 to 7.1: EEVDF, throttling task by task.
    V6_18,
    /// 7.2: unified accounting.
    V7_2,
    /// 7.3 and later: unified accounting, flat pick.
    V7_3,
}

/// A kernel as the user named it: a release's rules, possibly with another throttle model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kernel {
    /// Whose rules apply.
    pub release: Release,
    /// How it throttles; the release's own model unless bandwidth control is compiled out.
    pub throttle: ThrottleModel,
    /// The version as named (major, minor), kept for reports; `None` if a model was named.
    named: Option<(u16, u16)>,
}

impl Kernel {
    /// 6.1.
    pub const V6_1: Self = Self::of(Release::V6_1, 6, 1);
    /// 6.12.
    pub const V6_12: Self = Self::of(Release::V6_12, 6, 12);
    /// 6.18.
    pub const V6_18: Self = Self::of(Release::V6_18, 6, 18);
    /// 7.2.
    pub const V7_2: Self = Self::of(Release::V7_2, 7, 2);
    /// 7.3.
    pub const V7_3: Self = Self::of(Release::V7_3, 7, 3);

    /// The four kernels that the oracle measured.
    pub const MEASURED: [Self; 4] = [Self::V6_1, Self::V6_12, Self::V6_18, Self::V7_3];

    const fn of(release: Release, major: u16, minor: u16) -> Self {
        Self {
            release,
            throttle: release.throttle_model(),
            named: Some((major, minor)),
        }
    }

    /// A throttle model with the release that stands for it: the newest long-lived one that has it.
    pub const fn from_model(model: ThrottleModel) -> Self {
        let release = match model {
            ThrottleModel::HierarchySync => Release::V6_1,
            ThrottleModel::HierarchyAsync => Release::V6_12,
            ThrottleModel::Task => Release::V6_18,
            ThrottleModel::Unified | ThrottleModel::None => Release::V7_3,
        };
        Self {
            release,
            throttle: model,
            named: None,
        }
    }

    /// The rules of kernel `major.minor`, if it is one that the simulator covers (5.4 or later).
    pub const fn from_version(major: u16, minor: u16) -> Option<Self> {
        let release = match (major, minor) {
            (5, 4..=19) | (6, 0..=2) => Release::V6_1,
            (6, 3..=5) => Release::V6_3,
            (6, 6..=17) => Release::V6_12,
            (6, 18..=19) | (7, 0..=1) => Release::V6_18,
            (7, 2) => Release::V7_2,
            (7, _) => Release::V7_3,
            _ => return None,
        };
        Some(Self::of(release, major, minor))
    }

    /// How the next task is picked.
    #[inline]
    pub const fn pick_rule(self) -> PickRule {
        self.release.pick_rule()
    }
}

impl Release {
    /// The throttle model of this release.
    pub const fn throttle_model(self) -> ThrottleModel {
        match self {
            Self::V6_1 => ThrottleModel::HierarchySync,
            Self::V6_3 | Self::V6_12 => ThrottleModel::HierarchyAsync,
            Self::V6_18 => ThrottleModel::Task,
            Self::V7_2 | Self::V7_3 => ThrottleModel::Unified,
        }
    }

    /// Whether a tree of this release can have this model. The flat pick has no group entities that could be unlinked,
    /// and no levels at which a pick could tag a task: it goes with the model that tags at each charge. CFS has no
    /// delayed dequeue, which the models that take off task by task end.
    pub const fn can_have(self, model: ThrottleModel) -> bool {
        match self.pick_rule() {
            PickRule::EevdfFlat => matches!(model, ThrottleModel::Unified | ThrottleModel::None),
            PickRule::Cfs => !model.per_task(),
            PickRule::Eevdf | PickRule::EevdfVprot => true,
        }
    }

    /// The pick rule of this release.
    #[inline]
    pub const fn pick_rule(self) -> PickRule {
        match self {
            Self::V6_1 | Self::V6_3 => PickRule::Cfs,
            Self::V6_12 => PickRule::Eevdf,
            Self::V6_18 | Self::V7_2 => PickRule::EevdfVprot,
            Self::V7_3 => PickRule::EevdfFlat,
        }
    }

    /// The preemption mode that distributions ship with it.
    pub const fn default_preemption(self) -> Preemption {
        match self {
            Self::V6_1 | Self::V6_3 | Self::V6_12 => Preemption::Voluntary,
            Self::V6_18 | Self::V7_2 | Self::V7_3 => Preemption::Lazy,
        }
    }

    /// Whether period timers start at a random phase (from 6.12 on; 0 before).
    pub const fn random_timer_phase(self) -> bool {
        !matches!(self, Self::V6_1 | Self::V6_3)
    }

    /// Whether `cpu.stat.local` exists.
    pub const fn has_cpu_stat_local(self) -> bool {
        !matches!(self, Self::V6_1 | Self::V6_3)
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.named {
            Some((major, minor)) if self.throttle == self.release.throttle_model() => {
                write!(f, "{major}.{minor}")
            }
            Some((major, minor)) => write!(f, "{major}.{minor}:{}", self.throttle.name()),
            None => f.write_str(self.throttle.name()),
        }
    }
}

/// The text names no kernel that can be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKernel {
    /// The text.
    pub given: String,
    /// The closest name that exists, if one is close.
    pub suggestion: Option<&'static str>,
}

impl fmt::Display for UnknownKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown kernel '{}'", self.given)?;
        if let Some(near) = self.suggestion {
            write!(f, "; did you mean '{near}'?")?;
        }
        f.write_str(" (a version from 5.4 on, such as 6.1, 6.12, 6.18, 7.3, or a model: hierarchy-sync, hierarchy-async, task, unified, none; or a version with another model, such as 6.18:hierarchy-async)")
    }
}

impl core::error::Error for UnknownKernel {}

impl FromStr for Kernel {
    type Err = UnknownKernel;

    /// Reads a version (`6.12`, `v6.12`, `6.12.117-amd64`), a model's name (`task`), or a version with another model
    /// than its own (`6.18:hierarchy-async`), as it is before or after a patch.
    fn from_str(text: &str) -> Result<Self, UnknownKernel> {
        if let Some((version, model)) = text.split_once(':') {
            let (kernel, model): (Self, Self) = (version.parse()?, model.parse()?);
            return match (kernel.named, model.named) {
                (Some(_), None) if kernel.release.can_have(model.throttle) => Ok(Self {
                    throttle: model.throttle,
                    ..kernel
                }),
                _ => Err(UnknownKernel {
                    given: text.to_string(),
                    suggestion: None,
                }),
            };
        }
        let models = [
            ThrottleModel::None,
            ThrottleModel::HierarchySync,
            ThrottleModel::HierarchyAsync,
            ThrottleModel::Task,
            ThrottleModel::Unified,
        ];
        if let Some(&model) = models.iter().find(|model| model.name() == text) {
            return Ok(Self::from_model(model));
        }
        let version = || {
            let digits = |part: &str| -> Option<u16> {
                let end = part
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(part.len());
                part[..end].parse().ok()
            };
            let mut parts = text.strip_prefix('v').unwrap_or(text).splitn(3, '.');
            let major = parts.next()?.parse().ok()?;
            let minor = digits(parts.next()?)?;
            Self::from_version(major, minor)
        };
        version().ok_or_else(|| UnknownKernel {
            given: text.to_string(),
            suggestion: nearest(text, &models.map(ThrottleModel::name)),
        })
    }
}

/// The candidate with the smallest edit distance, if that is small for the length of the text.
fn nearest(text: &str, candidates: &[&'static str]) -> Option<&'static str> {
    candidates
        .iter()
        .map(|&candidate| (edit_distance(text, candidate), candidate))
        .min()
        .filter(|&(distance, candidate)| distance * 3 <= candidate.len())
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance in bytes.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substitute = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_select_their_model_and_pick_rule() {
        let rules = |text: &str| {
            let kernel: Kernel = text.parse().unwrap();
            (kernel.throttle, kernel.pick_rule())
        };
        assert_eq!(rules("6.1"), (ThrottleModel::HierarchySync, PickRule::Cfs));
        assert_eq!(rules("6.5"), (ThrottleModel::HierarchyAsync, PickRule::Cfs));
        assert_eq!(
            rules("6.12.117-amd64"),
            (ThrottleModel::HierarchyAsync, PickRule::Eevdf)
        );
        assert_eq!(rules("v6.18"), (ThrottleModel::Task, PickRule::EevdfVprot));
        assert_eq!(rules("7.2"), (ThrottleModel::Unified, PickRule::EevdfVprot));
        assert_eq!(rules("7.9"), (ThrottleModel::Unified, PickRule::EevdfFlat));
        assert_eq!(rules("none").0, ThrottleModel::None);
    }

    #[test]
    fn a_version_can_have_another_model() {
        let kernel: Kernel = "6.18:hierarchy-async".parse().unwrap();
        assert_eq!(kernel.throttle, ThrottleModel::HierarchyAsync);
        assert_eq!(kernel.pick_rule(), PickRule::EevdfVprot);
        assert_eq!(kernel.to_string(), "6.18:hierarchy-async");
        assert_eq!("6.18:task".parse::<Kernel>().unwrap(), Kernel::V6_18);
        for refused in [
            "7.3:hierarchy-sync",
            "6.1:task",
            "task:task",
            "6.18:6.12",
            "6.18:",
        ] {
            assert!(refused.parse::<Kernel>().is_err(), "{refused}");
        }
    }

    #[test]
    fn a_misspelt_model_gets_a_suggestion() {
        let error = "hierarchy-asnc".parse::<Kernel>().unwrap_err();
        assert_eq!(error.suggestion, Some("hierarchy-async"));
        assert_eq!("2.6".parse::<Kernel>().unwrap_err().suggestion, None);
        assert!("6".parse::<Kernel>().is_err());
        assert!("".parse::<Kernel>().is_err());
    }
}
