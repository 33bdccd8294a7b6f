//! Measures the parts of an entry (a table or figure of a paper). The results of a part, its *facts*, are one JSON
//! object for each run; [`facts`](super::facts) lists the keys.

use super::facts;
use super::job::{Job, Variant};
use super::paper::{Axis, Hashes, Measure, Part, Sweep};
use super::table::Cell;
use peloton::simd::Level;
use peloton::{Error, Result};
use peloton_job::{Config, EventRange, Request, doubling, override_with};
use serde_json::Value;

/// The results of measuring one part of an entry.
#[derive(Default)]
pub struct Made {
    /// Names of the inputs.
    pub inputs: Vec<String>,
    /// The measured values of each run, as JSON.
    pub facts: Vec<Value>,
    /// Hashes of the results, for the report.
    pub hashes: Vec<String>,
    /// The configuration before the part's axes vary it; none for a part with several samples or without measurements.
    pub config: Option<Config>,
}

/// Measures one part of an entry.
///
/// # Errors
/// Errors of the measurements, and an error when the user interrupts them.
pub fn make(part: &Part, job: &Job<'_>) -> Result<Made> {
    let mut made = Made::default();
    if part.only_simulated && !job.is_simulated() {
        return Ok(made);
    }
    if let Some(stage) = &part.stage {
        job.stage(stage);
    }
    let (base, variants) = (variant(part, part.config.clone(), job)?.config, variants(part, job)?);
    if part.samples.is_empty() && !matches!(part.measure, Measure::Machine) {
        made.config = Some(base.clone());
    }
    for (sample, inputs) in samples(part, job) {
        if !part.samples.is_empty() {
            job.stage(&sample.key());
        }
        let request = Request {
            inputs: inputs.clone(),
            geometry: job.options.geometry.clone(),
            events: EventRange::default(),
            config: base.clone(),
            command: job.options.command.clone(),
            ..Request::default()
        };
        let (mut facts, hashes) = facts::measure(part, &request, &variants, job)?;
        for (facts, variant) in facts.iter_mut().zip(variants.iter().cycle()) {
            facts["sample"] = serde_json::to_value(&sample).unwrap_or_default();
            facts["set"] = serde_json::to_value(&variant.keys).unwrap_or_default();
            facts["label"] = serde_json::to_value(&variant.label).unwrap_or_default();
        }
        made.inputs.extend(inputs);
        made.facts.extend(facts);
        made.hashes.extend(listed(part.hashes, hashes, &request)?);
    }
    Ok(made)
}

/// Returns the inputs that are measured one after the other, each with a name.
fn samples(part: &Part, job: &Job<'_>) -> Vec<(Cell, Vec<String>)> {
    let given = &job.options.inputs;
    match (job.is_simulated(), part.samples.is_empty()) {
        (false, true) => return vec![(Cell::Nothing, given.clone())],
        (false, false) => {
            return given.iter().map(|input| (input.as_str().into(), vec![input.clone()])).collect();
        }
        _ => {}
    }
    let threads = job.threads();
    let form = job.size(&part.input).map_or("", String::as_str);
    let form =
        form.replace("{threads}", &threads.to_string()).replace("{2 threads}", &(2 * threads).to_string());
    let input =
        |sample: &Cell| Some(form.replace("{sample}", &sample.key())).filter(|input| !input.is_empty());
    let names = if part.samples.is_empty() { &[Cell::Nothing][..] } else { &part.samples };
    names.iter().map(|sample| (sample.clone(), input(sample).into_iter().collect())).collect()
}

/// Returns a configuration for every combination of values along the part's axes.
///
/// # Errors
/// [`Error::Config`] for a combination that is not valid.
pub fn variants(part: &Part, job: &Job<'_>) -> Result<Vec<Variant>> {
    let mut all = vec![part.config.clone()];
    for axis in &part.axes {
        let patches = match axis {
            Axis::Patches(patches) => patches.clone(),
            Axis::Sweep(sweep) => sweep.patches(job.threads()),
        };
        let with = |table: &toml::Table| {
            let table = table.clone();
            patches.clone().into_iter().map(move |patch| {
                let mut table = table.clone();
                override_with(&mut table, patch);
                table
            })
        };
        all = all.iter().flat_map(with).collect();
    }
    all.into_iter().map(|keys| variant(part, keys, job)).collect()
}

fn variant(part: &Part, keys: toml::Table, job: &Job<'_>) -> Result<Variant> {
    let wrong = |e: &dyn std::fmt::Display| Error::Internal(format!("papers/*.toml: {e}"));
    let mut text = toml::to_string(&keys).map_err(|e| wrong(&e))?;
    if let Some(number) = keys.get("n") {
        text = text.replace("\"{n}\"", &number.to_string());
    }
    let keys: toml::Table = text.parse().map_err(|e| wrong(&e))?;
    let mut config = keys.clone();
    let label = config.remove("label").and_then(|label| label.as_str().map(String::from));
    config.remove("n");
    let is_set = config.contains_key("threads");
    let is_fixed = config.get("threads").is_some_and(toml::Value::is_integer);
    let mut config = Config::from_toml(&toml::to_string(&config).map_err(|e| wrong(&e))?, None)?;
    if !is_fixed {
        let is_timed = !matches!(part.measure, Measure::Machine | Measure::Check);
        config.threads = job.options.threads.or((is_timed && !is_set).then_some(1));
    }
    Ok(Variant { config, keys, label })
}

impl Sweep {
    fn patches(self, threads: usize) -> Vec<toml::Table> {
        let of_levels = |levels: Vec<Level>| {
            let patch = |level: &Level| format!("isa = '{}'\ngang = {}", level.isa(), level.gang());
            levels.iter().map(patch).collect::<Vec<_>>()
        };
        let texts = match self {
            Self::Levels => of_levels(Level::usual()),
            Self::EveryLevel => of_levels(Level::supported()),
            Self::UpTo16 => (1..=threads.min(16)).map(|n| format!("n = {n}")).collect(),
            Self::Doubling => doubling(threads).into_iter().map(|n| format!("n = {n}")).collect(),
        };
        texts.iter().filter_map(|text| text.parse().ok()).collect()
    }
}

/// Returns the hashes that a report lists.
///
/// # Errors
/// [`Error::Internal`] when hashes differ that must be the same.
fn listed(which: Hashes, mut hashes: Vec<String>, request: &Request) -> Result<Vec<String>> {
    match which {
        Hashes::Each => {}
        Hashes::None => hashes.clear(),
        Hashes::Distinct | Hashes::Same => hashes.dedup(),
    }
    if which == Hashes::Same && hashes.len() > 1 {
        let message = format!(
            "{}: configurations that may differ only in speed gave different results",
            request.inputs.join(", ")
        );
        return Err(Error::Internal(message));
    }
    Ok(hashes)
}
