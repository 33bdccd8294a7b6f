//! [`Feed`]: reads blocks of hits on a separate thread and passes them through a bounded channel.
//!
//! If processing is slower than the input, the channel fills up. Then either reading waits (which slows down a TCP
//! sender) or hits are dropped and counted. The memory of processed blocks is reused.

use crate::input::timepix::{PixelCounts, PixelReader, ReadEnd};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use peloton::event::PixelBlock;
use peloton::simd::set_default_float_mode;
use peloton::{Error, Result};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Largest number of blocks that wait.
const DEPTH: usize = 8;

/// A source of blocks of hits.
pub trait PixelStream: Send + 'static {
    /// Appends hits to `block` until it has at least `hits` hits, the source ends, or no data are available at present.
    ///
    /// # Errors
    /// An error when the stream cannot be read.
    fn read(&mut self, hits: usize, block: &mut PixelBlock) -> Result<ReadEnd>;
    /// Numbers of hits, triggers and faults in the stream so far.
    fn counts(&self) -> PixelCounts;
    /// Name of the source from which the last hits were read.
    fn source(&self) -> Arc<str> {
        "".into()
    }
    /// Problems of the stream so far that did not end the job.
    fn troubles(&self) -> PixelTroubles {
        PixelTroubles::default()
    }
}

/// Problems of a stream that did not end the job.
#[derive(Debug, Clone, Default)]
pub struct PixelTroubles {
    /// Messages of the first problems.
    pub problems: Vec<String>,
    /// Total number of problems.
    pub count: u64,
    /// Number of inputs that were skipped because they cannot be used, or not read to their ends.
    pub unusable_inputs: u64,
}

impl PixelStream for Box<dyn PixelStream> {
    fn read(&mut self, hits: usize, block: &mut PixelBlock) -> Result<ReadEnd> {
        (**self).read(hits, block)
    }

    fn counts(&self) -> PixelCounts {
        (**self).counts()
    }

    fn source(&self) -> Arc<str> {
        (**self).source()
    }

    fn troubles(&self) -> PixelTroubles {
        (**self).troubles()
    }
}

impl PixelStream for PixelReader {
    fn read(&mut self, hits: usize, block: &mut PixelBlock) -> Result<ReadEnd> {
        PixelReader::read(self, hits, block)
    }

    fn counts(&self) -> PixelCounts {
        *PixelReader::counts(self)
    }

    fn source(&self) -> Arc<str> {
        PixelReader::source(self).clone()
    }

    fn troubles(&self) -> PixelTroubles {
        let (problems, count) = self.problems();
        PixelTroubles { problems: problems.to_vec(), count, unusable_inputs: self.unusable_inputs() }
    }
}

/// Treatment of hits that arrive while the channel is full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Reading waits until the channel has space.
    #[default]
    Wait,
    /// Hits are dropped and counted.
    Drop,
}

peloton::names!(WhenFull, "way to treat hits that come too fast", { Wait => "wait", Drop => "drop" });

/// A block of hits, and the state of the stream after reading it.
pub struct Fed {
    /// The hits and triggers of the block.
    pub block: PixelBlock,
    /// The reason why reading stopped after the block.
    pub end: ReadEnd,
    /// Name of the source from which the hits were read.
    pub source: Arc<str>,
    /// Numbers of hits, triggers and faults in the stream up to the end of the block.
    pub counts: PixelCounts,
    /// Number of hits dropped before this block because the channel was full.
    pub dropped: u64,
    /// Time at which reading of the block ended.
    pub read_at: Instant,
    /// Total duration of reading, up to the end of the block.
    pub reading: Duration,
}

/// Blocks of hits that another thread reads.
pub struct Feed {
    blocks: Receiver<Result<Fed>>,
    used: Sender<PixelBlock>,
    thread: Option<JoinHandle<PixelTroubles>>,
    troubles: PixelTroubles,
}

impl Feed {
    /// Starts a thread that reads blocks of about `hits` hits from `stream`.
    ///
    /// # Errors
    /// [`Error::System`] when the operating system cannot start a thread.
    pub fn start(stream: impl PixelStream, hits: usize, when_full: WhenFull) -> Result<Self> {
        let (to_work, blocks) = bounded(DEPTH);
        let (used, from_work) = bounded(DEPTH + 2);
        let thread = std::thread::Builder::new()
            .name("peloton-read".into())
            .spawn(move || {
                set_default_float_mode();
                read_all(stream, hits, when_full, &to_work, &from_work)
            })
            .map_err(|e| Error::System(format!("cannot start a thread: {e}")))?;
        Ok(Self { blocks, used, thread: Some(thread), troubles: PixelTroubles::default() })
    }

