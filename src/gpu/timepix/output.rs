//! The output columns in one piece of memory, with space for one cluster per hit, because the number of clusters is known only
//! after the kernels. Only the filled part of each column is copied to the host.

use super::args::PixelArgs;
use crate::event::{Column, PixelClusters, PixelHits};
use std::ops::Range;

/// Bytes of a value of each column: time, x, y, tot of the hits; end, first time, duration, tot, height, energy of clusters, four
/// bounds, eight floats.
const SIZES: [usize; 22] = [8, 2, 2, 2, 4, 8, 4, 4, 2, 8, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 4];
const OF_HITS: usize = 4;
const ENERGY: usize = 9;
const BOUNDS: usize = 10;
const FLOATS: usize = 14;

/// Positions of the columns, bytes from the beginning of the piece.
pub(super) struct Layout {
    starts: [usize; SIZES.len()],
    /// Number of values from one column of bounds, or of floats, to the next.
    stride: usize,
    bytes: usize,
}

impl Layout {
    pub(super) fn new(hits: usize) -> Self {
        // Columns of two-byte values also begin at multiples of 64 bytes.
        let stride = hits.next_multiple_of(32);
        let mut bytes = 0;
        let starts = SIZES.map(|size| {
            let start = bytes;
            bytes += size * stride;
            start
        });
        Self { starts, stride, bytes }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn point_into(&self, base: u64, args: &mut PixelArgs) {
        let at = |column: usize| base + self.starts[column] as u64;
        (args.out_time, args.out_x, args.out_y, args.out_tot) = (at(0), at(1), at(2), at(3));
        (args.out_end, args.out_first, args.out_duration) = (at(4), at(5), at(6));
        (args.out_sum, args.out_height, args.out_energy) = (at(7), at(8), at(9));
        (args.out_bounds, args.out_floats) = (at(BOUNDS), at(FLOATS));
        args.out_stride = self.stride as u32;
    }

    /// Position of some values of a column.
    fn range(&self, column: usize, values: Range<usize>) -> Range<usize> {
        let (start, size) = (self.starts[column], SIZES[column]);
        start + size * values.start..start + size * values.end
    }

    /// Positions of these hits in each column.
    pub(super) fn hits(&self, hits: Range<usize>) -> [Range<usize>; OF_HITS] {
        std::array::from_fn(|column| self.range(column, hits.clone()))
    }

    /// Positions of the first `clusters` clusters and `hits` hits in each column; the energies are empty unless `has_energies`.
    pub(super) fn first(
        &self,
        clusters: usize,
        hits: usize,
        has_energies: bool,
    ) -> [Range<usize>; SIZES.len()] {
        std::array::from_fn(|column| match column {
            ENERGY if !has_energies => self.range(column, 0..0),
            column if column < OF_HITS => self.range(column, 0..hits),
            column => self.range(column, 0..clusters),
        })
    }

    /// Copies these hits from the output of the kernels; `to` is emptied first.
    pub(super) fn read_hits(&self, bytes: &[u8], hits: Range<usize>, to: &mut PixelHits) {
        let [time, x, y, tot] = self.hits(hits).map(|range| &bytes[range]);
        fill(&mut to.time, time);
        fill(&mut to.x, x);
        fill(&mut to.y, y);
        fill(&mut to.tot, tot);
    }

    /// Replaces `out` by the first clusters and their hits. Without a calibration the energies are 0.
    pub(super) fn read(
        &self,
        bytes: &[u8],
        [clusters, hits]: [usize; 2],
        has_energies: bool,
        out: &mut PixelClusters,
    ) {
        out.clear();
        self.read_hits(bytes, 0..hits, &mut out.hits);
        let of = |column: usize| &bytes[self.range(column, 0..clusters)];
        out.hit_start.extend_from_slice(bytemuck::cast_slice(of(4)));
        let features = &mut out.features;
        fill(&mut features.time, of(5));
        fill(&mut features.duration, of(6));
        fill(&mut features.tot, of(7));
        fill(&mut features.height, of(8));
        if has_energies {
            fill(&mut features.energy, of(ENERGY));
        } else {
            features.energy.set_len(clusters);
            features.energy.fill(0);
        }
        features.bounds.iter_mut().zip(BOUNDS..).for_each(|(to, column)| fill(to, of(column)));
        let [centroid_x, centroid_y] = &mut features.centroid;
        let [mean_x, mean_y] = &mut features.mean;
        let shapes =
            [&mut features.length, &mut features.breadth, &mut features.linearity, &mut features.roundness];
        let floats = [centroid_x, centroid_y, mean_x, mean_y].into_iter().chain(shapes);
        floats.zip(FLOATS..).for_each(|(to, column)| fill(to, of(column)));
    }
}

fn fill<T: bytemuck::Pod>(to: &mut Column<T>, from: &[u8]) {
    to.clear();
    to.extend_from_slice(bytemuck::cast_slice(from));
}
