//! Runs the stages of a job (reading, parsing, reconstructing, writing) in parallel, batch by batch.
//!
//! ```text
//! reader thread --cut--> parsing (a thread, the pool) --parsed--> work (this thread, the pool) --done--> writer thread
//!      ^---------------------------------------------- empty -----------------------------------------------'
//! ```
//! The reader cuts chunks of events from the input without parsing them. At the same time, threads of the pool parse
//! one chunk and reconstruct the previous one. The same few chunks circulate: the slowest stage makes the others wait,
//! memory stays bounded, and the order of events is kept.

use crate::{Beside, Host, Source};
use crossbeam_channel::{Receiver, Sender, bounded};
use peloton::engine::{Batch, Spread, ThisThread};
use peloton::simd::with_default_float_mode;
use peloton::{Error, Result};
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Busy time of each part of a job, s. Parts run in parallel and share threads, so that these times overlap.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Busy {
    /// Reading and cutting the input, or simulating the input.
    pub reading: f64,
    /// Parsing the events: checksums, lists of banks, text.
    pub parsing: f64,
    /// Reconstructing the events.
    pub reconstructing: f64,
    /// Hashing, formatting and writing the results.
    pub writing: f64,
}

/// Busy time of the parts of a job so far, ns, in the order of [`Busy`].
#[derive(Default)]
struct Times([AtomicU64; 4]);

const READING: usize = 0;
const PARSING: usize = 1;
const RECONSTRUCTING: usize = 2;
const WRITING: usize = 3;

impl Times {
    fn add(&self, part: usize, since: Instant) {
        self.0[part].fetch_add(since.elapsed().as_nanos() as u64, Relaxed);
    }

    fn set(&self, part: usize, time: Duration) {
        self.0[part].store(time.as_nanos() as u64, Relaxed);
    }

    fn busy(&self) -> Busy {
        let [reading, parsing, reconstructing, writing] =
            std::array::from_fn(|part| self.0[part].load(Relaxed) as f64 / 1e9);
        Busy { reading, parsing, reconstructing, writing }
    }
}

impl Busy {
    /// Returns the part of the job with the longest busy time, and this time.
    pub fn longest(&self) -> (&'static str, f64) {
        let Self { reading, parsing, reconstructing, writing } = *self;
        let parts = [
            ("reading", reading),
            ("parsing", parsing),
            ("reconstructing", reconstructing),
            ("writing", writing),
        ];
        parts.into_iter().fold(parts[0], |most, part| if part.1 > most.1 { part } else { most })
    }
}

/// Time between two reports of the busiest part of a job.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Number of circulating chunks: while one is cut, another is parsed, another reconstructed, another written.
const CHUNKS: usize = 4;

/// A batch of events with its results.
pub struct Chunk<T> {
    /// The events.
    pub batch: Box<dyn Batch>,
    /// Auxiliary data of the events: identification and truth.
    pub beside: Beside,
    /// The results of `work`, the function that reconstructs the batch.
    pub result: T,
    /// The error that ends the job after the events of this chunk, if any.
    failed: Result<()>,
}

impl<T: Default> Chunk<T> {
    /// Makes a chunk of the events of `batch`, without auxiliary data.
    pub fn new(batch: Box<dyn Batch>) -> Self {
        Self { batch, beside: Beside::default(), result: T::default(), failed: Ok(()) }
    }
}

/// Function that receives each processed chunk.
pub type Consume<'a, T> = &'a mut (dyn FnMut(&Chunk<T>) -> Result<()> + Send);

