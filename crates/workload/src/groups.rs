//! Groups: which paths are right, and the tree in the making.

use std::collections::HashMap;
use std::ops::Range;

use cpumax_bandwidth::{Limit, LimitError, Nanos};
use cpumax_sim::setup::{GroupIndex, GroupSpec};
use thiserror::Error;

use crate::error::Result;
use crate::problem::Problem;
use crate::scenario::MAX_GROUPS;
use crate::suggest::nearest;

/// Longest path (kernel: `PATH_MAX`) and longest part of one (kernel: `NAME_MAX`), in bytes.
const MAX_PATH: usize = 4096;
pub(crate) const MAX_NAME: usize = 255;
/// Most groups on a path.
const MAX_DEPTH: usize = 32;

/// Why a text is not a group's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// It does not begin with a slash.
    #[error("it does not begin with `/`")]
    Relative,
    /// It ends with a slash.
    #[error("it ends with `/`")]
    TrailingSlash,
    /// Two slashes follow each other.
    #[error("it has an empty name between two slashes")]
    EmptyName,
    /// A part is `.` or `..`.
    #[error("`.` and `..` are not names of groups")]
    Dots,
    /// A control character, or blanks around a name.
    #[error("it has a control character, or a blank at the end of a name")]
    BadCharacter,
    /// A part or the whole is too long.
    #[error("it is too long")]
    TooLong,
    /// Too many groups stand in each other.
    #[error("it is more than {MAX_DEPTH} groups deep")]
    TooDeep,
}

impl PathError {
    /// What to write instead of `path`.
    pub(crate) fn help(self, path: &str) -> String {
        match self {
            Self::Relative | Self::TrailingSlash | Self::EmptyName | Self::Dots => {
                let names = path
                    .split('/')
                    .filter(|name| !matches!(*name, "" | "." | ".."));
                let mended: Vec<&str> = names.collect();
                if mended.is_empty() {
                    "write a path such as \"/kubepods/api\"".into()
                } else {
                    format!("write \"/{}\"", mended.join("/"))
                }
            }
            Self::BadCharacter => "use letters, digits, `-`, `_` and `.`".into(),
            Self::TooLong => format!("a name has at most {MAX_NAME} bytes, a path {MAX_PATH}"),
            Self::TooDeep => format!("use at most {MAX_DEPTH} levels"),
        }
    }
}

/// Checks the path of a group other than the root.
pub(crate) fn check_path(path: &str) -> std::result::Result<(), PathError> {
    let Some(names) = path.strip_prefix('/') else {
        return Err(PathError::Relative);
    };
    if path.len() > MAX_PATH {
        return Err(PathError::TooLong);
    }
    if names.ends_with('/') {
        return Err(PathError::TrailingSlash);
    }
    for name in names.split('/') {
        match name {
            "" => return Err(PathError::EmptyName),
            "." | ".." => return Err(PathError::Dots),
            _ if name.len() > MAX_NAME => return Err(PathError::TooLong),
            _ if name.chars().any(char::is_control) || name.trim() != name => {
                return Err(PathError::BadCharacter);
            }
            _ => {}
        }
    }
    if names.split('/').count() > MAX_DEPTH {
        Err(PathError::TooDeep)
    } else {
        Ok(())
    }
}

/// The path of a group's parent; `None` if that is the root.
fn parent_path(path: &str) -> Option<&str> {
    path.rsplit_once('/')
        .map(|(parent, _)| parent)
        .filter(|parent| !parent.is_empty())
}

/// A group as a file describes it.
#[derive(Clone, Debug)]
pub(crate) struct GroupPlan {
    pub path: String,
    /// What the file calls it.
    pub name: String,
    pub limit: Limit,
    pub weight: u32,
    /// When an event creates it; `None` if it is there from the start.
    pub created: Option<Nanos>,
    /// Where the file names it.
    pub span: Range<usize>,
}

