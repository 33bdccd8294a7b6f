//! [`compare`]: compares the results of two ways of computing, bit by bit.

use crate::run::{all_ok, batch_items};
use crate::source::warn_of_problems;
use crate::stream::{Chunk, stream};
use crate::summary::object;
use crate::system::{EndlessStream, Runs, check_preset, explain, open};
use crate::throughput::KernelTime;
use crate::totals::Totals;
use crate::{Config, Host, Opened, Request, SequenceName, Summary};
use peloton::engine::{Machine, Sliced};
use peloton::event::{Columns, Counters, Hasher, Hashes, difference};
use peloton::simd::with_default_float_mode;
use peloton::{Error, Result};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::time::Instant;

/// Result of a comparison.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// Name of the sequence that ran.
    pub sequence: SequenceName,
    /// Number of events; for an endless stream, number of clusters.
    pub events: u64,
    /// Whether all output columns are equal, bit by bit.
    pub equal: bool,
    /// Number of events whose results differ; for an endless stream, number of clusters that differ.
    pub different_events: u64,
    /// First side of the comparison.
    pub left: Side,
    /// Second side of the comparison.
    pub right: Side,
    /// The first difference between the sides; none if all results are equal.
    pub first_difference: Option<Difference>,
    /// Values that only some sequences have.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
    /// Wall clock of the whole job (input, both sides, comparison), s.
    pub wall_seconds: f64,
    /// Reason why a job that ran to its end counts as failed; none if it succeeded.
    #[serde(skip)]
    pub failure: Option<String>,
    /// Name of the items that `events` counts: `event` or `cluster`.
    #[serde(skip)]
    pub row: &'static str,
    /// Whether the job was ended early.
    #[serde(skip)]
    pub is_interrupted: bool,
}

/// One side of a comparison: a way of computing and its result.
#[derive(Debug, Clone, Serialize)]
pub struct Side {
    /// Name of the preset, or `custom` if parameters differ from the preset; null for sequences without presets.
    pub preset: Option<String>,
    /// Name of the instruction set, or of the kind of device.
    pub isa: &'static str,
    /// Gang size in lanes.
    pub gang: usize,
    /// Number of threads, or of streams on a device.
    pub threads: usize,
    /// Number of events or hits that a thread or stream processes at once.
    pub slice: usize,
    /// Wall clock from input in memory to results in memory, ns per event. This includes the time in which memory
    /// grows, since every event is processed only once; `throughput` is more precise.
    pub wall_ns_per_event: f64,
    /// Whether this side ran on a device.
    #[serde(skip)]
    pub is_device: bool,
    /// Time of each stage, summed over threads; on a device, time of each kernel.
    pub parts: Vec<KernelTime>,
    /// Hashes of the results.
    #[serde(flatten)]
    pub hashes: Hashes,
}

/// The first difference between the results of both sides.
#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    /// Number of the event in its source.
    pub event: u64,
    /// Description of the difference.
    pub what: String,
}

/// Reconstructs the events of a request in two ways. Each of the `sides` is a list of `KEY=VALUE`, separated by commas,
/// that overrides the configuration, or names a device.
///
/// # Errors
/// Returns errors of the configuration, the inputs and the devices.
pub fn compare(request: &Request, sides: [&str; 2], host: Host<'_>) -> Result<Compared> {
    with_default_float_mode(|| compare_sides(request, sides, host))
}

fn compare_sides(request: &Request, sides: [&str; 2], host: Host<'_>) -> Result<Compared> {
    let begin = Instant::now();
    let sides = [side(request, sides[0])?, side(request, sides[1])?];
    sides.iter().try_for_each(|side| side.config.one_product("compare"))?;
    let mut opened = open(request, false, host)?;
    let Opened { source, detector } = &mut opened;
    let (source, detector) = (&mut **source, &**detector);
    let runs = |side: &Request| detector.executor(side, &side.config);
    let mut runs: [Runs; 2] = [runs(&sides[0])?, runs(&sides[1])?];
    runs.iter_mut().for_each(|runs| runs.time_kernels(true));
    let machines = [runs[0].machine(), runs[1].machine()];
    let items = machines.each_ref().map(|machine| batch_items(&request.config, machine));
    let items = items[0].max(items[1]);
    let (mut found, mut totals) = (Found::new(&request.config), <[Totals; 2]>::default());
    let threads = runs[0].threads();
    let mut work = |chunk: &mut Chunk<[Sliced; 2]>| {
        for ((runs, results), totals) in runs.iter_mut().zip(&mut chunk.result).zip(&mut totals) {
            let start = Instant::now();
            let counters = runs.run(&*chunk.batch, results)?;
            totals.add(&counters, start.elapsed(), &*chunk.batch, results);
            explain(totals, detector, &*chunk.batch, &chunk.beside.ids);
            if request.strict {
                all_ok(&*chunk.batch, results)?;
            }
        }
        Ok(())
    };
    let last = found.stream.map(|stream| stream.last());
    let done = stream((source, items), last, &*threads, host, &mut work, &mut |chunk| {
        found.add(&chunk.result, chunk.batch.event_ids());
        Ok(())
    });
    warn_of_problems(source, host);
    done?;
    let mut compared = found.report(&sides, &machines, host);
    for ((side, runs), totals) in
        [&mut compared.left, &mut compared.right].into_iter().zip(&mut runs).zip(&totals)
    {
        side.wall_ns_per_event = totals.time.as_nanos() as f64 / totals.events.max(1) as f64;
        side.parts = KernelTime::all(&parts(runs, &request.config, &totals.counters), totals.events);
    }
    if let Some(words) = totals[0].bad_events() {
        host.warn(&words);
    }
    compared.failure = totals[0].failure(request.max_bad);
    compared.wall_seconds = begin.elapsed().as_secs_f64();
    if request.config.sequence.system().stream().is_some() {
        let clusters = totals.each_ref().map(|totals| totals.events);
        compared.facts = object(&json!({ "hits": totals[0].hits, "clusters": clusters }));
        // Both sides lose the same hits.
        let mut summary = Summary::new(&sides[0].config, &machines[0], &totals[0], compared.left.hashes);
        summary.add_source(source, request.strict)?;
        summary.judge(&totals[0], request, host);
        compared.failure = compared.failure.or(summary.failure);
    }
    Ok(compared)
}

