//! [`Summary`]: what a run did, with the keys that scripts depend on.

use peloton::event::Counters;
use peloton::event::Hashes;
use peloton::pipeline::{Engine, Sequence};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::time::Duration;

/// Time one stage takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageTime {
    /// Name of the stage.
    pub name: &'static str,
    /// Time per event on one thread, ns.
    pub ns_per_event: f64,
    /// Share of the lanes that did wanted work, 0..1; `None` when the stage does not count them.
    #[serde(skip)]
    pub occupancy: Option<f64>,
}

/// What a run did. Serialised, it has the keys of the command line's contract, in its order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// What was reconstructed.
    pub sequence: Sequence,
    /// Name of the parameters.
    pub preset: String,
    /// Number of events, dropped ones included.
    pub events: u64,
    /// Name of the level that ran.
    pub isa: &'static str,
    /// Lanes of the gang that ran.
    pub gang: usize,
    /// Number of threads.
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
    /// Rate on the wall clock, events/s; null when no time passed.
    #[serde(serialize_with = "finite_or_null")]
    pub events_per_second: f64,
    /// Rate on the wall clock, hits/s; null when no time passed.
    #[serde(serialize_with = "finite_or_null")]
    pub hits_per_second: f64,
    /// Time of each stage.
    pub stages: Vec<StageTime>,
}

fn finite_or_null<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() { to.serialize_f64(*value) } else { to.serialize_none() }
}

impl Summary {
    /// The summary of `passes` equal passes over the same events that took `time` on the wall clock, all
    /// together; `counters` are the sums of all passes, everything else is of one pass.
    pub fn new(
        engine: &Engine,
        preset: String,
        threads: usize,
        counters: &Counters,
        (tracks, hits): (u64, u64),
        hashes: Hashes,
        (passes, time): (u64, Duration),
    ) -> Self {
        let events = counters.events() / passes.max(1);
        let per_second = |items: u64| (items * passes) as f64 / time.as_secs_f64();
        let stage_times =
            engine.sequence().stages().iter().zip(&counters.stages).map(|(stage, counter)| StageTime {
                name: stage.name,
                ns_per_event: counter.ns as f64 / counters.events().max(1) as f64,
                occupancy: counter.occupancy(),
            });
        Self {
            sequence: engine.sequence(),
            preset,
            events,
            isa: engine.level().isa().name(),
            gang: engine.level().gang(),
            threads,
            hashes,
            tracks,
            hits,
            dropped: counters.dropped().map(|(reason, count)| (reason, count / passes.max(1))).collect(),
            events_per_second: per_second(events),
            hits_per_second: per_second(hits),
            stages: stage_times.collect(),
        }
    }
}
