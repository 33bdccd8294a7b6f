//! [`WindowFinder`]: the clusters of one stretch of a stream, found without the rest of it.

use super::calibrate::Calibration;
use super::config::FindConfig;
use super::features::FeatureMaker;
use super::find::Finder;
use super::group::Grouper;
use super::sort::{SortShape, TimeSorter};
use crate::Result;
use crate::event::{Column, PixelClusters, PixelHits};
use crate::simd::Level;
use std::sync::Arc;
use std::time::Instant;

/// What was found in a window.
#[derive(Debug, Default)]
pub struct WindowClusters {
    /// Clusters that keep away from both ends: they are complete. With features.
    pub inner: PixelClusters,
    /// The hits of all others, in order of time: they may be neighbours of hits outside.
    pub border: PixelHits,
    /// Hits of later windows are not before this time.
    pub end: i64,
    /// Time that sorting, finding and features took, ns.
    pub ns: [u64; 3],
}

/// Clusters windows of a stream by the local definition.
pub struct WindowFinder {
    sorter: TimeSorter,
    sorted: PixelHits,
    finder: Finder,
    level: Level,
    calibration: Option<Arc<Calibration>>,
    maker: FeatureMaker,
    labels: Column<u32>,
    /// Per cluster: 1 for one at a border.
    at_border: Column<u8>,
    grouper: Grouper,
}

impl WindowFinder {
    /// For sensors of `width` x `height` pixels.
    ///
    /// # Errors
    /// Those of [`FindConfig::validate`].
    pub fn new(
        config: FindConfig,
        level: Level,
        calibration: Option<Arc<Calibration>>,
        [width, height]: [usize; 2],
    ) -> Result<Self> {
        Ok(Self {
            sorter: TimeSorter::new(level, 0, usize::MAX),
            sorted: PixelHits::default(),
            finder: Finder::at_level(config, level, width, height)?,
            level,
            calibration,
            maker: FeatureMaker::default(),
            labels: Column::default(),
            at_border: Column::default(),
            grouper: Grouper::new(level),
        })
    }

    /// The same with sizes of its own choice for the sort.
    pub fn with_sort(mut self, shape: SortShape) -> Self {
        self.sorter = self.sorter.with_shape(shape);
        self
    }

    /// Clusters the hits of a window, which may come in any order; `out` is emptied first. Hits of
    /// earlier windows are before `begin`, those of later ones not before `end`.
    pub fn run(&mut self, hits: &PixelHits, [begin, end]: [i64; 2], out: &mut WindowClusters) {
        let start = Instant::now();
        out.inner.clear();
        out.border.clear();
        let mut sorted = std::mem::take(&mut self.sorted);
        self.sorter.sort(hits, &mut sorted);
        let after_sort = start.elapsed();
        out.end = end;
        self.run_sorted(&sorted, begin, out);
        out.ns[0] = after_sort.as_nanos() as u64;
        self.sorted = sorted;
    }

    fn run_sorted(&mut self, hits: &PixelHits, begin: i64, out: &mut WindowClusters) {
        let start = Instant::now();
        let clusters = self.finder.run(hits, &mut self.labels);
        self.find_borders(hits, clusters, begin, out.end);
        self.split(hits, out);
        let found = start.elapsed();
        let (level, maker, calibration) = (self.level, &mut self.maker, self.calibration.as_deref());
        crate::dispatch_isa!(level, g => maker.run(g, calibration, &mut out.inner));
        [out.ns[1], out.ns[2]] = [found, start.elapsed() - found].map(|time| time.as_nanos() as u64);
    }

    /// Hits outside are not between `begin` and `end`, so only what is within delta of these can have neighbours
    /// there.
    fn find_borders(&mut self, hits: &PixelHits, clusters: usize, begin: i64, end: i64) {
        let Self { labels, at_border, .. } = self;
        let reach = i64::from(self.finder.config().window());
        at_border.set_len(clusters);
        at_border.fill(0);
        let head = hits.time.partition_point(|time| *time < begin.saturating_add(reach));
        let tail = hits.time.partition_point(|time| *time < end.saturating_sub(reach));
        let ends = labels[..head].iter().chain(&labels[tail.max(head)..]);
        ends.for_each(|label| at_border[*label as usize] = 1);
    }

    /// Inner clusters by cluster, hits at the borders by time.
    fn split(&mut self, hits: &PixelHits, out: &mut WindowClusters) {
        let Self { labels, at_border, grouper, .. } = self;
        grouper.run(hits, labels, at_border.len(), |cluster| at_border[cluster] == 0, &mut out.inner);
        for (i, &label) in labels.iter().enumerate() {
            if at_border[label as usize] == 1 {
                let (time, x, y, tot) = hits.get(i);
                out.border.push(time, x, y, tot);
            }
        }
    }
}
