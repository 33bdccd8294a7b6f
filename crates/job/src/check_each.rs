//! [`check_each`]: checks several configurations on the same events.

use crate::check::finish;
use crate::run::batch_items;
use crate::source::warn_of_problems;
use crate::stream::{Busy, Chunk, stream};
use crate::system::{Detector, Runs, explain, open};
use crate::threads::common_threads;
use crate::totals::Totals;
use crate::{Check, CheckOptions, Checked, Config, Host, Request, Source, Summary};
use peloton::Result;
use peloton::engine::Sliced;
use peloton::event::Hasher;
use peloton::simd::with_default_float_mode;
use peloton_io::Muffled;
use std::time::Instant;

/// Checks several configurations of one sequence, as [`check`](crate::check) checks one. Events are read or simulated
/// once, and reconstructed by each configuration in turn, batch by batch.
///
/// # Errors
/// Returns errors of the configurations and the inputs.
pub fn check_each(
    request: &Request,
    configs: &[Config],
    options: &CheckOptions,
    host: Host<'_>,
) -> Result<Vec<Checked>> {
    with_default_float_mode(|| check_sides(request, configs, options, host))
}

/// One configuration, and its results so far.
struct Side {
    request: Request,
    runs: Runs,
    checker: Box<dyn Check>,
    totals: Totals,
    hasher: Hasher,
}

fn check_sides(
    request: &Request,
    configs: &[Config],
    options: &CheckOptions,
    host: Host<'_>,
) -> Result<Vec<Checked>> {
    let mut opened = open(request, true, host)?;
    let mut sides = Vec::new();
    for config in configs {
        let request = Request { config: config.clone(), ..request.clone() };
        let runs = opened.detector.executor(&request, config)?;
        let checker = opened.detector.check(&request, options, &mut *opened.source)?;
        sides.push(Side {
            hasher: Hasher::new(config.schema()),
            totals: Totals::default(),
            request,
            runs,
            checker,
        });
    }
    let source = &mut *opened.source;
    let busy = run_all(source, &*opened.detector, &mut sides, host);
    warn_of_problems(source, host);
    let busy = busy?;
    let muffled = Muffled::new(host.progress);
    let quiet = Host { progress: &muffled, ..host };
    let of_side = |(number, side): (usize, Side)| {
        let Side { request, runs, checker, totals, hasher } = side;
        let host = if number == 0 { host } else { quiet };
        let mut summary = Summary::new(&request.config, &runs.machine(), &totals, hasher.finish());
        summary.add_source(&*opened.source, request.strict)?;
        summary.judge(&totals, &request, host);
        summary.input_seconds = busy.reading + busy.parsing;
        finish(checker, &summary, host)
    };
    sides.into_iter().enumerate().map(of_side).collect()
}

/// Reconstructs all events with every configuration; returns the busy times of reading and parsing.
fn run_all(
    source: &mut dyn Source,
    detector: &dyn Detector,
    sides: &mut [Side],
    host: Host<'_>,
) -> Result<Busy> {
    let Some(Side { request: first, .. }) = sides.first() else { return Ok(Busy::default()) };
    let (threads, last) = (common_threads(&first.config), first.config.sequence.system().stream());
    let items = sides.iter().map(|side| batch_items(&side.request.config, &side.runs.machine())).max();
    let mut work = |chunk: &mut Chunk<Sliced>| {
        for Side { runs, checker, totals, hasher, .. } in sides.iter_mut() {
            let start = Instant::now();
            let counters = runs.run(&*chunk.batch, &mut chunk.result)?;
            totals.add(&counters, start.elapsed(), &*chunk.batch, &chunk.result);
            explain(totals, detector, &*chunk.batch, &chunk.beside.ids);
            chunk.result.slices().for_each(|piece| hasher.update(&**piece));
            checker.add(chunk)?;
        }
        Ok(())
    };
    let last = last.map(|stream| stream.last());
    stream((source, items.unwrap_or(1)), last, threads, host, &mut work, &mut |_| Ok(()))
}
