//! [`run`]: reconstructs events and writes the results.

use crate::sink::{Done, Sink};
use crate::source::warn_of_problems;
use crate::stream::{Chunk, Consume, stream};
use crate::summary::InputKind;
use crate::system::{self, Runs, explain, open};
use crate::totals::Totals;
use crate::{Config, Host, Opened, Request, Summary, text};
use peloton::engine::{Batch, Machine, Sliced};
use peloton::event::{Columns, Hasher};
use peloton::simd::with_default_float_mode;
use peloton::{Error, Result, Status};
use peloton_io::EventHasher;
use peloton_io::input::EventId;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between notes on a live input.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Reconstructs all events of a request and writes the results to `output`, if one is given; its name says the format.
///
/// # Errors
/// Those of the configuration, the inputs and the output. What was made before an error is written.
pub fn run(request: &Request, output: Option<&Path>, host: Host<'_>) -> Result<Summary> {
    with_default_float_mode(|| run_and_write(request, output, host))
}

fn run_and_write(request: &Request, output: Option<&Path>, host: Host<'_>) -> Result<Summary> {
    let begin = Instant::now();
    let mut opened = open(request, false, host)?;
    let runs = opened.detector.executor(request, &request.config)?;
    let Machine { isa, gang, .. } = runs.machine();
    let metadata = request.metadata(format!("{isa} x {gang}"));
    let create = |path| opened.detector.sink(path, request, &metadata, host.cancel);
    let mut sink = output.map(create).transpose()?;
    let mut wrote = false;
    let made = reconstruct(request, &mut opened, runs, host, &mut |chunk| {
        let Some(sink) = &mut sink else { return Ok(()) };
        wrote |= !chunk.batch.is_empty();
        write(&mut **sink, chunk)
    });
    let made = made.and_then(|summary| request.accept(summary));
    // Results from before an error are written, and the error is reported.
    let hashes = made.as_ref().ok().map(|summary| summary.hashes);
    let done = match (&made, wrote) {
        (Ok(_), _) if request.part.is_some() => Done::Durable,
        (Ok(_), _) => Done::All,
        // A configuration that cannot be makes no results, even if the input shows it late.
        (Err(error), true) if request.part.is_none() && !error.is_usage() => Done::Part,
        (Err(_), _) => Done::Nothing,
    };
    let written = sink.map_or(Ok(true), |sink| sink.finish(hashes, done));
    if matches!(written, Ok(false))
        && let Some(path) = output
    {
        let message = "left as it was, without what was made before the error";
        host.warn(&format!("{}: {message}", path.display()));
    }
    let mut summary = made?;
    written?;
    summary.wall_seconds = begin.elapsed().as_secs_f64();
    Ok(summary)
}

fn write(sink: &mut dyn Sink, chunk: &Chunk<Sliced>) -> Result<()> {
    if let Some(input) = &chunk.beside.input {
        sink.begin_input(input);
    }
    pieces(chunk).try_for_each(|(ids, piece)| sink.write(ids, piece))
}

/// The pieces of the results, and which events they are.
fn pieces(chunk: &Chunk<Sliced>) -> impl Iterator<Item = (&[EventId], &Columns)> {
    let mut ids = &chunk.beside.ids[..];
    chunk.result.slices().map(move |piece| {
        // Endless streams have no events, hence no numbers.
        let (these, rest) = ids.split_at(piece.items(0).min(ids.len()));
        ids = rest;
        (these, piece)
    })
}

/// Reconstructs everything once and shows each chunk, in order, to `consume`; warns of what was wrong with the input.
pub(crate) fn reconstruct(
    request: &Request,
    opened: &mut Opened,
    mut runs: Runs,
    host: Host<'_>,
    consume: Consume<'_, Sliced>,
) -> Result<Summary> {
    let machine = runs.machine();
    let (system, items) = (request.config.sequence.system(), batch_items(&request.config, &machine));
    let (schema, stream_of) = (system.schema(), system.stream());
    let (mut totals, mut hasher) = (Totals::default(), Hasher::new(schema));
    let mut events = EventHasher::new(schema);
    if let Some(part) = &request.part {
        events = events.starting_at_source(part.source);
    }
    let Opened { source, detector } = opened;
    let (source, detector) = (&mut **source, &**detector);
    let mut live = detector.is_live().then(Live::new);
    let begin = Instant::now();
    let mut work = |chunk: &mut Chunk<Sliced>| {
        let start = Instant::now();
        let counters = runs.run(&*chunk.batch, &mut chunk.result)?;
        totals.add(&counters, start.elapsed(), &*chunk.batch, &chunk.result);
        explain(&mut totals, detector, &*chunk.batch, &chunk.beside.ids);
        if let Some(live) = &mut live {
            live.tell(&totals, host);
        }
        if request.strict { all_ok(&*chunk.batch, &chunk.result) } else { Ok(()) }
    };
    let last = stream_of.map(|stream| stream.last());
    let done = stream(source, items, last, host, &mut work, &mut |chunk| {
        for (ids, piece) in pieces(chunk) {
            hasher.update(&**piece);
            events.add(ids, &**piece);
        }
        // What ends everything has no input of its own.
        if chunk.beside.input.is_some() && stream_of.is_some_and(|stream| stream.ends_source(&*chunk.batch)) {
            events.end_source();
        }
        consume(chunk)
    });
    warn_of_problems(source, host);
    let input_time = done?;
    if detector.is_live() {
        // What counts is what was taken in, not how long the work on it took.
        totals.time = begin.elapsed();
    }
    let mut summary = system::summary(&request.config, &machine, &totals, hasher.finish());
    summary.hash_events = Some(events.finish());
    summary.add_source(source, request.strict)?;
    let (dropped, facts) = detector.outcome();
    summary.dropped.extend(dropped.into_iter().filter(|(_, count)| *count > 0));
    summary.facts.extend(facts);
    summary.input = if detector.is_live() { InputKind::Live } else { InputKind::of(request) };
    summary.input_seconds = input_time.as_secs_f64();
    summary.judge(&totals, request, host);
    if let Some(words) = detector.not_found() {
        host.warn(&words);
    }
    Ok(summary)
}

/// Tells the rate of an input that comes in live, once a second.
struct Live {
    last: Instant,
    hits: u64,
}

impl Live {
    fn new() -> Self {
        Self { last: Instant::now(), hits: 0 }
    }

    fn tell(&mut self, totals: &Totals, host: Host<'_>) {
        let time = self.last.elapsed();
        if time < TELL_EVERY {
            return;
        }
        let per_second = (totals.hits - self.hits) as f64 / time.as_secs_f64();
        let [hits, clusters] = [totals.hits, totals.events].map(text::grouped);
        host.progress
            .note(&format!("{} hits/s; {hits} hits, {clusters} clusters so far", text::rate(per_second)));
        (self.last, self.hits) = (Instant::now(), totals.hits);
    }
}

/// How much is read at once: enough for every thread, or stream of a device.
pub(crate) fn batch_items(config: &Config, machine: &Machine) -> usize {
    config.sequence.system().batch_items(config, machine.threads).max(machine.threads * machine.slice)
}

/// An error when an event is not [`Status::Ok`].
pub(crate) fn all_ok(batch: &dyn Batch, results: &Sliced) -> Result<()> {
    let statuses = results.slices().flat_map(|piece| piece.statuses());
    match statuses.zip(batch.event_ids()).find(|(status, _)| **status != Status::Ok) {
        Some((status, id)) => Err(Error::format(format!("event {id}"), status.name())),
        None => Ok(()),
    }
}
