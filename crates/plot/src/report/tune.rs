//! The section of a report on `tune`: times by instruction set and gang, of the sequence and of each stage.

use super::figures::{Cell, Drawing, Figures, Heat};
use super::table::{short, time_unit};
use maud::{Markup, html};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of measurements.
const MAX_MEASURED: usize = 500;
/// Instruction sets in drawing order; others follow them.
const ORDER: [&str; 7] = ["scalar", "portable", "avx2", "avx512", "avx512:loads", "avx512:gathers", "neon"];

/// JSON results of `peloton tune`.
#[derive(Debug, Deserialize)]
pub struct TuneData {
    measured: Vec<Measured>,
}

#[derive(Debug, Deserialize)]
struct Measured {
    isa: String,
    gang: u64,
    ns_per_event: f64,
    #[serde(default)]
    stages: BTreeMap<String, f64>,
}

impl TuneData {
    /// Checks that all times are possible; otherwise returns a message.
    pub fn validate(&self) -> Result<(), String> {
        if self.measured.len() > MAX_MEASURED {
            return Err(format!("{} measurements are more than {MAX_MEASURED}", self.measured.len()));
        }
        let times =
            |one: &Measured| one.stages.values().copied().chain([one.ns_per_event]).collect::<Vec<_>>();
        match self.measured.iter().find(|one| times(one).iter().any(|time| !time.is_finite() || *time < 0.0))
        {
            Some(one) => Err(format!("{} x {}: a time is negative or not a number", one.isa, one.gang)),
            None => Ok(()),
        }
    }
}

/// Returns heat maps of the times of each input.
pub fn section(names: &[String], all: &[TuneData], figures: &mut Figures) -> Markup {
    html! {
        p { "Time per event; the shortest time is framed. Point at a cell for the speedup over scalar code with one lane." }
        @for (name, one) in names.iter().zip(all) {
            @if names.len() > 1 { h3 { (name) } }
            @let stages: BTreeSet<&String> = one.measured.iter().flat_map(|one| one.stages.keys()).collect();
            div.figures {
                @if let Some(drawing) = heat(one, "Whole sequence", |one| Some(one.ns_per_event)) {
                    (figures.figure(drawing))
                }
                @for stage in stages {
                    @let drawing = heat(one, &format!("Stage {stage}"), |one| one.stages.get(stage).copied());
                    @if let Some(drawing) = drawing { (figures.figure(drawing)) }
                }
            }
        }
    }
}

/// Returns one heat map; none if no time was measured.
fn heat(data: &TuneData, title: &str, time: impl Fn(&Measured) -> Option<f64>) -> Option<Drawing> {
    let timed = || data.measured.iter().filter_map(|one| Some((one, time(one).filter(|ns| *ns > 0.0)?)));
    let gangs: Vec<u64> = timed().map(|(one, _)| one.gang).collect::<BTreeSet<_>>().into_iter().collect();
    let known = |isa: &str| ORDER.iter().position(|name| *name == isa).unwrap_or(ORDER.len());
    let isas: BTreeSet<(usize, &str)> = timed().map(|(one, _)| (known(&one.isa), one.isa.as_str())).collect();
    let isas: Vec<&str> = isas.into_iter().map(|(_, isa)| isa).collect();
    let (scale, unit) = time_unit(timed().map(|(_, ns)| ns).fold(0.0, f64::max));
    let scalar = timed().find(|(one, _)| one.isa == "scalar" && one.gang == 1).map(|(_, ns)| ns);
    let cells: Vec<Cell> = timed()
        .filter_map(|(one, ns)| {
            let ratio = scalar
                .map_or(String::new(), |scalar| format!(", {:.2} times as fast as scalar x 1", scalar / ns));
            let text = short(ns / scale);
            Some(Cell {
                column: gangs.iter().position(|gang| *gang == one.gang)?,
                row: isas.iter().position(|isa| *isa == one.isa)?,
                value: ns / scale,
                hover: format!("{} x {}: {text} {unit}{ratio}", one.isa, one.gang),
                text,
            })
        })
        .collect();
    let heat = Heat {
        title: format!("{title}, {unit} per event"),
        description: format!(
            "Time per event in {unit} for each instruction set and number of lanes of a gang."
        ),
        columns: gangs.iter().map(u64::to_string).collect(),
        rows: isas.iter().map(|isa| isa.to_string()).collect(),
        x: "lanes of a gang",
        y: "instruction set",
        z: format!("time per event, {unit}"),
        cells,
    };
    heat.drawing()
}
