//! [`Summary`]: the result of a run. Scripts depend on the keys of its JSON.

use crate::stream::Busy;
use crate::totals::{HITS_NOT_IN_GEOMETRY, Totals, UNUSABLE_INPUTS};
use crate::{Config, EventRange, Host, MaxBad, Request, SequenceName, Source};
use peloton::engine::Machine;
use peloton::event::Hashes;
use peloton::{Error, Result, Status};
use peloton_plot::text::{HitFlow, Verdict, outside_chips};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Time of one stage of the sequence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageTime {
    /// Name of the stage.
    pub name: &'static str,
    /// Time per event on one thread, ns; for an endless stream, time per item of the results, such as a cluster.
    pub ns_per_event: f64,
    /// Time per input hit, ns.
    pub ns_per_hit: f64,
    /// Share of the SIMD lanes that did useful work, 0..1; `None` when the stage does not count its lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<f64>,
    /// Times of the parts of the stage, if the algorithm measures them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartTime>,
}

/// Time of a part of a stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartTime {
    /// Name of the part.
    pub name: &'static str,
    /// Time per event on one thread, ns.
    pub ns_per_event: f64,
}

/// Numbers of bytes that a job read and wrote, as stored (so perhaps compressed), and the rates of reading and writing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Bytes {
    /// Number of bytes read; null for a simulation.
    pub read: Option<u64>,
    /// Number of bytes read per second of the reading time.
    pub read_per_second: Option<f64>,
    /// Number of bytes in all written files; null if no file was written.
    pub written: Option<u64>,
    /// Number of bytes written per second of the writing time.
    pub written_per_second: Option<f64>,
}

impl Bytes {
    /// Returns the numbers of bytes and the rates; none if nothing was read or written.
    pub(crate) fn of(read: Option<u64>, written: Option<u64>, busy: Busy) -> Option<Self> {
        let per_second = |bytes: Option<u64>, seconds: f64| {
            bytes.map(|bytes| bytes as f64 / seconds).filter(|rate| rate.is_finite())
        };
        (read.is_some() || written.is_some()).then(|| Self {
            read,
            read_per_second: per_second(read, busy.reading),
            written,
            written_per_second: per_second(written, busy.writing),
        })
    }
}

/// Summary of a run. The keys of its JSON, in this order, are part of the command line's interface.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Name of the sequence that ran.
    pub sequence: SequenceName,
    /// Name of the preset, or `custom` for other parameters; null where the sequence has no presets.
    pub preset: Option<String>,
    /// Number of events, including dropped events; for an endless stream the number of items in the results.
    pub events: u64,
    /// Name of the instruction set that ran, or of the kind of device.
    pub isa: &'static str,
    /// Gang size that ran, lanes.
    pub gang: usize,
    /// Number of threads, or of streams on a device.
    pub threads: usize,
    /// Hashes of the results.
    #[serde(flatten)]
    pub hashes: Hashes,
    /// Name and hashes of each product, if a job writes several products; `hashes` belongs to the first.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
    pub products: Vec<(&'static str, Hashes)>,
    /// Sum of the hashes of all events, each hashed with its number, in any order: the sums of the parts of a plan add
    /// up to the sum of the whole job. Absent if events are reconstructed repeatedly.
    #[serde(serialize_with = "hexadecimal", skip_serializing_if = "Option::is_none")]
    pub hash_events: Option<u64>,
    /// Number of tracks.
    pub tracks: u64,
    /// Number of input hits.
    pub hits: u64,
    /// Numbers of lost events and other lost items, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Wall-clock rate of the reconstruction alone, events/s; null when no time passed.
    #[serde(serialize_with = "finite_or_null")]
    pub events_per_second: f64,
    /// Wall-clock rate of the reconstruction alone, hits/s; null when no time passed.
    #[serde(serialize_with = "finite_or_null")]
    pub hits_per_second: f64,
    /// Wall clock of the whole job (input, reconstruction, output), s.
    pub wall_seconds: f64,
    /// Time of reading or simulating the input, which overlaps with the reconstruction, s.
    pub input_seconds: f64,
    /// Busy time of each part of the job; none if events are reconstructed repeatedly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<Busy>,
    /// Bytes that were read and written; none if neither input nor output is a file or pipe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Time of each stage.
    pub stages: Vec<StageTime>,
    /// Keys that only some sequences or inputs have.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
    /// Number of events that could not be reconstructed.
    #[serde(skip)]
    pub bad_events: u64,
    /// Name of the items that `events` counts: `event`, or an item of an endless stream's results, such as `cluster`.
    #[serde(skip)]
    pub row: &'static str,
    /// Whether the sequence makes tracks.
    #[serde(skip)]
    pub has_tracks: bool,
    /// Kind of the input: read, simulated or live; rates of a live input are the rates at which data arrive.
    #[serde(skip)]
    pub input: InputKind,
    /// Whether the job was ended early.
    #[serde(skip)]
    pub is_interrupted: bool,
    /// Reason why a job that ran to its end counts as failed; none if it succeeded.
    #[serde(skip)]
    pub failure: Option<String>,
    /// Reason why the input does not have the format in which it was read; none if it may have this format.
    #[serde(skip)]
    pub(crate) misread: Option<String>,
    /// Whether the input had faults, which were reported.
    #[serde(skip)]
    pub(crate) has_problems: bool,
}

