//! [`Quantity`]: a number or word that is read from the measured values of runs. [`Check`]: a limit on quantities.
//!
//! The measured values of a run are one JSON object ([`make`](super::driver::make)). A quantity refers to values by
//! their paths in this object, such as `categories/07_long/efficiency`.

use super::report::Asked;
use super::table::{Cell, Origin};
use peloton::{Error, Result};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// A column of a table, or a number that a check needs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quantity {
    /// Name of the column.
    pub name: String,
    /// Unit of the column. Measured shares, times (ns) and rates (per second) are converted to this unit.
    pub unit: String,
    /// Path of the value; paths joined by ` + ` give the sum of their values. `row` stands for the label of the row.
    pub value: String,
    /// Path of the divisor, or paths joined by ` + `. If `value` is empty, the column contains 1 over the divisor.
    pub per: String,
    /// Factor that multiplies measured values, in place of the factor that follows from the unit.
    pub scale: Option<f64>,
    /// Number of digits after the decimal point; 2 by default.
    pub digits: Option<usize>,
    /// Index (from 0) of the run from which the value comes, among the runs of the row.
    pub run: usize,
    /// Index of the run from which the divisor `per` comes; `run` by default.
    pub per_run: Option<usize>,
    /// Index (from 0) of the part from which the value of a check comes.
    pub part: usize,
    /// Way to combine the values of several runs into one number, if any.
    pub fold: Option<Fold>,
    /// Value of the column by which the whole column is divided, if any.
    pub over: Option<Over>,
    /// Whether there is one column for each category of particles, whose name replaces `{category}`.
    pub each_category: bool,
}

/// A way to combine the values of several runs into one number.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fold {
    /// The least value among the first runs; the field is the number of these runs.
    Least(usize),
    /// The largest difference between two values in a group of successive runs; the field is the size of a group.
    Spread(usize),
    /// The number of different values.
    Distinct,
}

/// The value of a column by which the whole column is divided.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// The least value of the column.
    Least,
    /// The column's first value among the rows with the same first cell.
    First,
}

/// A row: its label, and the text that replaces `{row}` in paths.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub label: Cell,
    pub key: String,
}

/// Returns the value of a run at a path.
///
/// # Errors
/// [`Error::Internal`] when the run has no value at the path.
pub fn find<'a>(facts: &'a Value, path: &str) -> Result<&'a Value> {
    let missing = || Error::Internal(format!("papers/*.toml: no measured value has the path `{path}`"));
    // Only some algorithms measure the times of their parts.
    let part = path.starts_with("parts/").then_some(&Value::Null);
    facts.pointer(&format!("/{path}")).or(part).ok_or_else(missing)
}

fn facts<'a>(runs: &[&'a Value], number: usize) -> Result<&'a Value> {
    let missing = || Error::Internal(format!("papers/*.toml: there is no run {number}"));
    runs.get(number).copied().ok_or_else(missing)
}

impl Quantity {
    fn factor(&self) -> f64 {
        self.scale.unwrap_or(match self.unit.as_str() {
            "%" => 100.0,
            "us" | "kHz" => 1e-3,
            "ms" | "Mhit/s" => 1e-6,
            _ => 1.0,
        })
    }

    /// Returns the cell of this column in a row; `runs` are the runs whose values the row contains.
    ///
    /// # Errors
    /// [`Error::Internal`] when the measured values lack a path, or when a run does not exist.
    pub fn cell(&self, runs: &[&Value], row: &Row) -> Result<Cell> {
        if self.value == "row" {
            return Ok(row.label.clone());
        }
        let is_plain = self.per.is_empty() && self.fold.is_none() && self.factor() == 1.0;
        if is_plain && !self.value.contains(" + ") && !self.value.is_empty() {
            match find(facts(runs, self.run)?, &self.value.replace("{row}", &row.key))? {
                Value::String(word) => return Ok(word.as_str().into()),
                Value::Array(items) => return Ok(Cell::Count(items.len() as u64)),
                value => {
                    if let Some(count) = value.as_u64() {
                        return Ok(Cell::Count(count));
                    }
                }
            }
        }
        let digits = self.digits.unwrap_or(2);
        Ok(self.number(runs, row)?.map_or(Cell::Nothing, |number| Cell::Number(number, digits)))
    }

