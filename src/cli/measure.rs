//! Times the reconstruction of events in memory.

use super::options::ReportArgs;
use super::source::EventSource;
use super::{console, interrupt};
use crate::event::{Counters, VeloBatch};
use crate::output::{Hashes, TrackHasher};
use crate::pipeline::{Engine, Pool, SlicedTracks};
use crate::{Error, Result};
use rayon::prelude::*;
use std::time::{Duration, Instant};

/// Passes are timed in rounds of about this long: far above what starting the threads costs.
const ROUND: Duration = Duration::from_millis(100);
/// Passes of a round at most: each has output columns of its own, and who uses tracks does so before they have
/// left the cache.
const ROUND_PASSES: u64 = 2;
/// Hits in memory at most: offsets are 32 bits wide.
const MAX_HITS: usize = 1 << 31;

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Exactly so many passes; without it, as many as fill `time`.
    pub passes: Option<u64>,
    /// Time to fill.
    pub time: Duration,
}

/// What was measured.
pub struct Measured {
    /// Sums over all timed passes.
    pub counters: Counters,
    /// Hashes of every pass.
    pub hashes: Hashes,
    /// Tracks of one pass.
    pub tracks: u64,
    /// Number of timed passes.
    pub passes: u64,
    /// Wall clock of all timed passes.
    pub time: Duration,
    /// Time of one pass in the fastest round.
    pub best_pass: Duration,
    /// Sums over the passes of the fastest round.
    pub best_counters: Counters,
}

/// Reads all events into memory.
pub fn load(source: &mut EventSource, report: &ReportArgs) -> Result<VeloBatch> {
    let (mut hits, mut truth) = (VeloBatch::default(), Vec::new());
    let progress = console::progress(source.known_events(), report.quiet);
    while !interrupt::requested() && source.read(256, &mut hits, &mut truth)? > 0 {
        progress.set_position(hits.len() as u64);
        truth.clear();
        if hits.x.len() > MAX_HITS {
            return Err(Error::Config("too many hits to hold in memory: use --events".into()));
        }
    }
    progress.finish_and_clear();
    source.say_problems(report);
    if hits.is_empty() {
        return Err(Error::format("input", "no event to measure with"));
    }
    Ok(hits)
}

/// Reconstructs all events again and again. A pass runs from hit columns in memory to stored output columns
/// and keeps nothing from the pass before; the first one is not timed. The threads go from pass to pass of a
/// round without waiting for each other. Every pass must give the same hashes.
///
/// # Errors
/// [`Error::Format`] when they differ.
pub fn measure(engine: &Engine, pool: &Pool, hits: &VeloBatch, plan: Plan) -> Result<Measured> {
    pool.install(|| {
        let start = Instant::now();
        let mut outputs = vec![SlicedTracks::default()];
        pool.run(engine, hits.view(), &mut outputs[0]);
        let warm_up = start.elapsed().max(Duration::from_nanos(1));
        let hashes = hash(&outputs[0]);
        let round = (ROUND.as_nanos() / warm_up.as_nanos()) as u64;
        let round = round.clamp(1, ROUND_PASSES).min(plan.passes.unwrap_or(u64::MAX).max(1));
        outputs.resize_with(round as usize, SlicedTracks::default);
        // Memory is touched for the first time outside the timing, too.
        outputs.iter_mut().skip(1).for_each(|output| {
            pool.run(engine, hits.view(), output);
        });

        let mut measured = Measured {
            counters: Counters::default(),
            hashes,
            tracks: outputs[0].tracks() as u64,
            passes: 0,
            time: Duration::ZERO,
            best_pass: Duration::MAX,
            best_counters: Counters::default(),
        };
        while !measured.is_complete(plan) {
            let left = plan.passes.map_or(round, |passes| passes - measured.passes);
            measured.round(engine, pool, hits, &mut outputs[..round.min(left) as usize])?;
        }
        Ok(measured)
    })
}

impl Measured {
    fn is_complete(&self, plan: Plan) -> bool {
        let enough = match plan.passes {
            Some(passes) => self.passes >= passes.max(1),
            None => self.time >= plan.time,
        };
        self.passes > 0 && (enough || interrupt::requested())
    }

    /// One pass into each of the outputs.
    fn round(
        &mut self,
        engine: &Engine,
        pool: &Pool,
        hits: &VeloBatch,
        outputs: &mut [SlicedTracks],
    ) -> Result<()> {
        let start = Instant::now();
        outputs.par_iter_mut().with_max_len(1).for_each(|output| {
            pool.run(engine, hits.view(), output);
        });
        let time = start.elapsed();
        self.time += time;
        let mut counters = Counters::default();
        outputs.iter().for_each(|output| counters.merge(&output.counters()));
        self.counters.merge(&counters);
        if time / (outputs.len() as u32) < self.best_pass {
            (self.best_pass, self.best_counters) = (time / outputs.len() as u32, counters);
        }
        for output in outputs.iter() {
            self.passes += 1;
            if hash(output) != self.hashes {
                return Err(Error::format(
                    format!("pass {}", self.passes),
                    "the hash is not that of the first pass",
                ));
            }
        }
        Ok(())
    }
}

fn hash(tracks: &SlicedTracks) -> Hashes {
    let mut hasher = TrackHasher::default();
    tracks.slices().for_each(|tracks| hasher.update(tracks));
    hasher.finish()
}
