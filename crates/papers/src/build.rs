//! Builds the [`Table`]s of an entry (a table or figure of a paper) from the values that its runs measured.

use super::paper::{Given, Label, Rows, TableSpec};
use super::quantity::{Over, Quantity, Row, find};
use super::table::{Cell, Column, Origin, Table};
use peloton::simd::Isa;
use peloton::{Error, Result};
use serde_json::Value;

/// The measured values from which tables are built.
pub struct Facts<'a> {
    /// For each part of the entry, the measured values of each run.
    pub parts: &'a [Vec<Value>],
    /// Whether the events have too few particles for percentages to be shown.
    pub is_few: bool,
    /// Whether the inputs are simulated; if so, published numbers for a row that does not exist are an error.
    pub is_simulated: bool,
}

/// Returns the names of the categories of a check.
fn categories(run: &Value) -> Result<Vec<&str>> {
    let names = find(run, "names")?.as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(names.iter().filter_map(Value::as_str).collect())
}

/// Builds the tables of a specification. [`Rows::Bins`] results in one table per property, a skipped part in none.
///
/// # Errors
/// [`Error::Internal`] when the specification names a part, run, row or path without measured values.
pub fn tables(spec: &TableSpec, facts: &Facts<'_>) -> Result<Vec<Table>> {
    let wrong = || Error::Internal(format!("papers/*.toml: table `{}`: unknown part or run", spec.title));
    let part = facts.parts.get(spec.part).ok_or_else(wrong)?;
    if part.is_empty() {
        return Ok(Vec::new());
    }
    let runs: Vec<&Value> = match &spec.runs {
        None => part.iter().collect(),
        Some(runs) => runs.iter().map(|run| part.get(*run).ok_or_else(wrong)).collect::<Result<_>>()?,
    };
    let mut made = match &spec.rows {
        Rows::Bins { against, .. } => {
            against.iter().map(|of| table(spec, &runs, facts, Some(of))).collect::<Result<Vec<_>>>()?
        }
        _ => vec![table(spec, &runs, facts, None)?],
    };
    if let Some(title) = &spec.gains {
        made.push(gains(title, &made[0]));
    }
    Ok(made)
}

fn table(
    spec: &TableSpec,
    runs: &[&Value],
    facts: &Facts<'_>,
    against: Option<&[String; 2]>,
) -> Result<Table> {
    let columns = columns(spec, runs[0], against)?;
    let variable = against.map_or("", |[name, _]| name.as_str());
    let mut table = Table {
        title: spec.title.replace("{variable}", variable),
        columns: Vec::new(),
        rows: Vec::new(),
        plot: spec.plot.clone(),
    };
    let column = |(origin, of): &(Origin, Quantity)| Column {
        name: of.name.clone(),
        unit: of.unit.clone(),
        origin: *origin,
    };
    table.columns = columns.iter().map(column).collect();
    let rows = rows(spec, runs[0], variable)?;
    let by_run = matches!(spec.rows, Rows::Each);
    let together = spec.together.unwrap_or(if by_run { 1 } else { runs.len() });
    for runs in runs.chunks(together) {
        for row in &rows {
            let read = |(_, column): &(Origin, Quantity)| column.cell(runs, row);
            table.rows.push(columns.iter().map(read).collect::<Result<_>>()?);
        }
    }
    for given in &spec.more {
        let cell = |(cell, (_, column)): (&Given, &(Origin, Quantity))| match cell {
            Given::Cell(cell) => Ok(cell.clone().with_digits(column.digits)),
            Given::Quantity(quantity) => quantity.cell(runs, &Row::default()),
        };
        let mut cells = given.iter().zip(&columns).map(cell).collect::<Result<Vec<_>>>()?;
        cells.resize(columns.len(), Cell::Nothing);
        table.rows.push(cells);
    }
    publish(spec, &columns, facts, &mut table)?;
    for (at, (_, column)) in columns.iter().enumerate() {
        divide(&mut table, at, column);
    }
    Ok(table)
}

