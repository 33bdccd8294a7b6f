//! [`run`]: reconstructs events and writes the results.

use crate::sink::{Destination, Sink};
use crate::source::warn_of_problems;
use crate::stream::{Chunk, Consume, stream};
use crate::summary::{Bytes, InputKind};
use crate::system::{Runs, explain, open};
use crate::threads::threads;
use crate::totals::Totals;
use crate::{Config, Host, Opened, Request, Summary};
use peloton::engine::{Batch, Handle, Machine, Products, Sliced};
use peloton::event::Hasher;
use peloton::simd::with_default_float_mode;
use peloton::{Error, Result, Status};
use peloton_io::EventHasher;
use peloton_io::input::EventId;
use peloton_io::output::{Done, JobFiles, is_no_file};
use peloton_plot::text;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between two reports of the rate of a live input.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Reconstructs all events of a request and writes the results to `output`, if given; its name selects the format.
///
/// # Errors
/// Returns errors of the configuration, the inputs and the output. Results from before an error are still written.
pub fn run(request: &Request, output: Option<&Path>, host: Host<'_>) -> Result<Summary> {
    with_default_float_mode(|| run_and_write(request, output, host))
}

/// Does the same as [`run`], but in the current floating-point mode.
///
/// # Errors
/// Returns errors of [`run`].
pub(crate) fn run_and_write(request: &Request, output: Option<&Path>, host: Host<'_>) -> Result<Summary> {
    let begin = Instant::now();
    let products = request.config.products();
    let paths = output.map_or(Ok(Vec::new()), |output| outputs(output, &products, request))?;
    let mut opened = open(request, false, host)?;
    let runs = opened.detector.executor(request, &request.config)?;
    let Machine { isa, gang, .. } = runs.machine();
    let metadata = request.metadata(format!("{isa} x {gang}"));
    if request.part.is_some() {
        request.config.one_product("a part of a plan")?;
    }
    let (mut sinks, threads) = (Vec::new(), threads(request, &runs)?);
    for (path, product) in paths.iter().zip(&products) {
        let (options, cancel) = (&request.output, host.cancel);
        let to = Destination { path, options, metadata: &metadata, cancel, threads: threads.clone() };
        sinks.push(opened.detector.sink(product.schema(), &to)?);
    }
    let mut wrote = false;
    let made = reconstruct(request, &mut opened, runs, host, &mut |chunk| {
        wrote |= !chunk.batch.is_empty();
        sinks.iter_mut().enumerate().try_for_each(|(product, sink)| write(&mut **sink, chunk, product))
    });
    let made = made.and_then(|summary| request.accept(summary));
    // Results from before an error are written, and the error is reported.
    let hashes = |product| made.as_ref().ok().map(|summary| summary.hashes_of(product));
    let done = match (&made, wrote) {
        (Ok(_), _) if request.part.is_some() => Done::Durable,
        (Ok(_), _) => Done::All,
        // If the configuration is wrong, no results are written, even if the fault is detected late.
        (Err(error), true) if request.part.is_none() && !error.is_usage() => Done::Part,
        (Err(_), _) => Done::Nothing,
    };
    let finish = |(product, sink): (usize, Box<dyn Sink>)| sink.finish(hashes(product), done);
    let finishing = Instant::now();
    let written =
        sinks.into_iter().enumerate().map(finish).try_fold(true, |all, one| one.map(|one| all && one));
    if matches!(written, Ok(false))
        && let Some(path) = output
    {
        let message = "the file was not changed; the results made before the error were not written to it";
        host.warn(&format!("{}: {message}", path.display()));
    }
    let mut summary = made?;
    written?;
    summary.wall_seconds = begin.elapsed().as_secs_f64();
    if let Some(busy) = &mut summary.busy {
        busy.writing += finishing.elapsed().as_secs_f64();
        let read = summary.bytes.and_then(|bytes| bytes.read);
        summary.bytes = Bytes::of(read, bytes_of(&paths), *busy);
    }
    Ok(summary)
}

/// Returns the total size of all files, bytes; none if no output is a file.
fn bytes_of(paths: &[PathBuf]) -> Option<u64> {
    let sizes =
        paths.iter().filter(|path| !is_no_file(path)).map(|path| path.metadata().map(|file| file.len()));
    sizes
        .collect::<std::io::Result<Vec<_>>>()
        .ok()
        .filter(|sizes| !sizes.is_empty())
        .map(|sizes| sizes.iter().sum())
}

fn write(sink: &mut dyn Sink, chunk: &Chunk<Sliced>, product: usize) -> Result<()> {
    if let Some(input) = &chunk.beside.input {
        sink.begin_input(input);
    }
    let pieces: Vec<_> = pieces(chunk).map(|(ids, piece)| (ids, &piece.columns()[product])).collect();
    sink.write(&pieces)
}

