//! The two searches that seeding and forwarding share: the window of a module by binary search in phi, and the
//! hit of a window that is nearest to a line.

use super::sort::Modules;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::find::{Line, Tally};

/// A window per lane: `count` hits from place `first` on.
pub(super) struct Window<G: Gang> {
    pub(super) first: U32<G>,
    pub(super) count: U32<G>,
}

/// The best hit per lane: its place, and its squared distance from the line, mm^2.
pub(super) struct Best<G: Gang> {
    pub(super) place: U32<G>,
    pub(super) scatter: F32<G>,
    pub(super) found: Mask<G>,
}

/// How many values of `sorted` are below `key`: binary search, all lanes with the same number of steps.
#[inline(always)]
fn below<G: Gang>(g: G, sorted: &[f32], key: F32<G>) -> U32<G> {
    let mut count = U32::splat(g, 0);
    let len = U32::splat(g, sorted.len() as u32);
    let mut step = sorted.len().checked_ilog2().map_or(0, |power| 1 << power);
    while step > 0 {
        let last = count + U32::splat(g, step - 1);
        let take = F32::gather(sorted, last).lt(key) & last.lt(len);
        count = take.select_u(count + U32::splat(g, step), count);
        step /= 2;
    }
    count
}

impl Modules {
    /// The hits of a module with `phi - half <= phi of the hit < phi + half`.
    #[inline(always)]
    pub(super) fn window<G: Gang>(&self, g: G, module: usize, phi: F32<G>, half: F32<G>) -> Window<G> {
        let range = self.range(module);
        let mut ends = [U32::splat(g, 0); 2];
        for (end, key) in ends.iter_mut().zip([phi - half, phi + half]) {
            *end = below(g, &self.phi[range.clone()], key);
        }
        Window { first: ends[0] + U32::splat(g, range.start as u32), count: ends[1] - ends[0] }
    }
}

impl<G: Gang> Best<G> {
    /// No hit yet; one must be nearer than `scatter`.
    #[inline(always)]
    pub(super) fn none(g: G, scatter: f32) -> Self {
        Self { place: U32::splat(g, 0), scatter: F32::splat(g, scatter), found: Mask::first(g, 0) }
    }

    /// Looks for a nearer hit among column `x_column` (0: all, 3: free ones), y and z of the hits of a window.
    /// The first of equals wins.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn improve(
        &mut self,
        g: G,
        hits: &[[f32; 4]],
        x_column: usize,
        line: &Line<G>,
        window: &Window<G>,
        lanes: Mask<G>,
        tally: &mut Tally,
    ) {
        let mut step = U32::splat(g, 0);
        loop {
            let on = step.lt(window.count) & lanes;
            if !on.any() {
                break;
            }
            tally.count_lanes(on);
            let place = window.first + step;
            let hit = F32::gather_records(hits, place);
            let dz = hit[2] - line.z;
            let dx = line.tx.mul_add(dz, line.x) - hit[x_column];
            let dy = line.ty.mul_add(dz, line.y) - hit[1];
            let scatter = dx.mul_add(dx, dy * dy);
            let better = scatter.lt(self.scatter) & on;
            self.place = better.select_u(place, self.place);
            self.scatter = better.select_f(scatter, self.scatter);
            self.found = self.found | better;
            step = step + U32::splat(g, 1);
        }
    }
}
