//! [`Chain`]: the whole chain from a nearly time-ordered stream of hits to clusters with features.

use super::calibrate::{Calibration, TimeWalk};
use super::config::TimepixConfig;
use super::features::FeatureMaker;
use super::filter::Filter;
use super::mask::PixelMask;
use super::sort::TimeSorter;
use super::stream::Clusterer;
use crate::Result;
use crate::event::{Counters, Layout, PixelClusters, PixelHits, StageClock, Truncation};
use crate::simd::{Level, with_default_float_mode};
use std::ops::Range;
use std::sync::Arc;

/// Counts of the hits of a stream. `hits_in` is the sum of the other hit counts and the number of waiting hits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChainCounts {
    /// Number of input hits.
    pub hits_in: u64,
    /// Hits in output clusters.
    pub hits_out: u64,
    /// Number of output clusters.
    pub clusters: u64,
    /// Hits on masked pixels.
    pub masked: u64,
    /// Hits dropped because they came later than the allowed disorder.
    pub late: u64,
    /// Hits in clusters that the filter removed.
    pub filtered: u64,
    /// Clusters that the filter removed.
    pub filtered_clusters: u64,
    /// Number of times that a full buffer made hits leave early or cut clusters.
    pub forced: u64,
}

impl ChainCounts {
    /// Returns the reason and the count of everything that was dropped or cut, if the count is not zero.
    pub fn dropped(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = [
            ("masked_hits", self.masked),
            ("late_hits", self.late),
            ("filtered_hits", self.filtered),
            ("full_buffers", self.forced),
        ];
        all.into_iter().filter(|(_, count)| *count > 0)
    }

    /// Adds everything dropped or cut to the counts of a job.
    pub(crate) fn add_dropped(&self, counters: &mut Counters) {
        counters.count_truncated(Truncation::MaskedHits, self.masked);
        counters.count_truncated(Truncation::LateHits, self.late);
        counters.count_truncated(Truncation::FilteredHits, self.filtered);
        counters.count_truncated(Truncation::FullBuffers, self.forced);
    }

    /// Filters clusters before they are output, and counts them.
    pub fn count(&mut self, filter: &Filter, clusters: &mut PixelClusters) {
        let (removed, hits) = filter.apply(clusters);
        self.filtered_clusters += removed;
        self.filtered += hits;
        self.clusters += clusters.len() as u64;
        self.hits_out += clusters.hits.len() as u64;
    }
}

/// The first half of the chain: puts hits of the readout in order of time.
pub struct Front {
    calibration: Option<Arc<Calibration>>,
    walk: Option<TimeWalk>,
    mask: PixelMask,
    work: PixelHits,
    sorter: TimeSorter,
    hits_in: u64,
    masked: u64,
}

impl Front {
    /// Creates the first half of the chain for hits on `layout`.
    ///
    /// # Errors
    /// Errors of the configuration and of its calibration files.
    pub fn new(config: &TimepixConfig, level: Level, layout: &Layout) -> Result<Self> {
        config.validate()?;
        let disorder = with_default_float_mode(|| config.disorder_ticks());
        let folder = config.calibration.as_deref();
        let calibration = folder.map(|folder| Calibration::from_folder(layout, folder)).transpose()?;
        Ok(Self {
            calibration: calibration.map(Arc::new),
            walk: config.time_walk.map(TimeWalk::new).transpose()?,
            mask: PixelMask::new(layout.width()),
            work: PixelHits::default(),
            sorter: TimeSorter::new(level, disorder, config.capacity).with_shape(config.sort_shape()),
            hits_in: 0,
            masked: 0,
        })
    }

    /// Returns the energy calibration, if any.
    pub fn calibration(&self) -> Option<Arc<Calibration>> {
        self.calibration.clone()
    }

    /// Drops the hits of a pixel from now on.
    pub fn mask(&mut self, x: u16, y: u16) {
        self.mask.insert(x, y);
    }

    /// Adds hits and appends to `sorted` the hits that no future hit can precede. With `end` the stream ends; then call
    /// [`finish`](Front::finish) as long as hits [wait](Front::waiting).
    pub fn push(&mut self, hits: &PixelHits, end: bool, sorted: &mut PixelHits, counters: &mut Counters) {
        let mut clock = self.take_in(hits, 0..hits.len(), counters);
        if end {
            self.sorter.finish_some(sorted);
        } else {
            self.sorter.take(sorted);
        }
        clock.lap(&mut counters.stages[1]);
    }

    /// Appends further hits that wait at the end of the stream to `sorted`.
    pub fn finish(&mut self, sorted: &mut PixelHits, counters: &mut Counters) {
        let mut clock = StageClock::start();
        self.sorter.finish_some(sorted);
        clock.lap(&mut counters.stages[1]);
    }

    /// Adds the hits `part` like [`Front::push`], but without sorting, for callers that sort: `slice` receives the hits
    /// that leave, in order of arrival. Returns the range of times of the slice: hits of earlier slices are before the
    /// first time, hits of later slices not before the second.
    pub fn push_unsorted(
        &mut self,
        hits: &PixelHits,
        part: Range<usize>,
        end: bool,
        slice: &mut PixelHits,
        counters: &mut Counters,
    ) -> [i64; 2] {
        let mut clock = self.take_in(hits, part, counters);
        let between = self.sorter.take_unsorted(end, slice);
        clock.lap(&mut counters.stages[1]);
        between
    }

