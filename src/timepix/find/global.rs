//! Search for the global definition: union-find in order of time; each root stores the latest time of its cluster.
//!
//! For each pixel the cluster of its last hit is enough: any other open cluster of the pixel was joined with it when
//! the last hit came, and closed clusters never open again.

use super::forest::Forest;
use crate::event::{Column, PixelHits};

/// No cluster yet.
const NONE: u32 = u32::MAX;

pub(super) struct Global {
    width: usize,
    /// Last hit of each pixel, with a frame of one pixel around the matrix.
    last: Vec<u32>,
    /// Latest time of the cluster whose root a hit is.
    latest: Vec<i64>,
}

impl Global {
    pub fn new(width: usize, height: usize) -> Self {
        let width = width + 2;
        Self { width, last: vec![NONE; width * (height + 2)], latest: Vec::new() }
    }

    /// Finds clusters like `Fragments::run`.
    pub fn run(
        &mut self,
        window: u32,
        hits: &PixelHits,
        forest: &mut Forest,
        labels: &mut Column<u32>,
    ) -> u32 {
        let Self { width, last, latest } = self;
        forest.clear();
        forest.grow(hits.len() as u32);
        latest.clear();
        latest.extend_from_slice(&hits.time);
        labels.set_len(hits.len());
        for (i, (&time, label)) in hits.time.iter().zip(labels.iter_mut()).enumerate() {
            let own = i as u32;
            *label = own;
            let pixel = (usize::from(hits.y[i]) + 1) * *width + usize::from(hits.x[i]) + 1;
            // Joining makes a cluster younger, so that the open clusters are determined first.
            let mut open = [NONE; 9];
            let mut count = 0;
            for row in [pixel - *width, pixel, pixel + *width] {
                for &other in &last[row - 1..row + 2] {
                    if other != NONE {
                        let root = forest.root(other);
                        if time.abs_diff(latest[root as usize]) <= u64::from(window) {
                            open[count] = root;
                            count += 1;
                        }
                    }
                }
            }
            let root = open[..count].iter().fold(own, |root, other| forest.join(root, *other));
            latest[root as usize] = time;
            last[pixel] = own;
        }
        // Only pixels with hits need to be reset.
        for (x, y) in hits.x.iter().zip(&hits.y[..]) {
            last[(usize::from(*y) + 1) * *width + usize::from(*x) + 1] = NONE;
        }
        forest.number_sets()
    }
}
