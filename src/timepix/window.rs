//! [`WindowFinder`]: finds the clusters of one window of a stream, without the rest of the stream.

use super::calibrate::Calibration;
use super::config::FindConfig;
use super::features::FeatureMaker;
use super::filter::Filter;
use super::find::Finder;
use super::group::Grouper;
use super::labels::Labels;
use super::sort::{SortShape, TimeSorter};
use crate::Result;
use crate::event::{Column, PixelClusters, PixelHits};
use crate::simd::{Gang, Level};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Number of hits that are tested at once for hits of clusters at a border.
const CHUNK: usize = 1024;

/// Clusters of a window.
#[derive(Debug, Default)]
pub struct WindowClusters {
    /// Clusters away from both ends of the window, complete, with features and in order. The tables have the clusters
    /// before, in and after the longest range in which no cluster near an end begins. This range is nearly all of a
    /// window, and is output unchanged; the other clusters are merged one by one.
    pub inner: [PixelClusters; 3],
    /// Hits of all other clusters, in order of time: these hits may be neighbours of hits outside the window.
    pub border: PixelHits,
    /// Earliest possible time of hits of later windows.
    pub end: i64,
    /// Number of clusters that the filter removed, and of their hits.
    pub filtered: [u64; 2],
    /// Time that sorting, finding and features took, ns.
    pub ns: [u64; 3],
}

/// Finds the clusters of windows of a stream, by the local definition.
pub struct WindowFinder {
    sorter: TimeSorter,
    sorted: PixelHits,
    finder: Finder,
    level: Level,
    calibration: Option<Arc<Calibration>>,
    maker: FeatureMaker,
    filter: Filter,
    labels: Labels,
    /// 1 for a cluster at a border, per cluster; and the numbers of these clusters, in order.
    at_border: Column<u8>,
    borders: Column<u32>,
    grouper: Grouper,
}

impl WindowFinder {
    /// Creates a finder for sensors of `width` x `height` pixels.
    ///
    /// # Errors
    /// Errors of [`FindConfig::validate`].
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
            filter: Filter::default(),
            labels: Labels::new(level),
            at_border: Column::default(),
            borders: Column::default(),
            grouper: Grouper::new(level),
        })
    }

    /// Sets the sizes of digits and parts of the sort.
    pub fn with_sort(mut self, shape: SortShape) -> Self {
        self.sorter = self.sorter.with_shape(shape);
        self
    }

    /// Sets a filter for the clusters.
    pub fn with_filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Finds the clusters of a window, whose hits may be in any order; `out` is emptied first. Hits of earlier windows
    /// are before `begin`, hits of later windows not before `end`.
    pub fn run(&mut self, hits: &PixelHits, [begin, end]: [i64; 2], out: &mut WindowClusters) {
        let start = Instant::now();
        out.inner.iter_mut().for_each(PixelClusters::clear);
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
        let clusters = self.finder.run_and_count(hits, &mut self.labels);
        self.find_borders(hits, clusters, begin, out.end);
        self.split(hits, out);
        let found = start.elapsed();
        let (level, maker, calibration) = (self.level, &mut self.maker, self.calibration.as_deref());
        crate::dispatch_isa!(level, g => {
            for clusters in &mut out.inner {
                maker.run(g, calibration, clusters);
            }
        });
        out.filtered = [0; 2];
        for clusters in &mut out.inner {
            let (clusters, hits) = self.filter.apply(clusters);
            out.filtered = [out.filtered[0] + clusters, out.filtered[1] + hits];
        }
        [out.ns[1], out.ns[2]] = [found, start.elapsed() - found].map(|time| time.as_nanos() as u64);
    }

    /// Finds the clusters at borders. Hits outside are not between `begin` and `end`, so that only hits within delta
    /// of these times can have neighbours outside.
    fn find_borders(&mut self, hits: &PixelHits, clusters: usize, begin: i64, end: i64) {
        let Self { labels: Labels { of: labels, .. }, at_border, borders, .. } = self;
        let reach = i64::from(self.finder.config().window());
        at_border.set_len(clusters);
        at_border.fill(0);
        borders.clear();
        let head = hits.time.partition_point(|time| *time < begin.saturating_add(reach));
        let tail = hits.time.partition_point(|time| *time < end.saturating_sub(reach));
        for &label in labels[..head].iter().chain(&labels[tail.max(head)..]) {
            let at_border = &mut at_border[label as usize];
            if *at_border == 0 {
                *at_border = 1;
                borders.push(label);
            }
        }
        borders.sort_unstable();
    }

    /// Returns the longest range of clusters without a cluster at a border.
    fn longest_stretch(&self) -> Range<usize> {
        let (mut begin, mut longest) = (0, 0..0);
        for end in self.borders.iter().map(|border| *border as usize).chain([self.at_border.len()]) {
            if end - begin > longest.len() {
                longest = begin..end;
            }
            begin = end + 1;
        }
        longest
    }

    /// Outputs inner clusters by cluster, and hits at the borders by time.
    fn split(&mut self, hits: &PixelHits, out: &mut WindowClusters) {
        let longest = self.longest_stretch();
        let Self { labels, at_border, grouper, .. } = self;
        let ends = [longest.start, longest.end, at_border.len()];
        let inner = out.inner.each_mut();
        grouper.run(hits, labels, ends, |cluster| at_border[cluster] == 0, inner);
        // Most chunks only have hits of clusters in the longest range.
        let (level, inside) = (self.level, longest.start as u32..longest.end as u32);
        for (start, chunk) in (0..).step_by(CHUNK).zip(labels.of.chunks(CHUNK)) {
            if crate::dispatch_isa!(level, g => are_within_room(g, chunk, &inside)) {
                continue;
            }
            for (i, &label) in (start..).zip(chunk) {
                if at_border[label as usize] == 1 {
                    let (time, x, y, tot) = hits.get(i);
                    out.border.push(time, x, y, tot);
                }
            }
        }
    }
}

/// Returns whether all labels are within a range; a function of its own, which enters the feature context.
#[inline(never)]
fn are_within_room<G: Gang>(g: G, labels: &[u32], range: &Range<u32>) -> bool {
    g.vectorize(
        #[inline(always)]
        || {
            let (first, len) = (range.start, range.end - range.start);
            labels.iter().fold(0, |out, label| out | u32::from(label.wrapping_sub(first) >= len)) == 0
        },
    )
}
