//! The section of a report on `check` of pixel hits: whether all algorithms find the same clusters.

use super::table::{short, table};
use crate::text::grouped;
use maud::{Markup, html};
use serde::Deserialize;

/// The JSON results of `peloton check` on pixel hits.
#[derive(Debug, Deserialize)]
pub struct PixelData {
    definitions: Vec<Definition>,
    #[serde(default)]
    all_accounted: bool,
}

#[derive(Debug, Deserialize)]
struct Definition {
    definition: String,
    clusters: u64,
    #[serde(default)]
    mean_size: Option<f64>,
    #[serde(default)]
    agree: Vec<String>,
    #[serde(default)]
    differ: Vec<String>,
}

/// Returns a table of the definitions of a cluster, with the algorithms that agree and that differ.
pub fn section(names: &[String], all: &[PixelData]) -> Markup {
    let head =
        ["definition of a cluster", "clusters", "hits in a cluster", "algorithms that agree", "that differ"];
    html! {
        @for (name, one) in names.iter().zip(all) {
            @if names.len() > 1 { h3 { (name) } }
            p {
                @if one.all_accounted { span.good { "Every hit" } " is in a cluster or counted as dropped." }
                @else { span.bad { "Hits are missing" } ": some hits are neither in clusters nor counted as dropped." }
            }
            @let rows: Vec<_> = one.definitions.iter().map(row).collect();
            (table(&head, &rows))
        }
    }
}

fn row(of: &Definition) -> Vec<String> {
    let listed = |names: &[String]| if names.is_empty() { "none".into() } else { names.join(", ") };
    vec![
        of.definition.clone(),
        grouped(of.clusters),
        of.mean_size.map_or(String::new(), short),
        listed(&of.agree),
        listed(&of.differ),
    ]
}