/// Returns the columns with their origins.
fn columns(spec: &TableSpec, run: &Value, against: Option<&[String; 2]>) -> Result<Vec<(Origin, Quantity)>> {
    let mut columns = Vec::new();
    if let Some([name, unit]) = against {
        for (name, key) in [(name.as_str(), "low"), ("to", "high")] {
            let value = format!("{{row}}/{key}");
            let edge = Quantity { name: name.into(), unit: unit.clone(), value, ..Quantity::default() };
            columns.push((Origin::Setting, edge));
        }
    }
    for (origin, all) in [
        (Origin::Setting, &spec.setting),
        (Origin::Here, &spec.here),
        (Origin::Program, &spec.program),
        (Origin::Paper, &spec.paper),
    ] {
        for column in all {
            if !column.each_category {
                columns.push((origin, column.clone()));
                continue;
            }
            for name in categories(run)? {
                if find(run, &format!("categories/{name}/reconstructible"))? != 0 {
                    let value = column.value.replace("{category}", name);
                    columns.push((origin, Quantity { name: name.into(), value, ..column.clone() }));
                }
            }
        }
    }
    if columns.iter().any(|(_, column)| column.value.contains("{first}")) {
        let first = categories(run)?.first().copied().unwrap_or_default().to_string();
        columns.iter_mut().for_each(|(_, column)| column.value = column.value.replace("{first}", &first));
    }
    Ok(columns)
}

/// Returns the rows of each run, or of all runs.
fn rows(spec: &TableSpec, run: &Value, variable: &str) -> Result<Vec<Row>> {
    Ok(match &spec.rows {
        Rows::Each => vec![Row::default()],
        Rows::Labels(labels) => {
            let row = |label: &Label| match label {
                Label::Pair(label, key) => Row { label: label.clone(), key: key.clone() },
                Label::One(label) => Row { key: label.key(), label: label.clone().with_digits(Some(0)) },
            };
            labels.iter().map(row).collect()
        }
        Rows::Categories => {
            let row = |name: &str| Row { label: name.into(), key: name.into() };
            categories(run)?.into_iter().map(row).collect()
        }
        Rows::Bins { category, .. } => {
            let path = format!("bins/{category} {variable}");
            find(run, &format!("categories/{category}"))?;
            // A category without particles has no bins.
            let bins = find(run, &path).ok().and_then(Value::as_array).map_or(0, Vec::len);
            let row = |at: usize| Row { label: Cell::Nothing, key: format!("{path}/{at}") };
            let is_full = |row: &Row| {
                find(run, &format!("{}/reconstructible", row.key)).is_ok_and(|particles| *particles != 0)
            };
            (0..bins).map(row).filter(is_full).collect()
        }
    })
}

/// Puts the published numbers into their rows.
///
/// # Errors
/// [`Error::Internal`] when published numbers belong to a row that does not exist.
fn publish(
    spec: &TableSpec,
    columns: &[(Origin, Quantity)],
    facts: &Facts<'_>,
    table: &mut Table,
) -> Result<()> {
    let mut known = Vec::new();
    for row in &mut table.rows {
        let is_setting = |(_, (origin, _)): &(&Cell, &(Origin, Quantity))| *origin == Origin::Setting;
        let settings = row.iter().zip(columns).take_while(is_setting).map(|(cell, _)| cell.text());
        let key = settings.collect::<Vec<_>>().join(", ");
        let mut published = match spec.published.get(&key) {
            Some(published) => {
                known.push(key);
                published.iter()
            }
            None => spec.published.get("*").map_or([].iter(), |published| published.iter()),
        };
        for (cell, (origin, column)) in row.iter_mut().zip(columns) {
            let is_here = matches!(origin, Origin::Setting | Origin::Here);
            if !is_here && *cell == Cell::Nothing {
                *cell =
                    published.next().map_or(Cell::Nothing, |cell| cell.clone().with_digits(column.digits));
            }
            if facts.is_few && spec.rates && *origin == Origin::Here && column.unit == "%" {
                *cell = Cell::Nothing;
            }
        }
    }
    // Other inputs or other rules may have other rows.
    let is_lost = |key: &&String| *key != "*" && !known.contains(key);
    match spec.published.keys().find(is_lost) {
        Some(key) if facts.is_simulated && !known.is_empty() => {
            Err(Error::Internal(format!("papers/*.toml: table `{}` has no row `{key}`", table.title)))
        }
        _ => Ok(()),
    }
}

