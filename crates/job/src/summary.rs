//! [`Summary`]: what a run did, with the keys that scripts depend on.

use crate::{Config, Request, SequenceName, Source, System};
use peloton::engine::{Batch, Machine, Sliced};
use peloton::event::{Counters, Hashes, Results};
use peloton::{Error, Result};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// Time one stage takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageTime {
    /// Name of the stage.
    pub name: &'static str,
    /// Time per event on one thread, ns; an event of an endless stream is an item of its results.
    pub ns_per_event: f64,
    /// Time per hit that went in, ns.
    pub ns_per_hit: f64,
    /// Share of the lanes that did wanted work, 0..1; `None` when the stage does not count them.
    #[serde(skip)]
    pub occupancy: Option<f64>,
}

/// Sums over everything that was reconstructed.
#[derive(Debug, Clone, Copy)]
pub struct Totals {
    /// Counts of all stages.
    pub counters: Counters,
    /// Items of an endless stream's results, events otherwise.
    pub events: u64,
    /// Hits that went in.
    pub hits: u64,
    /// Tracks that came out.
    pub tracks: u64,
    /// How many equal passes these are the sums of.
    pub passes: u64,
    /// Wall clock from input in memory to results in memory.
    pub time: Duration,
}

impl Default for Totals {
    fn default() -> Self {
        Self { counters: Counters::default(), events: 0, hits: 0, tracks: 0, passes: 1, time: Duration::ZERO }
    }
}

impl Totals {
    /// Adds a batch.
    pub fn add<B: Batch, R: Results>(
        &mut self,
        counters: &Counters,
        time: Duration,
        batch: &B,
        results: &Sliced<R>,
    ) {
        self.counters.merge(counters);
        self.time += time;
        self.hits += hits_of(batch, counters);
        self.events += results.slices().map(|piece| piece.items(0) as u64).sum::<u64>();
        self.tracks += results.tracks() as u64;
    }
}

/// Hits of a batch, which for raw banks only decoding tells.
pub fn hits_of<B: Batch>(batch: &B, counters: &Counters) -> u64 {
    batch.hits().unwrap_or(counters.stages[0].items_out)
}

/// What a run did. Serialised, it has the keys of the command line's contract, in its order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// What was reconstructed.
    pub sequence: SequenceName,
    /// Name of the parameters: the preset's, or `custom`.
    pub preset: String,
    /// Number of events, dropped ones included; of an endless stream the items of its results.
    pub events: u64,
    /// Name of the level that ran, or kind of device.
    pub isa: &'static str,
    /// Lanes of the gang that ran.
    pub gang: usize,
    /// Number of threads, or streams of a device.
    pub threads: usize,
    /// Hashes of the results.
    #[serde(flatten)]
    pub hashes: Hashes,
    /// Number of tracks.
    pub tracks: u64,
    /// Number of hits that went in.
    pub hits: u64,
    /// Events and items that were lost, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Rate of the reconstruction alone on the wall clock, events/s; null when no time passed.
    #[serde(serialize_with = "finite_or_null")]
    pub events_per_second: f64,
    /// Rate on the wall clock, hits/s; null when no time passed.
    #[serde(serialize_with = "finite_or_null")]
    pub hits_per_second: f64,
    /// Wall clock of the whole job: input, reconstruction, output, s.
    pub wall_seconds: f64,
    /// How long of it input was read or simulated, in part while the reconstruction ran, s.
    pub input_seconds: f64,
    /// Time of each stage.
    pub stages: Vec<StageTime>,
    /// Keys that only some sequences or inputs have.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
    /// What an event is: an event, or an item of an endless stream's results such as a cluster.
    #[serde(skip)]
    pub row: &'static str,
    /// Whether the sequence makes tracks.
    #[serde(skip)]
    pub has_tracks: bool,
    /// What the input is: read, simulated, or live, when the rates are what came in.
    #[serde(skip)]
    pub input: InputKind,
    /// Whether the job was ended early.
    #[serde(skip)]
    pub is_interrupted: bool,
}

/// Where input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Files and pipes.
    Read,
    /// The simulation.
    Simulated,
    /// A readout, in its own time.
    Live,
}

impl InputKind {
    /// What the inputs of a request are, when they are not live.
    pub(crate) fn of(request: &Request) -> Self {
        let is_simulated = request.inputs.first().is_none_or(|input| input.starts_with("sim:"));
        if is_simulated { Self::Simulated } else { Self::Read }
    }
}

fn finite_or_null<S: Serializer>(value: &f64, to: S) -> std::result::Result<S::Ok, S::Error> {
    if value.is_finite() { to.serialize_f64(*value) } else { to.serialize_none() }
}

impl Summary {
    /// The summary of equal passes over the same events.
    pub(crate) fn new<S: System>(
        config: &Config,
        machine: &Machine,
        totals: &Totals,
        hashes: Hashes,
    ) -> Self {
        let Totals { counters, events, hits, tracks, passes, time } = *totals;
        let per_second = |items: u64| (items * passes) as f64 / time.as_secs_f64();
        let stages = S::STAGES.iter().zip(&counters.stages).map(|(stage, counter)| StageTime {
            name: stage.name,
            ns_per_event: counter.ns as f64 / (events * passes).max(1) as f64,
            ns_per_hit: counter.ns as f64 / (hits * passes).max(1) as f64,
            occupancy: counter.occupancy(),
        });
        Self {
            sequence: config.sequence,
            preset: config.preset_name(),
            events,
            isa: machine.isa,
            gang: machine.gang,
            threads: machine.threads,
            hashes,
            tracks,
            hits,
            dropped: counters.dropped().map(|(reason, count)| (reason, count / passes)).collect(),
            events_per_second: per_second(events),
            hits_per_second: per_second(hits),
            wall_seconds: 0.0,
            input_seconds: 0.0,
            stages: stages.collect(),
            facts: S::facts(config),
            row: S::Results::LEVELS[0],
            has_tracks: S::Results::LEVELS.contains(&"track"),
            input: InputKind::Read,
            is_interrupted: false,
        }
    }

    /// Adds what the source of the events tells.
    ///
    /// # Errors
    /// With `strict`, when anything of the input was lost.
    pub(crate) fn add_source<B>(&mut self, source: &dyn Source<B>, strict: bool) -> Result<()> {
        let lost: Vec<_> = source.dropped().into_iter().filter(|(_, count)| *count > 0).collect();
        let late = self.dropped.get_key_value("late_hits").map(|(reason, count)| (*reason, *count));
        if strict && let Some((reason, count)) = lost.first().copied().or(late) {
            return Err(Error::format("input", format!("{count} parts of it cannot be used: {reason}")));
        }
        self.dropped.extend(lost);
        self.facts.extend(source.facts());
        Ok(())
    }
}
