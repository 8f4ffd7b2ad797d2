//! Tasks that are copies of one another: `api.0`, `api.1` and so on are the family `api`.

use std::collections::HashMap;

use cpumax_sim::{Outcome, TaskOutcome};

/// A family of tasks. A task without copies is one of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The common part of the names; the whole name of a task without copies.
    pub name: String,
    /// Indices of the tasks in the setup, ascending and not empty.
    pub members: Vec<usize>,
}

impl Family {
    /// The families of these task names, in the order of their first members.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        let mut families: Vec<Self> = Vec::new();
        let mut at: HashMap<&str, usize> = HashMap::new();
        let names: Vec<&str> = names.into_iter().collect();
        for (index, name) in names.iter().enumerate() {
            let family = *at.entry(stem(name)).or_insert_with(|| {
                families.push(Self {
                    name: stem(name).to_owned(),
                    members: Vec::new(),
                });
                families.len() - 1
            });
            families[family].members.push(index);
        }
        for family in &mut families {
            if let [only] = family.members[..] {
                names[only].clone_into(&mut family.name);
            }
        }
        families
    }

    /// Each task as a family of its own.
    pub fn each<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        let alone = |(index, name): (usize, &str)| Self {
            name: name.to_owned(),
            members: vec![index],
        };
        names.into_iter().enumerate().map(alone).collect()
    }

    /// The name with the number of members, where there are several: `api (8)`.
    pub fn title(&self) -> String {
        match self.members.len() {
            1 => self.name.clone(),
            members => format!("{} ({members})", self.name),
        }
    }

    /// What the members did.
    pub fn tasks<'a>(&'a self, outcome: &'a Outcome) -> impl Iterator<Item = &'a TaskOutcome> {
        self.members.iter().map(|&index| &outcome.tasks[index])
    }

    /// The response times of all members' jobs, in nanoseconds.
    pub fn responses(&self, outcome: &Outcome) -> Vec<u64> {
        let all = self.tasks(outcome).flat_map(|task| &task.responses);
        all.map(|response| response.0).collect()
    }
}

/// A name without the number of the copy.
fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, number))
            if !stem.is_empty()
                && !number.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            stem
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_one_family_and_the_rest_stand_alone() {
        let names = ["api.0", "log", "api.1", "v1.2", "odd.x", ".5", "api.10"];
        let titles: Vec<String> = Family::of(names).iter().map(Family::title).collect();
        assert_eq!(titles, ["api (3)", "log", "v1.2", "odd.x", ".5"]);
        assert_eq!(Family::of(names)[0].members, [0, 2, 6]);
        assert_eq!(Family::each(names).len(), names.len());
    }
}
