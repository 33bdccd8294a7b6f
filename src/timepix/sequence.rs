//! [`Timepix`]: the sequence from a stream of pixel hits to clusters, on one thread or several.

use super::{Definition, TimepixConfig, Workers};
use crate::Result;
use crate::engine::{Batch, Machine, Stage, StreamSequence};
use crate::event::{Counters, Layout, PixelBlock, PixelClusters, PixelHits};
use crate::simd::Level;

/// A piece of a stream of hits.
#[derive(Debug, Default)]
pub struct PixelBatch {
    /// Hits and triggers.
    pub block: PixelBlock,
    /// Whether the stream ends here.
    pub end: bool,
}

impl Batch for PixelBatch {
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
}

/// Pixel hits to clusters.
pub struct Timepix {
    workers: Workers,
    level: Level,
    /// Hits that are worked on at once.
    block_hits: usize,
    part: PixelHits,
}

impl Timepix {
    /// For hits on `layout`, on so many threads; one is the calling thread.
    ///
    /// # Errors
    /// Those of the configuration and of the system's threads.
    pub fn new(config: &TimepixConfig, level: Level, layout: &Layout, threads: usize) -> Result<Self> {
        let workers = Workers::new(config, level, layout, threads)?;
        Ok(Self { workers, level, block_hits: config.block_hits, part: PixelHits::default() })
    }

    /// How many of `threads` threads can find clusters: one when the definition cannot be shared out.
    pub fn threads_for(config: &TimepixConfig, threads: usize) -> usize {
        if config.find.definition == Definition::Local { threads } else { 1 }
    }

    /// From now on drops the hits of a pixel.
    pub fn mask(&mut self, x: u16, y: u16) {
        self.workers.mask(x, y);
    }

    /// Hits that wait inside, for later ones or for their clusters to end.
    pub fn waiting(&self) -> usize {
        self.workers.waiting()
    }
}

impl StreamSequence for Timepix {
    const NAME: &'static str = "timepix";
    const STAGES: &'static [Stage] = &[
        Stage { name: "calibrate", input: "hits as read out", output: "hits at their true time" },
        Stage { name: "sort", input: "hits at their true time", output: "hits in order of time" },
        Stage { name: "find", input: "hits in order of time", output: "clusters as hit lists" },
        Stage { name: "features", input: "clusters as hit lists", output: "clusters with features" },
    ];

    type Piece = PixelBatch;
    type Output = PixelClusters;

    fn push(&mut self, piece: &PixelBatch, visit: &mut dyn FnMut(&mut PixelClusters)) -> Result<()> {
        let PixelBatch { block, end } = piece;
        let hits = block.hits.len();
        if hits <= self.block_hits {
            visit(self.workers.push(&block.hits, *end));
            return Ok(());
        }
        for start in (0..hits).step_by(self.block_hits) {
            let last = hits.min(start + self.block_hits);
            self.part.clear();
            self.part.extend_from(&block.hits, start..last, 0);
            visit(self.workers.push(&self.part, *end && last == hits));
        }
        Ok(())
    }

    fn counters(&self) -> Counters {
        let mut counters = *self.workers.counters();
        self.workers.counts().add_dropped(&mut counters);
        counters
    }

    fn machine(&self) -> Machine {
        Machine {
            isa: self.level.isa().name(),
            gang: self.level.gang(),
            threads: self.workers.threads(),
            slice: self.block_hits,
            device: None,
        }
    }
}
