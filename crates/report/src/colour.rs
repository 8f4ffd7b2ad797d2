//! Colour of a laid-out table.
//!
//! Colour is put in after the layout, which would count the characters of a colour sequence as columns.
//! Until then characters of no width stand for it (Unicode's invisible operators), around each word, so
//! that a cell broken into lines colours none of its neighbours.

/// What a cell says of the head, shown as colour where there is colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Nothing.
    #[default]
    Plain,
    /// An improvement: green.
    Good,
    /// A regression: red.
    Bad,
}

const GOOD_MARK: char = '\u{2061}';
const BAD_MARK: char = '\u{2062}';
const END_MARK: char = '\u{2063}';

pub(crate) const GREEN: &str = "\x1b[32m";
pub(crate) const RED: &str = "\x1b[31m";
pub(crate) const BOLD: &str = "\x1b[1m";
pub(crate) const RESET: &str = "\x1b[0m";

/// Whether a character is taken for marks, so that no text may have it.
pub(crate) fn is_mark(character: char) -> bool {
    [GOOD_MARK, BAD_MARK, END_MARK].contains(&character)
}

/// Puts the tone around each word of a cell, to be laid out.
pub(crate) fn mark(text: &str, tone: Tone) -> String {
    let start = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Good => GOOD_MARK,
        Tone::Bad => BAD_MARK,
    };
    let marked = |word: &str| {
        if word.is_empty() {
            String::new()
        } else {
            format!("{start}{word}{END_MARK}")
        }
    };
    text.split(' ').map(marked).collect::<Vec<_>>().join(" ")
}

/// Puts colour sequences in place of the marks of a line that is laid out.
pub(crate) fn colour_marked(line: &str) -> String {
    let mut coloured = String::with_capacity(line.len());
    let mut is_open = false;
    for character in line.chars() {
        match character {
            GOOD_MARK => coloured.push_str(GREEN),
            BAD_MARK => coloured.push_str(RED),
            // The end of a word whose start is on the line before.
            END_MARK if !is_open => {}
            END_MARK => coloured.push_str(RESET),
            other => coloured.push(other),
        }
        is_open = match character {
            GOOD_MARK | BAD_MARK => true,
            END_MARK => false,
            // A word broken in two ends its colour with its column.
            ' ' if is_open => {
                coloured.insert_str(coloured.len() - 1, RESET);
                false
            }
            _ => is_open,
        };
    }
    if is_open {
        coloured.push_str(RESET);
    }
    coloured
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_has_its_colour() {
        let bad = colour_marked(&mark("not  so", Tone::Bad));
        assert_eq!(bad, "\x1b[31mnot\x1b[0m  \x1b[31mso\x1b[0m");
        assert_eq!(colour_marked(&mark("so", Tone::Good)), "\x1b[32mso\x1b[0m");
        assert_eq!(mark("so", Tone::Plain), "so");
    }

    #[test]
    fn a_word_broken_in_two_colours_no_neighbour() {
        let word = mark("better", Tone::Good);
        let (first, rest) = word.split_at(word.find('t').unwrap());
        assert_eq!(
            colour_marked(&format!("{first}  next")),
            "\x1b[32mbe\x1b[0m  next"
        );
        assert_eq!(colour_marked(&format!("{rest}  next")), "tter  next");
        assert_eq!(colour_marked(first), "\x1b[32mbe\x1b[0m");
    }
}
