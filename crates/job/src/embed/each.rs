//! Jobs that give their results to the caller instead of a file: piece by piece, or as one.

use super::shared::SharedResults;
use crate::registry::Command;
use crate::run::reconstruct;
use crate::system::open;
use crate::{Host, Request, Summary, System};
use peloton::Result;
use peloton::event::Outcome;
use peloton::event::append;
use peloton_io::input::EventId;
use std::sync::Arc;
use std::time::Instant;

/// Reconstructs all events of a request and gives the results to `take`, batch by batch and in order. Counts are those of
/// the summary.
///
/// # Errors
/// Those of the configuration and the inputs, and of `take`.
pub fn each(
    request: &Request,
    host: Host<'_>,
    take: impl FnMut(SharedResults) -> Result<()> + Send,
) -> Result<Summary> {
    request.config.sequence.run_events(Pieces { request, host, take, whole: false })
}

/// Reconstructs all events of a request and gives the results as one.
///
/// # Errors
/// Those of the configuration and the inputs, and [`Error::Columns`](peloton::Error::Columns) for more than 32-bit starts
/// hold.
pub fn collect(request: &Request, host: Host<'_>) -> Result<(SharedResults, Summary)> {
    let mut all = None;
    let take = |results| {
        all = Some(results);
        Ok(())
    };
    let summary = request.config.sequence.run_events(Pieces { request, host, take, whole: true })?;
    let missing = || peloton::Error::Internal("a job without results".into());
    Ok((all.ok_or_else(missing)?, summary))
}

struct Pieces<'a, T> {
    request: &'a Request,
    host: Host<'a>,
    take: T,
    /// Whether everything is one piece.
    whole: bool,
}

impl<T: FnMut(SharedResults) -> Result<()> + Send> Command for Pieces<'_, T> {
    type Outcome = Result<Summary>;
    fn on<S: System>(self) -> Result<Summary> {
        let Self { request, host, mut take, whole } = self;
        let begin = Instant::now();
        let mut opened = open::<S>(request, false, host)?;
        let runs = S::executor(request, &request.config, &opened.context)?;
        let (mut outcome, mut ids) = (Outcome::<S::Results>::default(), Vec::<EventId>::new());
        let mut summary = reconstruct::<S>(request, &mut opened, runs, host, &mut |chunk| {
            chunk.result.slices().try_for_each(|piece| append(&mut outcome.results, piece))?;
            ids.extend_from_slice(&chunk.beside.ids);
            if whole {
                return Ok(());
            }
            let results = Arc::new(std::mem::take(&mut outcome.results));
            take(SharedResults::new(results, std::mem::take(&mut ids), chunk.result.counters()))
        })?;
        if whole {
            take(SharedResults::new(Arc::new(outcome.results), ids, outcome.counters))?;
        }
        summary.wall_seconds = begin.elapsed().as_secs_f64();
        Ok(summary)
    }
}
