//! Lines, words and `key=value` options, each with its place.

use std::ops::Range;

use cpumax_bandwidth::Nanos;

use crate::duration::{DurationError, LONGEST};
use crate::error::Result;
use crate::problem::Problem;
use crate::suggest::nearest;

/// A word and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'t> {
    pub text: &'t str,
    /// Offset in the file.
    pub at: usize,
}

/// A line that is neither blank nor a comment.
#[derive(Clone, Debug)]
pub(super) struct Line<'t> {
    /// The first word.
    pub directive: Word<'t>,
    /// The other words.
    pub words: Vec<Word<'t>>,
}

/// The lines of a text.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut at = 0;
    text.split('\n').filter_map(move |line| {
        let start = at;
        at += line.len() + 1;
        let code = line.split('#').next().unwrap_or(line);
        let mut words = words(code, start);
        Some(Line {
            directive: words.next()?,
            words: words.collect(),
        })
    })
}

fn words(line: &str, start: usize) -> impl Iterator<Item = Word<'_>> {
    let is_blank = |c: char| c.is_whitespace() || c == '\u{feff}';
    line.split(is_blank)
        .filter(|word| !word.is_empty())
        .map(move |text| Word {
            text,
            at: start + (text.as_ptr() as usize - line.as_ptr() as usize),
        })
}

impl Word<'_> {
    /// Where it stands.
    pub fn span(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    /// A number that is not negative.
    pub fn integer(&self) -> Result<u64> {
        let digits = !self.text.is_empty() && self.text.bytes().all(|byte| byte.is_ascii_digit());
        let number = if digits { self.text.parse().ok() } else { None };
        number.ok_or_else(|| {
            Problem::NotWhole {
                text: self.text.into(),
            }
            .at(self.span())
        })
    }

    /// A number in a range.
    pub fn number(&self, key: &str, from: u64, to: u64) -> Result<u64> {
        let number = self.integer()?;
        if (from..=to).contains(&number) {
            return Ok(number);
        }
        let (given, from, to) = (number.to_string(), from as i64, to as i64);
        Err(Problem::Number {
            key: key.into(),
            given,
            from,
            to,
        }
        .at(self.span()))
    }

    /// A time in whole microseconds.
    pub fn micros(&self) -> Result<Nanos> {
        let time = Nanos::from_micros(self.integer()?);
        if time > LONGEST {
            let error = DurationError::TooLong {
                text: self.text.into(),
            };
            return Err(Problem::Duration(error).at(self.span()));
        }
        Ok(time)
    }

    /// A time that is not zero.
    pub fn positive_micros(&self, key: &str) -> Result<Nanos> {
        match self.micros()? {
            Nanos::ZERO => Err(Problem::ZeroDuration { key: key.into() }.at(self.span())),
            time => Ok(time),
        }
    }

    /// One of a list of names, by its position.
    pub fn one_of(&self, what: &'static str, known: &'static [&'static str]) -> Result<usize> {
        known
            .iter()
            .position(|name| *name == self.text)
            .ok_or_else(|| {
                let given = self.text.to_string();
                let suggestion = nearest(&given, known.iter().copied());
                Problem::UnknownName {
                    what,
                    given,
                    suggestion,
                    known,
                }
                .at(self.span())
            })
    }
}

impl<'t> Line<'t> {
    /// The whole directive.
    pub fn span(&self) -> Range<usize> {
        let last = self.words.last().unwrap_or(&self.directive);
        self.directive.at..last.span().end
    }

    /// The name behind the directive, and the `key=value` options behind that.
    pub fn name_and_options(
        &self,
        what: &'static str,
        known: &'static [&'static str],
    ) -> Result<(Word<'t>, Options<'t>)> {
        let [name, options @ ..] = self.words.as_slice() else {
            return Err(Problem::MissingKey {
                what,
                key: "NAME",
                example: "NAME",
            }
            .at(self.span()));
        };
        let mut read: Vec<(Word<'t>, Word<'t>)> = Vec::with_capacity(options.len());
        for word in options {
            let Some((key, value)) = word.text.split_once('=') else {
                let directive = self.directive.text.to_string();
                let expected = "a name and options such as `n=4`";
                return Err(Problem::Malformed {
                    directive,
                    expected,
                }
                .at(word.span()));
            };
            let key = Word {
                text: key,
                at: word.at,
            };
            if !known.contains(&key.text) {
                let suggestion = nearest(key.text, known.iter().copied());
                let problem = Problem::UnknownKey {
                    what,
                    key: key.text.into(),
                    suggestion,
                    known,
                };
                return Err(problem.at(key.span()));
            }
            if let Some((first, _)) = read.iter().find(|(other, _)| other.text == key.text) {
                let twice = Problem::Repeated {
                    word: key.text.into(),
                };
                return Err(twice.at(key.span()).after(first.span()));
            }
            read.push((
                key,
                Word {
                    text: value,
                    at: word.at + key.text.len() + 1,
                },
            ));
        }
        Ok((
            *name,
            Options {
                what,
                span: self.span(),
                read,
            },
        ))
    }
}

/// The options of a directive, all known and each there once.
#[derive(Clone, Debug)]
pub(super) struct Options<'t> {
    what: &'static str,
    span: Range<usize>,
    read: Vec<(Word<'t>, Word<'t>)>,
}

impl<'t> Options<'t> {
    /// The value of an option, if it is there.
    pub fn get(&self, key: &str) -> Option<Word<'t>> {
        self.read
            .iter()
            .find(|(known, _)| known.text == key)
            .map(|&(_, value)| value)
    }

    /// The value of an option that must be there.
    pub fn need(&self, key: &'static str, example: &'static str) -> Result<Word<'t>> {
        self.get(key).ok_or_else(|| {
            Problem::MissingKey {
                what: self.what,
                key,
                example,
            }
            .at(self.span.clone())
        })
    }

    /// Refuses two options that cannot stand together.
    pub fn not_both(&self, one: &str, other: &str) -> Result<()> {
        match *self.among(&[one, other]).as_slice() {
            [first, second, ..] => Err(Problem::Conflict {
                what: self.what,
                first: first.text.into(),
                second: second.text.into(),
            }
            .at(second.span())
            .after(first.span())),
            _ => Ok(()),
        }
    }

    /// Refuses options that make sense with another one only.
    pub fn none_of(&self, keys: &[&str], with: &'static str) -> Result<()> {
        match self.among(keys).first() {
            Some(key) => Err(Problem::Misplaced {
                key: key.text.into(),
                with,
            }
            .at(key.span())),
            None => Ok(()),
        }
    }

    fn among(&self, keys: &[&str]) -> Vec<Word<'t>> {
        let found = self.read.iter().filter(|(key, _)| keys.contains(&key.text));
        found.map(|&(key, _)| key).collect()
    }
}
