//! Draws tables as SVG: one line chart for each table, with the charts below one another.

use super::table::{Column, Origin, Plot, Table};
use peloton::{Error, Result};
use peloton_plot::svg::{Axis, Chart, escaped};

/// Drawing area of one table, pixels of the screen.
const SIZE: [f64; 2] = [560.0, 300.0];
/// Height of a line of the legend, pixels of the screen.
const LINE: f64 = 16.0;
const COLOURS: [&str; 8] =
    ["#26547c", "#ef476f", "#06a77d", "#f39c12", "#7b4fa3", "#8c564b", "#17a2b8", "#555555"];

/// One line of a picture.
struct Line {
    name: String,
    points: Vec<[f64; 2]>,
    is_papers: bool,
}

/// Draws the charts of all tables that have a [`Plot`], as one SVG file.
///
/// # Errors
/// [`Error::Config`] when no table has a chart with points.
pub fn picture(tables: &[Table]) -> Result<String> {
    let (mut body, mut height, mut width) = (String::new(), 0.0, 0.0f64);
    for (table, plot) in tables.iter().filter_map(|table| Some((table, table.plot.as_ref()?))) {
        let lines = lines(table, plot);
        if lines.iter().all(|line| line.points.is_empty()) {
            continue;
        }
        let (chart, [across, up]) = chart(table, plot, &lines);
        body.push_str(&format!("<g transform=\"translate(0 {height:.0})\">{chart}</g>"));
        (height, width) = (height + up, width.max(across));
    }
    if body.is_empty() {
        return Err(Error::Config("--svg: this result has no drawing; leave --svg out".into()));
    }
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} \
         {height:.0}\" font-family=\"sans-serif\" font-size=\"12\">{body}</svg>\n"
    ))
}

/// Returns a line for each column along y and each value of the column that distinguishes lines.
fn lines(table: &Table, plot: &Plot) -> Vec<Line> {
    let mut names = Vec::new();
    for row in &table.rows {
        let name = plot.by.map(|by| row[by].text());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    // If x is the beginning of bins, the next column is their end: points are in the middle.
    let end = table.columns.get(plot.x + 1).is_some_and(|column| column.name == "to").then_some(plot.x + 1);
    let mut lines = Vec::new();
    for name in &names {
        for &y in &plot.y {
            let Column { name: of, origin, .. } = &table.columns[y];
            let rows = table.rows.iter().filter(|row| plot.by.map(|by| row[by].text()) == *name);
            let point = |row: &Vec<_>| {
                let value = |at: usize| row.get(at).and_then(super::table::Cell::value);
                let x = value(plot.x)?;
                let x = end.and_then(value).map_or(x, |end| 0.5 * (x + end));
                Some([x, value(y)?])
            };
            let points: Vec<_> = rows.filter_map(point).collect();
            if points.is_empty() {
                continue;
            }
            let by = plot.by.map(|by| table.columns[by].name.as_str()).unwrap_or_default();
            let which = name.as_ref().map_or(String::new(), |name| format!(", {by} {name}"));
            let is_papers = *origin == Origin::Paper;
            let whose = if is_papers { "paper: " } else { "" };
            lines.push(Line { name: format!("{whose}{of}{which}"), points, is_papers });
        }
    }
    lines
}

/// Returns the picture of one table with its size.
fn chart(table: &Table, plot: &Plot, lines: &[Line]) -> (String, [f64; 2]) {
    let all = || lines.iter().flat_map(|line| &line.points);
    let min = |at: usize| all().map(|point| point[at]).fold(f64::INFINITY, f64::min);
    let max = |at: usize| all().map(|point| point[at]).fold(f64::NEG_INFINITY, f64::max);
    let label = |column: &Column| match column.unit.as_str() {
        "" => column.name.clone(),
        unit => format!("{}, {unit}", column.name),
    };
    let (x, y) = (&table.columns[plot.x], &table.columns[plot.y[0]]);
    // The legend names several columns, which share a unit.
    let of_y = if plot.y.len() > 1 && !y.unit.is_empty() { y.unit.clone() } else { label(y) };
    // Shares near 100 % can be distinguished only on an axis that does not begin at 0.
    let bottom = if min(1) > 0.5 * max(1) { min(1) - 0.1 * (max(1) - min(1)) } else { 0.0 };
    let up = Axis::linear(bottom, max(1) + 0.05 * (max(1) - bottom), &of_y);
    let across = if plot.is_log && min(0) > 0.0 {
        Axis::log(min(0), max(0), &label(x))
    } else {
        Axis::linear(min(0), max(0), &label(x))
    };
    let mut chart = Chart::new(&table.title, across, up, SIZE);
    chart.axes();
    let mut colours = std::collections::BTreeMap::new();
    for line in lines {
        // A line of the paper has the same colour as ours.
        let key = line.name.trim_start_matches("paper: ");
        let next = COLOURS[colours.len() % COLOURS.len()];
        chart.line(&line.points, colours.entry(key).or_insert(next), line.is_papers);
    }
    let (left, below) = (40.0, chart.size()[1]);
    let mut legend = String::new();
    for (line, row) in lines.iter().zip(0..) {
        let y = below + LINE * (f64::from(row) + 0.5);
        let colour = colours[line.name.trim_start_matches("paper: ")];
        let dash = if line.is_papers { " stroke-dasharray=\"5 4\"" } else { "" };
        legend.push_str(&format!(
            "<path d=\"M{left:.0} {y:.1}h28\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/><text x=\"{:.0}\" y=\"{:.1}\">{}\
             </text>",
            left + 36.0,
            y + 4.0,
            escaped(&line.name)
        ));
    }
    let [width, _] = chart.size();
    let height = below + LINE * (lines.len() as f64 + 1.0);
    (format!("{}{legend}", chart.finish("")), [width, height])
}
