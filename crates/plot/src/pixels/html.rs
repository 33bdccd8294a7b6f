//! The page of a stream of pixel clusters: one HTML file that contains the pictures, their data and a script.

use super::{PixelDisplay, charts, frame};
use crate::look::Page;
use maud::{Markup, PreEscaped, html};

/// The texts of a page.
pub struct Texts {
    /// Name of the input, such as a file.
    pub title: String,
    /// Names and values of results, settings and losses.
    pub facts: Vec<(String, String)>,
}

impl PixelDisplay {
    /// Returns the page as HTML.
    pub fn html(&self, texts: &Texts) -> String {
        let figure = |picture: String| html! { figure { (PreEscaped(picture)) } };
        let body = html! {
            h1 { (texts.title) }
            main {
                section.wide { (figure(frame::picture(self))) p.soft { (HELP) } }
                section.about {
                    table { @for (name, value) in &texts.facts { tr { th { (name) } td { (value) } } } }
                    (charts::hottest(self))
                }
                (figure(charts::occupancy(self)))
                @for picture in charts::distributions(self) { (figure(picture)) }
                (figure(charts::tot_of_size(self)))
            }
            footer { "peloton " (env!("CARGO_PKG_VERSION")) }
        };
        let script = format!(
            "const hits = {};\nconst height = {};\n{}",
            frame::data(self),
            self.sensor[1],
            include_str!("page.js")
        );
        Page { title: &texts.title, css: include_str!("page.css"), body, script: Some(&script) }.html()
    }
}

/// Returns a table of numbers with a heading.
pub fn table(heading: &str, head: &[&str], rows: &[Vec<String>], note: &str) -> Markup {
    html! {
        h2 { (heading) }
        div.scroll {
            table {
                thead { tr { @for name in head { th.number { (name) } } } }
                tbody { @for row in rows { tr { @for cell in row { td.number { (cell) } } } } }
            }
        }
        p.soft { (note) }
    }
}

/// Explains how to read the frame.
const HELP: &str = "A square is a pixel with a hit; its colour shows the time over threshold of the pixel's last hit. \
                    Lines go around clusters. The mouse wheel zooms, dragging moves, a double click shows the whole sensor, pointing at a pixel shows its measured values.";
