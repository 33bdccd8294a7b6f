//! [`Table`]: what text, JSON and pictures of a reproduction are made of.

use crate::text;
use serde::{Serialize, Serializer};

/// Where the values of a column come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// What was set.
    Setting,
    /// This run.
    Here,
    /// The paper.
    Paper,
    /// Published results of another program, which the name of the column says.
    Program,
}

/// A column: its name, its unit (empty for none), and where its values come from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// Its name; those of the paper have the same name as ours.
    pub name: String,
    /// The unit; empty for none.
    pub unit: &'static str,
    /// Where its values come from.
    pub origin: Origin,
}

/// One value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing is known, or nothing can be said.
    Nothing,
    /// A word.
    Word(String),
    /// A whole number.
    Count(u64),
    /// A number, and how many digits behind the point text shows.
    Number(f64, usize),
}

impl Cell {
    /// A share as per cent; nothing for 0 / 0.
    pub fn percent(share: Option<f64>) -> Self {
        share.map_or(Self::Nothing, |share| Self::Number(100.0 * share, 2))
    }

    /// One number over another, with so many digits; nothing unless the other is above 0.
    pub fn ratio(over: f64, under: f64, digits: usize) -> Self {
        if under > 0.0 { Self::Number(over / under, digits) } else { Self::Nothing }
    }

    /// The value, of numbers.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(*count as f64),
            Self::Number(value, _) => Some(*value).filter(|value| value.is_finite()),
            Self::Nothing | Self::Word(_) => None,
        }
    }

    /// As text shows it.
    pub fn text(&self) -> String {
        match self {
            Self::Nothing => "-".into(),
            Self::Number(value, _) if !value.is_finite() => "-".into(),
            Self::Word(word) => word.clone(),
            Self::Count(count) => text::grouped(*count),
            Self::Number(value, 0) if *value >= 0.0 => text::grouped(value.round() as u64),
            Self::Number(value, digits) => format!("{value:.digits$}"),
        }
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => to.serialize_none(),
            Self::Word(word) => to.serialize_str(word),
            Self::Count(count) => to.serialize_u64(*count),
            Self::Number(value, _) => to.serialize_f64(*value),
        }
    }
}

impl From<&str> for Cell {
    fn from(word: &str) -> Self {
        Self::Word(word.into())
    }
}

/// How a table is drawn: columns of numbers against another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// The column along x.
    pub x: usize,
    /// The columns along y; their unit is the axis'.
    pub y: Vec<usize>,
    /// The column that tells lines apart, if one does.
    pub by: Option<usize>,
    /// Whether x has equal steps for equal ratios.
    pub is_log: bool,
}

/// A table: what was set, what came out, what the paper has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, a value for each column.
    pub rows: Vec<Vec<Cell>>,
    /// How it is drawn, if it is.
    #[serde(skip)]
    pub plot: Option<Plot>,
}

impl Table {
    /// A table without rows. Columns have a name and a unit.
    pub fn new(title: &str) -> Self {
        Self { title: title.into(), columns: Vec::new(), rows: Vec::new(), plot: None }
    }

    /// Adds columns of one origin; each has a name and a unit.
    pub fn columns(mut self, origin: Origin, columns: &[(&str, &'static str)]) -> Self {
        let column = |&(name, unit): &(&str, &'static str)| Column { name: name.into(), unit, origin };
        self.columns.extend(columns.iter().map(column));
        self
    }

    /// Has the table drawn.
    pub fn drawn(mut self, x: usize, y: &[usize], by: Option<usize>, is_log: bool) -> Self {
        self.plot = Some(Plot { x, y: y.into(), by, is_log });
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "{}", self.title);
        self.rows.push(cells);
    }

    /// The title and aligned columns. Those of the paper say so.
    pub fn text(&self) -> String {
        let head = |column: &Column| {
            let Column { name, unit, origin } = column;
            let of = if *origin == Origin::Paper { "paper: " } else { "" };
            let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
            format!("{of}{name}{unit}")
        };
        let mut rows: Vec<Vec<String>> = vec![self.columns.iter().map(head).collect()];
        rows.extend(self.rows.iter().map(|row| row.iter().map(Cell::text).collect()));
        format!("{}\n{}", self.title, text::table(&rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let table = Table::new("Widths")
            .columns(Origin::Setting, &[("lanes", "")])
            .columns(Origin::Here, &[("time", "us")])
            .columns(Origin::Paper, &[("time", "us")]);
        let mut table = table.drawn(0, &[1, 2], None, true);
        table.row(vec![Cell::Count(1), Cell::Number(2.25, 1), Cell::Nothing]);
        table.row(vec![Cell::Count(16), Cell::Number(0.5, 1), Cell::Number(0.75, 2)]);
        table
    }

    #[test]
    fn text_has_units_and_says_what_is_the_papers() {
        let text = table().text();
        assert_eq!(
            text,
            "Widths\nlanes  time, us  paper: time, us\n1           2.2                -\n16          0.5             0.75\n"
        );
    }

    #[test]
    fn ratios_to_nothing_are_nothing() {
        assert_eq!(Cell::ratio(3.0, 2.0, 1), Cell::Number(1.5, 1));
        for under in [0.0, -1.0, f64::NAN] {
            assert_eq!(Cell::ratio(3.0, under, 1), Cell::Nothing);
        }
        let number = Cell::Number(f64::NAN, 1);
        assert_eq!((number.text(), number.value()), ("-".into(), None));
        assert_eq!(serde_json::to_value(number).unwrap(), serde_json::Value::Null);
    }

    #[test]
    fn json_has_names_units_origins_and_nulls() {
        let json = serde_json::to_value(table()).unwrap();
        assert_eq!(
            json["columns"][2],
            serde_json::json!({ "name": "time", "unit": "us", "origin": "paper" })
        );
        assert_eq!(json["rows"][0], serde_json::json!([1, 2.25, null]));
    }
}
