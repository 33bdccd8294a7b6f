//! [`Tracklet`]: hits of several planes that may belong to one particle.

use super::{Beside, SLOPE};
use crate::event::UT_PLANES;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::ut::grid::MIDDLE;

/// Planes of the four roles, on both ways.
pub(crate) const PLANES: [[usize; UT_PLANES]; 2] = [[0, 1, 2, 3], [3, 2, 1, 0]];
/// Hits in their roles, a tracklet a lane.
pub(crate) struct Tracklet<G: Gang> {
    pub(crate) hits: [Beside<G>; UT_PLANES],
    /// Slope dx/dy of their strips.
    pub(crate) slope: [F32<G>; UT_PLANES],
    /// One over the variance of x; 0 where there is no hit.
    pub(crate) weight: [F32<G>; UT_PLANES],
    /// Whether there is a hit in every role.
    pub(crate) four: Mask<G>,
}

impl<G: Gang> Tracklet<G> {
    /// How far behind the middle of the UT a hit is, m.
    #[inline(always)]
    pub(crate) fn depth(&self, g: G, role: usize) -> F32<G> {
        (self.hits[role].z - F32::splat(g, MIDDLE)) * F32::splat(g, 0.001)
    }

    /// Slopes of the strips of the roles.
    #[inline(always)]
    pub(crate) fn slopes(g: G, backward: Mask<G>) -> [F32<G>; UT_PLANES] {
        let mut slopes = [F32::splat(g, 0.0); UT_PLANES];
        for role in 0..UT_PLANES {
            let [there, back] = [PLANES[0][role], PLANES[1][role]];
            slopes[role] = backward.select_f(F32::splat(g, SLOPE[back]), F32::splat(g, SLOPE[there]));
        }
        slopes
    }

    /// Weights of the hits, of which a second and a fourth need not be.
    #[inline(always)]
    pub(crate) fn weights(
        g: G,
        weights_of: &[f32],
        hits: [U32<G>; UT_PLANES],
        has: [Mask<G>; 2],
    ) -> [F32<G>; UT_PLANES] {
        let mut weights = [F32::splat(g, 0.0); UT_PLANES];
        for role in 0..UT_PLANES {
            weights[role] = F32::gather(weights_of, hits[role]);
        }
        weights[1] = has[0].select_f(weights[1], F32::splat(g, 0.0));
        weights[3] = has[1].select_f(weights[3], F32::splat(g, 0.0));
        weights
    }
}