    /// Takes further hits like [`Front::finish`], but without sorting, for callers that sort.
    pub fn finish_unsorted(&mut self, slice: &mut PixelHits, counters: &mut Counters) -> [i64; 2] {
        let mut clock = StageClock::start();
        let between = self.sorter.take_unsorted(true, slice);
        clock.lap(&mut counters.stages[1]);
        between
    }

    /// Masks and corrects hits, and adds them to the sorter. Returns the clock of the sort.
    fn take_in(&mut self, hits: &PixelHits, part: Range<usize>, counters: &mut Counters) -> StageClock {
        let mut clock = StageClock::start();
        let [calibrate, sort, find, ..] = &mut counters.stages;
        self.hits_in += part.len() as u64;
        let walk = self.walk.as_ref().zip(self.calibration.as_ref());
        let (hits, part) = if self.mask.is_empty() && walk.is_none() {
            (hits, part)
        } else {
            self.masked += self.mask.copy_unmasked(hits, part, &mut self.work);
            if let Some((walk, calibration)) = walk {
                walk.correct(calibration, &mut self.work);
            }
            (&self.work, 0..self.work.len())
        };
        clock.lap(calibrate);
        self.sorter.push_part(hits, part);
        (calibrate.items_in, calibrate.items_out) = (self.hits_in, self.hits_in - self.masked);
        (sort.items_in, sort.items_out) = (calibrate.items_out, calibrate.items_out - self.sorter.late());
        find.items_in = sort.items_out;
        clock
    }

    /// Writes the counts of this half of the chain to `counts`.
    pub fn count(&self, counts: &mut ChainCounts) {
        (counts.hits_in, counts.masked) = (self.hits_in, self.masked);
        (counts.late, counts.forced) = (self.sorter.late(), counts.forced + self.sorter.forced());
    }

    /// Returns the number of hits that wait for earlier hits.
    pub fn waiting(&self) -> usize {
        self.sorter.waiting()
    }
}

/// Turns a stream of hits into clusters, a block at a time.
pub struct Chain {
    front: Front,
    filter: Filter,
    level: Level,
    clusterer: Clusterer,
    features: FeatureMaker,
    clusters: PixelClusters,
    counts: ChainCounts,
    counters: Counters,
}

impl Chain {
    /// Creates a chain for hits on `layout`.
    ///
    /// # Errors
    /// Errors of the configuration and of its calibration files.
    pub fn new(config: &TimepixConfig, level: Level, layout: &Layout) -> Result<Self> {
        Ok(Self {
            front: Front::new(config, level, layout)?,
            clusterer: Clusterer::new(
                config.find,
                level,
                [layout.width(), layout.height()],
                config.capacity,
            )?,
            filter: config.filter.clone(),
            level,
            features: FeatureMaker::default(),
            clusters: PixelClusters::default(),
            counts: ChainCounts::default(),
            counters: Counters::default(),
        })
    }

    /// Drops the hits of a pixel from now on.
    pub fn mask(&mut self, x: u16, y: u16) {
        self.front.mask(x, y);
    }

    /// Returns the counts of the hits so far.
    pub fn counts(&self) -> ChainCounts {
        let mut counts = ChainCounts { forced: self.clusterer.forced(), ..self.counts };
        self.front.count(&mut counts);
        counts
    }

    /// Returns the time and the number of items of each stage.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the clusters of the last call of [`Chain::push`].
    pub fn clusters(&self) -> &PixelClusters {
        &self.clusters
    }

    /// Returns the number of hits that wait in the chain, for later hits or for the end of their clusters.
    pub fn waiting(&self) -> usize {
        self.front.waiting() + self.clusterer.waiting()
    }

    /// Adds the next hits of the stream, in order of arrival; returns the clusters that are complete now. With `end`
    /// the stream ends here: all clusters are complete, and another stream may begin.
    pub fn push(&mut self, hits: &PixelHits, end: bool) -> &mut PixelClusters {
        with_default_float_mode(|| self.take_in(hits, end));
        &mut self.clusters
    }

    fn take_in(&mut self, hits: &PixelHits, end: bool) {
        self.clusters.clear();
        self.front.push(hits, end, self.clusterer.input(), &mut self.counters);
        let mut clock = StageClock::start();
        while end && self.front.waiting() > 0 {
            self.find(false);
            // The stages run in turn, so that `benches/instructions` can tell them apart.
            [2, 3, 0].into_iter().for_each(|stage| clock.lap(&mut self.counters.stages[stage]));
            self.front.finish(self.clusterer.input(), &mut self.counters);
            clock = StageClock::start();
        }
        self.find(end);
        let [_, _, find, features, ..] = &mut self.counters.stages;
        find.items_out += self.clusters.len() as u64;
        features.items_in = find.items_out;
        clock.lap(find);
        let (level, maker, calibration) = (self.level, &mut self.features, self.front.calibration.as_deref());
        crate::dispatch_isa!(level, g => maker.run(g, calibration, &mut self.clusters));
        self.counts.count(&self.filter, &mut self.clusters);
        features.items_out = self.counts.clusters;
        clock.lap(features);
    }

    fn find(&mut self, all: bool) {
        if all || self.clusterer.is_ready() {
            self.clusterer.run(all, &mut self.clusters);
        }
    }
}
