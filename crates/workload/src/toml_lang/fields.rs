//! Tables and values with their places, and what is wrong with them where they are not as they should be.

use std::ops::Range;

use cpumax_bandwidth::Nanos;
use toml::Spanned;
use toml::de::{DeInteger, DeString, DeTable, DeValue};

use crate::duration::{DurationError, parse_duration};
use crate::error::{Fault, Result};
use crate::problem::Problem;
use crate::suggest::nearest;

/// A value with its place.
pub(super) type Value<'t> = Spanned<DeValue<'t>>;

/// A table whose keys are all known.
#[derive(Clone, Debug)]
pub(super) struct Fields<'t> {
    /// What the table describes, with its article.
    what: &'static str,
    /// Where it begins.
    span: Range<usize>,
    /// In the order of the file.
    entries: Vec<Field<'t>>,
}

/// A key and its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'t> {
    pub key: &'t str,
    key_at: (usize, usize),
    pub value: &'t Value<'t>,
}

impl<'t> Fields<'t> {
    /// The table that a field holds, all of whose keys must be among `known`.
    pub fn of(
        field: &Field<'t>,
        what: &'static str,
        known: &'static [&'static str],
    ) -> Result<Self> {
        let DeValue::Table(table) = field.value.get_ref() else {
            return Err(field.wrong_type("a table"));
        };
        Self::of_table(table, field.span(), what, known)
    }

    /// As [`of`](Self::of), for a table that stands at `span`.
    pub fn of_table(
        table: &'t DeTable<'t>,
        span: Range<usize>,
        what: &'static str,
        known: &'static [&'static str],
    ) -> Result<Self> {
        let entries = entries(table);
        if let Some(unknown) = entries.iter().find(|field| !known.contains(&field.key)) {
            let (key, suggestion) = (unknown.key, suggest_key(unknown.key, known));
            let problem = Problem::UnknownKey {
                what,
                key: key.into(),
                suggestion,
                known,
            };
            return Err(problem.at(unknown.key_span()));
        }
        Ok(Self {
            what,
            span,
            entries,
        })
    }

    /// A field, if it is there.
    pub fn get(&self, key: &str) -> Option<Field<'t>> {
        self.entries.iter().find(|field| field.key == key).copied()
    }

    /// A field that must be there.
    pub fn need(&self, key: &'static str, example: &'static str) -> Result<Field<'t>> {
        self.get(key).ok_or_else(|| {
            Problem::MissingKey {
                what: self.what,
                key,
                example,
            }
            .at(self.span.clone())
        })
    }

    /// Those of the keys that are there, in the order of the file.
    pub fn among(&self, keys: &[&str]) -> Vec<Field<'t>> {
        self.entries
            .iter()
            .filter(|field| keys.contains(&field.key))
            .copied()
            .collect()
    }

    /// The one of the keys that is there; two are an error, and none is one as well.
    pub fn one_of(&self, keys: &'static [&'static str]) -> Result<Field<'t>> {
        match *self.among(keys).as_slice() {
            [] => Err(self.nothing_to_do(keys)),
            [only] => Ok(only),
            [first, second, ..] => Err(self.conflict(&first, &second)),
        }
    }

    /// None of the keys is there, and one should be.
    pub fn nothing_to_do(&self, keys: &'static [&'static str]) -> Fault {
        Problem::NothingToDo {
            what: self.what,
            known: keys,
        }
        .at(self.span.clone())
    }

    /// Refuses keys that make sense with another one only.
    pub fn none_of(&self, keys: &[&str], with: &'static str) -> Result<()> {
        match self.among(keys).first() {
            Some(field) => Err(Problem::Misplaced {
                key: field.key.into(),
                with,
            }
            .at(field.key_span())),
            None => Ok(()),
        }
    }

    /// Two keys that cannot stand together.
    pub fn conflict(&self, first: &Field<'_>, second: &Field<'_>) -> Fault {
        let (what, first_key) = (self.what, first.key.to_string());
        Problem::Conflict {
            what,
            first: first_key,
            second: second.key.into(),
        }
        .at(second.key_span())
        .after(first.key_span())
    }

    /// All fields, in the order of the file.
    pub fn all(&self) -> &[Field<'t>] {
        &self.entries
    }
}

impl<'t> Field<'t> {
    /// Where the value stands.
    pub fn span(&self) -> Range<usize> {
        self.value.span()
    }

    /// Where the key stands.
    pub fn key_span(&self) -> Range<usize> {
        self.key_at.0..self.key_at.1
    }

