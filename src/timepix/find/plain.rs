//! The plain loop: last hit per pixel, nine neighbours, union-find with path halving.

use super::forest::root;
use crate::event::PixelHits;

/// A pixel without a hit.
const NONE: u32 = u32::MAX;

/// The last hit of each pixel, with a frame of one pixel around the matrix.
pub struct PlainMatrix {
    width: usize,
    last: Vec<u32>,
}

impl PlainMatrix {
    /// Creates a matrix for a sensor of `width` x `height` pixels.
    pub fn new(width: usize, height: usize) -> Self {
        Self { width: width + 2, last: vec![NONE; (width + 2) * (height + 2)] }
    }
}

/// Finds clusters of time-ordered hits, by the local definition: `parent` becomes the first hit of each hit's cluster.
/// Returns the number of clusters.
///
/// This is the simplest loop, and as fast as the same loop in C. The only refinement is that the root of the new hit
/// stays in a variable while the neighbours of the hit are joined.
pub fn plain_loop(window: u32, hits: &PixelHits, matrix: &mut PlainMatrix, parent: &mut [u32]) -> usize {
    let (width, last) = (matrix.width, &mut matrix.last[..]);
    let n = hits.len();
    let (time, x, y, parent) = (&hits.time[..n], &hits.x[..n], &hits.y[..n], &mut parent[..n]);
    last.fill(NONE);
    for i in 0..n {
        let mut own = i as u32;
        parent[i] = own;
        let corner = usize::from(y[i]) * width + usize::from(x[i]);
        let near = &last[corner..corner + 2 * width + 3];
        for row in [&near[..3], &near[width..width + 3], &near[2 * width..]] {
            for &j in row {
                // Hits are in order of time, so that no difference is negative.
                if j != NONE && time[i].wrapping_sub(time[j as usize]) as u64 <= u64::from(window) {
                    let other = root(parent, j);
                    (parent[own.max(other) as usize], own) = (own.min(other), own.min(other));
                }
            }
        }
        last[corner + width + 1] = i as u32;
    }
    let mut clusters = 0;
    for i in 0..n {
        parent[i] = parent[parent[i] as usize];
        clusters += usize::from(parent[i] == i as u32);
    }
    clusters
}
