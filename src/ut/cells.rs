//! [`UtCells`]: the order of cells (quarters of sectors) for the search by pairs, and the cells of a window.
//!
//! ```text
//!   y ^  row 13 | s0 s0 s0 s0 | s1 s1 s1 s1 | ...        the quarters of a row's sectors by x: a window
//!     |   ...   |                                        is one span of cells in its row, and one more
//!     |  row 0  | s0 s0 s0 s0 | s1 s1 s1 s1 | ...        where it touches the rows above
//!     +--------- bucket 0, 1, 2, ... --> x(y = 0)        table: first and last cell of each bucket
//! ```
//! A sector belongs to the row that contains the sector's middle; `below` and `above` are, for each plane, the largest
//! distances by which sectors extend beyond their row.

use super::geometry::{PLANE_START, SECTORS, STRIPS, UtGeometry};
use super::layout::{LEFT, LOWEST, ROW_STEP, ROWS};
use crate::event::{UT_CELLS, UT_PLANES};
use crate::simd::varying::{F32, U32};
use crate::simd::{Gang, inlined};

/// Number of cells of a sector.
const PARTS: usize = UT_CELLS / SECTORS;
/// Number of buckets along x, and their width, mm. The first and the last bucket extend without limit.
const BUCKETS: usize = 224;
const BUCKET_WIDTH: f32 = 8.0;
/// Upper limit of the rounding errors of the ends of cells, mm.
const ROUNDING: f32 = 0.01;

/// The order of cells, and a table to find them with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UtCells {
    /// Cell of each quarter of a sector's strips, by sector in the order of hits; then the cells for banks that know of
    /// flipped sectors.
    rank: Vec<u32>,
    /// By plane, row and bucket: the first cell that reaches into the bucket, and in the upper half of the word the end
    /// of these cells.
    touched: Vec<u32>,
    /// By plane: largest distances by which sectors extend below and above their row, mm.
    below: [f32; UT_PLANES],
    above: [f32; UT_PLANES],
}

/// The cells that windows touch, one window per lane: table indices of the left and the right end in the lowest row,
/// and the distance from these to the indices of the highest row.
pub(super) struct Touched<G: Gang> {
    pub(super) ends: [U32<G>; 2],
    pub(super) beyond: U32<G>,
}

/// A cell, mm.
struct Cell {
    sector: usize,
    part: usize,
    row: usize,
    left: f32,
    right: f32,
    low: f32,
}

impl UtCells {
    /// Returns the cells of a detector.
    pub(super) fn new(geometry: &UtGeometry) -> Self {
        let mut rank = vec![0; UT_CELLS];
        let mut touched = vec![0; UT_PLANES * ROWS * BUCKETS];
        let (mut below, mut above) = ([0.0f32; UT_PLANES], [0.0f32; UT_PLANES]);
        for plane in 0..UT_PLANES {
            let mut cells = Vec::new();
            for sector in PLANE_START[plane]..PLANE_START[plane + 1] {
                let ([y, y_step, x, x_step], [_, _, length, _]) =
                    (geometry.across[sector], geometry.along[sector]);
                let tilt = STRIPS as f32 * y_step;
                let (low, high) = (y + tilt.min(0.0), y + length + tilt.max(0.0));
                let row = (0.5 * (low + high) - LOWEST) / ROW_STEP;
                let row = row.floor().clamp(0.0, (ROWS - 1) as f32);
                let begin = row.mul_add(ROW_STEP, LOWEST);
                below[plane] = below[plane].max(begin - low);
                above[plane] = above[plane].max(high - begin - ROW_STEP);
                for part in 0..PARTS {
                    let end = |part: usize| ((part * STRIPS as usize / PARTS) as f32).mul_add(x_step, x);
                    let (left, right) = (end(part).min(end(part + 1)), end(part).max(end(part + 1)));
                    let (left, right) = (left - ROUNDING, right + ROUNDING);
                    cells.push(Cell { sector, part, row: row as usize, left, right, low });
                }
            }
            cells.sort_by(|a, b| {
                let by_x = (a.left + a.right).total_cmp(&(b.left + b.right));
                let by_y = by_x.then(a.low.total_cmp(&b.low));
                a.row.cmp(&b.row).then(by_y).then((a.sector, a.part).cmp(&(b.sector, b.part)))
            });
            let first = PARTS * PLANE_START[plane];
            for (cell, number) in cells.iter().zip(first..) {
                rank[PARTS * cell.sector + cell.part] = number as u32;
            }
            let rows = touched[plane * ROWS * BUCKETS..].chunks_exact_mut(BUCKETS).take(ROWS);
            for (row, of_row) in rows.enumerate() {
                fill(first, &cells, row, of_row);
            }
        }
        let flipped = |cell: usize| {
            let is_flipped = geometry.along[cell / PARTS][0] < 0.0;
            rank[if is_flipped { cell ^ (PARTS - 1) } else { cell }]
        };
        let flipped: Vec<_> = (0..UT_CELLS).map(flipped).collect();
        rank.extend(flipped);
        Self { rank, touched, below, above }
    }

