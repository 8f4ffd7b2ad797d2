//! One model of a table, three renderings: for people, as CSV, as Markdown.

use comfy_table::{CellAlignment, ContentArrangement, presets};

use crate::colour::{BOLD, RESET, Tone, colour_marked, is_mark, mark};

/// On which side of its column a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    name: String,
    align: Align,
    /// Belongs to the column on its left. See [`Column::joined`].
    joined: bool,
}

impl Column {
    /// A column of words.
    pub fn left(name: impl Into<String>) -> Self {
        Self {
            name: printable(name.into()),
            align: Align::Left,
            joined: false,
        }
    }

    /// A column of numbers.
    pub fn right(name: impl Into<String>) -> Self {
        Self {
            name: printable(name.into()),
            align: Align::Right,
            joined: false,
        }
    }

    /// The same column as a supplement to the one on its left, as the `+-2.40 %` after a mean: people see
    /// it one space from there without its name, Markdown has both in one cell, CSV keeps them apart.
    #[must_use]
    pub fn joined(mut self) -> Self {
        self.joined = true;
        self
    }
}

/// A cell of a [`Table`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    text: String,
    raw: Option<String>,
    tone: Tone,
}

impl Cell {
    /// A cell with this text. Control characters become spaces, so that a name from a file can neither
    /// break the table nor command the terminal.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: printable(text.into()),
            raw: None,
            tone: Tone::Plain,
        }
    }

    /// The same cell with what CSV has in its place: the number that `text` formats, in full.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "mostly numbers, which are copied"
    )]
    pub fn raw(mut self, raw: impl ToString) -> Self {
        self.raw = Some(printable(raw.to_string()));
        self
    }

    /// The same cell in this tone.
    #[must_use]
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// How [`Table::render`] may use its medium. The default suits a pipe and a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Whether to write ANSI colour sequences.
    pub color: bool,
    /// Columns to fit in by breaking lines within cells; `None` for as many as it takes. A width that
    /// cannot hold a character of each column is exceeded.
    pub width: Option<u16>,
}

/// A table: a title, columns, and rows of as many cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    title: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows. An empty title is not shown.
    pub fn new(title: impl Into<String>, columns: impl Into<Vec<Column>>) -> Self {
        Self {
            title: printable(title.into()),
            columns: columns.into(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If it has not a cell for each column, which is a mistake in the program.
    pub fn push(&mut self, row: impl Into<Vec<Cell>>) {
        let row = row.into();
        assert_eq!(
            row.len(),
            self.columns.len(),
            "a row has a cell for each column"
        );
        self.rows.push(row);
    }

    /// For people: aligned, without lines, each line ended. The title, if there is one, comes first.
    pub fn render(&self, style: Style) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        if let Some(width) = style.width {
            table
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(width);
        }
        let cell = |column: &Column, text: String| {
            comfy_table::Cell::new_owned(text).set_alignment(match column.align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            })
        };
        let header = |column: &Column| {
            if column.joined {
                String::new()
            } else {
                column.name.clone()
            }
        };
        table.set_header(
            self.columns
                .iter()
                .map(|column| cell(column, header(column))),
        );
        for row in &self.rows {
            let text = |cell: &Cell| {
                if style.color {
                    mark(&cell.text, cell.tone)
                } else {
                    cell.text.clone()
                }
            };
            table.add_row(
                self.columns
                    .iter()
                    .zip(row)
                    .map(|(column, of_row)| cell(column, text(of_row))),
            );
        }
        for (index, (shown, column)) in table.column_iter_mut().zip(&self.columns).enumerate() {
            let gap = match (index, column.joined) {
                (0, _) => 0,
                (_, true) => 1,
                (_, false) => 3,
            };
            shown.set_padding((gap, 0));
        }

        let mut text = String::new();
        if !self.title.is_empty() {
            let title = if style.color {
                format!("{BOLD}{}{RESET}", self.title)
            } else {
                self.title.clone()
            };
            text.push_str(&title);
            text.push('\n');
        }
        for line in table.lines() {
            text.push_str(&colour_marked(line.trim_end()));
            text.push('\n');
        }
        text
    }

    /// As CSV (RFC 4180 with bare line feeds): the columns' names, then the rows, with the raw numbers of
    /// the cells that have them. The title is left out.
    pub fn csv(&self) -> String {
        let mut text = String::new();
        let mut line = |fields: &mut dyn Iterator<Item = &str>| {
            text.push_str(&fields.map(csv_field).collect::<Vec<_>>().join(","));
            text.push('\n');
        };
        line(&mut self.columns.iter().map(|column| column.name.as_str()));
        for row in &self.rows {
            line(
                &mut row
                    .iter()
                    .map(|cell| cell.raw.as_ref().unwrap_or(&cell.text).as_str()),
            );
        }
        text
    }

    /// As a table of GitHub-flavoured Markdown under the title in bold.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        if !self.title.is_empty() {
            text = format!("**{}**\n\n", escape_markdown(&self.title));
        }
        let names = self
            .columns
            .iter()
            .map(|column| if column.joined { "" } else { &column.name });
        text.push_str(&self.markdown_line(names));
        for column in self
            .columns
            .iter()
            .enumerate()
            .filter(|(index, column)| *index == 0 || !column.joined)
        {
            text.push_str(match column.1.align {
                Align::Left => "| --- ",
                Align::Right => "| ---: ",
            });
        }
        text.push_str("|\n");
        for row in &self.rows {
            text.push_str(&self.markdown_line(row.iter().map(|cell| cell.text.as_str())));
        }
        text
    }

    /// A line of a Markdown table, joined columns in one cell.
    fn markdown_line<'a>(&self, fields: impl Iterator<Item = &'a str>) -> String {
        let mut line = String::new();
        for (index, (column, field)) in self.columns.iter().zip(fields).enumerate() {
            let field = escape_markdown(field);
            if index == 0 || !column.joined {
                line.push_str("| ");
            }
            line.push_str(&field);
            if !field.is_empty() {
                line.push(' ');
            }
        }
        line + "|\n"
    }
}

