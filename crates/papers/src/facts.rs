//! Performs the measurement of a part. `papers/*.toml` refer to the measured values of a run by these paths:
//!
//! - `check`: the keys of `peloton check --json`, except that `names` lists the categories, `categories/NAME` is one
//!   category, and `bins/NAME PROPERTY/NUMBER` is one bin of a category against a property.
//! - `throughput`: times `stages/NAME` and `parts/NAME` in ns per event, summed over threads; `all`, the sum of the
//!   stages; `wall/NAME`, a stage's share of the wall clock in ns per event; `rate` in events/s, `hit_rate` in hits/s;
//!   `hits` per event; `threads`, `isa`, `gang`.
//! - `tune`, run by level: `isa`, `gang`; `stages/NAME`, `all`, ns per event; `cpu`; fastest `best/isa`, `best/gang`.
//! - `scan`: `slice`, `threads`, and `rate` in events/s. `machine`: `name`, `threads`, and the instruction `sets`.
//! - `layouts`: see `layouts.rs`. `agreement` and `splitting`: see `pixels.rs`.

use super::job::{Facts, Job, Variant};
use super::paper::{Measure, Part};
use super::{layouts, pixels};
use peloton::simd::{Isa, Level};
use peloton::{Error, Result};
use peloton_job::{
    CheckOptions, Checked, Config, Profile, Request, Throughput, check_each, cpu_name, throughput,
    throughput_each, tune,
};
use serde_json::{Map, Value, json};

/// Measures one sample of a part with every configuration in `variants`.
///
/// # Errors
/// Errors of the measurements, and an error when the user interrupts them.
pub fn measure(part: &Part, request: &Request, variants: &[Variant], job: &Job<'_>) -> Result<Facts> {
    let configs: Vec<Config> = variants.iter().map(|variant| variant.config.clone()).collect();
    match &part.measure {
        Measure::Machine => Ok((vec![machine()], Vec::new())),
        Measure::Check => check(part, request, &configs, job),
        Measure::Throughput => rates(part, request, &configs, job),
        Measure::Scan => scan(request, job),
        Measure::Tune => tuned(request, variants, job),
        Measure::Layouts(products) => layouts::measure(products, &configs, job),
        Measure::Agreement(pairs) => pixels::agreement(pairs, request, variants, job),
        Measure::Splitting { windows, blocks, regions } => {
            pixels::splitting(windows, blocks, regions, request, job)
        }
    }
}

fn machine() -> Value {
    let sets = Isa::ALL.into_iter().filter(|isa| Level::choose(Some(*isa), None).is_ok()).map(Isa::name);
    let sets = sets.collect::<Vec<_>>().join(", ");
    let cpu = cpu_name();
    json!({ "name": format!("this one, {cpu}"), "threads": Config::default().thread_count(), "sets": sets })
}

fn check(part: &Part, request: &Request, configs: &[Config], job: &Job<'_>) -> Result<Facts> {
    let rules = part.rules.as_deref().map(str::parse).transpose()?;
    let options = CheckOptions { rules, ..CheckOptions::default() };
    let checked = match configs {
        // `check` names an input that is empty.
        [config] => {
            let request = Request { config: config.clone(), ..request.clone() };
            peloton_job::check(&request, &options, job.host).map(|one| vec![one])
        }
        _ => check_each(request, configs, &options, job.host),
    };
    let checked = job.complete(checked)?;
    let inputs = request.inputs.join(", ");
    let (mut facts, mut hashes) = (Vec::new(), Vec::new());
    for Checked { failure, is_right, json, .. } in checked {
        if let Some(failure) = failure {
            return Err(Error::format(inputs, failure));
        }
        if !is_right {
            let sequence = request.config.sequence;
            return Err(Error::Internal(format!(
                "{inputs}: algorithms disagree; `peloton check --sequence {sequence} {inputs}` shows the difference"
            )));
        }
        hashes.push(json.get("output_hash").and_then(Value::as_str).unwrap_or_default().to_string());
        facts.push(by_name(json));
    }
    Ok((facts, hashes))
}

