//! Store: sorts the hits of an event by plane, row of sectors and x, with a table of the first hit of each bucket in x.
//!
//! ```text
//!   y ^  row 13 | . . h . | . h .                 a table per plane: first hit of each bucket
//!     |   ...   |                                 window of a track: two look-ups in its row, and in the
//!     |  row 0  | h . . h | . . .                 next one where the track is near both
//!     +--------- bucket 0, 1, ... --> x(y = 0)
//! ```
//! Strips in a window are near the track's y, so tilted strips are found by x at y = 0, too: near the track's x minus
//! its y times the slope of the strips. A counting sort keeps the order of hits within a bucket.

use super::grid::{BUCKET_BITS, CELLS, PLANE_CELLS, Stored, bucket_of, row_of};
use super::layout::UtLayout;
use crate::event::{Column, UT_GROUPS, UT_PLANES, UtBatch};
use crate::simd::varying::{F32, U32};
use crate::simd::{Gang, inlined};

/// The hits of an event, sorted.
#[derive(Debug, Default)]
pub(super) struct UtStore {
    /// x and z at y = 0, lower and upper end of each hit, mm.
    pub(super) hits: Column<[f32; 4]>,
    /// One over the variance of x, 1/mm^2.
    pub(super) weight: Column<f32>,
    /// Number of the hit in the event.
    pub(super) number: Column<u32>,
    /// Group of sectors of the hit.
    pub(super) group: Column<u32>,
    /// First hit of each bucket, and the number of all hits.
    table: Column<u32>,
    /// By number in the event: bucket of the hit, and number of hits before it in the bucket.
    cell: Column<u32>,
    rank: Column<u32>,
}

impl UtStore {
    /// Returns the hits, for kernels.
    #[inline(always)]
    pub(super) fn view(&self, layout: &UtLayout) -> Stored<'_> {
        let Self { hits, weight, number, group, table, .. } = self;
        let UtLayout { below, above, .. } = *layout;
        Stored { hits: hits.padded(), weight, number, group, table, below, above }
    }

    /// Stores the hits of an event.
    #[inline(always)]
    pub(super) fn fill<G: Gang>(&mut self, g: G, layout: &UtLayout, hits: &UtBatch, event: usize) {
        let starts = &hits.group_start[UT_GROUPS * event..=UT_GROUPS * (event + 1)];
        let range = starts[0] as usize..starts[UT_GROUPS] as usize;
        self.find_cells(g, layout, hits, starts);
        let Self { hits: records, weight, number, group, table, cell, rank } = self;
        records.set_len(range.len());
        weight.set_len(range.len());
        for column in [&mut *number, &mut *group, &mut *rank] {
            column.set_len(range.len());
        }
        table.set_len(CELLS + 1);
        let cells = table.padded_mut();
        cells[..CELLS].fill(0);
        for (&cell, rank) in cell.iter().zip(rank.iter_mut()) {
            let count = &mut cells[cell as usize];
            *rank = *count;
            *count += 1;
        }
        let mut sum = 0;
        for at in (0..CELLS).step_by(G::LANES) {
            let counts = U32::load(g, &cells[at..]);
            let (sums, all) = counts.prefix_sum();
            (sums - counts + U32::splat(g, sum)).store(&mut cells[at..]);
            sum += all;
        }
        cells[CELLS] = sum;
        let [x, z, low, high] =
            [&hits.x, &hits.z, &hits.y_begin, &hits.y_end].map(|column| &column[range.clone()]);
        let weights = &hits.weight[range.clone()];
        // One length for all columns, for one bounds check.
        let count = range.len();
        let (cell, rank) = (&cell[..count], &rank[..count]);
        let (records, weight) = (&mut records[..count], &mut weight[..count]);
        let (number, group) = (&mut number[..count], &mut group[..count]);
        for of in 0..UT_GROUPS {
            for hit in starts[of] as usize - range.start..starts[of + 1] as usize - range.start {
                let place = (cells[cell[hit] as usize] + rank[hit]) as usize;
                records[place] = [x[hit], z[hit], low[hit], high[hit]];
                weight[place] = weights[hit];
                number[place] = hit as u32;
                group[place] = of as u32;
            }
        }
    }

    /// Finds the bucket of each hit.
    #[inline(always)]
    fn find_cells<G: Gang>(&mut self, g: G, layout: &UtLayout, hits: &UtBatch, starts: &[u32]) {
        let begin = starts[0] as usize;
        self.cell.set_len(starts[UT_GROUPS] as usize - begin);
        for plane in 0..UT_PLANES {
            let [first, end] = [plane, plane + 1].map(|plane| starts[layout.plane_groups[plane]] as usize);
            let base = U32::splat(g, (plane * PLANE_CELLS) as u32);
            // Values that a gang writes beyond the plane are overwritten by the next plane, or are padding.
            for at in (first..end).step_by(G::LANES) {
                let load = inlined!(|column: &Column<f32>| F32::load(g, &column.padded()[at..]));
                let middle = (load(&hits.y_begin) + load(&hits.y_end)) * F32::splat(g, 0.5);
                let cell = base + row_of(g, middle).shl::<BUCKET_BITS>() + bucket_of(g, load(&hits.x));
                cell.store(&mut self.cell.padded_mut()[at - begin..]);
            }
        }
    }
}
