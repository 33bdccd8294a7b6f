//! [`Merger`]: merges the clusters of several workers into one stream (the paper, section 3.3).
//!
//! All hits of a cluster that crosses a border are among the hits that the workers put aside, and no other hits are
//! their neighbours: the merger clusters these few hits once more. Clusters are output in the order of their first
//! hits. Between the first and the last border clusters of a window is a range in which no border cluster begins,
//! nearly all of the window: the table of this range is output unchanged, without a copy.

use super::calibrate::Calibration;
use super::chain::ChainCounts;
use super::config::TimepixConfig;
use super::features::FeatureMaker;
use super::filter::Filter;
use super::stream::Clusterer;
use super::window::WindowClusters;
use crate::Result;
use crate::event::PixelClusters;
use crate::simd::Level;
use std::sync::Arc;

/// Fewest hits of a table that is output without a copy: smaller tables are copied, to avoid many small tables.
const WHOLE: usize = 1 << 10;

/// Largest number of waiting hits at borders that are clustered for every window.
const FEW: usize = 512;

/// Merges clusters at borders, and puts all clusters in order.
pub(super) struct Merger {
    clusterer: Clusterer,
    maker: FeatureMaker,
    filter: Filter,
    level: Level,
    calibration: Option<Arc<Calibration>>,
    /// Complete clusters of workers and of the merger that wait, each list in order.
    inner: Queue,
    merged: Queue,
    /// Clusters of the last merge.
    found: PixelClusters,
    out: Parts,
    counts: ChainCounts,
}

impl Merger {
    /// Creates a merger for sensors whose width and height in pixels are `sides`.
    ///
    /// # Errors
    /// Errors of the configuration.
    pub fn new(
        config: &TimepixConfig,
        level: Level,
        calibration: Option<Arc<Calibration>>,
        sides: [usize; 2],
    ) -> Result<Self> {
        Ok(Self {
            clusterer: Clusterer::new(config.find, level, sides, config.capacity)?,
            maker: FeatureMaker::default(),
            filter: config.filter.clone(),
            level,
            calibration,
            inner: Queue::default(),
            merged: Queue::default(),
            found: PixelClusters::default(),
            out: Parts::default(),
            counts: ChainCounts::default(),
        })
    }

    /// Returns the counts of the output, and of filtered or cut clusters.
    pub fn counts(&self) -> ChainCounts {
        ChainCounts { forced: self.clusterer.forced(), ..self.counts }
    }

    /// Returns the output since it was last emptied, in order.
    pub fn out(&mut self) -> &mut [PixelClusters] {
        self.out.all()
    }

    /// Empties the output.
    pub fn clear(&mut self) {
        self.out.clear();
    }

    /// Adds the output since it was last emptied to the counts.
    pub fn count_out(&mut self) {
        for part in self.out.all() {
            self.counts.clusters += part.len() as u64;
            self.counts.hits_out += part.hits.len() as u64;
        }
    }

    /// Adds the clusters of the next window, and outputs clusters whose order is final. `worker` is the number of the
    /// worker that found the clusters; the calling thread has number [`OWN`].
    pub fn add(&mut self, found: &mut WindowClusters, worker: usize) {
        let [clusters, hits] = found.filtered;
        self.counts.filtered_clusters += clusters;
        self.counts.filtered += hits;
        self.clusterer.input().extend_from(&found.border, 0..found.border.len(), 0);
        if self.clusterer.is_over(found.end) {
            self.merge(true);
        } else if self.clusterer.is_ready() || self.clusterer.waiting() <= FEW {
            // Whole tables wait for the merged clusters, so that even few hits are worth a run.
            self.merge(false);
        }
        let end = (self.clusterer.first_waiting().unwrap_or(found.end), 0, 0);
        let Self { inner, merged, out, .. } = self;
        leave([(&inner.clusters, &mut inner.gone), (&merged.clusters, &mut merged.gone)], end, out);
        for clusters in found.inner.iter_mut().filter(|clusters| !clusters.is_empty()) {
            let mut gone = 0;
            // When nothing older than this window's clusters waits, most of them can be output.
            if inner.gone == inner.clusters.len() {
                let first = key(clusters, 0).min(end);
                leave([(&*clusters, &mut gone), (&merged.clusters, &mut merged.gone)], first, out);
                let limit = key(&merged.clusters, merged.gone).min(end);
                if clusters.hits.len() >= WHOLE && key(clusters, clusters.len() - 1) < limit {
                    out.add(clusters, worker);
                    continue;
                }
                leave([(&*clusters, &mut gone), (&merged.clusters, &mut merged.gone)], end, out);
            }
            inner.clusters.extend_from(clusters, gone..clusters.len());
        }
        inner.remove_gone();
        merged.remove_gone();
    }