    /// Returns the number; `None` if an input of the formula is missing, or if the divisor is 0.
    fn number(&self, runs: &[&Value], row: &Row) -> Result<Option<f64>> {
        let Some(fold) = self.fold else {
            return self.of_runs(facts(runs, self.run)?, facts(runs, self.per_run.unwrap_or(self.run))?, row);
        };
        if let Fold::Distinct = fold {
            let values = runs.iter().map(|run| find(run, &self.value).map(Value::to_string));
            return Ok(Some(values.collect::<Result<BTreeSet<_>>>()?.len() as f64));
        }
        let values =
            runs.iter().map(|run| self.of_runs(run, run, row)).collect::<Result<Option<Vec<_>>>>()?;
        let Some(values) = values else { return Ok(None) };
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Ok(Some(match fold {
            Fold::Least(count) => least(&values[..count.min(values.len())]),
            Fold::Spread(count) => {
                let spreads: Vec<_> = values.chunks(count).map(|some| largest(some) - least(some)).collect();
                largest(&spreads)
            }
            Fold::Distinct => unreachable!("counted above"),
        }))
    }

    fn of_runs(&self, over: &Value, under: &Value, row: &Row) -> Result<Option<f64>> {
        let sum = |run: &Value, paths: &str| -> Result<Option<f64>> {
            if paths.is_empty() {
                return Ok(Some(1.0));
            }
            let value = |path: &str| Ok(find(run, &path.replace("{row}", &row.key))?.as_f64());
            let values = paths.split(" + ").map(value).collect::<Result<Option<Vec<f64>>>>()?;
            Ok(values.map(|values| values.iter().sum()))
        };
        if self.value.is_empty() && self.per.is_empty() {
            return Ok(None);
        }
        let (Some(value), Some(per)) = (sum(over, &self.value)?, sum(under, &self.per)?) else {
            return Ok(None);
        };
        Ok((per > 0.0).then(|| self.factor() * value / per))
    }
}

/// A limit on measured numbers, with the text that reports the result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Origin of the limit.
    limit: Origin,
    /// The limited quantity.
    what: String,
    /// Conditions, all of which must hold.
    holds: Vec<Condition>,
    /// The result, with numbers in place of `{}`.
    found: String,
    /// Numbers in the result; by default the numbers of the conditions.
    #[serde(default)]
    shows: Vec<Quantity>,
    /// Whether only the full form has enough data for the check.
    #[serde(default)]
    full_only: bool,
}

/// A number, or the difference of two, and its limits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    of: Quantity,
    minus: Option<Quantity>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    above: Option<f64>,
    below: Option<f64>,
}

impl Condition {
    fn number(&self, parts: &[Vec<Value>]) -> Result<Option<f64>> {
        let of = number(&self.of, parts)?;
        let Some(minus) = &self.minus else { return Ok(of) };
        Ok(of.zip(number(minus, parts)?).map(|(of, minus)| of - minus))
    }

    fn holds(&self, number: f64) -> bool {
        self.at_least.is_none_or(|limit| number >= limit)
            && self.at_most.is_none_or(|limit| number <= limit)
            && self.above.is_none_or(|limit| number > limit)
            && self.below.is_none_or(|limit| number < limit)
    }
}

fn runs_of<'a>(quantity: &Quantity, parts: &'a [Vec<Value>]) -> Vec<&'a Value> {
    parts.get(quantity.part).into_iter().flatten().collect()
}

fn number(quantity: &Quantity, parts: &[Vec<Value>]) -> Result<Option<f64>> {
    quantity.number(&runs_of(quantity, parts), &Row::default())
}

