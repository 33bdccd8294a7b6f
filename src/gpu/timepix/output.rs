//! The output columns in one piece of memory, so that one copy transfers them to the host.

use super::args::PixelArgs;
use crate::event::{Column, PixelClusters};
use std::ops::Range;

/// Where the columns are, bytes from the beginning of the piece.
pub(super) struct Layout {
    clusters: usize,
    /// Time, x, y, tot of the hits; end, first time, duration, tot, height, four bounds, eight floats, energy of clusters.
    ranges: [Range<usize>; 12],
    /// Values from one column of bounds, or of floats, to the next.
    stride: usize,
}

impl Layout {
    pub(super) fn new(hits: usize, clusters: usize) -> Self {
        let stride = clusters.next_multiple_of(32);
        let (c, h) = (clusters, hits);
        let sizes =
            [8 * h, 2 * h, 2 * h, 2 * h, 4 * c, 8 * c, 4 * c, 4 * c, 2 * c, 8 * stride, 32 * stride, 8 * c];
        let mut start = 0usize;
        let ranges = sizes.map(|size| {
            let range = start..start + size;
            start = range.end.next_multiple_of(64);
            range
        });
        Self { clusters, ranges, stride }
    }

    pub(super) fn bytes(&self) -> usize {
        self.ranges[11].end
    }

    pub(super) fn point_into(&self, base: u64, args: &mut PixelArgs) {
        let at = |column: usize| base + self.ranges[column].start as u64;
        (args.out_time, args.out_x, args.out_y, args.out_tot) = (at(0), at(1), at(2), at(3));
        (args.out_end, args.out_first, args.out_duration) = (at(4), at(5), at(6));
        (args.out_sum, args.out_height, args.out_bounds, args.out_floats) = (at(7), at(8), at(9), at(10));
        args.out_energy = at(11);
        (args.out_stride, args.clusters) = (self.stride as u32, self.clusters as u32);
    }

    /// Copies what the kernels wrote; `out` is emptied first.
    pub(super) fn read(&self, bytes: &[u8], out: &mut PixelClusters) {
        let of = |column: usize| &bytes[self.ranges[column].clone()];
        let shorts = |column: usize| bytemuck::cast_slice::<u8, u16>(of(column));
        let words = |column: usize| bytemuck::cast_slice::<u8, u32>(of(column));
        let times = |column: usize| bytemuck::cast_slice::<u8, i64>(of(column));
        out.clear();
        out.hit_start.extend_from_slice(words(4));
        fill(&mut out.hits.time, times(0));
        fill(&mut out.hits.x, shorts(1));
        fill(&mut out.hits.y, shorts(2));
        fill(&mut out.hits.tot, shorts(3));
        let features = &mut out.features;
        features.set_len(self.clusters);
        fill(&mut features.energy, bytemuck::cast_slice::<u8, u64>(of(11)));
        fill(&mut features.time, times(5));
        fill(&mut features.duration, words(6));
        fill(&mut features.tot, words(7));
        fill(&mut features.height, shorts(8));
        let stride = self.stride.max(1);
        for (to, from) in features.bounds.iter_mut().zip(shorts(9).chunks(stride)) {
            fill(to, &from[..self.clusters]);
        }
        let [centroid_x, centroid_y] = &mut features.centroid;
        let [mean_x, mean_y] = &mut features.mean;
        let shapes =
            [&mut features.length, &mut features.breadth, &mut features.linearity, &mut features.roundness];
        let columns = [centroid_x, centroid_y, mean_x, mean_y].into_iter().chain(shapes);
        let floats = bytemuck::cast_slice::<u8, f32>(of(10));
        for (to, from) in columns.zip(floats.chunks(stride)) {
            fill(to, &from[..self.clusters]);
        }
    }
}

fn fill<T: bytemuck::Pod>(to: &mut Column<T>, from: &[T]) {
    to.clear();
    to.extend_from_slice(from);
}