    /// Ends the stream.
    pub fn finish(&mut self) {
        self.merge(true);
        let Self { inner, merged, out, .. } = self;
        leave([(&inner.clusters, &mut inner.gone), (&merged.clusters, &mut merged.gone)], NEVER, out);
        inner.remove_gone();
        merged.remove_gone();
    }

    /// Clusters the hits at borders, and takes the complete clusters.
    fn merge(&mut self, all: bool) {
        let (found, level, maker) = (&mut self.found, self.level, &mut self.maker);
        found.clear();
        self.clusterer.run(all, found);
        let calibration = self.calibration.as_deref();
        crate::dispatch_isa!(level, g => maker.run(g, calibration, found));
        let (clusters, hits) = self.filter.apply(found);
        self.counts.filtered_clusters += clusters;
        self.counts.filtered += hits;
        self.merged.clusters.extend_from(found, 0..found.len());
    }
}

/// Outputs, in order, the clusters of two lists that began before `end`, and updates how many of each list have left.
fn leave(mut lists: [(&PixelClusters, &mut usize); 2], end: Key, out: &mut Parts) {
    loop {
        let [a, b] = lists.each_ref().map(|(list, gone)| key(list, **gone));
        let (list, limit) = if a < b { (0, b.min(end)) } else { (1, a.min(end)) };
        let (clusters, gone) = &mut lists[list];
        let run = count_before(clusters, **gone, limit);
        if run == 0 {
            return;
        }
        out.last().extend_from(clusters, **gone..**gone + run);
        **gone += run;
    }
}

/// Sort key of clusters: time, x and y of the first hit.
type Key = (i64, u32, u32);
/// Key after every cluster.
const NEVER: Key = (i64::MAX, u32::MAX, u32::MAX);

/// Clusters in order; the first ones have left.
#[derive(Default)]
struct Queue {
    clusters: PixelClusters,
    gone: usize,
}

/// Returns the key of a cluster, or [`NEVER`] after the last one.
fn key(clusters: &PixelClusters, cluster: usize) -> Key {
    if cluster == clusters.len() {
        return NEVER;
    }
    let (hits, place) = (&clusters.hits, clusters.hit_start[cluster] as usize);
    (hits.time[place], hits.x[place].into(), hits.y[place].into())
}

/// Returns the number of clusters from number `first` on that come before `limit`; clusters are in order.
fn count_before(clusters: &PixelClusters, first: usize, limit: Key) -> usize {
    let (mut low, mut high) = (first, clusters.len());
    while low < high {
        let middle = low.midpoint(high);
        if key(clusters, middle) < limit { low = middle + 1 } else { high = middle }
    }
    low - first
}

impl Queue {
    /// Frees the memory of clusters that have left.
    fn remove_gone(&mut self) {
        self.clusters.remove_front(std::mem::take(&mut self.gone));
    }
}

/// Number of the calling thread among the workers.
pub(super) const OWN: usize = 0;

/// The output, in as many tables as needed. Their memory returns to the worker that wrote it, whose caches may still hold
/// it: writing to memory that another core has written takes several times as long.
#[derive(Default)]
struct Parts {
    tables: Vec<PixelClusters>,
    /// The worker that owns the memory, per table.
    workers: Vec<usize>,
    /// Unused memory, per worker.
    unused: Vec<Vec<PixelClusters>>,
}

impl Parts {
    fn all(&mut self) -> &mut [PixelClusters] {
        &mut self.tables
    }

    fn clear(&mut self) {
        for (table, worker) in self.tables.drain(..).zip(self.workers.drain(..)) {
            self.unused[worker].push(table);
        }
    }

    /// Returns the table for the next clusters.
    fn last(&mut self) -> &mut PixelClusters {
        if self.workers.last() != Some(&OWN) {
            let table = self.unused(OWN);
            self.push(table, OWN);
        }
        self.tables.last_mut().expect("one was pushed")
    }

    /// Adds a whole table of a worker, and replaces it by an empty one.
    fn add(&mut self, clusters: &mut PixelClusters, worker: usize) {
        let table = self.unused(worker);
        self.push(std::mem::replace(clusters, table), worker);
    }

    fn push(&mut self, table: PixelClusters, worker: usize) {
        self.tables.push(table);
        self.workers.push(worker);
    }

    /// Returns an empty table for a worker.
    fn unused(&mut self, worker: usize) -> PixelClusters {
        if self.unused.len() <= worker {
            self.unused.resize_with(worker + 1, Vec::new);
        }
        let mut table = self.unused[worker].pop().unwrap_or_default();
        table.clear();
        table
    }
}
