//! Times the reconstruction of events in memory.

use super::options::ReportArgs;
use super::source::{EventBatch, EventSource};
use super::{console, interrupt};
use peloton::event::{Counters, Hasher, Hashes};
use peloton::pipeline::{Engine, Pool, Product, Sliced};
use peloton::{Error, Result};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Passes are timed in rounds of about this long: far above what starting the threads costs.
const ROUND: Duration = Duration::from_millis(100);
/// Hits or words of raw banks in memory at most: offsets are 32 bits wide.
const MAX_ITEMS: usize = 1 << 31;

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
    /// Hashes of a pass.
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
pub fn load(source: &mut EventSource, report: &ReportArgs) -> Result<EventBatch> {
    let (mut events, mut truth) = (EventBatch::default(), Vec::new());
    let progress = console::progress(source.known_events(), report.quiet);
    let mut read = || {
        while !interrupt::requested() && source.read(256, &mut events, &mut truth)? > 0 {
            progress.set_position(events.len() as u64);
            truth.clear();
            if events.items() > MAX_ITEMS {
                return Err(Error::Config("too many events to hold in memory: use --events".into()));
            }
        }
        Ok(())
    };
    let read = read();
    progress.finish_and_clear();
    source.say_problems(report);
    read?;
    if events.is_empty() {
        return Err(Error::format("input", "no event to measure with"));
    }
    Ok(events)
}

/// Reconstructs all events again and again. A pass runs from hits or raw banks in memory to output columns in memory
/// and keeps nothing from the pass before; each thread writes the results of a slice over those of its last one, as
/// a farm that hands them on does. The threads go from pass to pass of a round without waiting for each other.
/// Passes before and after the timed ones, which keep all results, must give the same hashes, and each timed slice
/// as many tracks and hits as there.
///
/// # Errors
/// [`Error::Format`] when they differ.
pub fn measure<P: Product>(
    engine: &Engine,
    pool: &Pool,
    events: &EventBatch,
    plan: Plan,
) -> Result<Measured> {
    pool.install(|| {
        let mut output = Sliced::<P>::default();
        // Memory grows in the first pass.
        pool.run(engine, events.view(), &mut output);
        let start = Instant::now();
        pool.run(engine, events.view(), &mut output);
        let warm_up = start.elapsed().max(Duration::from_nanos(1));
        let hashes = hash(&output);
        let sizes: Vec<_> = output.slices().map(size).collect();
        pool.for_each_slice(engine, events.view(), |_, _: &P| ());
        let round = (ROUND.as_nanos() / warm_up.as_nanos()) as u64;

        let mut measured = Measured {
            counters: Counters::default(),
            hashes,
            tracks: output.tracks() as u64,
            passes: 0,
            time: Duration::ZERO,
            best_pass: Duration::MAX,
            best_counters: Counters::default(),
        };
        while !measured.is_complete(plan) {
            let left = plan.passes.map_or(u64::MAX, |passes| passes.max(1) - measured.passes);
            measured.round::<P>(engine, pool, events, round.clamp(1, left), &sizes)?;
        }
        pool.run(engine, events.view(), &mut output);
        if hash(&output) != hashes {
            return Err(Error::format("the last pass", "the hash is not that of the first pass"));
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

    /// So many passes.
    fn round<P: Product>(
        &mut self,
        engine: &Engine,
        pool: &Pool,
        events: &EventBatch,
        passes: u64,
        sizes: &[(usize, usize)],
    ) -> Result<()> {
        let same = AtomicBool::new(true);
        let check = |slice: usize, results: &P| {
            if size(results) != sizes[slice] {
                same.store(false, Ordering::Relaxed);
            }
        };
        let start = Instant::now();
        let counters = (0..passes as usize)
            .into_par_iter()
            .with_max_len(1)
            .map(|_| pool.for_each_slice(engine, events.view(), check))
            .reduce(Counters::default, |mut sum, more| {
                sum.merge(&more);
                sum
            });
        let time = start.elapsed();
        if !same.into_inner() {
            return Err(Error::format("a pass", "its results are not those of the first pass"));
        }
        self.passes += passes;
        self.time += time;
        self.counters.merge(&counters);
        let pass = time.div_f64(passes as f64);
        if pass < self.best_pass {
            (self.best_pass, self.best_counters) = (pass, counters);
        }
        Ok(())
    }
}

/// Tracks and hits.
fn size<P: Product>(results: &P) -> (usize, usize) {
    (results.tracks(), results.hits())
}

/// The hashes of all results.
pub fn hash<P: Product>(results: &Sliced<P>) -> Hashes {
    let mut hasher = Hasher::<P>::default();
    results.slices().for_each(|piece| hasher.update(piece));
    hasher.finish()
}
