//! The checker's table, and the figures of ghosts and clones.

use super::super::figures::{Bar, Bars, Drawing, RateBin, RateFigure, RateRange, RateSeries, Segment};
use super::super::table;
use super::data::{CheckData, Table};
use super::{property, property_in_title};
use crate::text::{grouped, percent};
use maud::Markup;
use peloton_truth::clopper_pearson;

/// Largest number of categories in the figure of clones.
const MAX_BARS: usize = 24;

/// Returns a table with a row for the ghosts and a row for each category; each row is repeated for every input.
pub fn table(names: &[String], all: &[CheckData]) -> Markup {
    let named =
        |what: &str, name: &String| if names.len() > 1 { format!("{what}, {name}") } else { what.into() };
    let mut rows = Vec::new();
    for (name, one) in names.iter().zip(all) {
        let counts = format!("{}/{}", grouped(one.ghosts), grouped(one.tracks));
        let mut row = vec![named("ghosts", name), percent(one.ghost_rate), String::new(), counts];
        row.resize(8, String::new());
        rows.push(row);
    }
    for category in category_names(all) {
        for (name, one) in names.iter().zip(all) {
            let Some(of) = one.categories.iter().find(|of| of.name == category) else { continue };
            let interval = match (of.efficiency_low, of.efficiency_high) {
                (Some(low), Some(high)) => format!("{:.2} to {:.2} %", 100.0 * low, 100.0 * high),
                _ => table::NOTHING.into(),
            };
            rows.push(vec![
                named(category, name),
                percent(of.efficiency),
                interval,
                format!("{}/{}", grouped(of.reconstructed), grouped(of.reconstructible)),
                grouped(of.clones),
                percent(of.clone_rate),
                percent(of.purity),
                percent(of.hit_efficiency),
            ]);
        }
    }
    let head = [
        "category",
        "efficiency, ghost rate",
        "68 % interval",
        "found/all",
        "clones",
        "clone rate",
        "purity",
        "hit efficiency",
    ];
    table::table(&head, &rows)
}

/// Returns the names of all categories, in order of their first appearance.
pub fn category_names(all: &[CheckData]) -> Vec<&str> {
    let mut names = Vec::new();
    for category in all.iter().flat_map(|one| &one.categories) {
        if !names.contains(&category.name.as_str()) {
            names.push(category.name.as_str());
        }
    }
    names
}

/// Draws ghost rates against properties of tracks, and the clone rate of each category.
pub fn figures(names: &[String], all: &[CheckData]) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    let mut variables: Vec<(&str, &str)> = Vec::new();
    for table in all.iter().flat_map(|one| &one.ghost_tables) {
        if !variables.iter().any(|(variable, _)| *variable == table.variable) {
            variables.push((&table.variable, &table.unit));
        }
    }
    for (variable, unit) in variables {
        let bins = |one: &CheckData| one.ghost_tables.iter().find(|of| of.variable == variable).map(ghosts);
        drawings.extend(ghost_figure(names, all, [variable, unit], bins));
    }
    // The cylinder counts tracks by their hits, and ghosts of each category by the properties of their main particles.
    let lengths = |one: &CheckData| (!one.lengths.is_empty()).then(|| by_length(&one.lengths));
    drawings.extend(ghost_figure(names, all, ["track_hits", ""], lengths));
    for variable in ["pt", "eta"] {
        let of = |one: &CheckData| {
            let first = one.tables.iter().find(|of| of.variable == variable)?;
            first.bins.iter().any(|bin| bin.tracks > 0).then(|| ghosts(first))
        };
        let unit = if variable == "pt" { "GeV/c" } else { "" };
        drawings.extend(ghost_figure(names, all, [variable, unit], of));
    }
    drawings.extend(clones(names, all));
    drawings
}

fn ghost_figure(
    names: &[String],
    all: &[CheckData],
    [variable, unit]: [&str; 2],
    bins: impl Fn(&CheckData) -> Option<Vec<RateBin>>,
) -> Option<Drawing> {
    let series = names.iter().zip(all);
    let series = series.filter_map(|(name, one)| Some(RateSeries { name: name.clone(), bins: bins(one)? }));
    let series: Vec<_> = series.collect();
    let figure = RateFigure {
        title: format!("Ghost rate against {}", property_in_title(variable)),
        x: &property(variable, unit),
        counted: "tracks",
        rate: "ghost rate",
        range: RateRange::Loss,
        series,
    };
    if figure.series.is_empty() { None } else { figure.drawing() }
}

/// Returns ghosts over tracks for each bin.
fn ghosts(table: &Table) -> Vec<RateBin> {
    table.bins.iter().map(|bin| ghost_bin([bin.low, bin.high], bin.ghosts, bin.tracks)).collect()
}

fn ghost_bin([low, high]: [f64; 2], ghosts: u64, tracks: u64) -> RateBin {
    let ghosts = ghosts.min(tracks);
    let interval = clopper_pearson(ghosts, tracks).map(|(low, high)| [low, high]);
    RateBin { low, high, count: tracks, value: (tracks > 0).then(|| ghosts as f64 / tracks as f64), interval }
}

/// Returns ghosts over tracks by number of hits, given matched tracks and ghosts, from the shortest track on.
fn by_length(lengths: &[[u64; 2]]) -> Vec<RateBin> {
    let bins = lengths.iter().enumerate().skip_while(|(_, counts)| **counts == [0; 2]);
    let bin = |(hits, [matched, ghosts]): (usize, &[u64; 2])| {
        let edges = [hits as f64 - 0.5, hits as f64 + 0.5];
        ghost_bin(edges, *ghosts, matched.saturating_add(*ghosts))
    };
    bins.map(bin).collect()
}

fn clones(names: &[String], all: &[CheckData]) -> Option<Drawing> {
    let mut bars = Vec::new();
    for category in category_names(all).into_iter().take(MAX_BARS) {
        for (colour, (name, one)) in names.iter().zip(all).enumerate() {
            let of = one.categories.iter().find(|of| of.name == category);
            if let Some((of, rate)) = of.and_then(|of| Some((of, of.clone_rate?))) {
                let segments = vec![Segment { name: name.clone(), value: 100.0 * rate, colour }];
                bars.push(Bar {
                    name: category.into(),
                    segments,
                    said: format!("{:.2} % ({})", 100.0 * rate, grouped(of.clones)),
                });
            }
        }
    }
    let bars = Bars {
        title: "Clones by category".into(),
        description: "Clone rate and number of clones of each category of particles.".into(),
        x: "clone rate, %".into(),
        bars,
        keys: if names.len() > 1 { names.to_vec() } else { Vec::new() },
        to: None,
    };
    bars.drawing()
}
