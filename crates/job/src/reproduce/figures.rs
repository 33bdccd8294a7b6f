//! Reads figures off what a check or a measurement gives to programs.

use super::table::Cell;
use crate::{Checked, Throughput};
use peloton::{Error, Result};
use serde_json::Value;

/// Particles below which a share is not worth a rate: counts are told instead.
const MIN_PARTICLES: u64 = 1000;

/// What must be known of tables over gangs.
pub const GANGS: &str = "Lanes: how many tracks or candidates a kernel works on at once (the gang). The rows are those of this \
                         build: the usual number of each instruction set, or all from 1 to 64 with the cargo feature \
                         all-gangs (cargo run --release --features peloton-cli/all-gangs). With AVX2 and 8 lanes, SciFi, \
                         matching and builders of the cylinder work on 16";

/// What a check found of one category of particles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Particles that could be found.
    pub reconstructible: u64,
    /// Of these, those found.
    pub reconstructed: u64,
    /// Found over all.
    pub efficiency: Option<f64>,
    /// Tracks beyond the first of each particle.
    pub clones: u64,
    /// Clone rate by the rules of the check.
    pub clone_rate: Option<f64>,
}

impl Found {
    /// Reads a category by its name.
    ///
    /// # Errors
    /// [`Error::Internal`] when the check has no such category.
    pub fn of(checked: &Checked, category: &str) -> Result<Self> {
        let one = categories_of(checked).find(|one| one["name"] == category);
        let one = one.ok_or_else(|| Error::Internal(format!("the check has no category {category}")))?;
        let count = |key: &str| one[key].as_u64().unwrap_or(0);
        Ok(Self {
            reconstructible: count("reconstructible"),
            reconstructed: count("reconstructed"),
            efficiency: one["efficiency"].as_f64(),
            clones: count("clones"),
            clone_rate: one["clone_rate"].as_f64(),
        })
    }

    /// Whether there are enough particles to quote rates.
    pub fn is_many(&self) -> bool {
        self.reconstructible >= MIN_PARTICLES
    }
}

fn categories_of(checked: &Checked) -> impl Iterator<Item = &Value> {
    checked.json.get("categories").and_then(Value::as_array).into_iter().flatten()
}

/// Names of all categories.
pub fn categories(checked: &Checked) -> Vec<String> {
    categories_of(checked).filter_map(|one| one["name"].as_str()).map(String::from).collect()
}

/// The bins of a category against a property.
pub fn bins<'a>(checked: &'a Checked, category: &str, variable: &str) -> Vec<&'a Value> {
    let tables = checked.json.get("tables").and_then(Value::as_array).into_iter().flatten();
    let mut of = tables.filter(|table| table["category"] == category && table["variable"] == variable);
    of.next().and_then(|table| table["bins"].as_array()).into_iter().flatten().collect()
}

/// An edge of a bin.
pub fn edge(bin: &Value, key: &str) -> Cell {
    bin[key].as_f64().map_or(Cell::Nothing, |edge| Cell::Number(edge, 2))
}

/// Ghosts over tracks of one category; none without tracks.
pub fn ghost_rate_of(checked: &Checked, category: &str) -> Option<f64> {
    categories_of(checked).find(|one| one["name"] == category)?["ghost_rate"].as_f64()
}

/// Ghosts over tracks; none without tracks.
pub fn ghost_rate(checked: &Checked) -> Option<f64> {
    checked.json.get("ghost_rate")?.as_f64()
}

/// A text or number of a check as text.
pub fn text_of(checked: &Checked, key: &str) -> String {
    match checked.json.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

/// Time of these stages per event on one thread, ns.
pub fn stages_ns(measured: &Throughput, names: &[&str]) -> f64 {
    let stages = measured.summary.stages.iter().filter(|stage| names.contains(&stage.name));
    stages.map(|stage| stage.ns_per_event).sum()
}

/// Time of a part of a stage per event on one thread, ns; none where the algorithm does not time it apart.
pub fn part_ns(measured: &Throughput, part: &str) -> Option<f64> {
    let parts = measured.summary.stages.iter().flat_map(|stage| &stage.parts);
    parts.filter(|one| one.name == part).map(|one| one.ns_per_event).next()
}

/// Thousand events a second on one thread, of a time per event.
pub fn khz(ns_per_event: f64) -> Cell {
    if ns_per_event > 0.0 { Cell::Number(1e6 / ns_per_event, 2) } else { Cell::Nothing }
}