    /// A table of any keys, as fields in the order of the file.
    pub fn entries(&self) -> Result<Vec<Field<'t>>> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(entries(table)),
            _ => Err(self.wrong_type("a table")),
        }
    }

    /// The elements of an array, as fields of this key.
    pub fn list(&self) -> Result<Vec<Field<'t>>> {
        match self.value.get_ref() {
            DeValue::Array(values) => Ok(values
                .iter()
                .map(|value| Field { value, ..*self })
                .collect()),
            DeValue::Table(_) if matches!(self.key, "tasks" | "events") => {
                Err(self.wrong_type(if self.key == "tasks" {
                    "a list, each entry under `[[tasks]]`"
                } else {
                    "a list, each entry under `[[events]]`"
                }))
            }
            _ => Err(self.wrong_type("a list in brackets")),
        }
    }

    /// A string.
    pub fn text(&self) -> Result<&'t str> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong_type("a string in quotes")),
        }
    }

    /// What one writes to a file of the kernel: a string, or a bare number.
    pub fn file_text(&self) -> Result<String> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_string()),
            _ => Err(self.wrong_type("a string in quotes, or a whole number")),
        }
    }

    /// A time with a unit.
    pub fn duration(&self) -> Result<Nanos> {
        let read = match self.value.get_ref() {
            DeValue::String(text) => parse_duration(text),
            DeValue::Integer(number) => Err(without_unit(number.as_str())),
            DeValue::Float(number) => Err(without_unit(number.as_str())),
            _ => return Err(self.wrong_type("a time in quotes, such as \"1.5ms\"")),
        };
        read.map_err(|error| Problem::Duration(error).at(self.span()))
    }

    /// A time that is not zero.
    pub fn positive_duration(&self) -> Result<Nanos> {
        match self.duration()? {
            Nanos::ZERO => Err(Problem::ZeroDuration {
                key: self.key.into(),
            }
            .at(self.span())),
            time => Ok(time),
        }
    }

    /// A whole number in a range.
    pub fn number(&self, from: i64, to: i64) -> Result<i64> {
        let DeValue::Integer(written) = self.value.get_ref() else {
            return Err(self.wrong_type("a whole number"));
        };
        to_i64(written)
            .filter(|number| (from..=to).contains(number))
            .ok_or_else(|| {
                let given = written.to_string();
                Problem::Number {
                    key: self.key.into(),
                    given,
                    from,
                    to,
                }
                .at(self.span())
            })
    }

    /// `true` or `false`.
    pub fn flag(&self) -> Result<bool> {
        match self.value.get_ref() {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => Err(self.wrong_type("true or false")),
        }
    }

    /// One of a list of names, by its position.
    pub fn one_of(&self, what: &'static str, known: &'static [&'static str]) -> Result<usize> {
        let given = self.text()?;
        known.iter().position(|name| *name == given).ok_or_else(|| {
            let suggestion = nearest(given, known.iter().copied());
            Problem::UnknownName {
                what,
                given: given.into(),
                suggestion,
                known,
            }
            .at(self.span())
        })
    }

    /// The value is not what it should be.
    pub fn wrong_type(&self, expected: &'static str) -> Fault {
        let found = match self.value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a point",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        Problem::WrongType {
            key: self.key.into(),
            expected,
            found,
        }
        .at(self.span())
    }
}

/// The fields of a table in the order of the file.
fn entries<'t>(table: &'t DeTable<'t>) -> Vec<Field<'t>> {
    let field = |(key, value): (&'t Spanned<DeString<'t>>, &'t Value<'t>)| Field {
        key: key.get_ref(),
        key_at: (key.span().start, key.span().end),
        value,
    };
    let mut entries: Vec<Field<'t>> = table.iter().map(field).collect();
    entries.sort_by_key(|field| field.key_at);
    entries
}

/// The key that was probably meant: a near one, or one that other tools use for the same thing.
fn suggest_key(given: &str, known: &[&'static str]) -> Option<String> {
    const ALSO_CALLED: [(&str, &str); 10] = [
        ("run", "steps"),
        ("phases", "steps"),
        ("instance", "count"),
        ("n", "count"),
        ("kind", "program"),
        ("affinity", "cpus"),
        ("priority", "nice"),
        ("phase", "start"),
        ("delay", "start"),
        ("period", "timer"),
    ];
    let also = ALSO_CALLED
        .iter()
        .find(|(name, key)| *name == given && known.contains(key));
    also.map(|(_, key)| (*key).to_string())
        .or_else(|| nearest(given, known.iter().copied()))
}

fn without_unit(number: &str) -> DurationError {
    if number.starts_with('-') {
        DurationError::Negative {
            text: number.into(),
        }
    } else {
        DurationError::NoUnit {
            number: number.into(),
        }
    }
}

fn to_i64(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}
