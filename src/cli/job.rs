//! Streams events through reading, work and writing, which run beside each other.
//!
//! ```text
//! reader thread --full--> work (this thread and its pool) --done--> writer thread
//!      ^------------------------------- empty ------------------------------'
//! ```
//! The same few chunks go round: whoever is too slow makes the others wait, memory stays bounded, and the
//! order of the events is kept.

use super::source::{EventBatch, EventSource};
use super::{console, interrupt};
use crate::event::{Counters, TruthEvent};
use crate::pipeline::{Engine, Pool, Product, Sliced};
use crate::simd::with_default_float_mode;
use crate::{Error, Result, Status};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Chunks that go round: one read, one worked on, one written, one spare.
const CHUNKS: usize = 4;
/// Events of a chunk at least; with many threads each still gets several slices.
const CHUNK_EVENTS: usize = 256;

/// A batch of events with what was made of them.
#[derive(Default)]
pub struct Chunk<T> {
    /// The hits or raw banks.
    pub events: EventBatch,
    /// The truth of each event, when it was asked for.
    pub truth: Vec<TruthEvent>,
    /// What the work makes.
    pub result: T,
}

/// Reads all events of `source`, and has `work` and then `consume` called with each chunk in order. Ends
/// early, without an error, on Ctrl-C.
pub fn stream<T: Default + Send>(
    source: &mut EventSource,
    threads: usize,
    quiet: bool,
    mut work: impl FnMut(&mut Chunk<T>) -> Result<()>,
    consume: impl FnMut(&Chunk<T>) -> Result<()> + Send,
) -> Result<()> {
    let events = CHUNK_EVENTS.max(16 * threads);
    let progress = console::progress(source.known_events(), quiet);
    let (empty_in, empty) = sync_channel(CHUNKS);
    let (full_in, full) = sync_channel(CHUNKS);
    let (done_in, done) = sync_channel(CHUNKS);
    for _ in 0..CHUNKS {
        empty_in.send(Chunk::<T>::default()).expect("the receiver is in this function");
    }
    let result = thread::scope(|scope| {
        let reader = scope.spawn(|| with_default_float_mode(|| read(source, events, empty, full_in)));
        let writer = scope.spawn(|| with_default_float_mode(|| write(done, empty_in, consume)));
        let mut worked = Ok(());
        for mut chunk in full {
            worked = work(&mut chunk);
            progress.inc(chunk.events.len() as u64);
            // A writer that is gone has failed: its own error says why.
            if worked.is_err() || done_in.send(chunk).is_err() {
                break;
            }
        }
        drop(done_in);
        let written = join(writer);
        worked.and(written).and(join(reader))
    });
    progress.finish_and_clear();
    result
}

fn join(thread: thread::ScopedJoinHandle<'_, Result<()>>) -> Result<()> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Fills chunks until there are no more events, or nobody wants them.
fn read<T>(
    source: &mut EventSource,
    events: usize,
    empty: Receiver<Chunk<T>>,
    full: SyncSender<Chunk<T>>,
) -> Result<()> {
    for mut chunk in empty {
        chunk.events.clear();
        chunk.truth.clear();
        let read = if interrupt::requested() {
            Ok(0)
        } else {
            source.read(events, &mut chunk.events, &mut chunk.truth)
        };
        // What was read before an error is still worked on.
        if chunk.events.is_empty() || full.send(chunk).is_err() {
            return read.map(drop);
        }
        read?;
    }
    Ok(())
}

/// Consumes chunks and hands them back to be filled again.
fn write<T>(
    done: Receiver<Chunk<T>>,
    empty: SyncSender<Chunk<T>>,
    mut consume: impl FnMut(&Chunk<T>) -> Result<()>,
) -> Result<()> {
    for chunk in done {
        consume(&chunk)?;
        // A reader that is gone has read everything.
        let _ = empty.send(chunk);
    }
    Ok(())
}

/// Sums over all chunks that were reconstructed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Counts of all stages.
    pub counters: Counters,
    /// Hits that went in.
    pub hits: u64,
    /// Tracks that came out.
    pub tracks: u64,
    /// Wall clock from hits in memory to tracks in memory.
    pub time: Duration,
}

impl Totals {
    /// Reconstructs one batch and adds it up. With `strict`, a dropped event is an error.
    pub fn reconstruct<P: Product>(
        &mut self,
        (engine, pool): (&Engine, &Pool),
        events: &EventBatch,
        results: &mut Sliced<P>,
        strict: bool,
    ) -> Result<()> {
        let start = Instant::now();
        let counters = pool.run(engine, events.view(), results);
        self.time += start.elapsed();
        self.counters.merge(&counters);
        self.hits += events.hits(&counters, 1);
        self.tracks += results.tracks() as u64;
        if strict { all_ok(results.slices(), events.event_ids()) } else { Ok(()) }
    }
}

/// An error when an event is not [`Status::Ok`].
pub fn all_ok<'a, P: Product>(pieces: impl Iterator<Item = &'a P>, event_ids: &[u64]) -> Result<()> {
    let statuses = pieces.flat_map(P::statuses);
    match statuses.zip(event_ids).find(|(status, _)| **status != Status::Ok) {
        Some((status, id)) => {
            Err(Error::format(format!("event {id}"), format!("{} (--strict)", status.name())))
        }
        None => Ok(()),
    }
}
