//! Jobs that return their results to the caller and write no file: batch by batch, or all at once.

use super::shared::SharedResults;
use super::spares::Spares;
use crate::run::reconstruct;
use crate::system::open;
use crate::{Host, Request, Summary};
use peloton::Result;
use peloton::engine::Products;
use peloton::simd::with_default_float_mode;
use std::time::Instant;

/// Reconstructs all events of a request and gives the results to `take`, batch by batch and in order. The returned
/// summary contains the counts.
///
/// # Errors
/// Returns errors of the configuration and the inputs, and the errors that `take` returns.
pub fn each(
    request: &Request,
    host: Host<'_>,
    mut take: impl FnMut(SharedResults) -> Result<()> + Send,
) -> Result<Summary> {
    with_default_float_mode(|| pieces(request, host, false, &mut take))
}

/// Reconstructs all events of a request and returns all results at once.
///
/// # Errors
/// Returns errors of the configuration and the inputs, and [`Error::Columns`](peloton::Error::Columns) for results that
/// are too large for 32-bit offsets.
pub fn collect(request: &Request, host: Host<'_>) -> Result<(SharedResults, Summary)> {
    let mut all = None;
    let mut take = |results| {
        all = Some(results);
        Ok(())
    };
    let summary = with_default_float_mode(|| pieces(request, host, true, &mut take))?;
    let missing = || peloton::Error::Internal("a job without results".into());
    Ok((all.ok_or_else(missing)?, summary))
}

/// Gives the results to `take`: all at once if `whole` is true, else batch by batch.
fn pieces(
    request: &Request,
    host: Host<'_>,
    whole: bool,
    take: &mut (dyn FnMut(SharedResults) -> Result<()> + Send),
) -> Result<Summary> {
    let begin = Instant::now();
    let mut opened = open(request, false, host)?;
    let runs = opened.detector.executor(request, &request.config)?;
    let (mut results, mut ids) = (Products::new(&request.config.products()), Vec::new());
    let no_home = Spares::default();
    let mut summary = reconstruct(request, &mut opened, runs, host, &mut |chunk| {
        chunk.result.pieces().iter().try_for_each(|piece| results.append(piece))?;
        ids.extend_from_slice(&chunk.beside.ids);
        if whole {
            return Ok(());
        }
        take(SharedResults::new(&mut results, std::mem::take(&mut ids), &no_home))
    })?;
    if whole {
        take(SharedResults::new(&mut results, ids, &no_home))?;
    }
    summary.wall_seconds = begin.elapsed().as_secs_f64();
    Ok(summary)
}