impl Check {
    /// Compares the measured values with the limit; returns none if only the full form has enough data for the check.
    ///
    /// # Errors
    /// [`Error::Internal`] when the measured values lack a path, or when a run does not exist.
    pub fn ask(&self, parts: &[Vec<Value>], quick: bool) -> Result<Option<Asked>> {
        if quick && self.full_only {
            return Ok(None);
        }
        let numbers = self.holds.iter().map(|one| one.number(parts)).collect::<Result<Vec<Option<f64>>>>()?;
        let holds =
            self.holds.iter().zip(&numbers).all(|(one, number)| number.is_some_and(|it| one.holds(it)));
        let mut shown = Vec::new();
        for (condition, number) in self.holds.iter().zip(numbers).filter(|_| self.shows.is_empty()) {
            let digits = condition.of.digits.unwrap_or(2);
            shown.push(number.map_or(Cell::Nothing, |number| Cell::Number(number, digits)));
        }
        for quantity in &self.shows {
            shown.push(quantity.cell(&runs_of(quantity, parts), &Row::default())?);
        }
        let fill = |found: String, cell: &Cell| found.replacen("{}", &cell.text(), 1);
        let found = shown.iter().fold(self.found.clone(), fill);
        Ok(Some(Asked { limit: self.limit, what: self.what.clone(), found, holds }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn quantity(text: &str) -> Quantity {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn facts_become_cells_in_the_unit_of_the_column() {
        let facts =
            json!({ "a": { "x": 0.25, "n": 7, "none": null, "list": [1, 2] }, "ns": 1500.0, "0": 0.0 });
        let row = Row { label: "first".into(), key: "a".into() };
        for (text, expected) in [
            ("value = 'row'", Cell::from("first")),
            ("value = '{row}/x'\nunit = '%'", Cell::Number(25.0, 2)),
            ("value = '{row}/n'", Cell::Count(7)),
            ("value = '{row}/list'", Cell::Count(2)),
            ("value = '{row}/none'", Cell::Nothing),
            ("value = 'ns + ns'\nunit = 'us'\ndigits = 1", Cell::Number(3.0, 1)),
            ("per = 'ns'\nscale = 3000", Cell::Number(2.0, 2)),
            ("value = 'ns'\nper = '0'", Cell::Nothing),
            ("name = 'empty'", Cell::Nothing),
        ] {
            assert_eq!(quantity(text).cell(&[&facts], &row).unwrap(), expected, "{text}");
        }
        for wrong in ["value = '{row}/y'", "value = 'ns'\nrun = 1"] {
            assert!(quantity(wrong).cell(&[&facts], &row).is_err(), "{wrong}");
        }
    }

    #[test]
    fn checks_compare_runs_and_fold_them() {
        let runs = [1.0, 1.5, 4.0, 4.25].map(|x| json!({ "x": x, "same": 1 }));
        let (parts, other) =
            ([runs.to_vec(), vec![json!({ "x": 0.25 })]], "minus = { value = 'x', part = 1 }");
        let least = "of = { value = 'x', fold = { least = 2 } }";
        let spread = "of = { value = 'x', fold = { spread = 2 } }";
        for (condition, found, holds) in [
            (format!("of = {{ value = 'x', run = 2 }}, {other}, at_least = 3.75"), "3.75 cm", true),
            (format!("of = {{ value = 'x', run = 2 }}, {other}, above = 3.75"), "3.75 cm", false),
            (format!("{least}, at_most = 1"), "1.00 cm", true),
            (format!("{spread}, below = 0.5"), "0.50 cm", false),
            ("of = { value = 'same', fold = 'distinct', digits = 0 }, at_most = 1".into(), "1 cm", true),
        ] {
            let text = format!("limit = 'here'\nwhat = ''\nfound = '{{}} cm'\nholds = [{{ {condition} }}]");
            let asked = toml::from_str::<Check>(&text).unwrap().ask(&parts, true).unwrap().unwrap();
            assert_eq!((asked.found.as_str(), asked.holds), (found, holds), "{condition}");
        }
    }
}
