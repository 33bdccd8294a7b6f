//! [`ClusterStream`]: clusters pixel hits, which may arrive in pieces of any length.

use super::ConfiguredOutcome;
use crate::Config;
use peloton::engine::{Products, StreamSequence};
use peloton::event::append;
use peloton::event::{Counters, Layout, PixelClusters};
use peloton::timepix::{PixelBatch, Timepix};
use peloton::{Error, Result};
use peloton_io::input::timepix::{PixelColumns, PixelCounts, PixelDecoder, PixelFormat};

/// Number of bytes that are decoded before their hits are clustered.
const PIECE: usize = 256 << 10;

/// Finds clusters in an endless stream of pixel hits. The clusters do not depend on how the stream is cut into pieces.
pub struct ClusterStream {
    timepix: Timepix,
    decoder: PixelDecoder,
    columns: PixelColumns,
    block_hits: usize,
    batch: PixelBatch,
    found: PixelClusters,
    /// Counts at the last call of [`take`](Self::take).
    taken: Counters,
    threads: usize,
    /// Number of the process that started the threads.
    process: u32,
}

impl ClusterStream {
    /// Makes a stream for a sensor with this layout; without `layout`, for four chips, where no cluster spans two
    /// chips. The stream runs on the caller's thread, unless the configuration requests more threads.
    ///
    /// # Errors
    /// Returns errors of the configuration, and of starting threads.
    pub fn new(config: &Config, layout: Option<Layout>) -> Result<Self> {
        let format = PixelFormat::Tpx3;
        let layout = layout.map_or_else(|| format.default_layout(), Ok)?;
        let mut timepix = config.timepix.clone();
        timepix.filter.check(timepix.calibration.is_some())?;
        timepix.disorder_us.get_or_insert(format.usual_disorder_us());
        let threads = Timepix::threads_for(&timepix, config.threads.unwrap_or(1));
        Ok(Self {
            timepix: Timepix::new(&timepix, config.level()?, &layout, threads)?,
            decoder: PixelDecoder::tpx3(layout.clone(), config.timepix.disorder_us),
            columns: PixelColumns::new(layout, config.timepix.disorder_us),
            block_hits: timepix.block_hits,
            batch: PixelBatch::default(),
            found: PixelClusters::default(),
            taken: Counters::default(),
            threads,
            process: std::process::id(),
        })
    }

    /// Whether the stream's threads exist. A child of `fork` does not have them, and a call of this stream would wait
    /// for them forever.
    pub fn has_threads(&self) -> bool {
        self.threads <= 1 || self.process == std::process::id()
    }

    /// Adds raw words of the Timepix3 format.
    ///
    /// # Errors
    /// [`Error::Columns`](peloton::Error::Columns) when clusters not yet taken exceed 32-bit offsets; they are lost.
    pub fn tpx3(&mut self, bytes: &[u8]) -> Result<()> {
        for piece in bytes.chunks(PIECE) {
            self.decoder.push(piece, &mut self.batch.block);
            self.work_if_full()?;
        }
        Ok(())
    }

    /// Adds hits; `values` are x, y and time over threshold. Hits outside of the sensor are counted and dropped.
    ///
    /// # Errors
    /// [`Error::Columns`](peloton::Error::Columns) for columns of different lengths, and errors of [`tpx3`](Self::tpx3).
    pub fn hits(&mut self, time: &[i64], values: [&[u16]; 3]) -> Result<()> {
        self.columns.push(time, values, &mut self.batch.block)?;
        self.work_if_full()
    }

    /// Ends the stream: completes all clusters; further hits begin a new stream.
    ///
    /// # Errors
    /// Returns errors of [`tpx3`](Self::tpx3).
    pub fn end(&mut self) -> Result<()> {
        self.decoder.finish(&mut self.batch.block);
        self.columns.finish(&mut self.batch.block);
        self.work(true)
    }

    /// Makes an empty outcome for [`take`](Self::take).
    pub fn outcome() -> ConfiguredOutcome {
        ConfiguredOutcome::new(Products::new(&[Timepix::PRODUCT]))
    }

    /// Moves the complete clusters to `to`, with the counts since the last call of this function.
    ///
    /// # Errors
    /// [`Error::Config`](peloton::Error::Config) for an outcome of another sequence, and errors of [`tpx3`](Self::tpx3).
    pub fn take(&mut self, to: &mut ConfiguredOutcome) -> Result<()> {
        let products = to.begin();
        let other = || Error::Config("this result was made for another sequence than timepix".into());
        let clusters = products.get_mut().ok_or_else(other)?;
        self.work(false)?;
        std::mem::swap(clusters, &mut self.found);
        let now = self.timepix.counters();
        products.counters = now.since(&self.taken);
        self.taken = now;
        Ok(())
    }

    /// Returns the counts of all input so far, such as of hits.
    pub fn counts(&self) -> PixelCounts {
        let mut counts = *self.columns.counts();
        counts.merge(self.decoder.counts());
        counts
    }

    /// Clusters the waiting hits as soon as they fill a block.
    fn work_if_full(&mut self) -> Result<()> {
        if self.batch.block.hits.len() >= self.block_hits { self.work(false) } else { Ok(()) }
    }

    fn work(&mut self, end: bool) -> Result<()> {
        self.batch.end = end;
        let (found, mut appended) = (&mut self.found, Ok(()));
        let pushed = self.timepix.push(&self.batch, &mut |part| {
            if appended.is_ok() {
                appended = append(found, part);
            }
        });
        self.batch.block.clear();
        pushed.and(appended).inspect_err(|_| self.found = PixelClusters::default())
    }
}
