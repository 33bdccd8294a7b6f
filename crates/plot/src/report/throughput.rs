//! The section of a report on `throughput`: rates, and times of the stages.

use super::figures::{Bar, Bars, Figures, Segment};
use super::table::{NOTHING, short, table, time_unit};
use crate::text::{grouped, percent, rate};
use maud::{Markup, html};
use serde::Deserialize;

/// Largest number of stages.
const MAX_STAGES: usize = 64;

/// JSON results of `peloton throughput`.
#[derive(Debug, Deserialize)]
pub struct ThroughputData {
    #[serde(default)]
    events_per_second: Option<f64>,
    #[serde(default)]
    events_per_second_best: Option<f64>,
    #[serde(default)]
    hits_per_second: Option<f64>,
    #[serde(default)]
    bytes_per_second: Option<f64>,
    repetitions: u64,
    #[serde(default)]
    seconds: f64,
    #[serde(default)]
    output_hash: String,
    stages: Vec<Stage>,
}

#[derive(Debug, Deserialize)]
struct Stage {
    name: String,
    ns_per_event: f64,
    #[serde(default)]
    occupancy: Option<f64>,
}

impl ThroughputData {
    /// Checks that all numbers are possible; otherwise returns a message.
    pub fn validate(&self) -> Result<(), String> {
        if self.stages.len() > MAX_STAGES {
            return Err(format!("{} stages are more than {MAX_STAGES}", self.stages.len()));
        }
        let is_bad = |stage: &&Stage| {
            stage.ns_per_event < 0.0 || stage.occupancy.is_some_and(|share| !(0.0..=1.0).contains(&share))
        };
        match self.stages.iter().find(is_bad) {
            Some(stage) => Err(format!("stage {}: impossible time or lane occupancy", stage.name)),
            None => Ok(()),
        }
    }
}

/// Returns a table of rates, and figures of the stages' times and lane occupancies.
pub fn section(names: &[String], all: &[ThroughputData], figures: &mut Figures) -> Markup {
    let pictures = [stages(names, all), occupancy(names, all)];
    html! {
        (rates(names, all))
        div.figures { @for drawing in pictures.into_iter().flatten() { (figures.figure(drawing)) } }
    }
}

fn rates(names: &[String], all: &[ThroughputData]) -> Markup {
    let first = all.first().and_then(|one| one.events_per_second);
    let rows = names.iter().zip(all).map(|(name, one)| {
        let per_second = |value: Option<f64>| value.map_or(NOTHING.into(), rate);
        let ratio = one.events_per_second.zip(first).filter(|(_, first)| *first > 0.0);
        vec![
            name.clone(),
            per_second(one.events_per_second),
            ratio.map_or(NOTHING.into(), |(own, first)| format!("{:.3}", own / first)),
            per_second(one.events_per_second_best),
            per_second(one.hits_per_second),
            one.bytes_per_second.map_or(NOTHING.into(), |bytes| format!("{} MB/s", short(bytes * 1e-6))),
            grouped(one.repetitions),
            format!("{:.2}", one.seconds),
            one.output_hash.clone(),
        ]
    });
    let head = [
        "",
        "events/s",
        "ratio",
        "best round, events/s",
        "hits/s",
        "raw banks",
        "passes",
        "time, s",
        "hash of output",
    ];
    table(&head, &rows.collect::<Vec<_>>())
}

/// Returns the names of the stages of all inputs, in the order in which they run; stages that take no time are left out.
fn stage_names(all: &[ThroughputData]) -> Vec<&str> {
    let mut names = Vec::new();
    for stage in all.iter().flat_map(|one| &one.stages) {
        if stage.ns_per_event > 0.0 && !names.contains(&stage.name.as_str()) {
            names.push(stage.name.as_str());
        }
    }
    names
}

fn stages(names: &[String], all: &[ThroughputData]) -> Option<super::figures::Drawing> {
    let total = |one: &ThroughputData| one.stages.iter().map(|stage| stage.ns_per_event).sum::<f64>();
    let (scale, unit) = time_unit(all.iter().map(total).fold(0.0, f64::max));
    let keys = stage_names(all);
    let bars = names.iter().zip(all).map(|(name, one)| {
        let segments = keys.iter().enumerate().map(|(colour, key)| {
            let of = one.stages.iter().filter(|stage| stage.name == *key);
            let value = of.map(|stage| stage.ns_per_event).sum::<f64>() / scale;
            Segment { name: key.to_string(), value, colour }
        });
        let said = format!("{} {unit}", short(total(one) / scale));
        Bar { name: name.clone(), segments: segments.collect(), said }
    });
    let bars = Bars {
        title: "Time of the stages".into(),
        description: "Time per event on one thread, stage after stage.".into(),
        x: format!("time per event on one thread, {unit}"),
        bars: bars.collect(),
        keys: keys.iter().map(|key| key.to_string()).collect(),
        to: None,
    };
    bars.drawing()
}

fn occupancy(names: &[String], all: &[ThroughputData]) -> Option<super::figures::Drawing> {
    let known = |one: &ThroughputData, key: &str| {
        one.stages.iter().find(|stage| stage.name == key).and_then(|stage| stage.occupancy)
    };
    let mut bars = Vec::new();
    for key in stage_names(all) {
        for (colour, (name, one)) in names.iter().zip(all).enumerate() {
            if let Some(value) = known(one, key) {
                let segments = vec![Segment { name: name.clone(), value, colour }];
                bars.push(Bar { name: key.into(), segments, said: percent(Some(value)) });
            }
        }
    }
    let keys = if all.len() > 1 { names.to_vec() } else { Vec::new() };
    let bars = Bars {
        title: "Lane occupancy".into(),
        description: "Share of the lanes that did useful work, for each stage that counts lanes.".into(),
        x: "share of the lanes that did useful work".into(),
        bars,
        keys,
        to: Some(1.0),
    };
    bars.drawing()
}