/// The groups of a scenario. A parent stands before its children.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    pub specs: Vec<GroupSpec>,
    /// What the file calls each.
    pub names: Vec<String>,
    /// When an event creates each; `None` if it is there from the start.
    pub created: Vec<Option<Nanos>>,
    by_path: HashMap<String, GroupIndex>,
    by_name: HashMap<String, GroupIndex>,
}

impl Groups {
    /// Makes all groups, in their order except that parents come first. A parent that is not among them
    /// is made too, without a limit.
    pub fn add_all(&mut self, plans: Vec<GroupPlan>) -> Result<()> {
        let mut by_path: HashMap<String, usize> = HashMap::new();
        for (index, plan) in plans.iter().enumerate() {
            if plan.path == "/" {
                let source = LimitError::RootGroup;
                return Err(Problem::Limit {
                    file: "limit",
                    group: "/".into(),
                    source,
                }
                .at(plan.span.clone()));
            }
            check_path(&plan.path).map_err(|reason| {
                Problem::GroupPath {
                    path: plan.path.clone(),
                    reason,
                }
                .at(plan.span.clone())
            })?;
            if let Some(first) = by_path.insert(plan.path.clone(), index) {
                let twice = match plan.created {
                    Some(at) => Problem::GroupExists {
                        group: plan.path.clone(),
                        at,
                    },
                    None => Problem::Duplicate {
                        what: "groups",
                        name: plan.name.clone(),
                    },
                };
                return Err(twice.at(plan.span.clone()).after(plans[first].span.clone()));
            }
        }
        let mut plans: Vec<Option<GroupPlan>> = plans.into_iter().map(Some).collect();
        for index in 0..plans.len() {
            if let Some(plan) = plans[index].take() {
                self.add(plan, &mut plans, &by_path)?;
            }
        }
        Ok(())
    }

    /// Makes a group, and before it those of its ancestors that are not there yet.
    fn add(
        &mut self,
        plan: GroupPlan,
        plans: &mut [Option<GroupPlan>],
        by_path: &HashMap<String, usize>,
    ) -> Result<GroupIndex> {
        let parent = match parent_path(&plan.path) {
            None => None,
            Some(path) if self.by_path.contains_key(path) => self.by_path.get(path).copied(),
            Some(path) => {
                let planned = by_path.get(path).and_then(|&index| plans[index].take());
                let parent = planned.unwrap_or_else(|| implied(path, &plan));
                Some(self.add(parent, plans, by_path)?)
            }
        };
        self.push(plan, parent)
    }

    fn push(&mut self, plan: GroupPlan, parent: Option<GroupIndex>) -> Result<GroupIndex> {
        if self.specs.len() >= MAX_GROUPS {
            let given = self.specs.len() as u64 + 1;
            return Err(Problem::TooMany {
                what: "groups",
                given,
                max: MAX_GROUPS,
            }
            .at(plan.span));
        }
        let index = GroupIndex(self.specs.len());
        self.by_path.insert(plan.path.clone(), index);
        self.by_name.insert(plan.name.clone(), index);
        self.names.push(plan.name);
        self.created.push(plan.created);
        self.specs.push(GroupSpec {
            path: plan.path,
            parent,
            limit: plan.limit,
            weight: plan.weight,
            created_later: plan.created.is_some(),
        });
        Ok(index)
    }

    /// The group of a path; `/` is the root.
    pub fn find(&self, path: &str) -> std::result::Result<Option<GroupIndex>, Problem> {
        if path == "/" {
            return Ok(None);
        }
        if let Some(&index) = self.by_path.get(path) {
            return Ok(Some(index));
        }
        if let Err(reason) = check_path(path) {
            return Err(Problem::GroupPath {
                path: path.into(),
                reason,
            });
        }
        let known: Vec<&str> = self.specs.iter().map(|spec| spec.path.as_str()).collect();
        Err(unknown_group(path, &known))
    }

    /// The group that the file calls so.
    pub fn by_name(&self, name: &str) -> Option<GroupIndex> {
        self.by_name.get(name).copied()
    }

