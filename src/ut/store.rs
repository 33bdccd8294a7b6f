//! Store: the hits of an event by plane, row of sectors and x, with a table of the beginnings of buckets.
//!
//! ```text
//!   y ^  row 13 | . . h . | . h .                 a table per plane: first hit of each bucket
//!     |   ...   |                                 window of a track: two look-ups in its row, and in the
//!     |  row 0  | h . . h | . . .                 next one where the track is near both
//!     +--------- bucket 0, 1, ... --> x(y = 0)
//! ```
//! All hits of a window have about the track's own y: tilted strips too are found by x at y = 0, which is the track's
//! x less its y times the strips' slope. Counting sort; hits of a bucket stay in their order.

use super::layout::{BUCKET_BITS, BUCKET_WIDTH, BUCKETS, LEFT, LOWEST, ROW_STEP, ROWS, UtLayout};
use crate::event::{Column, UT_GROUPS, UT_PLANES, UtBatch};
use crate::simd::varying::{F32, I32, Mask, U32};
use crate::simd::{Gang, inlined};

/// Buckets of a plane, and of all.
const PLANE_CELLS: usize = ROWS * BUCKETS;
const CELLS: usize = UT_PLANES * PLANE_CELLS;

/// The hits of an event, sorted.
#[derive(Debug, Default)]
pub(super) struct UtStore {
    /// x and z at y = 0, lower and upper end of each hit, mm.
    pub(super) hits: Column<[f32; 4]>,
    /// One over the variance of x, 1/mm^2.
    pub(super) weight: Column<f32>,
    /// Its number in the event.
    pub(super) number: Column<u32>,
    /// Its group of sectors.
    pub(super) group: Column<u32>,
    /// First hit of each bucket, and the number of all.
    table: Column<u32>,
    /// By number in the event: bucket, and hits of it before this one.
    cell: Column<u32>,
    rank: Column<u32>,
}

/// The hits of a row between two buckets, lane by lane.
struct Span<G: Gang> {
    first: U32<G>,
    end: U32<G>,
}

/// What hits may be near in a plane, lane by lane: x at y = 0 and y, each between two values, mm.
pub(super) struct Near<G: Gang> {
    pub(super) plane: usize,
    pub(super) x: [F32<G>; 2],
    pub(super) y: [F32<G>; 2],
}

/// Bucket of an x at y = 0.
#[inline(always)]
fn bucket_of<G: Gang>(g: G, x: F32<G>) -> U32<G> {
    let bucket = ((x - F32::splat(g, LEFT)) * F32::splat(g, 1.0 / BUCKET_WIDTH)).to_i32();
    bucket.max(I32::splat(g, 0)).min(I32::splat(g, BUCKETS as i32 - 1)).to_bits()
}

/// Row of a y.
#[inline(always)]
fn row_of<G: Gang>(g: G, y: F32<G>) -> U32<G> {
    let row = ((y - F32::splat(g, LOWEST)) * F32::splat(g, 1.0 / ROW_STEP)).to_i32();
    row.max(I32::splat(g, 0)).min(I32::splat(g, ROWS as i32 - 1)).to_bits()
}

impl UtStore {
    /// Shows the hits of all cells that some near ones can be in, row by row, a hit a lane, to `see`; it is told the lanes
    /// that have one.
    #[inline(always)]
    pub(super) fn visit<G: Gang>(
        &self,
        g: G,
        layout: &UtLayout,
        near: &Near<G>,
        lanes: Mask<G>,
        mut see: impl FnMut(U32<G>, Mask<G>),
    ) {
        let whole = inlined!(|value: u32| U32::splat(g, value));
        let [left, right] = near.x;
        let buckets = [bucket_of(g, left), bucket_of(g, right) + whole(1)];
        let [low, high] = near.y;
        let mut row = row_of(g, low - F32::splat(g, layout.above));
        let last_row = row_of(g, high + F32::splat(g, layout.below));
        let mut searching = lanes;
        // Two rows at once; in a real detector there are no more.
        while searching.any() {
            let one = self.span(g, near.plane, row, buckets);
            let two = self.span(g, near.plane, row + whole(1), buckets);
            let of_one = one.end - one.first;
            let of_two = row.lt(last_row).select_u(two.end - two.first, whole(0));
            let total = searching.select_u(of_one + of_two, whole(0));
            let gap = two.first - one.end;
            let mut number = whole(0);
            loop {
                let on = number.lt(total);
                if !on.any() {
                    break;
                }
                see(one.first + number + number.lt(of_one).select_u(whole(0), gap), on);
                number = number + whole(1);
            }
            row = row + whole(2);
            searching = searching & row.lt(last_row + whole(1));
        }
    }

    /// The hits of a plane's row between two buckets, the second of them excluded.
    #[inline(always)]
    fn span<G: Gang>(&self, g: G, plane: usize, row: U32<G>, buckets: [U32<G>; 2]) -> Span<G> {
        let begin = row.shl::<BUCKET_BITS>() + U32::splat(g, (plane * PLANE_CELLS) as u32);
        let first = U32::gather(&self.table, begin + buckets[0]);
        Span { first, end: U32::gather(&self.table, begin + buckets[1]) }
    }

    /// Takes the hits of an event.
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
        // All of one length, so that one check of a place serves for all columns.
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

    /// The bucket of each hit.
    #[inline(always)]
    fn find_cells<G: Gang>(&mut self, g: G, layout: &UtLayout, hits: &UtBatch, starts: &[u32]) {
        let begin = starts[0] as usize;
        self.cell.set_len(starts[UT_GROUPS] as usize - begin);
        for plane in 0..UT_PLANES {
            let [first, end] = [plane, plane + 1].map(|plane| starts[layout.plane_groups[plane]] as usize);
            let base = U32::splat(g, (plane * PLANE_CELLS) as u32);
            // What a gang writes beyond the plane is overwritten by the next one, or is padding.
            for at in (first..end).step_by(G::LANES) {
                let load = inlined!(|column: &Column<f32>| F32::load(g, &column.padded()[at..]));
                let middle = (load(&hits.y_begin) + load(&hits.y_end)) * F32::splat(g, 0.5);
                let cell = base + row_of(g, middle).shl::<BUCKET_BITS>() + bucket_of(g, load(&hits.x));
                cell.store(&mut self.cell.padded_mut()[at - begin..]);
            }
        }
    }
}
