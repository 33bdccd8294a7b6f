//! [`Heat`]: a heat map: a table whose cells are coloured by value, with a frame around the least value.

use super::panel::{WIDTH, tick_mark};
use super::{Data, Drawing, px};
use crate::svg::{Axis, plain};
use maud::{Markup, html};

const TOP: f64 = 8.0;
const CELL: f64 = 38.0;
/// Width to the right of the cells, for the scale of colours.
const BAR: f64 = 78.0;
/// Widest cell.
const WIDEST: f64 = 76.0;

/// Colours at equal distances from the best value to the worst: light to dark, distinct for any colour vision (cividis,
/// backwards).
const COLOURS: [[f64; 3]; 6] = [
    [254.0, 232.0, 56.0],
    [202.0, 186.0, 106.0],
    [155.0, 144.0, 119.0],
    [112.0, 108.0, 114.0],
    [61.0, 78.0, 107.0],
    [0.0, 32.0, 76.0],
];

/// One cell.
pub struct Cell {
    /// Indices of the cell's column and row.
    pub column: usize,
    pub row: usize,
    /// The value that the colour shows; must be above 0.
    pub value: f64,
    /// Text in the cell, and text that the cell shows under the mouse.
    pub text: String,
    pub hover: String,
}

/// Content of a heat map.
pub struct Heat {
    pub title: String,
    pub description: String,
    /// Names of the columns and of the rows, and labels of both axes.
    pub columns: Vec<String>,
    pub rows: Vec<String>,
    pub x: &'static str,
    pub y: &'static str,
    /// Label of the colour scale, with the unit.
    pub z: String,
    pub cells: Vec<Cell>,
}

/// Returns the colour at a share of the way from the best value to the worst.
fn colour(share: f64) -> String {
    let at = share.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let first = (at.floor() as usize).min(COLOURS.len() - 2);
    let part = at - first as f64;
    let mixed =
        |i: usize| (COLOURS[first][i] + part * (COLOURS[first + 1][i] - COLOURS[first][i])).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mixed(0), mixed(1), mixed(2))
}

impl Heat {
    /// Returns the drawing; none if there is no cell.
    pub fn drawing(self) -> Option<Drawing> {
        let values = || self.cells.iter().map(|cell| cell.value);
        let (least, greatest) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        if self.cells.is_empty() || !(least > 0.0 && greatest.is_finite()) {
            return None;
        }
        let best = self.cells.iter().min_by(|a, b| a.value.total_cmp(&b.value))?;
        let scale = Axis::log(least, if greatest > 1.02 * least { greatest } else { 1.02 * least }, &self.z);
        let longest = self.rows.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let left = 7.4 * longest as f64 + 34.0;
        let wide = ((WIDTH - left - BAR) / self.columns.len() as f64).min(WIDEST);
        let [across, down] = [wide * self.columns.len() as f64, CELL * self.rows.len() as f64];
        let place = |cell: &Cell| [left + wide * cell.column as f64, TOP + CELL * cell.row as f64];
        let body = html! {
            @for cell in &self.cells {
                @let [x, y] = place(cell);
                @let share = scale.place(cell.value);
                g.cell data-x=(cell.column) data-y=(cell.row) data-value=(cell.value) {
                    title { (cell.hover) }
                    rect fill=(colour(share)) x=(px(x + 1.0)) y=(px(y + 1.0)) width=(px(wide - 2.0)) height=(px(CELL - 2.0)) {}
                    text style={ "fill:" (if share < 0.5 { "#000" } else { "#fff" }) } x=(px(x + 0.5 * wide))
                        y=(px(y + 0.5 * CELL + 4.5)) text-anchor="middle" { (cell.text) }
                }
            }
            @let [x, y] = place(best);
            rect.best x=(px(x)) y=(px(y)) width=(px(wide)) height=(px(CELL)) {}
            @for (number, name) in self.columns.iter().enumerate() {
                @let x = left + wide * (number as f64 + 0.5);
                (tick_mark("x", number as f64, [x, TOP + down], [0.0, 5.0]))
                text.label x=(px(x)) y=(px(TOP + down + 19.0)) text-anchor="middle" { (name) }
            }
            @for (number, name) in self.rows.iter().enumerate() {
                @let y = TOP + CELL * (number as f64 + 0.5);
                (tick_mark("y", number as f64, [left, y], [-5.0, 0.0]))
                text.label x=(px(left - 8.0)) y=(px(y + 4.5)) text-anchor="end" { (name) }
            }
            text x=(px(left + 0.5 * across)) y=(px(TOP + down + 38.0)) text-anchor="middle" { (self.x) }
            @let middle = TOP + 0.5 * down;
            text x="13" y=(px(middle)) text-anchor="middle" transform={ "rotate(-90 13 " (px(middle)) ")" } { (self.y) }
            (meaning(&scale, left + across + 16.0, down))
        };
        let mut data = Data::new(&[self.y, self.x, "value"]);
        for cell in &self.cells {
            let row = [&self.rows[cell.row], &self.columns[cell.column], &cell.value.to_string()];
            data.rows.push(row.map(String::clone).to_vec());
        }
        let height = TOP + down + 46.0;
        let Self { title, description, .. } = self;
        Some(Drawing { title, description, keys: Vec::new(), size: [WIDTH, height], body, data })
    }
}

/// Draws the scale of colours.
fn meaning(scale: &Axis, left: f64, height: f64) -> Markup {
    let steps = COLOURS.len() - 1;
    let ticks: Vec<_> = scale.ticks().into_iter().filter(|tick| !tick.label.is_empty()).collect();
    let at = |value: f64| TOP + height * (1.0 - scale.place(value));
    // If there are fewer than two round numbers, the ends of the range have labels.
    let ends = [scale.from, scale.to].map(|value| (value, plain((value * 100.0).round() / 100.0)));
    let labels: Vec<(f64, String)> = match ticks.len() {
        0 | 1 => ends.to_vec(),
        _ => ticks.into_iter().map(|tick| (tick.value, tick.label)).collect(),
    };
    let pieces = 20 * steps;
    html! {
        @for number in 0..pieces {
            @let step = height / pieces as f64;
            @let top = TOP + height - step * (number + 1) as f64;
            rect.scale x=(px(left)) y=(px(top)) width="12" height=(px(step + 0.4)) fill=(colour((number as f64 + 0.5) / pieces as f64)) {}
        }
        @for (value, label) in labels {
            (tick_mark("value", value, [left + 12.0, at(value)], [4.0, 0.0]))
            text.label x=(px(left + 19.0)) y=(px(at(value) + 4.5)) { (label) }
        }
    }
}
