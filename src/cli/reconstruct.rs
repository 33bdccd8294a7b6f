//! What `run` and `check` have in common: all events through the engine, once.

use super::job::{Chunk, Totals, stream};
use super::settings::Settings;
use super::source::EventSource;
use crate::Result;
use crate::output::{Summary, TrackHasher};
use crate::pipeline::SlicedTracks;

/// Reconstructs all events of `source` and has `consume` called with each chunk, in order.
pub fn reconstruct(
    settings: &Settings,
    source: &mut EventSource,
    (strict, quiet): (bool, bool),
    mut consume: impl FnMut(&Chunk<SlicedTracks>) -> Result<()> + Send,
) -> Result<Summary> {
    let Settings { config, engine, pool } = settings;
    let mut totals = Totals::default();
    let mut hasher = TrackHasher::default();
    stream::<SlicedTracks>(
        source,
        pool.threads(),
        quiet,
        |chunk| totals.reconstruct((engine, pool), &chunk.events, &mut chunk.result, strict),
        |chunk| {
            chunk.result.slices().for_each(|tracks| hasher.update(tracks));
            consume(chunk)
        },
    )?;
    Ok(Summary::new(
        engine,
        config.preset_name(),
        pool.threads(),
        &totals.counters,
        (totals.tracks, totals.hits),
        hasher.finish(),
        (1, totals.time),
    ))
}
