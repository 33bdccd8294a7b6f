//! The section of a report on `compare`: two runs of the same events with different settings.

use super::table::table;
use crate::text::grouped;
use maud::{Markup, html};
use serde::Deserialize;

/// JSON results of `peloton compare`.
#[derive(Debug, Deserialize)]
pub struct CompareData {
    events: u64,
    equal: bool,
    #[serde(default)]
    different_events: u64,
    left: Side,
    right: Side,
    #[serde(default)]
    first_difference: Option<Difference>,
}

#[derive(Debug, Deserialize)]
struct Side {
    preset: Option<String>,
    isa: String,
    gang: u64,
    threads: u64,
    slice: u64,
    hash_int: String,
    output_hash: String,
}

#[derive(Debug, Deserialize)]
struct Difference {
    event: u64,
    what: String,
}

/// Returns whether both runs are equal, and a table of the settings and hashes of both.
pub fn section(names: &[String], all: &[CompareData]) -> Markup {
    html! {
        @for (name, one) in names.iter().zip(all) {
            @if names.len() > 1 { h3 { (name) } }
            p {
                @if one.equal {
                    span.good { "Equal" } ": all output columns of " (grouped(one.events)) " events, bit by bit."
                } @else {
                    span.bad { "Different" } ": " (grouped(one.different_events)) " of " (grouped(one.events)) " events."
                }
                @if let Some(Difference { event, what }) = &one.first_difference {
                    " First difference: event " (event) ", " (what) "."
                }
            }
            (table(&["", "left", "right"], &rows(&one.left, &one.right)))
        }
    }
}

/// The name of a row, and its text for a side.
type Row = (&'static str, fn(&Side) -> String);

/// Returns the rows with both sides next to each other, which fit into narrow windows.
fn rows(left: &Side, right: &Side) -> Vec<Vec<String>> {
    let of: [Row; 7] = [
        ("preset", |side| side.preset.clone().unwrap_or_default()),
        ("level", |side| side.isa.clone()),
        ("gang", |side| side.gang.to_string()),
        ("threads", |side| side.threads.to_string()),
        ("slice", |side| side.slice.to_string()),
        ("hash of integers", |side| side.hash_int.clone()),
        ("hash of all output columns", |side| side.output_hash.clone()),
    ];
    let rows = of.into_iter().map(|(name, of)| vec![name.into(), of(left), of(right)]);
    // Sequences without presets have no preset on either side.
    rows.filter(|row: &Vec<String>| row[1..].iter().any(|cell| !cell.is_empty())).collect()
}
