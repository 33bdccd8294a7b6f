//! The plain loop: last hit per pixel, nine neighbours, union-find with path halving.

use crate::event::PixelHits;

/// No hit yet.
const NONE: u32 = u32::MAX;

/// The last hit of each pixel, with a frame of one pixel around the matrix.
pub struct PlainMatrix {
    width: usize,
    last: Vec<u32>,
}

impl PlainMatrix {
    /// For a sensor of `width` x `height` pixels.
    pub fn new(width: usize, height: usize) -> Self {
        Self { width: width + 2, last: vec![NONE; (width + 2) * (height + 2)] }
    }
}

fn find(parent: &mut [u32], mut i: u32) -> u32 {
    while parent[i as usize] != i {
        parent[i as usize] = parent[parent[i as usize] as usize];
        i = parent[i as usize];
    }
    i
}

/// Clusters time-ordered hits by the local definition: `parent` becomes the first hit of each hit's cluster.
/// Returns how many clusters there are.
pub fn plain_loop(window: u32, hits: &PixelHits, matrix: &mut PlainMatrix, parent: &mut [u32]) -> usize {
    let (width, last) = (matrix.width, &mut matrix.last[..]);
    last.fill(NONE);
    for (i, &time) in hits.time.iter().enumerate() {
        parent[i] = i as u32;
        let pixel = (usize::from(hits.y[i]) + 1) * width + usize::from(hits.x[i]) + 1;
        for row in [pixel - width, pixel, pixel + width] {
            for neighbour in [row - 1, row, row + 1] {
                let j = last[neighbour];
                if j != NONE && time.abs_diff(hits.time[j as usize]) <= u64::from(window) {
                    let (a, b) = (find(parent, i as u32), find(parent, j));
                    parent[a.max(b) as usize] = a.min(b);
                }
            }
        }
        last[pixel] = i as u32;
    }
    let mut clusters = 0;
    for i in 0..hits.len() {
        parent[i] = parent[parent[i] as usize];
        clusters += usize::from(parent[i] == i as u32);
    }
    clusters
}
