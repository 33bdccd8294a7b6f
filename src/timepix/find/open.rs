//! The paper's algorithm 1: a list of open clusters, and for each pixel its open clusters.
//!
//! A hit looks up the clusters of its nine neighbours, joins them, and merges the younger clusters into the oldest. The
//! published programs use this algorithm; here it is the baseline of measurements, and checks the other algorithms.

use crate::event::{Column, PixelHits};
use crate::timepix::config::Definition;

/// A cluster that may still grow.
#[derive(Default)]
struct Cluster {
    hits: Vec<u32>,
    latest: i64,
    /// False once it is part of another cluster, or closed.
    is_open: bool,
}

/// A cluster on a pixel: its number and its latest hit on the pixel.
#[derive(Clone, Copy)]
struct Entry {
    cluster: u32,
    time: i64,
}

pub(super) struct Open {
    definition: Definition,
    width: usize,
    pixels: Vec<Vec<Entry>>,
    clusters: Vec<Cluster>,
    /// Numbers of clusters that can be used again.
    unused: Vec<u32>,
    /// Open clusters, in any order.
    open: Vec<u32>,
}

/// Number of hits between searches for clusters to close.
const CLOSE_EVERY: usize = 64;

impl Open {
    pub fn new(width: usize, height: usize, definition: Definition) -> Self {
        let width = width + 2;
        let pixels = vec![Vec::new(); width * (height + 2)];
        Self { definition, width, pixels, clusters: Vec::new(), unused: Vec::new(), open: Vec::new() }
    }

    /// Finds clusters like `Fragments::run`.
    pub fn run(&mut self, window: u32, hits: &PixelHits, labels: &mut Column<u32>) -> u32 {
        labels.set_len(hits.len());
        for i in 0..hits.len() {
            if i % CLOSE_EVERY == 0 {
                self.close(hits, labels, |latest| hits.time[i].abs_diff(latest) > u64::from(window));
            }
            self.add(window, hits, i);
        }
        self.close(hits, labels, |_| true);
        // Labels are first hits and in order, so that they can be numbered.
        super::number_in_place(labels);
        labels.iter().copied().max().map_or(0, |last| last + 1)
    }

    fn add(&mut self, window: u32, hits: &PixelHits, i: usize) {
        let time = hits.time[i];
        let pixel = self.pixel(hits, i);
        let is_linked = |time_of: i64| time.abs_diff(time_of) <= u64::from(window);
        let mut joined: Vec<u32> = Vec::new();
        for row in [pixel - self.width, pixel, pixel + self.width] {
            for entry in self.pixels[row - 1..row + 2].iter().flatten() {
                let latest = match self.definition {
                    Definition::Global => self.clusters[entry.cluster as usize].latest,
                    _ => entry.time,
                };
                if is_linked(latest) && !joined.contains(&entry.cluster) {
                    joined.push(entry.cluster);
                }
            }
        }
        // The oldest cluster absorbs the others.
        let oldest = joined.iter().copied().min_by_key(|c| self.clusters[*c as usize].hits[0]);
        let target = oldest.unwrap_or_else(|| self.open_cluster());
        for other in joined.into_iter().filter(|other| *other != target) {
            self.merge(hits, other, target);
        }
        let cluster = &mut self.clusters[target as usize];
        cluster.hits.push(i as u32);
        cluster.latest = time;
        set(&mut self.pixels[pixel], Entry { cluster: target, time });
    }

    fn pixel(&self, hits: &PixelHits, i: usize) -> usize {
        (usize::from(hits.y[i]) + 1) * self.width + usize::from(hits.x[i]) + 1
    }

    fn open_cluster(&mut self) -> u32 {
        let number = self.unused.pop().unwrap_or_else(|| {
            self.clusters.push(Cluster::default());
            self.clusters.len() as u32 - 1
        });
        self.clusters[number as usize].is_open = true;
        self.open.push(number);
        number
    }

    fn merge(&mut self, hits: &PixelHits, from: u32, to: u32) {
        let moved = std::mem::take(&mut self.clusters[from as usize].hits);
        for &hit in &moved {
            let pixel = self.pixel(hits, hit as usize);
            let entries = &mut self.pixels[pixel];
            if let Some(place) = entries.iter().position(|entry| entry.cluster == from) {
                let time = entries.swap_remove(place).time;
                set(entries, Entry { cluster: to, time });
            }
        }
        let latest = self.clusters[from as usize].latest;
        self.clusters[from as usize].is_open = false;
        let cluster = &mut self.clusters[to as usize];
        cluster.hits.extend_from_slice(&moved);
        cluster.latest = cluster.latest.max(latest);
    }

    /// Labels the hits of clusters that cannot grow any more by their first hit, and removes these clusters.
    fn close(&mut self, hits: &PixelHits, labels: &mut [u32], is_over: impl Fn(i64) -> bool) {
        let mut open = std::mem::take(&mut self.open);
        open.retain(|&number| {
            let cluster = &self.clusters[number as usize];
            if cluster.is_open && !is_over(cluster.latest) {
                return true;
            }
            let members = std::mem::take(&mut self.clusters[number as usize].hits);
            let first = members.iter().copied().min().unwrap_or_default();
            for &hit in &members {
                labels[hit as usize] = first;
                let pixel = self.pixel(hits, hit as usize);
                self.pixels[pixel].retain(|entry| entry.cluster != number);
            }
            self.clusters[number as usize].is_open = false;
            self.unused.push(number);
            false
        });
        self.open = open;
    }
}

/// Records a hit of a cluster on a pixel.
fn set(entries: &mut Vec<Entry>, new: Entry) {
    match entries.iter_mut().find(|entry| entry.cluster == new.cluster) {
        Some(entry) => entry.time = entry.time.max(new.time),
        None => entries.push(new),
    }
}
