//! Measures the time of the reconstruction of events in memory.

use crate::measured::Measured;
use crate::source::warn_of_problems;
use crate::system::{Detector, Runs, explain};
use crate::threads::common_threads;
use crate::totals::{Totals, hits_of};
use crate::{Beside, Config, Host, Opened};
use peloton::engine::{Batch, Sliced};
use peloton::event::{Counters, Hasher, Hashes, Results};
use peloton::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Approximate duration of a round of timed passes, much longer than the start of the threads.
const ROUND: Duration = Duration::from_millis(100);
/// Maximum number of hits, or of words of raw banks, in memory, since offsets are 32 bits wide.
const MAX_ITEMS: u64 = 1 << 31;

/// Plan of a measurement: copies of the events in memory, and length of the measurement.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Number of copies of the events.
    pub copies: usize,
    /// Exact number of passes; if none, the passes fill `time`.
    pub passes: Option<u64>,
    /// Time that the passes fill.
    pub time: Duration,
}

/// Reads all events into memory, `copies` times, and prepares them for the measurement.
///
/// # Errors
/// Errors of the source, [`Error::Config`] for too many items for 32-bit offsets, [`Error::Format`] for an empty input.
pub fn load(opened: &mut Opened, config: &Config, copies: usize, host: Host<'_>) -> Result<Box<dyn Batch>> {
    let (mut batch, mut beside) = (opened.source.empty(), Beside::default());
    let source = &mut *opened.source;
    let of = if config.sequence.system().stream().is_some() { "hits" } else { "events" };
    host.begin("reading", of, source.known_items());
    let mut read = || {
        while !host.is_cancelled() {
            let items = source.read(256, common_threads(config), &mut *batch, &mut beside)?;
            if items == 0 {
                break;
            }
            host.progress.advance(items as u64);
            beside.clear();
            if batch.memory_items() > MAX_ITEMS {
                return Err(Error::Config("too many events to hold in memory: use --events".into()));
            }
        }
        Ok(())
    };
    let read = read();
    host.progress.end();
    warn_of_problems(&*opened.source, host);
    read?;
    if batch.is_empty() {
        return Err(Error::format("input", "the input is empty: there is nothing to measure with"));
    }
    batch.repeat(copies)?;
    opened.detector.prepare_for_measuring(&mut *batch)?;
    Ok(batch)
}

/// Reconstructs all events repeatedly. A pass runs from input in memory to output columns in memory and uses nothing
/// from earlier passes; each thread overwrites the results of its previous slice, like a program that passes results
/// on. Within a round, threads begin the next pass without waiting for each other. An untimed pass before and after the
/// timed passes stores all results; both must give the same hashes. Each slice (of a stream, each round) must give the
/// same number of items in all passes.
///
/// # Errors
/// Returns [`Error::Internal`] when hashes or numbers of items differ.
pub fn measure(
    runs: &mut Runs,
    config: &Config,
    detector: &dyn Detector,
    batch: &dyn Batch,
    plan: Plan,
    host: Host<'_>,
) -> Result<Measured> {
    let is_stream = config.sequence.system().stream().is_some();
    let mut output = Sliced::default();
    // Memory grows in the first pass.
    runs.run(batch, &mut output)?;
    let start = Instant::now();
    let counters = runs.run(batch, &mut output)?;
    let warm_up = start.elapsed().max(Duration::from_nanos(1));
    let hashes = hash(config, &output);
    let sizes: Vec<_> = output.slices().map(|piece| size(&**piece)).collect();
    let mut totals = Totals::default();
    totals.add(&counters, Duration::ZERO, batch, &output);
    explain(&mut totals, detector, batch, &[]);
    if let (Some(failure), Some(words)) = (totals.failure(None), totals.bad_events()) {
        return Err(Error::format("input", format!("{failure}: {words}")));
    }
    runs.repeat(batch, 1, &|_, _| ())?;
    let round = (ROUND.as_nanos() / warm_up.as_nanos()) as u64;

    let mut measured = Measured {
        totals: Totals {
            counters: Counters::default(),
            passes: 0,
            hits: hits_of(batch, &counters),
            ..totals
        },
        hashes,
        best_pass: Duration::MAX,
        best_counters: Counters::default(),
        best_passes: 1,
    };
    // The number of passes that fill the time is an estimate, for display only.
    let wanted = plan.passes.unwrap_or_else(|| (plan.time.as_nanos() / warm_up.as_nanos()).max(1) as u64);
    let _shown = Shown::begin(wanted, host);
    while !measured.is_complete(plan, host) {
        let left = plan.passes.map_or(u64::MAX, |passes| passes.max(1) - measured.totals.passes);
        let before = measured.totals.passes;
        measured.round(runs, batch, round.clamp(1, left), (is_stream, &sizes))?;
        host.progress.advance(measured.totals.passes - before);
    }
    runs.run(batch, &mut output)?;
    if hash(config, &output) != hashes {
        return Err(Error::Internal("the last pass gave another hash than the first".into()));
    }
    Ok(measured)
}

/// Shows the progress of a measurement until it is dropped.
struct Shown<'a>(Host<'a>);

impl<'a> Shown<'a> {
    fn begin(passes: u64, host: Host<'a>) -> Self {
        host.begin("measuring", "passes", Some(passes));
        Self(host)
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        self.0.progress.end();
    }
}

impl Measured {
    fn is_complete(&self, plan: Plan, host: Host<'_>) -> bool {
        let Totals { passes, time, .. } = self.totals;
        let enough = plan.passes.map_or(time >= plan.time, |wanted| passes >= wanted.max(1));
        passes > 0 && (enough || host.is_cancelled())
    }

    /// Times one round of this many passes.
    fn round(
        &mut self,
        runs: &mut Runs,
        batch: &dyn Batch,
        passes: u64,
        (is_stream, sizes): (bool, &[[usize; 2]]),
    ) -> Result<()> {
        let (same, sums) = (AtomicBool::new(true), [const { AtomicU64::new(0) }; 2]);
        let check = |slice: usize, results: &dyn Results| {
            let size = size(results);
            if is_stream {
                // The timing of the threads decides how the results are cut into pieces.
                for (sum, items) in sums.iter().zip(size) {
                    sum.fetch_add(items as u64, Ordering::Relaxed);
                }
            } else if sizes.get(slice) != Some(&size) {
                same.store(false, Ordering::Relaxed);
            }
        };
        let start = Instant::now();
        let counters = runs.repeat(batch, passes, &check)?;
        let time = start.elapsed();
        let wanted = |of: usize| passes * sizes.iter().map(|size| size[of] as u64).sum::<u64>();
        let all_there =
            !is_stream || sums.into_iter().enumerate().all(|(of, sum)| sum.into_inner() == wanted(of));
        if !(same.into_inner() && all_there) {
            return Err(Error::Internal("the results of a pass differ from the first pass".into()));
        }
        self.totals.passes += passes;
        self.totals.time += time;
        self.totals.counters.merge(&counters);
        let pass = time.div_f64(passes as f64);
        if pass < self.best_pass {
            (self.best_pass, self.best_counters, self.best_passes) = (pass, counters, passes);
        }
        Ok(())
    }
}

/// Numbers of items in the middle and in the innermost lists, such as tracks and hits.
fn size(results: &dyn Results) -> [usize; 2] {
    [results.items(1), results.hits()]
}

/// Returns the hashes of all results of the configuration's sequence.
pub fn hash(config: &Config, results: &Sliced) -> Hashes {
    let mut hasher = Hasher::new(config.schema());
    results.slices().for_each(|piece| hasher.update(&**piece));
    hasher.finish()
}