    /// The next block; none at the end of the stream.
    ///
    /// # Errors
    /// Errors of the stream.
    #[allow(clippy::should_implement_trait, reason = "an iterator could not take blocks back")]
    pub fn next(&mut self) -> Result<Option<Fed>> {
        match self.blocks.recv() {
            Ok(fed) => fed.map(Some),
            Err(_) => {
                if let Some(thread) = self.thread.take() {
                    let panicked = |_| Error::Internal("the reading thread panicked".into());
                    self.troubles = thread.join().map_err(panicked)?;
                }
                Ok(None)
            }
        }
    }

    /// Problems of the stream, which are known after its last block.
    pub fn troubles(&self) -> &PixelTroubles {
        &self.troubles
    }

    /// Returns a processed block, whose memory is then used for a new block.
    pub fn give_back(&self, mut block: PixelBlock) {
        block.clear();
        // The block is dropped if enough blocks already wait to be filled.
        let _ = self.used.try_send(block);
    }
}

fn read_all(
    mut stream: impl PixelStream,
    hits: usize,
    when_full: WhenFull,
    to_work: &Sender<Result<Fed>>,
    from_work: &Receiver<PixelBlock>,
) -> PixelTroubles {
    let (mut dropped, mut reading) = (0, Duration::ZERO);
    loop {
        let mut block = from_work.try_recv().unwrap_or_default();
        let begin = Instant::now();
        let read = stream.read(hits, &mut block);
        reading += begin.elapsed();
        let end = match &read {
            Ok(ReadEnd::End) => return stream.troubles(),
            Ok(end) => *end,
            // The hits before the error are processed first; then the error is reported.
            Err(_) => ReadEnd::More,
        };
        let length = block.hits.len() as u64;
        let (source, counts) = (stream.source(), stream.counts());
        let fed = Ok(Fed { block, end, source, counts, dropped, read_at: Instant::now(), reading });
        if let Err(error) = read {
            if to_work.send(fed).is_ok() {
                let _ = to_work.send(Err(error));
            }
            return stream.troubles();
        }
        let must_arrive = when_full == WhenFull::Wait || end != ReadEnd::More;
        let sent = if must_arrive {
            to_work.send(fed).is_ok()
        } else {
            match to_work.try_send(fed) {
                Ok(()) => true,
                Err(TrySendError::Full(_)) => {
                    dropped += length;
                    true
                }
                Err(TrySendError::Disconnected(_)) => false,
            }
        };
        if !sent {
            // The receiver has ended.
            return stream.troubles();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A stream of hits with rising times.
    struct Counting(u64);

    impl PixelStream for Counting {
        fn read(&mut self, hits: usize, block: &mut PixelBlock) -> Result<ReadEnd> {
            if self.0 == 1000 {
                return Ok(ReadEnd::End);
            }
            while block.hits.len() < hits && self.0 < 1000 {
                block.hits.push(self.0 as i64, 0, 0, 0);
                self.0 += 1;
            }
            Ok(if self.0 == 1000 { ReadEnd::EndOfSource } else { ReadEnd::More })
        }

        fn counts(&self) -> PixelCounts {
            PixelCounts { hits: self.0, ..PixelCounts::default() }
        }
    }

    fn run(when_full: WhenFull, pause: Duration) -> (u64, u64) {
        let mut feed = Feed::start(Counting(0), 10, when_full).unwrap();
        let (mut hits, mut dropped, mut last) = (0, 0, -1);
        while let Some(fed) = feed.next().unwrap() {
            assert!(fed.block.hits.time.iter().all(|time| std::mem::replace(&mut last, *time) < *time));
            hits += fed.block.hits.len() as u64;
            dropped = fed.dropped;
            assert!(fed.end == ReadEnd::More || fed.counts.hits == hits + dropped);
            std::thread::sleep(pause);
            feed.give_back(fed.block);
        }
        (hits, dropped)
    }

    /// The same hits, with an error in the block of the 25th hit.
    struct Breaking(Counting);

    impl PixelStream for Breaking {
        fn read(&mut self, hits: usize, block: &mut PixelBlock) -> Result<ReadEnd> {
            let hits = hits.min(25 - self.0.0 as usize);
            let end = self.0.read(hits, block)?;
            if self.0.0 == 25 { Err(Error::format("stream", "broken")) } else { Ok(end) }
        }

        fn counts(&self) -> PixelCounts {
            self.0.counts()
        }
    }

    #[test]
    fn what_comes_before_an_error_is_handed_on() {
        let mut feed = Feed::start(Breaking(Counting(0)), 10, WhenFull::Wait).unwrap();
        for length in [10, 10, 5] {
            assert_eq!(feed.next().unwrap().unwrap().block.hits.len(), length);
        }
        assert!(feed.next().is_err());
    }

    #[test]
    fn a_slow_worker_makes_the_stream_wait_or_drops_are_counted() {
        assert_eq!(run(WhenFull::Wait, Duration::from_micros(200)), (1000, 0));
        let (hits, dropped) = run(WhenFull::Drop, Duration::from_millis(5));
        assert!(dropped > 0);
        assert_eq!(hits + dropped, 1000);
    }
}
