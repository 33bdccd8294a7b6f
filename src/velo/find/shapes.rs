//! The shapes of triplets: the pairs of modules of the three hits, with or without a gap.

use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::config::PassConfig;
use crate::velo::geometry::PAIRS;

/// Number of shapes of triplets: three pairs in a row, a gap above the middle hit, and a gap below it.
pub(super) const SHAPES: usize = 3;

/// Pairs of the hits of a triplet, and its cuts.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Pair of the outer hit, and pair of the inner hit.
    pub(super) above: usize,
    pub(super) below: usize,
    /// Half width of the window for the outer hit, in 1/256 turn; `None` if there are no triplets of this shape.
    pub(super) window: Option<f32>,
    /// Largest distance of a doublet to the beam line, mm.
    pub(super) doublet_doca: f32,
    pub(super) score: f32,
    pub(super) doca_weight: f32,
}

/// Returns the shapes around a pair, in order of preference: a middle hit with a triplet of one shape gets no triplet
/// of the next shapes.
#[inline(always)]
pub(super) fn shapes(pass: &PassConfig, current: usize) -> [Shape; SHAPES] {
    let near = Shape {
        above: current + 1,
        below: current - 1,
        window: Some(pass.window),
        doublet_doca: pass.doublet_doca,
        score: pass.score,
        doca_weight: pass.doca_weight,
    };
    let gap = Shape {
        doublet_doca: pass.gap_doublet_doca,
        score: pass.gap_score,
        doca_weight: pass.gap_doca_weight,
        ..near
    };
    let (above, below) = ((current + 2).min(PAIRS - 1), current.saturating_sub(2));
    let window = |there: bool| (pass.gaps && there).then_some(pass.gap_window);
    [
        near,
        Shape { above, window: window(above == current + 2), ..gap },
        Shape { below, window: window(below + 2 == current), ..gap },
    ]
}

/// Lanes of doublets over a gap, and the lanes whose gap is below the middle hit.
#[derive(Clone, Copy)]
pub(super) struct Gaps<G: Gang> {
    pub(super) any: Mask<G>,
    pub(super) below: Mask<G>,
}

impl<G: Gang> Gaps<G> {
    /// Finds the lanes, given the numbers of the shapes.
    #[inline(always)]
    pub(super) fn of_shape(g: G, shape: U32<G>) -> Self {
        Self { any: U32::splat(g, 0).lt(shape), below: U32::splat(g, 1).lt(shape) }
    }

    /// Returns a value of each lane's shape; both gaps have the same values.
    #[inline(always)]
    pub(super) fn pick(&self, g: G, shapes: &[Shape; SHAPES], value: impl Fn(&Shape) -> f32) -> F32<G> {
        self.any.select_f(F32::splat(g, value(&shapes[1])), F32::splat(g, value(&shapes[0])))
    }
}
