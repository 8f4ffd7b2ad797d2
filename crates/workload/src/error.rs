//! The error of this crate: a problem at a place in a file.

use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, NamedSource, SourceSpan};

use crate::problem::Problem;

/// What is wrong with a scenario file, where, and how to mend it.
///
/// `Display` says what is wrong. As a [`miette::Diagnostic`] it also shows the file, the line with the
/// place underlined, and the mend.
#[derive(Clone, Debug, Diagnostic)]
pub struct ScenarioError {
    problem: Box<Problem>,
    #[source_code]
    file: Arc<NamedSource<String>>,
    #[label("here")]
    span: SourceSpan,
    #[label("the other is here")]
    earlier: Option<SourceSpan>,
    #[help]
    help: Option<String>,
}

impl ScenarioError {
    pub(crate) fn new(file_name: &str, text: &str, fault: Fault) -> Self {
        let inside = |span: Range<usize>| {
            let mut start = span.start.min(text.len());
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            let mut end = span.end.clamp(start, text.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
            SourceSpan::from(start..end)
        };
        Self {
            help: fault.problem.help(),
            problem: fault.problem,
            file: Arc::new(NamedSource::new(file_name, text.to_string())),
            span: inside(fault.span),
            earlier: fault.earlier.map(inside),
        }
    }

    /// A problem of the file as a whole, whose text is not worth keeping.
    pub(crate) fn without_text(file_name: &str, problem: Problem) -> Self {
        Self::new(file_name, "", problem.at(0..0))
    }

    /// What is wrong.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Where in the text, in bytes.
    pub fn span(&self) -> Range<usize> {
        self.span.offset()..self.span.offset() + self.span.len()
    }

    /// The line of the place, from 1.
    pub fn line(&self) -> usize {
        Lines::of(self.file.inner()).number(self.span.offset())
    }

    /// Name of the file.
    pub fn file_name(&self) -> &str {
        self.file.name()
    }

    /// What would be right, if the message does not say it.
    pub fn help_text(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl Error for ScenarioError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.problem.source()
    }
}

/// A problem and its place, while the text is at hand elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    /// Where, in bytes.
    pub span: Range<usize>,
    /// Where the first one is, if something stands there twice.
    pub earlier: Option<Range<usize>>,
    /// What is wrong.
    pub problem: Box<Problem>,
}

impl Fault {
    /// Points to the first of two.
    pub fn after(mut self, earlier: Range<usize>) -> Self {
        self.earlier = Some(earlier);
        self
    }
}

/// The result of reading a part of a file.
pub(crate) type Result<T> = std::result::Result<T, Fault>;

/// Lines of a text, for the line numbers of events.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Offset of each line's first byte.
    starts: Vec<usize>,
}

impl Lines {
    pub fn of(text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        Self {
            starts: std::iter::once(0)
                .chain(newlines.map(|(at, _)| at + 1))
                .collect(),
        }
    }

    /// The line of a byte, from 1.
    pub fn number(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset)
    }
}