/// The kind of source that an input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Input from files and pipes.
    Read,
    /// Input from the simulation.
    Simulated,
    /// Input from a readout, in real time.
    Live,
}

impl InputKind {
    /// Returns the kind of the inputs of a request, for inputs that are not live.
    pub(crate) fn of(request: &Request) -> Self {
        let is_simulated = request.inputs.first().is_some_and(|input| input.starts_with("sim:"));
        if is_simulated { Self::Simulated } else { Self::Read }
    }
}

fn finite_or_null<S: Serializer>(value: &f64, to: S) -> std::result::Result<S::Ok, S::Error> {
    if value.is_finite() { to.serialize_f64(*value) } else { to.serialize_none() }
}

fn hexadecimal<S: Serializer>(hash: &Option<u64>, to: S) -> std::result::Result<S::Ok, S::Error> {
    hash.map(|hash| format!("{hash:016x}")).serialize(to)
}

fn by_name<S: Serializer>(
    products: &[(&'static str, Hashes)],
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    to.collect_map(products.iter().copied())
}

impl Summary {
    /// Returns the hashes of a product by its number among the written products.
    pub(crate) fn hashes_of(&self, product: usize) -> Hashes {
        self.products.get(product).map_or(self.hashes, |(_, hashes)| *hashes)
    }

    /// Makes the summary of one pass, or of several equal passes over the same events.
    pub(crate) fn new(config: &Config, machine: &Machine, totals: &Totals, hashes: Hashes) -> Self {
        let (system, levels) = (config.sequence.system(), config.schema().levels);
        let Totals { counters, events, hits, tracks, passes, time, .. } = *totals;
        // Partial events are not lost.
        let dropped = counters.dropped().filter(|(reason, _)| *reason != Status::Partial.name());
        let mut facts = system.facts(config, totals);
        facts.extend(totals.partial_facts());
        let per_second = |items: u64| (items * passes) as f64 / time.as_secs_f64();
        let per_event = |ns: u64| ns as f64 / (events * passes).max(1) as f64;
        let stages = config.stages().into_iter().zip(&counters.stages).map(|(stage, counter)| {
            let parts = stage.parts.iter().zip(counter.parts).filter(|(_, ns)| *ns > 0);
            StageTime {
                name: stage.name,
                ns_per_event: per_event(counter.ns),
                ns_per_hit: counter.ns as f64 / (hits * passes).max(1) as f64,
                occupancy: counter.occupancy(),
                parts: parts.map(|(name, ns)| PartTime { name, ns_per_event: per_event(ns) }).collect(),
            }
        });
        Self {
            sequence: config.sequence,
            preset: config.preset_name(),
            events,
            isa: machine.isa,
            gang: machine.gang,
            threads: machine.threads,
            hashes,
            products: Vec::new(),
            hash_events: None,
            tracks,
            hits,
            dropped: dropped.map(|(reason, count)| (reason, count / passes)).collect(),
            events_per_second: per_second(events),
            hits_per_second: per_second(hits),
            wall_seconds: 0.0,
            input_seconds: 0.0,
            busy: None,
            bytes: None,
            stages: stages.collect(),
            facts,
            bad_events: totals.bad,
            row: levels[0],
            has_tracks: levels.contains(&"track"),
            input: InputKind::Read,
            is_interrupted: false,
            failure: None,
            misread: None,
            has_problems: false,
        }
    }

    /// Warns of events that could not be reconstructed, and decides whether the job has failed.
    pub(crate) fn judge(&mut self, totals: &Totals, request: &Request, host: Host<'_>) {
        for words in totals.bad_events().into_iter().chain(totals.partial_events()) {
            host.warn(&words);
        }
        if let Some(hits) = self.dropped.get(HITS_NOT_IN_GEOMETRY) {
            host.warn(&format!(
                "{hits} hits of true particles are on channels that the geometry does not have: check that --geometry belongs to these events"
            ));
        }
        self.is_interrupted = host.is_cancelled();
        if self.is_interrupted {
            self.facts.insert("interrupted".into(), true.into());
        }
        self.failure = totals.failure(request.max_bad);
        let unusable = self.dropped.get(UNUSABLE_INPUTS).copied().unwrap_or(0);
        if unusable > 0 && self.failure.is_none() {
            self.failure = Some(format!("{unusable} of the inputs could not be used, or not completely"));
        }
        if self.row != "event" {
            return self.judge_stream(request, host);
        }
        if self.is_interrupted {
            return;
        }
        let EventRange { first, count } = request.events;
        let wanted = count.map_or(String::new(), |count| count.to_string());
        let found = self.events;
        if found == 0 && count != Some(0) {
            let message = match count {
                Some(_) => format!("--events {first}:{wanted}: the input has no event of this number"),
                None if first > 0 => format!("--events {first}: the input ends before event {first}"),
                None if self.has_problems => return,
                None => return host.warn("the input is empty: there is no event in it"),
            };
            self.failure.get_or_insert(message);
        } else if count.is_some_and(|count| found < count as u64) {
            host.warn(&format!("--events {first}:{wanted}: the input has only {found} of these events"));
        }
    }

    /// Warns of the lost hits of an endless stream, and decides whether the job has failed.
    fn judge_stream(&mut self, request: &Request, host: Host<'_>) {
        let Verdict { warning, failure } = self.judge_hits(request.max_bad);
        if let Some(warning) = warning {
            host.warn(&warning);
        }
        if self.is_interrupted || self.input == InputKind::Live && self.hits == 0 {
            return;
        }
        if let Some(failure) = self.misread.take().or(failure) {
            self.failure.get_or_insert(failure);
        } else if self.hits == 0 && self.failure.is_none() && !self.has_problems {
            host.warn("the input is empty: there is no hit in it");
        }
    }

    /// Decides whether the losses of an endless stream are too large, and words the warning about them.
    fn judge_hits(&self, max_bad: Option<MaxBad>) -> Verdict {
        let dropped = |key: &str| self.dropped.get(key).copied().unwrap_or(0);
        let left = self.facts.get("hits_out").and_then(Value::as_u64).unwrap_or(0);
        HitFlow { read: self.hits, left, dropped: &dropped, chips: outside_chips(&self.facts) }.judge(max_bad)
    }

    /// Adds the losses and facts that the source of the events reports.
    ///
    /// # Errors
    /// Fails when a part of the input was lost, if `strict` is true.
    pub(crate) fn add_source(&mut self, source: &dyn Source, strict: bool) -> Result<()> {
        let lost: Vec<_> = source.dropped().into_iter().filter(|(_, count)| *count > 0).collect();
        let hits = ["late_hits", "lost_hits"].iter().find_map(|reason| self.dropped.get_key_value(*reason));
        let hits = hits.map(|(reason, count)| (*reason, *count));
        if strict && let Some((reason, count)) = lost.first().copied().or(hits) {
            return Err(Error::format("input", format!("{count} parts cannot be used: {reason}")));
        }
        self.dropped.extend(lost);
        self.facts.extend(source.facts());
        (self.misread, self.has_problems) = (source.misread(), source.problems().1 > 0);
        Ok(())
    }
}

/// Converts a struct to a JSON object; a value of another kind gives an empty object.
pub fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}
