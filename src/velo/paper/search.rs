//! The two searches shared by seeding and forwarding: a binary search in phi for the window of a module, and a search
//! for the hit of a window nearest to a line.

use crate::event::{Counters, Truncation};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, array_of, for_each};
use crate::velo::find::STAGE;
use std::ops::Range;

/// A window per lane: `count` hits from index `first` on.
#[derive(Clone, Copy)]
pub(super) struct Window<G: Gang> {
    pub(super) first: U32<G>,
    pub(super) count: U32<G>,
}

/// A line through two hits per lane: the position of the second hit, mm, and the slopes.
pub(super) struct Line<G: Gang> {
    pub(super) x: F32<G>,
    pub(super) y: F32<G>,
    pub(super) z: F32<G>,
    pub(super) tx: F32<G>,
    pub(super) ty: F32<G>,
    /// One over the distance in z from the first hit to the second, 1/mm.
    inverse: F32<G>,
}

/// The measure by which a hit near a line is judged; small is good.
#[derive(Debug, Clone, Copy)]
pub(super) enum Measure {
    /// Squared distance of the hit from the line at the z of the hit, mm^2.
    Distance,
    /// Sum of the squared residuals of the least-squares line through the hit and the two hits of the line, mm^2.
    Fit,
    /// Squared distance of the hit divided by the square of dz from the second hit (no unit).
    Angle,
}

impl Measure {
    /// Returns the measure of hits at `dz` behind the second hit of their line, with squared distances `square` from
    /// the line.
    ///
    /// With r = dz / (z1 - z0), the line extrapolates to (1 + r) times the second hit minus r times the first. All
    /// three hits have equal errors, so the residuals of the best line are in the proportion 1 + r, r and 1 of the
    /// distance d; their squares sum up to d^2 / ((1 + r)^2 + r^2 + 1).
    #[inline(always)]
    fn of<G: Gang>(self, g: G, square: F32<G>, dz: F32<G>, line: &Line<G>) -> F32<G> {
        match self {
            Self::Distance => square,
            Self::Fit => {
                let one = F32::splat(g, 1.0);
                let r = dz * line.inverse;
                let middle = r + one;
                square / r.mul_add(r, middle.mul_add(middle, one))
            }
            Self::Angle => square / (dz * dz),
        }
    }
}

/// The best hit per lane: its index, and its measure.
pub(super) struct Best<G: Gang> {
    pub(super) index: U32<G>,
    pub(super) scatter: F32<G>,
    pub(super) found: Mask<G>,
}

/// Smallest number of lanes for which comparing all keys with one value costs less than looking up a value for each
/// key.
const MANY_LANES: usize = 8;
/// Largest number of values that are all compared; of more, one in [`STRIDE`].
const ALL: usize = 64;
const STRIDE: usize = 8;

/// Returns the number of values of `sorted` below each key.
#[inline(always)]
fn below<G: Gang>(g: G, sorted: &[f32], keys: [F32<G>; 2]) -> [U32<G>; 2] {
    let none = [U32::splat(g, 0); 2];
    if G::LANES < MANY_LANES {
        let step = sorted.len().checked_ilog2().map_or(0, |power| 1 << power);
        return array_of!(k => below_from(g, sorted, keys[k], none[k], step));
    }
    let stride = if sorted.len() <= ALL { 1 } else { STRIDE };
    let (mut counts, mut at) = (none, stride - 1);
    while let Some(value) = sorted.get(at) {
        let value = F32::splat(g, *value);
        for_each!(k < 2 => counts[k] = counts[k].count(value.lt(keys[k])));
        at += stride;
    }
    if stride == 1 {
        return counts;
    }
    let passed: [_; 2] = array_of!(k => counts[k].shl::<{ STRIDE.ilog2() }>());
    array_of!(k => below_from(g, sorted, keys[k], passed[k], STRIDE / 2))
}

