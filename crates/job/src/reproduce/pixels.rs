//! Pixel clusters: figures 3 and 4.

use super::entry::{Job, SEED, usable};
use super::report::Report;
use super::table::Origin::{Here, Paper, Setting};
use super::table::{Cell, Table};
use crate::{CheckOptions, Config, Preset, Request, SequenceName, check};
use peloton::{Error, Result};
use peloton_sim::timepix::PixelPreset;
use serde_json::Value;

/// The samples: those of the simulation, or the inputs that were given, each by itself.
pub(super) fn samples(job: &Job<'_>, hits: u64) -> Vec<(String, Option<PixelPreset>)> {
    if !job.is_simulated() {
        return job.options.inputs.iter().map(|input| (input.clone(), None)).collect();
    }
    let sample = |(name, preset): (&str, PixelPreset)| {
        (format!("sim:timepix,preset={name},hits={hits},seed={SEED}"), Some(preset))
    };
    PixelPreset::NAMES.map(sample).to_vec()
}

/// A request for one sample.
pub(super) fn request(job: &Job<'_>, sample: &str) -> Request {
    let request = job.timed(SequenceName::Timepix, Preset::Best, sample);
    Request { inputs: vec![sample.into()], ..request }
}

/// The name of a sample in a table.
pub(super) fn name(sample: &str, preset: Option<PixelPreset>) -> Cell {
    preset.map_or(sample, |preset| preset.name()).into()
}

/// Figure 3a: cluster sizes, and whether all algorithms find the same clusters.
///
/// # Errors
/// Those of the checks, and when algorithms disagree.
pub fn figure_3(job: &Job<'_>) -> Result<Report> {
    let samples = samples(job, job.size(200_000, 20_000));
    let mut table = Table::new("Cluster sizes, pixels")
        .columns(Setting, &[("sample", "")])
        .columns(
            Here,
            &[("clusters", ""), ("mean size", ""), ("deviation", ""), ("algorithms that agree", "")],
        )
        .columns(Paper, &[("mean size", ""), ("deviation", "")]);
    let mut hashes = Vec::new();
    for (sample, preset) in &samples {
        let name = name(sample, *preset);
        job.stage(&name.text());
        let request = request(job, sample);
        let checked = job.complete(check(&request, &CheckOptions::default(), job.host))?;
        usable(&request, &checked)?;
        if !checked.is_right {
            return Err(Error::Internal(format!(
                "{sample}: the algorithms find different clusters; `peloton check --sequence timepix {sample}` says which"
            )));
        }
        hashes.push(checked.json.get("output_hash").and_then(Value::as_str).unwrap_or_default().into());
        let row = checked.json.get("definitions").and_then(|all| all.get(0)).cloned().unwrap_or_default();
        let number = |key: &str| row[key].as_f64().map_or(Cell::Nothing, |value| Cell::Number(value, 2));
        table.row(vec![
            name,
            Cell::Count(row["clusters"].as_u64().unwrap_or(0)),
            number("mean_size"),
            number("size_deviation"),
            Cell::Count(row["agree"].as_array().map_or(0, Vec::len) as u64),
            preset.map_or(Cell::Nothing, |preset| Cell::Number(preset.mean(), 2)),
            preset.map_or(Cell::Nothing, |preset| Cell::Number(preset.deviation(), 2)),
        ]);
    }
    let note = "Simulated samples have the paper's mean and deviation of the cluster size; finding the same again shows that \
                clusters are found whole. A sample of large clusters has few of them, so its mean and deviation scatter more";
    Ok(Report {
        input: samples.into_iter().map(|(sample, _)| sample).collect(),
        machine: job.machine(&Config::default())?,
        paper_machine: "measured at CERN's SPS and with an Am-241 source",
        hashes,
        tables: vec![table],
        notes: vec![note.into()],
        ..Report::default()
    })
}

/// Figure 4: throughput against threads, for all samples.
///
/// # Errors
/// Those of the measurements.
pub fn figure_4(job: &Job<'_>) -> Result<Report> {
    let samples = samples(job, job.size(1_000_000, 20_000));
    let all = job.options.threads.unwrap_or_else(|| Config::default().thread_count()).max(1);
    let table = Table::new("Throughput against threads and cluster size")
        .columns(Setting, &[("sample", ""), ("mean size", "pixels"), ("clustering threads", "")])
        .columns(Here, &[("throughput", "Mhit/s"), ("over 1 clustering thread", "")]);
    let mut table = table.drawn(1, &[3], Some(2), true);
    let mut hashes = Vec::new();
    for (sample, preset) in &samples {
        let name = name(sample, *preset);
        job.stage(&name.text());
        let request = request(job, sample);
        let threads = |count| Config { threads: Some(count), ..request.config.clone() };
        let configs: Vec<Config> = (1..=all.min(16)).map(threads).collect();
        let measured = job.throughput(&request, &configs)?;
        let first = measured[0].hits_per_second_best;
        for (one, threads) in measured.iter().zip(1u64..) {
            let summary = &one.summary;
            if summary.hashes != measured[0].summary.hashes {
                let message = format!("{sample}: results on {threads} threads differ from those on one");
                return Err(Error::Internal(message));
            }
            let size = summary.hits as f64 / summary.events.max(1) as f64;
            table.row(vec![
                name.clone(),
                Cell::Number(size, 2),
                Cell::Count(threads),
                Cell::Number(one.hits_per_second_best / 1e6, 2),
                Cell::ratio(one.hits_per_second_best, first, 2),
            ]);
        }
        hashes.push(format!("{:016x}", measured[0].summary.hashes.output));
    }
    let notes = [
        "From hits in memory to clusters with features: sort, search and features, and calibration where the hits have \
         one",
        "Clustering threads: those that sort windows in time and find their clusters. The first of them also cuts the hits \
         into windows and merges clusters at their borders, and it is the only one in the rows of 1; the last column is \
         over that row of the same sample. Hits are in memory, so no thread reads them, unlike in `peloton run`, where \
         further threads read and write. The paper's data lane is three threads",
        "The paper's figure has no numbers in its text. Its author's program, run by us on one Zen 4 core, clusters 1.1 to \
         1.5 Mhit/s with one lane",
    ];
    Ok(Report {
        input: samples.into_iter().map(|(sample, _)| sample).collect(),
        machine: job.machine(&Config::default())?,
        paper_machine: "several CPUs; 4 million hits, repeated 25 times",
        hashes,
        tables: vec![table],
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}
