//! [`run`]: reconstructs events and writes the results.

use crate::registry::Command;
use crate::sink::Sink;
use crate::stream::{Chunk, stream};
use crate::summary::Totals;
use crate::system::Runs;
use crate::{Host, Opened, Request, Summary, System};
use peloton::engine::{Batch, Sliced};
use peloton::event::{Hasher, Results};
use peloton::{Error, Result, Status};
use std::path::Path;
use std::time::Instant;

/// Reconstructs all events of a request and writes the results to `output`, if one is given; its name says the format.
///
/// # Errors
/// Those of the configuration, the inputs and the output. What was made before an error is written.
pub fn run(request: &Request, output: Option<&Path>, host: Host<'_>) -> Result<Summary> {
    struct Run<'a>(&'a Request, Option<&'a Path>, Host<'a>);
    impl Command for Run<'_> {
        type Outcome = Result<Summary>;
        fn on<S: System>(self) -> Result<Summary> {
            let Self(request, output, host) = self;
            let mut opened = S::open(request, false, host)?;
            let runs = S::executor(request, &request.config, &opened.context)?;
            let mut sink = output.map(|path| S::sink(path, request)).transpose()?;
            let made = reconstruct::<S>(request, &mut opened, runs, host, |chunk| match &mut sink {
                Some(sink) => write(&mut **sink, chunk),
                None => Ok(()),
            });
            // What was made before an error is written, and what was wrong is told.
            let written = match (sink, &made) {
                (Some(sink), Ok(summary)) => sink.finish(&summary.metadata(request)),
                (Some(sink), Err(_)) => sink.finish(&[]),
                (None, _) => Ok(()),
            };
            let summary = made?;
            written?;
            Ok(summary)
        }
    }
    request.config.sequence.run(Run(request, output, host))
}

fn write<B: Batch, R: Results>(sink: &mut dyn Sink<R>, chunk: &Chunk<B, Sliced<R>>) -> Result<()> {
    let mut event_ids = chunk.batch.event_ids();
    for piece in chunk.result.slices() {
        // Endless streams have no events, hence no numbers.
        let (these, rest) = event_ids.split_at(piece.items(0).min(event_ids.len()));
        sink.write(these, piece)?;
        event_ids = rest;
    }
    Ok(())
}

/// Reconstructs everything once and shows each chunk, in order, to `consume`; warns of what was wrong with the input.
pub(crate) fn reconstruct<S: System>(
    request: &Request,
    opened: &mut Opened<S>,
    mut runs: Runs<S>,
    host: Host<'_>,
    mut consume: impl FnMut(&Chunk<S::Batch, Sliced<S::Results>>) -> Result<()> + Send,
) -> Result<Summary> {
    let machine = runs.machine();
    let items = S::batch_items(&request.config, machine.threads);
    let (mut totals, mut hasher) = (Totals::default(), Hasher::<S::Results>::default());
    let source = &mut *opened.source;
    let work = |chunk: &mut Chunk<S::Batch, Sliced<S::Results>>| {
        let start = Instant::now();
        let counters = runs.run(&chunk.batch, &mut chunk.result)?;
        totals.add(&counters, start.elapsed(), &chunk.batch, &chunk.result);
        if request.strict { all_ok(&chunk.batch, &chunk.result) } else { Ok(()) }
    };
    let done = stream(source, items, S::last(), host, work, |chunk| {
        chunk.result.slices().for_each(|piece| hasher.update(piece));
        consume(chunk)
    });
    tell_problems(source, host);
    done?;
    let mut summary = Summary::new::<S>(&request.config, &machine, &totals, hasher.finish());
    summary.add_source(source, request.strict)?;
    summary.is_interrupted = host.is_cancelled();
    if !S::IS_STREAM && summary.events == 0 && !host.is_cancelled() {
        let first = request.events.first;
        if first > 0 && request.events.count != Some(0) {
            host.warn(&format!("--events {first}: the input has no event of this number"));
        }
    }
    Ok(summary)
}

/// Warns of what was wrong with the input without ending the job.
pub(crate) fn tell_problems<B>(source: &dyn Source<B>, host: Host<'_>) {
    let (problems, count) = source.problems();
    problems.iter().for_each(|problem| host.warn(problem));
    let more = count - problems.len() as u64;
    if more > 0 {
        host.warn(&format!("and {more} more like these"));
    }
}

use crate::Source;

/// An error when an event is not [`Status::Ok`].
pub(crate) fn all_ok<B: Batch, R: Results>(batch: &B, results: &Sliced<R>) -> Result<()> {
    let statuses = results.slices().flat_map(R::statuses);
    match statuses.zip(batch.event_ids()).find(|(status, _)| **status != Status::Ok) {
        Some((status, id)) => Err(Error::format(format!("event {id}"), status.name())),
        None => Ok(()),
    }
}
