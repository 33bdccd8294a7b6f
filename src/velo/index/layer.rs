//! Windows: the hits of a pair of modules that are near a point, with one pair and one point per lane.

use super::{Binning, EVENTS, Index};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};
use crate::velo::config::MAX_WINDOW;
use crate::velo::geometry::{PAIRS, pair_middle};

/// A pair of modules per lane, for both events. The arguments `first` of its methods are the lanes whose line or hit
/// belongs to the first event.
#[derive(Clone, Copy)]
pub(in crate::velo) struct Layer<'a, G: Gang> {
    g: G,
    /// The hits of all pairs, and padding that may be read behind them.
    pub(in crate::velo) hits: &'a [[f32; 4]],
    table: &'a [u32],
    binning: Binning,
    /// Begin of the pair's row in the table, for each event.
    row: [U32<G>; EVENTS],
    /// End of the pair's hits, and their number, for each event.
    end: [U32<G>; EVENTS],
    count: [U32<G>; EVENTS],
    /// Middle of the pair, mm.
    pub(in crate::velo) z: F32<G>,
}

/// A window per lane: `count` hits from index `first` on.
pub(in crate::velo) struct Window<G: Gang> {
    pub(in crate::velo) first: U32<G>,
    pub(in crate::velo) count: U32<G>,
}

/// Returns the direction on the diamond scale in `bins` of a turn, 0..=bins (0 for the origin), and 1 / (|x| + |y|).
#[inline(always)]
pub(in crate::velo) fn phi_turn<G: Gang>(g: G, bins: u32, x: F32<G>, y: F32<G>) -> (F32<G>, F32<G>) {
    let zero = F32::splat(g, 0.0);
    let scale = F32::splat(g, 1.0) / (x.abs() + y.abs()).max(F32::splat(g, 1e-30));
    let t = y * scale;
    let right = y.lt(zero).select_f(F32::splat(g, 4.0) + t, t);
    let turn = x.lt(zero).select_f(F32::splat(g, 2.0) - t, right);
    (turn * F32::splat(g, bins as f32 / 4.0), scale)
}

impl Binning {
    /// Returns the first and the last cell of the window from `middle - half` to `middle + half`, in bins; the same
    /// cell twice when the window is too wide.
    #[inline(always)]
    pub(in crate::velo) fn cells<G: Gang>(self, g: G, middle: F32<G>, half: F32<G>) -> [U32<G>; 2] {
        let middle = middle + F32::splat(g, self.bins as f32);
        let left = (middle - half).to_i32().to_bits();
        let width = (middle + half).to_i32().to_bits() - left + U32::splat(g, 1);
        let sane = width.lt(U32::splat(g, self.again + 2));
        let from = left & U32::splat(g, self.bins - 1);
        [from, from + sane.select_u(width, U32::splat(g, 0))]
    }

    /// Returns the bin of a direction in bins.
    #[inline(always)]
    pub(super) fn bin<G: Gang>(self, g: G, turn: F32<G>) -> U32<G> {
        turn.to_i32().to_bits() & U32::splat(g, self.bins - 1)
    }
}

impl<'a, G: Gang> Layer<'a, G> {
    /// Selects this pair in `lanes`, else the other.
    #[inline(always)]
    pub(in crate::velo) fn select(self, lanes: Mask<G>, other: &Self) -> Self {
        let either = inlined!(|own: [U32<G>; EVENTS], other: [U32<G>; EVENTS]| {
            [lanes.select_u(own[0], other[0]), lanes.select_u(own[1], other[1])]
        });
        Self {
            row: either(self.row, other.row),
            end: either(self.end, other.end),
            count: either(self.count, other.count),
            z: lanes.select_f(self.z, other.z),
            ..self
        }
    }

    /// Returns the hits between two cells of the row of each lane's event.
    #[inline(always)]
    pub(in crate::velo) fn between(&self, first: Mask<G>, [from, to]: [U32<G>; 2]) -> Window<G> {
        let row = first.select_u(self.row[0], self.row[1]);
        let begin = U32::gather(self.table, row + from);
        Window { first: begin, count: U32::gather(self.table, row + to) - begin }
    }

    /// Returns the hits in bins within `reach` mm of a point. `turn`, in mm^2, widens the window by the turn of a
    /// line's point around the beam axis, given as |point x step|.
    ///
    /// To first order, a step of length d changes the diamond angle by at most d / (|x| + |y|), and a turn by exactly
    /// |point x step| / (|x| + |y|)^2. The half width of a window is at most [`MAX_WINDOW`].
    #[inline(always)]
    pub(in crate::velo) fn around(
        &self,
        first: Mask<G>,
        [x, y]: [F32<G>; 2],
        reach: F32<G>,
        turn: F32<G>,
    ) -> Window<G> {
        let (g, bins) = (self.g, self.binning.bins);
        let (middle, scale) = phi_turn(g, bins, x, y);
        let half = (turn.mul_add(scale, reach) * scale) * F32::splat(g, bins as f32 / 4.0);
        let half = half.min(F32::splat(g, self.binning.width(MAX_WINDOW as f32)));
        self.between(first, self.binning.cells(g, middle, half))
    }

    /// Returns the index of the hit for an index that may belong to a copy.
    #[inline(always)]
    pub(in crate::velo) fn original(&self, first: Mask<G>, index: U32<G>) -> U32<G> {
        let end = first.select_u(self.end[0], self.end[1]);
        let hits = first.select_u(self.count[0], self.count[1]);
        index.lt(end).select_u(index, index - hits)
    }
}

impl Index {
    /// Returns a pair for a search, the same pair in all lanes.
    #[inline(always)]
    pub(in crate::velo) fn layer<G: Gang>(&self, g: G, pair: usize) -> Layer<'_, G> {
        let row = self.binning.row();
        let [first, second] = [self.pairs[pair], self.pairs[PAIRS + pair]];
        let both =
            inlined!(|of_first: u32, of_second: u32| [U32::splat(g, of_first), U32::splat(g, of_second)]);
        Layer {
            g,
            hits: self.hits.padded(),
            table: &self.table,
            binning: self.binning,
            row: both((pair * row) as u32, ((PAIRS + pair) * row) as u32),
            end: both(first.1, second.1),
            count: both(first.1 - first.0, second.1 - second.0),
            z: F32::splat(g, pair_middle(pair)),
        }
    }
}
