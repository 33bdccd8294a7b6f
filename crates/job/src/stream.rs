//! Streams batches through reading, work and writing, which run beside each other.
//!
//! ```text
//! reader thread --full--> work (this thread and its pool) --done--> writer thread
//!      ^------------------------------- empty ------------------------------'
//! ```
//! The same few chunks go round: whoever is too slow makes the others wait, memory stays bounded, and the
//! order of the events is kept.

use crate::{Beside, Host, Source};
use crossbeam_channel::{Receiver, Sender, bounded};
use peloton::engine::Batch;
use peloton::{Error, Result};
use std::thread;
use std::time::{Duration, Instant};

/// Chunks that go round: one read, one worked on, one written, one spare.
const CHUNKS: usize = 4;

/// A batch of events with what was made of them.
pub struct Chunk<T> {
    /// The events.
    pub batch: Box<dyn Batch>,
    /// Which they are, and their truth.
    pub beside: Beside,
    /// What the work makes.
    pub result: T,
}

impl<T: Default> Chunk<T> {
    /// These events, of which nothing is known beside them.
    pub fn new(batch: Box<dyn Batch>) -> Self {
        Self { batch, beside: Beside::default(), result: T::default() }
    }
}

/// What chunks are handed to once they are worked on.
pub type Consume<'a, T> = &'a mut (dyn FnMut(&Chunk<T>) -> Result<()> + Send);

/// Reads everything from `source`, `items` at a time, and has `work` and then `consume` called with each chunk in
/// order; `last` is worked on after everything else. Ends early, without an error, when the host asks for it. Says how
/// long reading took.
pub fn stream<T: Default + Send>(
    source: &mut dyn Source,
    items: usize,
    last: Option<Box<dyn Batch>>,
    host: Host<'_>,
    work: &mut dyn FnMut(&mut Chunk<T>) -> Result<()>,
    consume: Consume<'_, T>,
) -> Result<Duration> {
    let of = if last.is_some() { "hits" } else { "events" };
    host.begin("reconstructing", of, source.known_items());
    let (empty_in, empty) = bounded(CHUNKS + 1);
    let (full_in, full) = bounded(CHUNKS);
    let (done_in, done) = bounded(CHUNKS);
    for _ in 0..CHUNKS {
        empty_in.send(Chunk::new(source.empty())).expect("the receiver is in this function");
    }
    let result = thread::scope(|scope| {
        let reader = scope.spawn(|| read(source, items, host, &empty, full_in));
        let writer = scope.spawn(|| write(done, empty_in, consume));
        let mut worked = Ok(());
        for mut chunk in full {
            worked = work(&mut chunk);
            host.progress.advance(chunk.batch.len() as u64);
            // A writer that is gone has failed: its own error says why.
            if worked.is_err() || done_in.send(chunk).is_err() {
                break;
            }
        }
        if let Some(batch) = last {
            let mut chunk = Chunk::new(batch);
            worked = worked.and(work(&mut chunk));
            // As above.
            let _ = done_in.send(chunk);
        }
        drop(done_in);
        let written = join(writer);
        worked.and(written).and(join(reader))
    });
    host.progress.end();
    result
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    let failed = |_| Err(Error::Internal("a thread that reads or writes panicked".into()));
    thread.join().unwrap_or_else(failed)
}

/// Fills chunks until there are no more events, or nobody wants them; says how long the source took.
fn read<T>(
    source: &mut dyn Source,
    items: usize,
    host: Host<'_>,
    empty: &Receiver<Chunk<T>>,
    full: Sender<Chunk<T>>,
) -> Result<Duration> {
    let mut time = Duration::ZERO;
    for mut chunk in empty {
        chunk.batch.clear();
        chunk.beside.clear();
        if host.is_cancelled() {
            return Ok(time);
        }
        let begin = Instant::now();
        let read = source.read(items, &mut *chunk.batch, &mut chunk.beside);
        chunk.beside.complete(chunk.batch.event_ids());
        time += begin.elapsed();
        // What was read before an error is still worked on.
        let is_over = !matches!(read, Ok(1..)) && chunk.batch.is_empty();
        if is_over || full.send(chunk).is_err() {
            return read.map(|_| time);
        }
        read?;
    }
    Ok(time)
}

/// Consumes chunks and hands them back to be filled again.
fn write<T>(done: Receiver<Chunk<T>>, empty: Sender<Chunk<T>>, consume: Consume<'_, T>) -> Result<()> {
    for chunk in done {
        consume(&chunk)?;
        // A reader that is gone has read everything.
        let _ = empty.send(chunk);
    }
    Ok(())
}