fn printable(text: String) -> String {
    if text.contains(is_unprintable) {
        text.replace(is_unprintable, " ")
    } else {
        text
    }
}

fn is_unprintable(character: char) -> bool {
    character.is_control() || is_mark(character)
}

fn csv_field(field: &str) -> String {
    // Line breaks need quotes too, but no text here has them.
    if field.contains([',', '"']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '|' | '*' | '_' | '`' | '<' | '[' | '~') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::{GREEN, RED};

    const COLOUR: Style = Style {
        color: true,
        width: None,
    };

    fn groups() -> Table {
        let columns = [
            Column::left("group"),
            Column::right("usage"),
            Column::right("usage sd %").joined(),
            Column::left("note"),
        ];
        let mut table = Table::new("cpu.stat", columns);
        table.push([
            "/api, main".into(),
            Cell::new("1,250 ms").raw(1_250_000),
            Cell::new("+-2.40 %").raw(2.4),
            Cell::new("throttled in half of its periods").tone(Tone::Bad),
        ]);
        table.push([
            "/batch|\"x\"".into(),
            Cell::new("3 ms").raw(3_000),
            Cell::new("+-10.00 %").raw(10),
            Cell::new("idle").tone(Tone::Good),
        ]);
        table
    }

    fn without_colour(text: &str) -> String {
        [GREEN, RED, BOLD, RESET]
            .iter()
            .fold(text.to_owned(), |text, sequence| text.replace(sequence, ""))
    }

    #[test]
    fn numbers_stand_right_and_a_supplement_close() {
        insta::assert_snapshot!(groups().render(Style::default()));
    }

    #[test]
    fn a_narrow_table_breaks_cells() {
        let narrow = groups().render(Style {
            color: false,
            width: Some(50),
        });
        assert!(narrow.lines().all(|line| line.len() <= 50));
        insta::assert_snapshot!(narrow);
    }

    #[test]
    fn any_width_renders() {
        for width in 0..80 {
            for color in [false, true] {
                let text = groups().render(Style {
                    color,
                    width: Some(width),
                });
                assert!(!text.contains(is_mark));
                let sequences = |sequence| text.matches(sequence).count();
                assert_eq!(
                    sequences(GREEN) + sequences(RED) + sequences(BOLD),
                    sequences(RESET)
                );
            }
        }
    }

    #[test]
    fn colour_changes_nothing_else() {
        let coloured = groups().render(COLOUR);
        assert!(coloured.starts_with("\x1b[1mcpu.stat\x1b[0m\n"));
        assert!(coloured.contains("   \x1b[32midle\x1b[0m\n"));
        assert!(coloured.contains("\x1b[31mthrottled\x1b[0m \x1b[31min\x1b[0m"));
        assert_eq!(without_colour(&coloured), groups().render(Style::default()));
    }

    #[test]
    fn csv_has_raw_numbers_and_quotes() {
        assert_eq!(
            groups().csv(),
            "group,usage,usage sd %,note\n\
             \"/api, main\",1250000,2.4,throttled in half of its periods\n\
             \"/batch|\"\"x\"\"\",3000,10,idle\n"
        );
    }

    #[test]
    fn markdown_joins_and_escapes() {
        assert_eq!(
            groups().markdown(),
            "**cpu.stat**\n\n\
             | group | usage | note |\n\
             | --- | ---: | --- |\n\
             | /api, main | 1,250 ms +-2.40 % | throttled in half of its periods |\n\
             | /batch\\|\"x\" | 3 ms +-10.00 % | idle |\n"
        );
    }

    #[test]
    fn names_cannot_command_the_terminal() {
        let mut table = Table::new("", [Column::left("comm")]);
        table.push([Cell::new("a\x1b[2Jb\nc\td\u{9b}e\u{2061}")]);
        assert_eq!(table.render(Style::default()), "comm\na [2Jb c d e\n");
        assert_eq!(table.csv(), "comm\na [2Jb c d e \n");
    }

    #[test]
    fn wide_characters_keep_the_columns() {
        let mut table = Table::new("", [Column::left("name"), Column::right("n")]);
        table.push(["日本".into(), Cell::new("1")]);
        table.push(["latin".into(), Cell::new("22")]);
        assert_eq!(
            table.render(Style::default()),
            "name     n\n日本     1\nlatin   22\n"
        );
    }

    #[test]
    fn a_table_without_rows_has_its_names() {
        let table = Table::new("", [Column::left("a"), Column::right("b")]);
        assert_eq!(table.render(Style::default()), "a   b\n");
        assert_eq!(table.csv(), "a,b\n");
        assert_eq!(table.markdown(), "| a | b |\n| --- | ---: |\n");
    }

    #[test]
    #[should_panic(expected = "a row has a cell for each column")]
    fn a_row_too_short_is_a_mistake_in_the_program() {
        Table::new("", [Column::left("a"), Column::left("b")]).push([Cell::new("1")]);
    }
}
