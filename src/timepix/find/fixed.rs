//! Search for the static definition: each hit in no cluster opens a window and a cluster, which grows from the hit.

use crate::event::{Column, PixelHits};

/// The end of a list, or a hit without a cluster.
const NONE: u32 = u32::MAX;

pub(super) struct Fixed {
    width: usize,
    /// First free hit of the window on each pixel, with a frame of one pixel around the matrix.
    free: Vec<u32>,
    /// The next free hit of the same pixel.
    next: Vec<u32>,
    /// Pixels that the cluster has reached and whose neighbours are not tested yet.
    reached: Vec<usize>,
}

impl Fixed {
    pub fn new(width: usize, height: usize) -> Self {
        let width = width + 2;
        Self { width, free: vec![NONE; width * (height + 2)], next: Vec::new(), reached: Vec::new() }
    }

    /// Finds clusters like `Fragments::run`.
    pub fn run(&mut self, window: u32, hits: &PixelHits, labels: &mut Column<u32>) -> u32 {
        let Self { width, free, next, reached } = self;
        let pixel_of = |i: usize| (usize::from(hits.y[i]) + 1) * *width + usize::from(hits.x[i]) + 1;
        labels.set_len(hits.len());
        labels.fill(NONE);
        next.clear();
        next.resize(hits.len(), NONE);
        let (mut clusters, mut end) = (0, 0);
        for first in 0..hits.len() {
            if labels[first] != NONE {
                continue;
            }
            // Windows only move forward: all listed free hits are between the first hit and the end.
            while end < hits.len() && hits.time[end].abs_diff(hits.time[first]) <= u64::from(window) {
                let pixel = pixel_of(end);
                (next[end], free[pixel]) = (free[pixel], end as u32);
                end += 1;
            }
            take(pixel_of(first), free, next, labels, clusters, reached);
            while let Some(pixel) = reached.pop() {
                for row in [pixel - *width, pixel, pixel + *width] {
                    for neighbour in row - 1..row + 2 {
                        take(neighbour, free, next, labels, clusters, reached);
                    }
                }
            }
            clusters += 1;
        }
        clusters
    }
}

/// Moves all free hits of a pixel into the cluster.
fn take(
    pixel: usize,
    free: &mut [u32],
    next: &[u32],
    labels: &mut [u32],
    cluster: u32,
    reached: &mut Vec<usize>,
) {
    let mut hit = std::mem::replace(&mut free[pixel], NONE);
    if hit != NONE {
        reached.push(pixel);
    }
    while hit != NONE {
        labels[hit as usize] = cluster;
        hit = next[hit as usize];
    }
}