/// Returns the JSON of a check with categories and bins by their names.
fn by_name(mut json: Map<String, Value>) -> Value {
    let mut list = |key: &str| match json.remove(key) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let (categories, tables) = (list("categories"), list("tables"));
    let text = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_string();
    json.insert("names".into(), categories.iter().map(|item| text(item, "name")).collect());
    json.insert(
        "categories".into(),
        categories.into_iter().map(|item| (text(&item, "name"), item)).collect(),
    );
    let bins = tables.into_iter().map(|mut table| {
        (format!("{} {}", text(&table, "category"), text(&table, "variable")), table["bins"].take())
    });
    json.insert("bins".into(), bins.collect());
    json.into()
}

fn rates(part: &Part, request: &Request, configs: &[Config], job: &Job<'_>) -> Result<Facts> {
    let rounds = if job.options.quick { 1 } else { part.rounds.max(1) };
    let every: Vec<Config> = (0..rounds).flat_map(|_| configs.to_vec()).collect();
    let measured = job.complete(throughput_each(request, &every, job.plan(), job.host))?;
    let (first, later) = measured.split_at(configs.len());
    let hashes = first.iter().map(hash).collect();
    let mut facts: Vec<Value> = first.iter().map(rate).collect();
    for (number, one) in later.iter().enumerate() {
        let (run, again) = (number % configs.len(), rate(one));
        if hash(one) != hash(&first[run]) {
            return Err(Error::Internal("two rounds of a measurement gave different results".into()));
        }
        for (stage, least) in facts[run]["stages"].as_object_mut().into_iter().flatten() {
            if again["stages"][stage].as_f64() < least.as_f64() {
                *least = again["stages"][stage].clone();
            }
        }
    }
    Ok((facts, hashes))
}

fn hash(measured: &Throughput) -> String {
    format!("{:016x}", measured.summary.hashes.output)
}

fn rate(measured: &Throughput) -> Value {
    let summary = &measured.summary;
    let all: f64 = summary.stages.iter().map(|stage| stage.ns_per_event).sum();
    let event = 1e9 / measured.events_per_second_best;
    let stages = || summary.stages.iter();
    let ns: Map<_, _> = stages().map(|stage| (stage.name.into(), stage.ns_per_event.into())).collect();
    let parts = stages().flat_map(|stage| &stage.parts);
    let parts: Map<_, _> = parts.map(|part| (part.name.into(), part.ns_per_event.into())).collect();
    // Stage times count all threads: each stage gets its share of the wall clock, as if no thread waited.
    let share = |ns: f64| Value::from(event * ns / all.max(1.0));
    let wall: Map<_, _> = stages().map(|stage| (stage.name.into(), share(stage.ns_per_event))).collect();
    json!({
        "stages": ns, "parts": parts, "all": all, "wall": wall,
        "rate": measured.events_per_second_best, "hit_rate": measured.hits_per_second_best,
        "hits": summary.hits as f64 / summary.events.max(1) as f64,
        "threads": summary.threads, "isa": summary.isa, "gang": summary.gang, "output_hash": hash(measured),
    })
}

fn scan(request: &Request, job: &Job<'_>) -> Result<Facts> {
    let measured = job.complete(throughput(request, job.plan(), true, job.host))?;
    let points = measured.scan.iter().map(
        |point| json!({ "slice": point.slice, "threads": point.streams, "rate": point.events_per_second }),
    );
    Ok((points.collect(), vec![hash(&measured)]))
}

fn tuned(request: &Request, variants: &[Variant], job: &Job<'_>) -> Result<Facts> {
    let mut profiles: Vec<Profile> = Vec::new();
    for Variant { config, label, .. } in variants {
        if let Some(label) = label {
            job.stage(label);
        }
        let request = Request { config: config.clone(), ..request.clone() };
        profiles.push(job.complete(tune(&request, job.plan(), job.host))?.profile);
    }
    let levels = profiles.iter().map(|profile| profile.measured.len()).min().unwrap_or(0);
    let of_level = |at: usize| profiles.iter().map(move |profile| (profile, &profile.measured[at]));
    let facts = (0..levels).flat_map(of_level).map(|(profile, one)| {
        json!({
            "isa": one.isa, "gang": one.gang, "all": one.ns_per_event, "stages": one.stages,
            "cpu": profile.cpu, "best": { "isa": profile.isa, "gang": profile.gangs.get(&profile.isa) },
        })
    });
    Ok((facts.collect(), Vec::new()))
}