/// Returns a file for each product: the output, or for several products its name with the product before the extension.
///
/// # Errors
/// [`Error::Config`] for several products to one pipe, for a name without a known format, and for a file that is an input.
fn outputs(output: &Path, products: &[Handle], request: &Request) -> Result<Vec<PathBuf>> {
    if products.len() == 1 {
        return Ok(vec![output.into()]);
    }
    let names = || products.iter().map(Handle::name).collect::<Vec<_>>().join(", ");
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let format = [".parquet", ".ndjson.zst", ".ndjson"].into_iter().find(|ending| name.ends_with(ending));
    match (is_no_file(output), format) {
        (false, Some(format)) => {
            let stem = &name[..name.len() - format.len()];
            let of = |product: &Handle| output.with_file_name(format!("{stem}.{}{format}", product.name()));
            let paths: Vec<_> = products.iter().map(of).collect();
            let mut files = JobFiles::default();
            files.read("input", &request.inputs);
            files.written("--output", &paths);
            files.check().map(|()| paths)
        }
        _ => {
            let words = "are several files: end its name in .parquet, .ndjson or .ndjson.zst";
            Err(Error::Config(format!("--output {}: {} {words}", output.display(), names())))
        }
    }
}

/// Returns the pieces of the results, each with the identification of its events.
fn pieces(chunk: &Chunk<Sliced>) -> impl Iterator<Item = (&[EventId], &Products)> {
    let mut ids = &chunk.beside.ids[..];
    chunk.result.pieces().iter().map(move |piece| {
        // Endless streams have no events, and therefore no identifications.
        let (these, rest) = ids.split_at(piece.first().items(0).min(ids.len()));
        ids = rest;
        (these, piece)
    })
}

/// Reconstructs all events once and passes each chunk, in order, to `consume`. Warns of faults in the input.
pub(crate) fn reconstruct(
    request: &Request,
    opened: &mut Opened,
    mut runs: Runs,
    host: Host<'_>,
    consume: Consume<'_, Sliced>,
) -> Result<Summary> {
    let machine = runs.machine();
    let (system, items) = (request.config.sequence.system(), batch_items(&request.config, &machine));
    let (products, stream_of) = (request.config.products(), system.stream());
    let mut totals = Totals::default();
    let mut hashers: Vec<_> = products.iter().map(|product| Hasher::new(product.schema())).collect();
    let mut events = EventHasher::new(products[0].schema());
    if let Some(part) = &request.part {
        events = events.starting_at_source(part.source);
    }
    let Opened { source, detector } = opened;
    let (source, detector) = (&mut **source, &**detector);
    let mut live = detector.is_live().then(Live::new);
    let (begin, threads) = (Instant::now(), runs.threads());
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
    let done = stream((source, items), last, &*threads, host, &mut work, &mut |chunk| {
        for (ids, piece) in pieces(chunk) {
            hashers.iter_mut().zip(piece.columns()).for_each(|(hasher, columns)| hasher.update(&**columns));
            events.add(ids, &**piece.first());
        }
        // The last piece, which ends the whole stream, comes from no input.
        if chunk.beside.input.is_some() && stream_of.is_some_and(|stream| stream.ends_source(&*chunk.batch)) {
            events.end_source();
        }
        consume(chunk)
    });
    warn_of_problems(source, host);
    let busy = done?;
    if detector.is_live() {
        // The rate of a live input is its rate on the wall clock, not the rate of the reconstruction.
        totals.time = begin.elapsed();
    }
    let mut summary = Summary::new(&request.config, &machine, &totals, hashers[0].finish());
    if products.len() > 1 {
        let hash = |(product, hasher): (&Handle, &Hasher)| (product.name(), hasher.finish());
        summary.products = products.iter().zip(&hashers).map(hash).collect();
    }
    summary.hash_events = Some(events.finish());
    summary.add_source(source, request.strict)?;
    let (dropped, facts) = detector.outcome();
    summary.dropped.extend(dropped.into_iter().filter(|(_, count)| *count > 0));
    summary.facts.extend(facts);
    summary.input = if detector.is_live() { InputKind::Live } else { InputKind::of(request) };
    (summary.input_seconds, summary.busy) = (busy.reading, Some(busy));
    summary.bytes = Bytes::of(source.bytes_read(), None, busy);
    summary.judge(&totals, request, host);
    if let Some(words) = detector.not_found() {
        host.warn(&words);
    }
    Ok(summary)
}

/// Reports the rate of a live input once a second.
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

/// Returns the number of items to read at once: enough for every thread, or stream of a device.
pub(crate) fn batch_items(config: &Config, machine: &Machine) -> usize {
    config.sequence.system().batch_items(config, machine.threads).max(machine.threads * machine.slice)
}

/// Returns an error if an event is not [`Status::Ok`].
pub(crate) fn all_ok(batch: &dyn Batch, results: &Sliced) -> Result<()> {
    let statuses = results.slices().flat_map(|piece| piece.statuses());
    match statuses.zip(batch.event_ids()).find(|(status, _)| **status != Status::Ok) {
        Some((status, id)) => Err(Error::format(format!("event {id}"), status.name())),
        None => Ok(()),
    }
}