/// Returns the number of values of `sorted` below `key`, which is at least `count` and less than `count + 2 * step`:
/// binary search with the same number of steps in all lanes.
#[inline(always)]
fn below_from<G: Gang>(g: G, sorted: &[f32], key: F32<G>, mut count: U32<G>, mut step: usize) -> U32<G> {
    let len = U32::splat(g, sorted.len() as u32);
    while step > 0 {
        let last = count + U32::splat(g, step as u32 - 1);
        let take = F32::gather(sorted, last).lt(key) & last.lt(len);
        count = take.select_u(count + U32::splat(g, step as u32), count);
        step /= 2;
    }
    count
}

/// Returns the hits of a module, at `range` of the sorted angles `phi`, with `middle - half <= phi < middle + half`.
#[inline(always)]
pub(super) fn window<G: Gang>(
    g: G,
    phi: &[f32],
    range: Range<usize>,
    middle: F32<G>,
    half: F32<G>,
) -> Window<G> {
    let ends = below(g, &phi[range.clone()], [middle - half, middle + half]);
    Window { first: ends[0] + U32::splat(g, range.start as u32), count: ends[1] - ends[0] }
}

/// Cuts windows down to `most` hits, and counts the hits that are cut off.
#[inline(always)]
pub(super) fn limit<G: Gang>(
    g: G,
    count: U32<G>,
    max: u32,
    lanes: Mask<G>,
    counters: &mut Counters,
) -> U32<G> {
    let max = U32::splat(g, max);
    if (max.lt(count) & lanes).any() {
        let cut_off = (count - count.min(max)).reduce_add(lanes);
        counters.count_truncated(Truncation::CandidatesInWindow, u64::from(cut_off));
    }
    count.min(max)
}

impl<G: Gang> Line<G> {
    /// Returns the line from hit `a` to hit `b`, which are indices in `hits`.
    #[inline(always)]
    pub(super) fn through(g: G, hits: &[[f32; 4]], a: U32<G>, b: U32<G>) -> Self {
        let [x0, y0, z0, _] = F32::gather_records(hits, a);
        let [x, y, z, _] = F32::gather_records(hits, b);
        let inverse = F32::splat(g, 1.0) / (z - z0);
        Self { x, y, z, tx: (x - x0) * inverse, ty: (y - y0) * inverse, inverse }
    }
}

/// A window of hits per lane, and the measure of the hits. x is read from column `x_column` (0: all hits, 3: free hits
/// only).
pub(super) struct Candidates<'a, G: Gang> {
    pub hits: &'a [[f32; 4]],
    pub x_column: usize,
    pub measure: Measure,
    pub window: Window<G>,
}

impl<G: Gang> Best<G> {
    /// Returns a value without a hit; the measure of a hit must be below `scatter`.
    #[inline(always)]
    pub(super) fn none(g: G, scatter: f32) -> Self {
        Self { index: U32::splat(g, 0), scatter: F32::splat(g, scatter), found: Mask::first(g, 0) }
    }

    /// Looks for a better hit among the candidates. Of equally good hits the first wins.
    #[inline(always)]
    pub(super) fn improve(
        &mut self,
        g: G,
        Candidates { hits, x_column, measure, window }: &Candidates<'_, G>,
        line: &Line<G>,
        lanes: Mask<G>,
        counters: &mut Counters,
    ) {
        let mut step = U32::splat(g, 0);
        loop {
            let on = step.lt(window.count) & lanes;
            if !on.any() {
                break;
            }
            counters.stages[STAGE].lanes_active += on.count() as u64;
            counters.stages[STAGE].lanes_total += G::LANES as u64;
            let index = window.first + step;
            let hit = F32::gather_records(hits, index);
            let dz = hit[2] - line.z;
            let dx = line.tx.mul_add(dz, line.x) - hit[*x_column];
            let dy = line.ty.mul_add(dz, line.y) - hit[1];
            let scatter = measure.of(g, dx.mul_add(dx, dy * dy), dz, line);
            let better = scatter.lt(self.scatter) & on;
            self.index = better.select_u(index, self.index);
            self.scatter = better.select_f(scatter, self.scatter);
            self.found = self.found | better;
            step = step + U32::splat(g, 1);
        }
    }
}
