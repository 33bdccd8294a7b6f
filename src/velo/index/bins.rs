//! Counts hits by bins of phi, and gives the place of each hit in sorted order.

use super::Binning;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// A pair's row of the table while its hits are counted. The cell of a bin is one behind its final cell: it is
/// incremented with every hit that is placed, and so ends as the start of the next bin.
pub(super) struct Bins<'a> {
    pub(super) cells: &'a mut [u32],
    binning: Binning,
}

impl<'a> Bins<'a> {
    /// Starts with no hits.
    #[inline(always)]
    pub(super) fn open(table: &'a mut [u32], binning: Binning, pair: usize) -> Self {
        let row = binning.row();
        let cells = &mut table[pair * row..(pair + 1) * row];
        cells.fill(0);
        Self { cells, binning }
    }

    /// Counts hits by their directions, and stores the cells of their bins.
    #[inline(always)]
    pub(super) fn add<G: Gang>(&mut self, g: G, turn: F32<G>, lanes: Mask<G>, cells: &mut [u32]) {
        // Lanes without a hit count in a cell that is overwritten later.
        let one = U32::splat(g, 1);
        let none = U32::splat(g, self.binning.bins + 1);
        lanes.select_u(self.binning.bin(g, turn) + one, none).store(cells);
        for &cell in &cells[..G::LANES] {
            self.cells[cell as usize] += 1;
        }
    }

    /// Replaces the numbers of hits by the indices where the bins begin, or, with `ends`, where they end; the first bin
    /// begins at `begin`.
    #[inline(always)]
    pub(super) fn sum<G: Gang>(&mut self, g: G, begin: u32, ends: bool) {
        let mut index = begin;
        if ends {
            self.cells[0] = begin;
        }
        let first = usize::from(ends);
        for cells in self.cells[first..first + self.binning.bins as usize].chunks_exact_mut(G::LANES) {
            let counts = U32::load(g, cells);
            let (sums, sum) = counts.prefix_sum();
            let sums = if ends { sums } else { sums - counts };
            (sums + U32::splat(g, index)).store(cells);
            index += sum;
        }
    }
}
