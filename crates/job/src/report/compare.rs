//! A comparison of two ways of computing.

use super::table::table;
use crate::text::grouped;
use maud::{Markup, html};
use serde::Deserialize;

/// What `compare` writes.
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
    preset: String,
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

/// The verdict and both sides.
pub fn section(names: &[String], all: &[CompareData]) -> Markup {
    let head =
        ["side", "preset", "level", "gang", "threads", "slice", "hash of integers", "hash of all output"];
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
            @let rows = [("left", &one.left), ("right", &one.right)].map(|(name, side)| row(name, side));
            (table(&head, &rows))
        }
    }
}

fn row(name: &str, side: &Side) -> Vec<String> {
    let Side { preset, isa, gang, threads, slice, hash_int, output_hash } = side;
    let numbers = [gang, threads, slice].map(u64::to_string);
    let mut row = vec![name.to_string(), preset.clone(), isa.clone()];
    row.extend(numbers);
    row.extend([hash_int.clone(), output_hash.clone()]);
    row
}
