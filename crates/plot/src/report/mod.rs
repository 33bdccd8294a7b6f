//! [`report`]: makes one self-contained HTML page with figures from JSON results of other commands.
//!
//! Results of the same command and sequence share figures, with ratios to the first file. A page has no scripts and
//! makes no network requests; each figure has its numbers as CSV below it.

mod check;
mod compare;
mod figures;
mod input;
mod pixels;
mod provenance;
mod soak;
mod table;
mod throughput;
mod tune;

pub use input::ReportInput;

use crate::look::Page;
use figures::{Figures, key};
use input::{Group, Kind};
use maud::{Markup, html};
use peloton::{Error, Result};

/// Largest number of files: the number of colours.
const MAX_INPUTS: usize = crate::look::SERIES;

/// Returns the HTML page of these results.
///
/// # Errors
/// [`Error::Config`] without inputs, or with more inputs than figures have colours.
pub fn report(mut inputs: Vec<ReportInput>) -> Result<String> {
    if inputs.is_empty() || inputs.len() > MAX_INPUTS {
        return Err(Error::Config(format!("a report takes 1 to {MAX_INPUTS} files, not {}", inputs.len())));
    }
    input::name_apart(&mut inputs);
    let names: Vec<_> = inputs.iter().map(|input| input.name().to_string()).collect();
    let title = format!("peloton report: {}", names.join(", "));
    let provenance = provenance::section(&inputs);
    let mut figures = Figures::default();
    let groups = input::groups(inputs);
    let body = html! {
        header {
            h1 { "peloton report" }
            p.soft { (names.join(", ")) }
        }
        (provenance)
        @for group in &groups { (section(group, &mut figures)) }
        footer { "Made by peloton " (env!("CARGO_PKG_VERSION")) "." }
    };
    Ok(Page { title: &title, css: include_str!("report.css"), body, script: None }.html())
}

fn section(group: &Group, figures: &mut Figures) -> Markup {
    let Group { heading, names, .. } = group;
    html! {
        section {
            h2 { (heading) }
            @if names.len() > 1 { (key(names)) }
            @match &group.kind {
                Kind::Check(all) => (check::section(names, all, figures)),
                Kind::Pixels(all) => (pixels::section(names, all)),
                Kind::Throughput(all) => (throughput::section(names, all, figures)),
                Kind::Tune(all) => (tune::section(names, all, figures)),
                Kind::Compare(all) => (compare::section(names, all)),
                Kind::Soak(all) => (soak::section(names, all, figures)),
            }
        }
    }
}
