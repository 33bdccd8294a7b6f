//! What `run` and `check` have in common: all events through the engine, once.

use super::job::{Chunk, Totals, stream};
use super::settings::Settings;
use super::source::EventSource;
use peloton::Result;
use peloton::event::Hasher;
use peloton::pipeline::{Product, Sliced};
use peloton_io::output::Summary;

/// Reconstructs all events of `source` and has `consume` called with each chunk, in order.
pub fn reconstruct<P: Product>(
    settings: &Settings,
    source: &mut EventSource,
    (strict, quiet): (bool, bool),
    mut consume: impl FnMut(&Chunk<Sliced<P>>) -> Result<()> + Send,
) -> Result<Summary> {
    let Settings { config, engine, pool } = settings;
    let mut totals = Totals::default();
    let mut hasher = Hasher::<P>::default();
    stream::<Sliced<P>>(
        source,
        pool.threads(),
        quiet,
        |chunk| totals.reconstruct((engine, pool), &chunk.events, &mut chunk.result, strict),
        |chunk| {
            chunk.result.slices().for_each(|piece| hasher.update(piece));
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
