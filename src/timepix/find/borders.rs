//! [`BorderJoiner`]: makes one partition of pieces of a stream that were clustered on their own.

use super::forest::Forest;
use crate::event::{Column, PixelHits};

/// No hit.
const NONE: u32 = u32::MAX;

/// Joins clusters of the local definition over the borders between pieces.
pub struct BorderJoiner {
    width: usize,
    /// Last hit before the border on each pixel, with a frame of one pixel around the matrix.
    last: Vec<u32>,
    forest: Forest,
}

impl BorderJoiner {
    /// For sensors of `width` x `height` pixels.
    pub fn new(width: usize, height: usize) -> Self {
        let width = width + 2;
        Self { width, last: vec![NONE; width * (height + 2)], forest: Forest::default() }
    }

    /// Hits `starts[i]..starts[i + 1]` are piece i (the last one ends with the hits), which has
    /// `clusters[i]` clusters; `labels` are numbers within the piece and become those of the whole, clusters
    /// being numbered in the order of their first hits. Returns how many clusters there are.
    ///
    /// Only hits within a window of a border are looked at.
    pub fn join(
        &mut self,
        window: u32,
        hits: &PixelHits,
        starts: &[usize],
        clusters: &[usize],
        labels: &mut Column<u32>,
    ) -> usize {
        let ends = starts.iter().skip(1).copied().chain([hits.len()]);
        let mut before = 0;
        for ((&start, end), count) in starts.iter().zip(ends).zip(clusters) {
            labels[start..end].iter_mut().for_each(|label| *label += before);
            before += *count as u32;
        }
        self.forest.clear();
        self.forest.grow(before);
        for &border in starts.iter().filter(|&&start| start > 0 && start < hits.len()) {
            self.join_at(window, hits, border, labels);
        }
        let clusters = self.forest.number_sets();
        self.forest.number(labels);
        clusters as usize
    }

    /// Links hits before `border` with those from it on. The last hit of a pixel is enough: an earlier one
    /// that is in the window is in its cluster.
    fn join_at(&mut self, window: u32, hits: &PixelHits, border: usize, labels: &[u32]) {
        let Self { width, last, forest } = self;
        let pixel_of = |i: usize| (usize::from(hits.y[i]) + 1) * *width + usize::from(hits.x[i]) + 1;
        let (reach, window) = (u64::from(window), i64::from(window));
        let (before, after) = (hits.time[border - 1], hits.time[border]);
        let first = hits.time[..border].partition_point(|time| *time < after.saturating_sub(window));
        let after_border = &hits.time[border..];
        let end = border + after_border.partition_point(|time| *time <= before.saturating_add(window));
        (first..border).for_each(|i| last[pixel_of(i)] = i as u32);
        for i in border..end {
            let pixel = pixel_of(i);
            for row in [pixel - *width, pixel, pixel + *width] {
                for &other in &last[row - 1..row + 2] {
                    if other != NONE && hits.time[i].abs_diff(hits.time[other as usize]) <= reach {
                        forest.join(labels[i], labels[other as usize]);
                    }
                }
            }
        }
        (first..border).for_each(|i| last[pixel_of(i)] = NONE);
    }
}
