//! What is told of a run over pixel hits.

use crate::console::table;
use peloton::event::Hashes;
use peloton::pipeline::{Config, Sequence};
use peloton::simd::Level;
use peloton::timepix::ChainCounts;
use peloton::{Result, event::Counters};
use peloton_io::input::timepix::PixelCounts;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Time one stage takes.
#[derive(Debug, Clone, Serialize)]
pub struct StageTime {
    name: &'static str,
    /// Per cluster, ns.
    ns_per_event: f64,
    /// Per hit, ns.
    ns_per_hit: f64,
}

/// The contract's keys; an event of a pixel detector is a cluster.
#[derive(Debug, Clone, Serialize)]
pub struct PixelSummary {
    sequence: Sequence,
    preset: String,
    events: u64,
    isa: &'static str,
    gang: usize,
    threads: usize,
    #[serde(flatten)]
    hashes: Hashes,
    tracks: u64,
    hits: u64,
    clusters: u64,
    hits_out: u64,
    triggers: u64,
    /// Hits with a trigger before them; null when none were asked for.
    paired_hits: Option<u64>,
    dropped: BTreeMap<&'static str, u64>,
    events_per_second: Option<f64>,
    hits_per_second: Option<f64>,
    stages: Vec<StageTime>,
}

/// What a summary is made from.
pub struct Outcome {
    /// The level that ran.
    pub level: Level,
    /// Threads that found clusters.
    pub threads: usize,
    /// What the input held.
    pub input: PixelCounts,
    /// What became of the hits.
    pub chain: ChainCounts,
    /// Hits dropped because they came too fast.
    pub not_taken: u64,
    /// Datagrams that the system had no room for.
    pub datagrams_dropped: u64,
    /// Hits paired with triggers, and triggers forgotten.
    pub paired: Option<[u64; 2]>,
    /// Time of the stages.
    pub counters: Counters,
    /// Hashes of the clusters.
    pub hashes: Hashes,
    /// Wall clock of the work.
    pub time: Duration,
}

impl PixelSummary {
    /// The summary of one pass.
    pub fn new(config: &Config, outcome: &Outcome) -> Result<Self> {
        let Outcome { level, threads, input, chain, not_taken, datagrams_dropped, .. } = outcome;
        let Outcome { paired, counters, hashes, time, .. } = outcome;
        let mut dropped: BTreeMap<_, _> = chain.dropped().collect();
        let others: [(_, u64); 7] = [
            ("datagrams", *datagrams_dropped),
            ("outside_sensor", input.outside),
            ("malformed", input.malformed),
            ("unknown_words", input.unknown),
            ("lost_by_device", input.lost_by_device),
            ("input_too_fast", *not_taken),
            ("forgotten_triggers", paired.map_or(0, |[_, forgotten]| forgotten)),
        ];
        dropped.extend(others.into_iter().filter(|(_, count)| *count > 0));
        let per_second = |count: u64| Some(count as f64 / time.as_secs_f64()).filter(|rate| rate.is_finite());
        let stages =
            config.sequence.stages().iter().zip(&counters.stages).map(|(stage, counter)| StageTime {
                name: stage.name,
                ns_per_event: counter.ns as f64 / chain.clusters.max(1) as f64,
                ns_per_hit: counter.ns as f64 / chain.hits_in.max(1) as f64,
            });
        Ok(Self {
            sequence: config.sequence,
            preset: config.preset_name(),
            events: chain.clusters,
            isa: level.isa().name(),
            gang: level.gang(),
            threads: *threads,
            hashes: *hashes,
            tracks: 0,
            hits: chain.hits_in,
            clusters: chain.clusters,
            hits_out: chain.hits_out,
            triggers: input.triggers,
            paired_hits: paired.map(|[paired, _]| paired),
            dropped,
            events_per_second: per_second(chain.clusters),
            hits_per_second: per_second(chain.hits_in),
            stages: stages.collect(),
        })
    }

    /// The summary in a few aligned lines.
    pub fn text(&self) -> String {
        let Self { sequence, preset, isa, gang, threads, hits, clusters, hits_out, .. } = self;
        let mut text = format!("{sequence}, preset {preset}, {isa} x {gang}, ");
        text.push_str(&format!("{threads} thread{}\n\n", if *threads == 1 { "" } else { "s" }));
        let size = *hits_out as f64 / (*clusters).max(1) as f64;
        text.push_str(&table(&[
            ["hits".into(), hits.to_string()],
            ["clusters".into(), clusters.to_string()],
            ["hits in clusters".into(), hits_out.to_string()],
            ["hits per cluster".into(), format!("{size:.2}")],
            ["triggers".into(), self.triggers.to_string()],
        ]));
        if let Some(paired) = self.paired_hits {
            text.push_str(&format!("{paired} hits have a trigger before them\n"));
        }
        for (reason, count) in &self.dropped {
            text.push_str(&format!("dropped {count}: {reason}\n"));
        }
        let rate = self.hits_per_second.unwrap_or_default() / 1e6;
        text.push_str(&format!("\n{rate:.2} million hits/s\n\n"));
        let total: f64 = self.stages.iter().map(|stage| stage.ns_per_hit).sum();
        let mut rows = vec![["stage", "ns/hit", "share"].map(String::from)];
        for stage in &self.stages {
            let share = if total > 0.0 { 100.0 * stage.ns_per_hit / total } else { 0.0 };
            rows.push([stage.name.into(), format!("{:.2}", stage.ns_per_hit), format!("{share:.1} %")]);
        }
        text.push_str(&table(&rows));
        let Hashes { int, output } = self.hashes;
        text.push_str(&format!("\nhash_int {int:016x}  output_hash {output:016x}\n"));
        text
    }
}
