//! The kinds of figures in reports: SVG inside HTML, with the colours of the page's style sheet.

mod bars;
mod curves;
mod heat;
mod panel;
mod pulls;
mod rates;

pub use bars::{Bar, Bars, Segment};
pub use curves::{Curve, Curves, Point, YRange};
pub use heat::{Cell, Heat};
pub use pulls::PullFigure;
pub use rates::{RateBin, RateFigure, RateRange, RateSeries};

use crate::look::series_class;
use maud::{Markup, html};

/// A figure with its heading, description, key and data.
pub struct Drawing {
    /// Heading of the figure.
    title: String,
    /// Description of the figure in a sentence, for readers who cannot see it.
    description: String,
    /// Names of the colours; a figure with one colour has no key.
    keys: Vec<String>,
    /// Width and height, in units of its coordinates.
    size: [f64; 2],
    body: Markup,
    /// The numbers: names of columns, and rows.
    data: Data,
}

/// The numbers of a figure as a table.
#[derive(Default)]
pub struct Data {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Data {
    fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// Returns CSV: cells with commas, quotes or ends of lines are quoted.
    fn csv(&self) -> String {
        let quoted = |cell: &str| match cell.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell.to_string(),
        };
        let line = |cells: Vec<String>| cells.join(",");
        let mut lines = vec![line(self.head.iter().map(|name| quoted(name)).collect())];
        lines.extend(self.rows.iter().map(|row| line(row.iter().map(|cell| quoted(cell)).collect())));
        lines.join("\n")
    }
}

/// Returns a number for data: all its digits, nothing for none.
fn exact(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// Returns a coordinate as text.
fn px(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// Draws figures, and numbers them so that their ids in the page are unique.
#[derive(Default)]
pub struct Figures(usize);

impl Figures {
    /// Returns the HTML of a figure with its heading, key and data.
    pub fn figure(&mut self, drawing: Drawing) -> Markup {
        self.0 += 1;
        let name = format!("figure{}", self.0);
        html! {
            figure id=(name) {
                figcaption { (drawing.title) }
                @if drawing.keys.len() > 1 { (key(&drawing.keys)) }
                (svg(&drawing, &name))
                details.data {
                    summary { "data" }
                    pre { (drawing.data.csv()) }
                }
            }
        }
    }
}

/// Returns the key of a figure: the meaning of its colours.
pub fn key(names: &[String]) -> Markup {
    html! {
        div.keys {
            @for (number, name) in names.iter().enumerate() {
                span.entry {
                    span class={ "key " (series_class(number)) } { (SHAPES[number % SHAPES.len()].1) }
                    " " (name)
                }
                " "
            }
        }
    }
}

/// Returns the SVG of a drawing; `name`, a prefix of its ids, must be unique in the page.
pub fn svg(drawing: &Drawing, name: &str) -> Markup {
    let [width, height] = drawing.size;
    html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (px(width)) " " (px(height)) } role="img"
            aria-labelledby={ (name) "-title " (name) "-desc" } font-size="13" {
            title id={ (name) "-title" } { (drawing.title) }
            desc id={ (name) "-desc" } { (drawing.description) }
            (drawing.body)
        }
    }
}

/// Marks of series, distinct without colours, too: as a path around 0, and as a character.
const SHAPES: [(&str, &str); 4] = [
    ("M3.2 0a3.2 3.2 0 1 0 -6.4 0a3.2 3.2 0 1 0 6.4 0z", "\u{25cf}"),
    ("M-2.9 -2.9h5.8v5.8h-5.8z", "\u{25a0}"),
    ("M0 -3.9l3.7 6.6h-7.4z", "\u{25b2}"),
    ("M0 -4.2l4.2 4.2l-4.2 4.2l-4.2 -4.2z", "\u{25c6}"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_csv() {
        let mut data = Data::new(&["name", "value"]);
        data.rows.push(vec!["a, \"b\"".into(), exact(Some(0.1))]);
        data.rows.push(vec!["c".into(), exact(None)]);
        assert_eq!(data.csv(), "name,value\n\"a, \"\"b\"\"\",0.1\nc,");
        assert_eq!(["1.50", "0.00", "-2.00"].map(|text| px(text.parse().unwrap())), ["1.5", "0", "-2"]);
    }
}