/// Divides a column by its least or first value.
fn divide(table: &mut Table, at: usize, column: &Quantity) {
    let Some(over) = column.over else { return };
    let values: Vec<_> = table.rows.iter().map(|row| (row[0].clone(), row[at].value())).collect();
    let least = values.iter().filter_map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
    for row in &mut table.rows {
        let first = values.iter().find(|(cell, _)| *cell == row[0]).and_then(|(_, value)| *value);
        let under = match over {
            Over::Least => least,
            Over::First => first.unwrap_or(0.0),
        };
        if let Some(value) = row[at].value() {
            row[at] = Cell::ratio(value, under, column.digits.unwrap_or(2));
        }
    }
}

/// Returns how many times faster each instruction set is than one lane of it and than scalar code, at its fastest number of
/// lanes. The rows of `times` have an instruction set, a number of lanes and times.
fn gains(title: &str, times: &Table) -> Table {
    let column = |name: &str, unit: &str, origin| Column { name: name.into(), unit: unit.into(), origin };
    let mut columns = vec![times.columns[0].clone(), column("over", "", Origin::Setting)];
    columns.extend(times.columns[2..].iter().map(|time| column(&time.name, "times", Origin::Here)));
    let time = |row: &[Cell], column: usize| row[column].value().filter(|time| *time > 0.0);
    let one_lane = |set: &Cell| times.rows.iter().find(|row| row[0] == *set && row[1] == Cell::Count(1));
    let scalar = one_lane(&Isa::Scalar.name().into());
    let mut sets: Vec<&Cell> = times.rows.iter().map(|row| &row[0]).collect();
    sets.dedup();
    let mut rows = Vec::new();
    for set in sets {
        let of_set = || times.rows.iter().filter(|row| row[0] == *set);
        let least = |column| of_set().filter_map(|row| time(row, column)).reduce(f64::min);
        for (name, base) in [("1 lane of it", one_lane(set)), ("scalar x 1", scalar)] {
            let Some(base) = base else { continue };
            let gain = |column| match (time(base, column), least(column)) {
                (Some(base), Some(least)) => Cell::ratio(base, least, 2),
                _ => Cell::Nothing,
            };
            let mut row = vec![set.clone(), name.into()];
            row.extend((2..times.columns.len()).map(gain));
            rows.push(row);
        }
    }
    Table { title: title.into(), columns, rows, plot: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn build(spec: &str, runs: &[Value], is_few: bool) -> Result<Vec<Table>> {
        let (spec, parts) = (toml::from_str(spec).unwrap(), [runs.to_vec()]);
        tables(&spec, &Facts { parts: &parts, is_few, is_simulated: true })
    }

    #[test]
    fn published_numbers_stand_beside_their_rows() {
        let spec =
            "rates = true\nsetting = [{ name = 'n', value = 'n' }]\npaper = [{ name = 'a', digits = 1 }]
            here = [{ name = 'a', unit = '%', value = 'a' }, { name = 'times', value = 'a', over = 'least' }]
            more = [['other', { value = 'a' }]]";
        let runs = [json!({ "n": 1, "a": 0.5 }), json!({ "n": 2, "a": 0.25 })];
        let published = format!("{spec}\npublished = {{ '2' = [7.0] }}");
        let rows = |is_few| build(&published, &runs, is_few).unwrap()[0].text();
        assert_eq!(
            rows(false),
            "\nn       a, %  times  paper: a\n1      50.00   2.00         -\n2      25.00   1.00       7.0\n\
             other   0.50      -         -\n"
        );
        assert!(rows(true).contains("1         -   2.00"), "{}", rows(true));
        let lost = format!("{spec}\npublished = {{ '2' = [7.0], '3' = [7.0] }}");
        assert!(build(&lost, &runs, false).unwrap_err().to_string().contains("no row `3`"));
    }

    #[test]
    fn bins_without_particles_are_left_out() {
        let spec = "title = 'x against {variable}'\nhere = [{ name = 'of', value = '{row}/reconstructible' }]
            rows.bins = { category = 'all', against = [['p', 'GeV/c'], ['eta', '']] }";
        let bin = |low, of| json!({ "low": low, "high": low + 1.0, "reconstructible": of });
        let run = json!({ "categories": { "all": {} }, "bins": { "all p": [bin(0.0, 0), bin(1.0, 3)] } });
        let built = build(spec, &[run], false).unwrap();
        assert_eq!(built[0].text(), "x against p\np, GeV/c  to, GeV/c  of\n1.00           2.00   3\n");
        assert_eq!((built[1].title.as_str(), built[1].rows.len()), ("x against eta", 0));
        assert!(build(spec, &[json!({ "categories": {}, "bins": {} })], false).is_err());
    }
}
