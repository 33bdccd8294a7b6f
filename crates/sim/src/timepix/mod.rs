//! Simulated streams of pixel hits with the cluster sizes of the ten samples of Celko et al., figure 3.

mod frames;
mod preset;
mod shape;
mod spec;
mod stream;

pub use preset::PixelPreset;
pub use spec::PixelSimSpec;
pub use stream::SimulatedPixels;

use super::random::Random;
use frames::Frames;
use peloton::event::{NS_PER_TICK, PixelHits};
use preset::Sizes;
use shape::Shaper;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Start of the stream, ticks: some formats have no negative times.
const START: f64 = 10_000.0;
/// Longest time that a hit waits to be read out, in mean waiting times.
const LONGEST_WAIT: f64 = 7.5;

/// A hit that waits for its readout: time of readout, number, hit.
type Waiting = Reverse<(i64, u64, (i64, u16, u16, u16))>;

/// A stream of pixel hits that is simulated while it is read.
pub struct PixelSim {
    spec: PixelSimSpec,
    random: Random,
    sizes: Sizes,
    shaper: Shaper,
    /// Time of the last cluster, ticks.
    clock: f64,
    waiting: BinaryHeap<Waiting>,
    cluster: PixelHits,
    frames: Frames,
    made: u64,
    clusters: u64,
}

impl PixelSim {
    /// Creates the stream of a specification.
    pub fn new(spec: PixelSimSpec) -> Self {
        Self {
            random: Random::new(spec.seed, 0),
            sizes: Sizes::new(spec.preset, spec.seed),
            shaper: Shaper::new(spec.preset),
            spec,
            clock: START,
            waiting: BinaryHeap::new(),
            cluster: PixelHits::default(),
            frames: Frames::new(spec.frame_us),
            made: 0,
            clusters: 0,
        }
    }

    /// Appends hits until `hits` has `until` hits or the stream ends; returns false at the end. The last cluster is
    /// complete, so the stream may have more hits than its specification says.
    pub fn read(&mut self, until: usize, hits: &mut PixelHits) -> bool {
        while hits.len() < until {
            if self.spec.frame_us > 0.0 {
                if !self.add_frame(hits) {
                    return false;
                }
            } else if self.made < self.spec.hits {
                self.add_cluster(hits);
            } else if let Some(Reverse((_, _, (time, x, y, tot)))) = self.waiting.pop() {
                hits.push(time, x, y, tot);
            } else {
                return false;
            }
        }
        true
    }

    /// Returns the number of clusters that were simulated so far.
    pub fn clusters(&self) -> u64 {
        self.clusters
    }

    /// Returns an upper limit for the time, us, by which a hit is earlier than a hit before it in the stream.
    pub fn disorder_us(&self) -> f64 {
        if self.spec.frame_us > 0.0 {
            return 0.0;
        }
        // Clusters last up to a microsecond.
        1.0 + LONGEST_WAIT * self.spec.delay_us
    }

    /// Appends the hits of the next frame; returns whether there was one.
    fn add_frame(&mut self, hits: &mut PixelHits) -> bool {
        while self.made < self.spec.hits && (self.clock as i64) < self.frames.end() {
            self.make_cluster();
            self.frames.add(&self.cluster);
        }
        self.frames.take(self.made < self.spec.hits, hits)
    }

    /// Makes the next cluster.
    fn make_cluster(&mut self) {
        let ns_per_cluster = 1e9 * self.spec.preset.mean() / self.spec.rate;
        self.clock += self.random.exponential() * ns_per_cluster / NS_PER_TICK;
        self.cluster.clear();
        let size = self.sizes.next();
        self.shaper.make(size, self.clock as i64, &mut self.random, &mut self.cluster);
        self.made += self.cluster.len() as u64;
        self.clusters += 1;
    }

    fn add_cluster(&mut self, hits: &mut PixelHits) {
        self.make_cluster();
        if self.spec.delay_us == 0.0 {
            hits.extend_from(&self.cluster, 0..self.cluster.len(), 0);
            return;
        }
        // Passes on hits that are read out before any new hit can be.
        while let Some(Reverse((out, _, (time, x, y, tot)))) = self.waiting.peek().copied() {
            if out >= self.clock as i64 {
                break;
            }
            hits.push(time, x, y, tot);
            self.waiting.pop();
        }
        let ticks = self.spec.delay_us * 1000.0 / NS_PER_TICK;
        for i in 0..self.cluster.len() {
            let hit = self.cluster.get(i);
            let wait = self.random.exponential().min(LONGEST_WAIT) * ticks;
            let number = self.made - (self.cluster.len() - i) as u64;
            self.waiting.push(Reverse((hit.0 + wait as i64, number, hit)));
        }
    }
}
