//! The page: one file of HTML with the pictures, their data and a script inside it.

use super::{PixelDisplay, charts, frame};
use crate::svg::escaped;
use std::fmt::Write;

/// What a page says of itself beside its pictures.
pub struct About {
    /// What was read, such as the name of a file.
    pub title: String,
    /// What was found, how it was set, what was lost: names and values.
    pub facts: Vec<(String, String)>,
}

impl PixelDisplay {
    /// The page as HTML.
    pub fn html(&self, about: &About) -> String {
        let title = escaped(&about.title);
        let mut facts = String::new();
        for (name, value) in &about.facts {
            let _ = write!(facts, "<tr><th>{}</th><td>{}</td></tr>", escaped(name), escaped(value));
        }
        let figure = |picture: String| format!("<figure>{picture}</figure>\n");
        let frame = figure(frame::picture(self));
        let others = [charts::occupancy(self)].into_iter().chain(charts::distributions(self));
        let others: String = others.chain([charts::tot_of_size(self)]).map(figure).collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
             <style>\n{}</style></head>\n<body><h1>{title}</h1>\n<main>\n<section>{frame}<p class=\"help\">{HELP}</p>\
             </section>\n<section class=\"about\"><table>{facts}</table>\n{}</section>\n{others}</main>\n\
             <script>\nconst hits = {};\nconst height = {};\n{}</script></body></html>\n",
            include_str!("page.css"),
            charts::hottest(self),
            frame::data(self),
            self.sensor[1],
            include_str!("page.js"),
        )
    }
}

/// How to read the frame.
const HELP: &str = "A square is a pixel that was hit; its colour is its time over threshold (of several hits, the last one's). \
                    Lines go around clusters. Wheel: zoom; drag: move; double click: all of the sensor; the mouse on a \
                    pixel: what was measured there.";
