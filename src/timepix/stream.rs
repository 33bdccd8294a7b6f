//! [`Clusterer`]: clusters of a stream of time-ordered hits, a block at a time and in bounded memory.
//!
//! At the end of a block some clusters may still grow. Their hits, and the hits of all clusters that began later,
//! wait and are clustered again with the next block, so that the output is complete, in order, and does not depend on
//! the ends of blocks.

use super::config::{Definition, FindConfig};
use super::find::Finder;
use super::group::Grouper;
use super::labels::Labels;
use super::sort::first_from_room;
use crate::Result;
use crate::event::{PixelClusters, PixelHits};
use crate::simd::Level;

/// Finds the clusters of a stream of hits.
pub struct Clusterer {
    finder: Finder,
    level: Level,
    /// Waiting hits, then the new hits.
    hits: PixelHits,
    /// Number of hits that wait from the last run.
    carried: usize,
    /// Largest number of waiting hits.
    capacity: usize,
    labels: Labels,
    grouper: Grouper,
    forced: u64,
}

impl Clusterer {
    /// Creates a clusterer for sensors of `width` x `height` pixels in which at most `capacity` hits wait for their
    /// clusters to end.
    ///
    /// # Errors
    /// Errors of [`FindConfig::validate`].
    pub fn new(
        config: FindConfig,
        level: Level,
        [width, height]: [usize; 2],
        capacity: usize,
    ) -> Result<Self> {
        Ok(Self {
            finder: Finder::at_level(config, level, width, height)?,
            level,
            hits: PixelHits::default(),
            carried: 0,
            capacity,
            labels: Labels::new(level),
            grouper: Grouper::new(level),
            forced: 0,
        })
    }

    /// Returns the list to which new hits are appended, in order of time and not before earlier hits.
    pub fn input(&mut self) -> &mut PixelHits {
        &mut self.hits
    }

    /// Returns whether there are enough new hits for a run: when very many hits wait, a run for a few new hits would
    /// repeat the same work.
    pub fn is_ready(&self) -> bool {
        let new = self.hits.len() - self.carried;
        new > 0 && (new >= self.carried || self.hits.len() > self.capacity)
    }

    /// Returns the number of times that clusters were cut because too many hits waited.
    pub fn forced(&self) -> u64 {
        self.forced
    }

    /// Returns the time of the first waiting hit: no later cluster begins before it.
    pub fn first_waiting(&self) -> Option<i64> {
        self.hits.time.first().copied()
    }

    /// Returns whether all waiting clusters are complete if no hit before `time` comes any more.
    pub fn is_over(&self, time: i64) -> bool {
        let reach = time.saturating_sub(i64::from(self.finder.config().window()));
        self.hits.time.last().is_some_and(|last| *last < reach)
    }

    /// Returns the number of waiting hits.
    pub fn waiting(&self) -> usize {
        self.hits.len()
    }

    /// Appends the complete clusters to `out`, without features; with `all`, appends all clusters.
    pub fn run(&mut self, all: bool, out: &mut PixelClusters) {
        let clusters = self.finder.run_and_count(&self.hits, &mut self.labels);
        let mut open = if all { clusters } else { self.first_open(clusters) };
        let labels = &self.labels.of;
        let is_full = || labels.iter().filter(|label| **label as usize >= open).count() > self.capacity;
        if labels.len() > self.capacity && is_full() {
            self.forced += 1;
            open = clusters;
        }
        self.grouper.run(&self.hits, &self.labels, [clusters], |cluster| cluster < open, [out]);
        self.keep(open);
    }

    /// Returns the number of the first cluster that may still grow: this cluster and all later ones stay.
    fn first_open(&mut self, clusters: usize) -> usize {
        let Some(&now) = self.hits.time.last() else { return 0 };
        let reach = now.saturating_sub(i64::from(self.finder.config().window()));
        let recent = self.hits.time.partition_point(|time| *time < reach);
        let (before, labels) = self.labels.of.split_at(recent);
        let first = match self.finder.config().definition {
            // A cluster that began before the window of the last hit is complete.
            Definition::Static => before.iter().max().map_or(0, |last| last + 1),
            _ => labels.iter().copied().min().unwrap_or(clusters as u32),
        };
        first as usize
    }

    /// Keeps the hits of clusters from `open` on, and informs the finder that they will come again.
    fn keep(&mut self, open: usize) {
        let Self { hits, labels: Labels { of: labels, .. }, finder, level, .. } = self;
        let is_kept = |label: &u32| *label as usize >= open;
        let first = crate::dispatch_isa!(*level, g => first_from_room(g, &labels[..], open as u32));
        if first < labels.len() {
            let reach = hits.time[first].saturating_sub(i64::from(finder.config().window()));
            finder.forget(hits, hits.time.partition_point(|time| *time < reach));
            let mut kept = 0;
            for i in first..hits.len() {
                if is_kept(&labels[i]) {
                    hits.time[kept] = hits.time[i];
                    hits.x[kept] = hits.x[i];
                    hits.y[kept] = hits.y[i];
                    hits.tot[kept] = hits.tot[i];
                    kept += 1;
                }
            }
            hits.set_len(kept);
        } else {
            hits.clear();
        }
        self.carried = self.hits.len();
    }
}
