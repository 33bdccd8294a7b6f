//! [`Timepix`]: the sequence from a stream of pixel hits to clusters, on one thread or several.

use super::{CalibratedChips, Definition, TimepixConfig, Workers};
use crate::engine::{Batch, DeviceMemory, Events, Handle, Machine, Stage, StreamSequence};
use crate::event::{Counters, Layout, PixelBlock, PixelClusters, PixelHits, Truncation, countable};
use crate::simd::Level;
use crate::{Error, Result, Status};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A piece of a stream of hits.
#[derive(Debug, Default)]
pub struct PixelBatch {
    /// Hits and triggers.
    pub block: PixelBlock,
    /// Whether the stream ends here.
    pub end: bool,
}

impl Batch for PixelBatch {
    fn events(&self) -> Events<'_> {
        Events::Other(self)
    }

    fn clear(&mut self) {
        self.block.clear();
        self.end = false;
    }

    fn event_ids(&self) -> &[u64] {
        &[]
    }

    fn hits(&self) -> Option<u64> {
        Some(self.block.hits.len() as u64)
    }

    fn len(&self) -> usize {
        self.block.hits.len()
    }

    fn is_empty(&self) -> bool {
        self.block.hits.is_empty() && self.block.triggers.is_empty() && !self.end
    }

    /// Appends copies, each shifted in time by the length of the whole stream and a tenth of a second.
    fn repeat(&mut self, copies: usize) -> Result<()> {
        const GAP: i64 = 64_000_000;
        let PixelBlock { hits, triggers } = &mut self.block;
        countable(copies, hits.len())?;
        let times = || hits.time.iter().chain(&triggers.time[..]).copied();
        let (Some(first), Some(last)) = (times().min(), times().max()) else { return Ok(()) };
        let step = last.checked_sub(first).and_then(|length| length.checked_add(GAP));
        let fits =
            |step: &i64| step.checked_mul(copies as i64).and_then(|all| last.checked_add(all)).is_some();
        let Some(step) = step.filter(fits) else {
            return Err(Error::Config(format!("times of {copies} copies do not fit 64 bits")));
        };
        let (one, edges) = (hits.clone(), triggers.clone());
        for copy in 1..copies as i64 {
            hits.extend_from(&one, 0..one.len(), copy * step);
            triggers.extend_from(&edges, copy * step);
        }
        Ok(())
    }
}

/// Finds clusters of pixel hits. When the sequence panics, hits that are not clustered yet are lost and counted, and
/// the rest is processed as a new stream.
pub struct Timepix {
    workers: Workers,
    config: TimepixConfig,
    level: Level,
    layout: Layout,
    /// Pixels whose hits are dropped: x, y.
    masked: Vec<[u16; 2]>,
    /// Finds hits on chips without a calibration; none where no such hits can exist.
    calibrated: Option<CalibratedChips>,
    part: PixelHits,
    /// Number of hits that the current workers received, and returned in clusters.
    hits_in: u64,
    hits_out: u64,
    /// Counters of discarded workers.
    earlier: Counters,
}

impl Timepix {
    /// Creates a sequence for hits on `layout`, on `threads` threads, including the calling thread.
    ///
    /// # Errors
    /// Errors of the configuration and of the system's threads.
    pub fn new(config: &TimepixConfig, level: Level, layout: &Layout, threads: usize) -> Result<Self> {
        Ok(Self {
            workers: Workers::new(config, level, layout, threads)?,
            config: config.clone(),
            level,
            layout: layout.clone(),
            masked: Vec::new(),
            calibrated: CalibratedChips::of(config, layout)?,
            part: PixelHits::default(),
            hits_in: 0,
            hits_out: 0,
            earlier: Counters::default(),
        })
    }

    /// Returns how many of `threads` threads can find clusters: all for the local definition, otherwise one.
    pub fn threads_for(config: &TimepixConfig, threads: usize) -> usize {
        if config.find.definition == Definition::Local { threads } else { 1 }
    }

    /// Drops the hits of a pixel from now on.
    pub fn mask(&mut self, x: u16, y: u16) {
        self.masked.push([x, y]);
        self.workers.mask(x, y);
    }

    /// Returns the number of hits that wait for later hits or for the end of their clusters.
    pub fn waiting(&self) -> usize {
        self.workers.waiting()
    }

    /// Adds hits that are few enough to be processed at once.
    fn push_part(
        &mut self,
        hits: &PixelHits,
        end: bool,
        visit: &mut dyn FnMut(&mut PixelClusters),
    ) -> Result<()> {
        self.hits_in += hits.len() as u64;
        let workers = &mut self.workers;
        match catch_unwind(AssertUnwindSafe(move || { workers }.push(hits, end))).ok() {
            Some(parts) => {
                self.hits_out += parts.iter().map(|clusters| clusters.hits.len() as u64).sum::<u64>();
                parts.iter_mut().for_each(visit);
                Ok(())
            }
            None => self.begin_anew(),
        }
    }

    /// Discards workers in which something panicked, and the hits that wait in them.
    #[cold]
    fn begin_anew(&mut self) -> Result<()> {
        let counts = self.workers.counts();
        let accounted = self.hits_out + counts.masked + counts.late + counts.filtered;
        self.earlier = self.counters();
        self.earlier.count_event(Status::InternalFault);
        self.earlier.count_truncated(Truncation::LostHits, self.hits_in.saturating_sub(accounted));
        self.workers = Workers::new(&self.config, self.level, &self.layout, self.workers.threads())?;
        self.masked.iter().for_each(|&[x, y]| self.workers.mask(x, y));
        (self.hits_in, self.hits_out) = (0, 0);
        Ok(())
    }
}

impl StreamSequence for Timepix {
    const NAME: &'static str = "timepix";
    const STAGES: &'static [Stage] = &[
        Stage { name: "calibrate", input: "hits as read out", output: "hits at their true time", parts: &[] },
        Stage { name: "sort", input: "hits at their true time", output: "hits in order of time", parts: &[] },
        Stage { name: "find", input: "hits in order of time", output: "clusters as hit lists", parts: &[] },
        Stage {
            name: "features",
            input: "clusters as hit lists",
            output: "clusters with features",
            parts: &[],
        },
    ];

    const PRODUCT: Handle = Handle::of::<PixelClusters>("pixel_clusters");
    type Piece = PixelBatch;
    type Output = PixelClusters;

    fn push(&mut self, piece: &PixelBatch, visit: &mut dyn FnMut(&mut PixelClusters)) -> Result<()> {
        let PixelBatch { block, end } = piece;
        self.calibrated.as_mut().map_or(Ok(()), |chips| chips.check(&block.hits))?;
        let (hits, block_hits) = (block.hits.len(), self.config.block_hits);
        if hits <= block_hits {
            return self.push_part(&block.hits, *end, visit);
        }
        let mut part = std::mem::take(&mut self.part);
        for start in (0..hits).step_by(block_hits) {
            let last = hits.min(start + block_hits);
            part.clear();
            part.extend_from(&block.hits, start..last, 0);
            self.push_part(&part, *end && last == hits, visit)?;
        }
        self.part = part;
        Ok(())
    }

    fn counters(&self) -> Counters {
        let mut counters = self.earlier;
        counters.merge(self.workers.counters());
        self.workers.counts().add_dropped(&mut counters);
        counters
    }

    fn machine(&self) -> Machine {
        Machine {
            isa: self.level.isa().name(),
            gang: self.level.gang(),
            threads: self.workers.threads(),
            slice: self.config.block_hits,
            device: None,
            memory: DeviceMemory::default(),
        }
    }
}