/// Returns the times of the kernels of a device, or of the stages on the CPU, ns.
fn parts(runs: &mut Runs, config: &Config, counters: &Counters) -> Vec<(&'static str, u64)> {
    if runs.machine().device.is_some() {
        return runs.take_kernel_times();
    }
    let stages = config.stages();
    stages.iter().zip(&counters.stages).map(|(stage, counter)| (stage.name, counter.ns)).collect()
}

/// Returns a copy of a request, with values overridden by the `KEY=VALUE,...` text of a side.
fn side(request: &Request, text: &str) -> Result<Request> {
    let mut side = request.clone();
    for pair in text.split(',').filter(|pair| !pair.is_empty()) {
        let wrong = || {
            let known = "isa=, gang=, threads=, slice=, preset=, gpu, gpu:NUMBER, gpu:all, emulated, emulated:ORDER, cpu, or a key of the sequence, such as builder=";
            Error::Config(format!("a side of `compare` cannot have `{pair}`: choose from {known}"))
        };
        let Some((key, value)) = pair.split_once('=') else {
            side.device = pair.parse().map_err(|_| wrong())?;
            continue;
        };
        let number = || value.parse::<usize>().map_err(|_| wrong());
        let config = &mut side.config;
        match key {
            "isa" if value == "auto" => config.isa = None,
            "isa" => config.isa = Some(value.parse()?),
            "gang" if value == "auto" => config.gang = None,
            "gang" => config.gang = Some(number()?),
            "threads" => config.threads = Some(number()?),
            "slice" => config.slice_events = Some(number()?),
            "preset" => *config = config.with_preset(value.parse()?),
            _ if config.sequence.system().override_key(config, key, value)? => {}
            _ => return Err(wrong()),
        }
    }
    side.config.validate()?;
    check_preset(&side.config)?;
    Ok(side)
}

/// Results of the comparison so far.
struct Found {
    stream: Option<&'static dyn EndlessStream>,
    hashers: [Hasher; 2],
    /// Clusters of an endless stream that one side has found and the other side not yet; an entry for each side.
    waiting: [Columns; 2],
    /// Memory into which the rows that stay in `waiting` are copied.
    spare: Columns,
    events: u64,
    different: u64,
    first: Option<Difference>,
}

impl Found {
    fn new(config: &Config) -> Self {
        let (waiting, hasher) = (|| config.products()[0].empty(), || Hasher::new(config.schema()));
        Self {
            stream: config.sequence.system().stream(),
            hashers: [hasher(), hasher()],
            waiting: [waiting(), waiting()],
            spare: waiting(),
            events: 0,
            different: 0,
            first: None,
        }
    }

    /// Compares the results of both sides for one chunk.
    fn add(&mut self, sides: &[Sliced; 2], event_ids: &[u64]) {
        for (hasher, side) in self.hashers.iter_mut().zip(sides) {
            side.slices().for_each(|piece| hasher.update(&**piece));
        }
        let Some(stream) = self.stream else {
            for ((left, right), &event) in sides[0].events().zip(sides[1].events()).zip(event_ids) {
                self.compare(difference(&**left.0, left.1, &**right.0, right.1), event);
            }
            return;
        };
        for (waiting, side) in self.waiting.iter_mut().zip(sides) {
            side.slices().for_each(|piece| stream.keep(waiting, piece, 0..piece.items(0)));
        }
        let both = self.waiting[0].items(0).min(self.waiting[1].items(0));
        for row in 0..both {
            let [left, right] = &self.waiting;
            self.compare(difference(&**left, row, &**right, row), self.events);
        }
        for waiting in &mut self.waiting {
            self.spare.clear();
            stream.keep(&mut self.spare, waiting, both..waiting.items(0));
            std::mem::swap(&mut self.spare, waiting);
        }
    }

    fn compare(&mut self, difference: Option<String>, event: u64) {
        self.events += 1;
        if let Some(what) = difference {
            self.different += 1;
            self.first.get_or_insert(Difference { event, what });
        }
    }

    fn report(self, sides: &[Request; 2], machines: &[Machine; 2], host: Host<'_>) -> Compared {
        let side = |i: usize| Side {
            preset: sides[i].config.preset_name(),
            isa: machines[i].isa,
            gang: machines[i].gang,
            threads: machines[i].threads,
            slice: machines[i].slice,
            wall_ns_per_event: 0.0,
            is_device: machines[i].device.is_some(),
            parts: Vec::new(),
            hashes: self.hashers[i].finish(),
        };
        let (left, right) = (side(0), side(1));
        let in_step = self.waiting[0].items(0) == self.waiting[1].items(0);
        Compared {
            sequence: sides[0].config.sequence,
            events: self.events,
            equal: self.different == 0 && in_step && left.hashes == right.hashes,
            different_events: self.different,
            left,
            right,
            first_difference: self.first,
            facts: Map::new(),
            wall_seconds: 0.0,
            failure: None,
            row: sides[0].config.schema().levels[0],
            is_interrupted: host.is_cancelled(),
        }
    }
}