/// Reads all events from `source`, `items` at a time, and calls `work` and then `consume` with each chunk, in order.
/// The batch `last` is processed after all other chunks; `threads` parse the events. Ends early, without an error, when
/// the host requests it. Returns the busy time of each part.
pub fn stream<T: Default + Send>(
    (source, items): (&mut dyn Source, usize),
    last: Option<Box<dyn Batch>>,
    threads: &dyn Spread,
    host: Host<'_>,
    work: &mut dyn FnMut(&mut Chunk<T>) -> Result<()>,
    consume: Consume<'_, T>,
) -> Result<Busy> {
    let of = if last.is_some() { "hits" } else { "events" };
    host.begin("reconstructing", of, source.known_items());
    let (empty_in, empty) = bounded(CHUNKS + 1);
    let (cut_in, cut) = bounded(CHUNKS);
    let (parsed_in, parsed) = bounded(CHUNKS);
    let (done_in, done) = bounded(CHUNKS);
    for _ in 0..CHUNKS {
        empty_in.send(Chunk::new(source.empty())).expect("the receiver is in this function");
    }
    let (times, begin) = (&Times::default(), Instant::now());
    let result = thread::scope(|scope| {
        let reader = scope.spawn(|| read(source, items, host, &empty, cut_in, times));
        let parser = scope.spawn(|| parse(threads, cut, parsed_in, times));
        let writer = scope.spawn(|| write(done, empty_in, consume, times));
        let (mut worked, mut told) = (Ok(()), begin);
        for mut chunk in parsed {
            let start = Instant::now();
            worked = work(&mut chunk);
            times.add(RECONSTRUCTING, start);
            host.progress.advance(chunk.batch.len() as u64);
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                let (part, seconds) = times.busy().longest();
                host.progress.busiest(part, seconds / begin.elapsed().as_secs_f64());
            }
            if worked.is_err() {
                break;
            }
            // The events before the event at which the job ends are written.
            worked = std::mem::replace(&mut chunk.failed, Ok(()));
            // If the writer has ended, it has failed: its own error is returned.
            if done_in.send(chunk).is_err() || worked.is_err() {
                break;
            }
        }
        if let Some(batch) = last {
            let mut chunk = Chunk::new(batch);
            worked = worked.and(work(&mut chunk));
            // If the writer has ended, it has failed: its own error is returned.
            let _ = done_in.send(chunk);
        }
        drop(done_in);
        let (written, parsed, read) = (join(writer), join(parser), join(reader));
        worked.and(written).and(parsed).and(read)
    });
    host.progress.end();
    result.map(|()| times.busy())
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    let failed = |_| Err(Error::Internal("a thread that reads or writes panicked".into()));
    thread.join().unwrap_or_else(failed)
}

/// Fills chunks until the source ends or the next stage has ended.
fn read<T>(
    source: &mut dyn Source,
    items: usize,
    host: Host<'_>,
    empty: &Receiver<Chunk<T>>,
    cut: Sender<Chunk<T>>,
    times: &Times,
) -> Result<()> {
    let waits = source.waits_for_faults();
    let items = if waits { 1 } else { items };
    for mut chunk in empty {
        chunk.batch.clear();
        chunk.beside.clear();
        if host.is_cancelled() {
            return Ok(());
        }
        let begin = Instant::now();
        let read = source.cut(items, &mut *chunk.batch, &mut chunk.beside);
        match source.reading_time() {
            Some(time) => times.set(READING, time),
            None => times.add(READING, begin),
        }
        if waits {
            chunk.failed = chunk.beside.parse(&ThisThread, &mut *chunk.batch);
        }
        let is_fault = chunk.failed.is_err();
        // Events that were read before an error are still reconstructed.
        let is_empty = chunk.batch.is_empty() && !chunk.beside.has_unparsed();
        let is_over = !matches!(read, Ok(1..)) && is_empty;
        // A chunk with a fault is passed on even if it has no events: the fault ends the job.
        let is_sent = (is_fault || !is_over) && cut.send(chunk).is_ok();
        if is_fault || !is_sent {
            return read.map(|_| ());
        }
        read?;
    }
    Ok(())
}

/// Parses the events of each chunk on `threads`.
fn parse<T>(
    threads: &dyn Spread,
    cut: Receiver<Chunk<T>>,
    parsed: Sender<Chunk<T>>,
    times: &Times,
) -> Result<()> {
    with_default_float_mode(|| {
        for mut chunk in cut {
            let begin = Instant::now();
            if chunk.failed.is_ok() {
                chunk.failed = chunk.beside.parse(threads, &mut *chunk.batch);
            }
            times.add(PARSING, begin);
            let is_last = chunk.failed.is_err();
            if parsed.send(chunk).is_err() || is_last {
                break;
            }
        }
        Ok(())
    })
}

/// Consumes chunks and returns them to the reader.
fn write<T>(
    done: Receiver<Chunk<T>>,
    empty: Sender<Chunk<T>>,
    consume: Consume<'_, T>,
    times: &Times,
) -> Result<()> {
    for chunk in done {
        let begin = Instant::now();
        consume(&chunk)?;
        times.add(WRITING, begin);
        // If the reader has ended, it needs no more empty chunks.
        let _ = empty.send(chunk);
    }
    Ok(())
}
