//! Finds the clusters of time-ordered hits, by any definition and any of several algorithms.

mod blobs;
mod fixed;
mod forest;
mod fragments;
mod global;
mod neighbours;
mod open;
mod parents;
mod plain;
mod raster;
mod recent;

use super::config::{Algorithm, Definition, FindConfig};
use super::labels::Labels;
use crate::Result;
use crate::event::{Column, PixelHits};
use crate::simd::Level;
use fixed::Fixed;
use forest::Forest;
use fragments::Fragments;
use global::Global;
use open::Open;
pub use plain::{PlainMatrix, plain_loop};
use raster::Raster;

/// Finds clusters on a sensor of a certain size.
pub struct Finder {
    config: FindConfig,
    forest: Forest,
    engine: Engine,
}

enum Engine {
    Fragments(Box<Fragments>),
    /// Frames, and fragments for hits of a frame in another order.
    Raster(Box<(Raster, Fragments)>),
    Global(Global),
    Fixed(Fixed),
    Open(Box<Open>),
    Plain(PlainMatrix),
}

impl Finder {
    /// Creates a finder for sensors of `width` x `height` pixels.
    ///
    /// # Errors
    /// Errors of [`FindConfig::validate`].
    pub fn new(config: FindConfig, width: usize, height: usize) -> Result<Self> {
        Self::at_level(config, Level::choose(None, None)?, width, height)
    }

    /// Creates a finder that uses the instructions of a level.
    ///
    /// # Errors
    /// Errors of [`FindConfig::validate`].
    pub fn at_level(config: FindConfig, level: Level, width: usize, height: usize) -> Result<Self> {
        config.validate()?;
        let engine = match (config.algorithm, config.definition) {
            (Algorithm::Open, definition) => Engine::Open(Box::new(Open::new(width, height, definition))),
            (Algorithm::Plain, Definition::Local) => Engine::Plain(PlainMatrix::new(width, height)),
            (_, Definition::Local) if config.window() == 0 => {
                let fragments = Fragments::new(level, width, height);
                Engine::Raster(Box::new((Raster::new(level, width, height), fragments)))
            }
            (_, Definition::Local) => Engine::Fragments(Box::new(Fragments::new(level, width, height))),
            (_, Definition::Global) => Engine::Global(Global::new(width, height)),
            (_, Definition::Static) => Engine::Fixed(Fixed::new(width, height)),
        };
        Ok(Self { config, forest: Forest::default(), engine })
    }

    /// Returns the configuration of the search.
    pub fn config(&self) -> &FindConfig {
        &self.config
    }

    /// Finds clusters of hits that are in order of time and on the sensor: `labels` receives the cluster number of each
    /// hit, and clusters are numbered in the order of their first hits. Returns the number of clusters.
    ///
    /// # Panics
    /// When a hit is far outside the sensor.
    pub fn run(&mut self, hits: &PixelHits, labels: &mut Column<u32>) -> usize {
        let clusters = self.search(hits, labels);
        if self.is_forest() {
            self.forest.number(labels);
        }
        clusters
    }

    /// Clusters hits like [`run`](Self::run), and counts the hits of each cluster.
    pub(super) fn run_and_count(&mut self, hits: &PixelHits, labels: &mut Labels) -> usize {
        let clusters = self.search(hits, &mut labels.of);
        labels.count(clusters, self.is_forest().then_some(self.forest.numbers()));
        clusters
    }

    /// Returns whether labels are members of sets that are not numbered yet.
    fn is_forest(&self) -> bool {
        matches!(self.engine, Engine::Fragments(_) | Engine::Raster(_) | Engine::Global(_))
    }

    fn search(&mut self, hits: &PixelHits, labels: &mut Column<u32>) -> usize {
        let window = self.config.window();
        let forest = &mut self.forest;
        match &mut self.engine {
            Engine::Fragments(engine) => engine.run(window, hits, forest, labels) as usize,
            Engine::Raster(engines) => {
                let (raster, fragments) = &mut **engines;
                let clusters = raster.run(hits, forest, labels);
                clusters.unwrap_or_else(|| fragments.run(window, hits, forest, labels)) as usize
            }
            Engine::Global(engine) => engine.run(window, hits, forest, labels) as usize,
            Engine::Fixed(engine) => engine.run(window, hits, labels) as usize,
            Engine::Open(engine) => engine.run(window, hits, labels) as usize,
            Engine::Plain(matrix) => {
                labels.set_len(hits.len());
                let clusters = plain_loop(window, hits, matrix, labels);
                number_in_place(labels);
                clusters
            }
        }
    }

    /// Announces that the next run begins with some hits of the last run, from number `from` on. Without this call the
    /// next run may have to start from scratch, which is slower and gives the same result.
    pub fn forget(&mut self, hits: &PixelHits, from: usize) {
        match &mut self.engine {
            Engine::Fragments(engine) => engine.forget(hits, from),
            Engine::Raster(engines) => engines.1.forget(hits, from),
            _ => {}
        }
    }
}

/// Numbers clusters in the order of their first hits; each label must be the index of its cluster's first hit.
fn number_in_place(labels: &mut [u32]) {
    let mut next = 0;
    for i in 0..labels.len() {
        let first = labels[i] as usize;
        if first == i {
            labels[i] = next;
            next += 1;
        } else {
            labels[i] = labels[first];
        }
    }
}