    /// The group that a task starts in.
    pub fn find_at_start(&self, path: &str) -> std::result::Result<Option<GroupIndex>, Problem> {
        let group = self.find(path)?;
        match group.and_then(|group| self.created[group.0]) {
            Some(created) => Err(Problem::TaskBeforeGroup {
                group: path.into(),
                created,
            }),
            None => Ok(group),
        }
    }

    /// As [`find`](Self::find), for what only a group below the root has.
    pub fn find_below_root(&self, path: &str) -> std::result::Result<GroupIndex, Problem> {
        self.find(path)?.ok_or(Problem::Limit {
            file: "limit",
            group: path.into(),
            source: LimitError::RootGroup,
        })
    }
}

/// An unknown group, with the nearest of the known ones: by the whole name, or else by its last part.
pub(crate) fn unknown_group(given: &str, known: &[&str]) -> Problem {
    let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_string();
    let suggestion = nearest(given, known.iter().copied()).or_else(|| {
        let lasts: Vec<String> = known.iter().map(|path| last(path)).collect();
        let name = nearest(&last(given), lasts.iter().map(String::as_str))?;
        let at = lasts.iter().position(|last| *last == name)?;
        Some(known[at].to_string())
    });
    Problem::UnknownGroup {
        path: given.into(),
        suggestion,
    }
}

/// A parent that the file does not name.
fn implied(path: &str, child: &GroupPlan) -> GroupPlan {
    GroupPlan {
        path: path.into(),
        name: path.into(),
        limit: Limit::UNLIMITED,
        weight: 100,
        created: None,
        span: child.span.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(path: &str) -> GroupPlan {
        GroupPlan {
            weight: 7,
            ..implied(path, &implied(path, &PLAIN))
        }
    }

    const PLAIN: GroupPlan = GroupPlan {
        path: String::new(),
        name: String::new(),
        limit: Limit::UNLIMITED,
        weight: 100,
        created: None,
        span: 0..0,
    };

    #[test]
    fn parents_come_first_whatever_the_order() {
        let mut groups = Groups::default();
        groups
            .add_all(vec![plan("/a/b/c"), plan("/x"), plan("/a")])
            .unwrap();
        let seen: Vec<_> = groups
            .specs
            .iter()
            .map(|spec| {
                (
                    spec.path.as_str(),
                    spec.parent.map(|parent| parent.0),
                    spec.weight,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("/a", None, 7),
                ("/a/b", Some(0), 100),
                ("/a/b/c", Some(1), 7),
                ("/x", None, 7)
            ]
        );
    }

    #[test]
    fn wrong_paths_say_why() {
        let cases = [
            ("a", PathError::Relative, "write \"/a\""),
            (
                "",
                PathError::Relative,
                "write a path such as \"/kubepods/api\"",
            ),
            ("/a/", PathError::TrailingSlash, "write \"/a\""),
            ("/a//b", PathError::EmptyName, "write \"/a/b\""),
            ("/a/../b", PathError::Dots, "write \"/a/b\""),
            (
                "/a/\n",
                PathError::BadCharacter,
                "use letters, digits, `-`, `_` and `.`",
            ),
        ];
        for (path, error, help) in cases {
            assert_eq!(check_path(path), Err(error), "{path}");
            assert_eq!(error.help(path), help);
        }
        assert_eq!(
            check_path(&format!("/{}", "x".repeat(256))),
            Err(PathError::TooLong)
        );
        assert_eq!(check_path(&"/x".repeat(33)), Err(PathError::TooDeep));
        assert_eq!(check_path("/kubepods.slice/pod-1_a:b"), Ok(()));
    }

    #[test]
    fn an_unknown_group_is_guessed_by_its_last_name_too() {
        let mut groups = Groups::default();
        groups.add_all(vec![plan("/kubepods/api")]).unwrap();
        let guess = |path: &str| match groups.find(path) {
            Err(Problem::UnknownGroup { suggestion, .. }) => suggestion,
            other => panic!("{other:?}"),
        };
        assert_eq!(guess("/kubepod/api").as_deref(), Some("/kubepods/api"));
        assert_eq!(guess("/api").as_deref(), Some("/kubepods/api"));
        assert_eq!(guess("/database"), None);
    }
}
