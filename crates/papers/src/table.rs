//! [`Table`]: a reproduced table, from which text, JSON and pictures are made.

use peloton_plot::text;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Origin of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A setting.
    Setting,
    /// This run.
    Here,
    /// The paper.
    Paper,
    /// Published results of another program, which the column's name contains.
    Program,
}

/// A column: its name, its unit (empty for none), and the origin of its values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// Name of the column; columns of measured values and of the paper's values share names.
    pub name: String,
    /// Unit of the values; empty for none.
    pub unit: String,
    /// Origin of the values.
    pub origin: Origin,
}

/// One value of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Cell {
    /// The value is unknown, or not defined.
    #[default]
    Nothing,
    /// A word.
    Word(String),
    /// A whole number.
    Count(u64),
    /// A number, and the number of digits after its decimal point in text.
    Number(f64, usize),
}

impl Cell {
    /// Returns `over / under` with `digits` digits after the point; [`Cell::Nothing`] unless `under` is above 0.
    pub fn ratio(over: f64, under: f64, digits: usize) -> Self {
        if under > 0.0 { Self::Number(over / under, digits) } else { Self::Nothing }
    }

    /// Returns the value of a number; none for words and for numbers that are not finite.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(*count as f64),
            Self::Number(value, _) => Some(*value).filter(|value| value.is_finite()),
            Self::Nothing | Self::Word(_) => None,
        }
    }

    /// Sets the digits after the point of a number.
    pub(super) fn with_digits(self, digits: Option<usize>) -> Self {
        match (self, digits) {
            (Self::Number(value, _), Some(digits)) => Self::Number(value, digits),
            (cell, _) => cell,
        }
    }

    /// Returns the text of the cell in names and paths.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Number(value, _) => value.to_string(),
            Self::Nothing | Self::Word(_) => self.text(),
        }
    }

    /// Returns the value as text.
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

/// Reads a cell from TOML: an empty text is nothing.
impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match toml::Value::deserialize(from)? {
            toml::Value::String(word) if word.is_empty() => Ok(Self::Nothing),
            toml::Value::String(word) => Ok(Self::Word(word)),
            toml::Value::Integer(count) => u64::try_from(count).map(Self::Count).map_err(D::Error::custom),
            toml::Value::Float(value) => Ok(Self::Number(value, 2)),
            _ => Err(D::Error::custom("a cell must be a number or a text")),
        }
    }
}

impl From<&str> for Cell {
    fn from(word: &str) -> Self {
        Self::Word(word.into())
    }
}

/// The chart of a table: columns of numbers along y against one column along x.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// Index of the column along x.
    pub x: usize,
    /// Indices of the columns along y; the axis has their unit.
    pub y: Vec<usize>,
    /// Index of the column whose values each have a separate line, if any.
    pub by: Option<usize>,
    /// Whether x is logarithmic.
    #[serde(default)]
    pub is_log: bool,
}

/// A table: settings, results, and the paper's values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// Content of the table.
    pub title: String,
    /// Columns of the table.
    pub columns: Vec<Column>,
    /// Rows of the table, a value for each column.
    pub rows: Vec<Vec<Cell>>,
    /// Drawing of the table, if any.
    #[serde(skip)]
    pub plot: Option<Plot>,
}

impl Table {
    /// Returns the title and the aligned columns as text; names of the paper's columns begin with `paper:`.
    pub fn text(&self) -> String {
        let head = |column: &Column| {
            let Column { name, unit, origin } = column;
            let of = if *origin == Origin::Paper { "paper: " } else { "" };
            let comma = if unit.is_empty() { "" } else { ", " };
            format!("{of}{name}{comma}{unit}")
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
        let column = |name: &str, unit: &str, origin| Column { name: name.into(), unit: unit.into(), origin };
        Table {
            title: "Widths".into(),
            columns: vec![
                column("lanes", "", Origin::Setting),
                column("time", "us", Origin::Here),
                column("time", "us", Origin::Paper),
            ],
            rows: vec![
                vec![Cell::Count(1), Cell::Number(2.25, 1), Cell::Nothing],
                vec![Cell::Count(16), Cell::Number(0.5, 1), Cell::Number(0.75, 2)],
            ],
            plot: None,
        }
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