    /// Returns the cells by sector and quarter: [`UT_CELLS`] for banks that do not know of flipped sectors, then
    /// [`UT_CELLS`] for banks that do.
    #[inline(always)]
    pub(super) fn rank(&self) -> &[u32] {
        &self.rank
    }

    /// Returns the cells that windows of a plane touch, given their ends in x at y = 0 and in y, mm.
    #[inline(always)]
    pub(super) fn touched<G: Gang>(&self, g: G, plane: usize, x: [F32<G>; 2], y: [F32<G>; 2]) -> Touched<G> {
        let real = inlined!(|value: f32| F32::splat(g, value));
        // Numbers are clamped before truncation, so that windows beyond the table touch its first or last cells.
        let bucket = inlined!(|x: F32<G>| {
            let at = (x - real(LEFT)) * real(1.0 / BUCKET_WIDTH);
            at.max(real(0.0)).min(real((BUCKETS - 1) as f32)).to_i32().to_bits()
        });
        let row = inlined!(|y: F32<G>| {
            let at = (y - real(LOWEST)) * real(1.0 / ROW_STEP);
            at.max(real(0.0)).min(real((ROWS - 1) as f32)).to_i32().to_bits()
        });
        let width = U32::splat(g, BUCKETS as u32);
        let lowest = row(y[0] - real(self.above[plane])) * width;
        let highest = row(y[1] + real(self.below[plane])) * width;
        let base = lowest + U32::splat(g, (plane * ROWS * BUCKETS) as u32);
        let ends = [base + bucket(x[0]), base + bucket(x[1])];
        Touched { ends, beyond: highest.max(lowest) - lowest }
    }

    /// Returns a cell that may contain a hit with this x at y = 0 and these ends in y, mm; `None` where there is no
    /// sector.
    #[cfg(feature = "reference")]
    pub(super) fn at(&self, plane: usize, x: f32, [low, high]: [f32; 2]) -> Option<usize> {
        let row = ((0.5 * (low + high) - LOWEST) / ROW_STEP).floor().clamp(0.0, (ROWS - 1) as f32);
        let begin = row.mul_add(ROW_STEP, LOWEST);
        let [below, above] = [begin - low, high - begin - ROW_STEP];
        if below > self.below[plane] + ROUNDING || above > self.above[plane] + ROUNDING {
            return None;
        }
        let bucket = ((x - LEFT) * (1.0 / BUCKET_WIDTH)).clamp(0.0, (BUCKETS - 1) as f32);
        let touched = self.touched[(plane * ROWS + row as usize) * BUCKETS + bucket as usize];
        let (first, end) = (touched & 0xffff, touched >> 16);
        (first < end).then_some(first as usize)
    }

    /// Returns the first hit and the number of hits from a left end to a right end, which are table indices; `starts`
    /// are the first hits of the event's cells. All rows between the two ends count.
    #[inline(always)]
    pub(super) fn hits<G: Gang>(&self, starts: &[u32], [left, right]: [U32<G>; 2]) -> [U32<G>; 2] {
        let first = U32::gather(&self.touched, left) & U32::splat(left.g, 0xffff);
        let end = U32::gather(&self.touched, right).shr::<16>();
        let first = U32::gather(starts, first);
        [first, U32::gather(starts, end).max(first) - first]
    }
}

impl<G: Gang> Touched<G> {
    /// Returns the ends in all rows but the lowest.
    #[inline(always)]
    pub(super) fn above(&self, g: G) -> [U32<G>; 2] {
        let [left, right] = self.ends;
        [left + U32::splat(g, BUCKETS as u32), right + self.beyond]
    }
}

/// Fills the table of a row, given the cells of its plane sorted by row and x; the first of these has the number
/// `first`.
fn fill(first: usize, cells: &[Cell], row: usize, table: &mut [u32]) {
    let begin = cells.partition_point(|cell| cell.row < row);
    let of_row = &cells[begin..cells.partition_point(|cell| cell.row <= row)];
    for (bucket, touched) in table.iter_mut().enumerate() {
        let [left, right] = [bucket, bucket + 1].map(|at| (at as f32).mul_add(BUCKET_WIDTH, LEFT));
        let reaches = |cell: &Cell| bucket == 0 || left <= cell.right;
        let begins = |cell: &Cell| bucket == BUCKETS - 1 || cell.left <= right;
        let from = of_row.iter().position(reaches).unwrap_or(of_row.len());
        // The cells of a row have several widths, so that the order of their middles is not the order of their left
        // ends.
        let to = of_row.iter().rposition(begins).map_or(0, |last| last + 1).max(from);
        *touched = (first + begin + from) as u32 | ((first + begin + to) as u32) << 16;
    }
}
