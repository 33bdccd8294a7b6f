//! Candidates of triplets above and below a middle hit, and [`Best`], the best pair of them; one middle hit per lane.

use super::NONE;
use super::hits::{BINS, bin, cell};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::config::LinkConfig;
use crate::velo::find::Judge;

/// Distance from the start of a window to its hit, in bins; the window is two whole bins wide.
pub(super) const HALF_WINDOW: f32 = 0.5;

/// A middle hit per lane.
#[derive(Clone, Copy)]
pub(super) struct Middle<G: Gang> {
    pub(super) x: F32<G>,
    pub(super) y: F32<G>,
    pub(super) z: F32<G>,
}

/// The step from a candidate above to the middle hit, and the terms of the variance that depend on it.
pub(super) struct Above<G: Gang> {
    dx: F32<G>,
    dy: F32<G>,
    dz: F32<G>,
    /// Coefficients of dz^2, dz and 1 in the variance, for dz of the step below.
    square: F32<G>,
    linear: F32<G>,
    constant: F32<G>,
}

/// The step from the middle hit to a candidate below.
pub(super) struct Below<G: Gang> {
    pub(super) dx: F32<G>,
    pub(super) dy: F32<G>,
    pub(super) dz: F32<G>,
}

/// The best triplet per lane: chi2 = distance2 / variance, and the numbers of its candidates, with the candidate above
/// in the high half.
pub(super) struct Best<G: Gang> {
    pub(super) distance2: F32<G>,
    pub(super) variance: F32<G>,
    pub(super) numbers: U32<G>,
}

impl<G: Gang> Above<G> {
    /// Computes the step; dz is NaN without a candidate, which is never good.
    #[inline(always)]
    pub(super) fn new(
        g: G,
        (config, judge): (&LinkConfig, &Judge<G>),
        middle: Middle<G>,
        [x, y, z]: [F32<G>; 3],
        on: Mask<G>,
    ) -> Self {
        let (dx, dy) = (middle.x - x, middle.y - y);
        let dz = on.select_f(middle.z - z, F32::splat(g, f32::NAN));
        let across2 = dx.mul_add(dx, dy * dy);
        let dz2 = dz * dz;
        let two_hits = F32::splat(g, judge.two_hit_variances);
        let scatter = F32::splat(g, config.scatter_slope)
            .mul_add(across2, F32::splat(g, config.scatter_constant) * dz2);
        Self { dx, dy, dz, square: two_hits + scatter, linear: two_hits * dz, constant: two_hits * dz2 }
    }
}

impl<G: Gang> Below<G> {
    /// Computes the step; dz is NaN without a candidate.
    #[inline(always)]
    pub(super) fn new(g: G, middle: Middle<G>, [x, y, z]: [F32<G>; 3], on: Mask<G>) -> Self {
        let dz = on.select_f(z - middle.z, F32::splat(g, f32::NAN));
        Self { dx: x - middle.x, dy: y - middle.y, dz }
    }
}

impl<G: Gang> Best<G> {
    /// Begins without a triplet; chi2 must be below `chi2`.
    #[inline(always)]
    pub(super) fn none(g: G, chi2: f32) -> Self {
        Self { distance2: F32::splat(g, chi2), variance: F32::splat(g, 1.0), numbers: U32::splat(g, NONE) }
    }

    /// Takes a triplet if it is better. Its squared distance and its variance, both multiplied by the squared dz of the
    /// step above to avoid divisions, are the results of [`Judge::distance`](crate::velo::find::Judge::distance) for
    /// the line through the hit above and the middle hit.
    #[inline(always)]
    pub(super) fn judge(&mut self, above: &Above<G>, below: &Below<G>, numbers: U32<G>) {
        let x = above.dx.neg_mul_add(below.dz, below.dx * above.dz);
        let y = above.dy.neg_mul_add(below.dz, below.dy * above.dz);
        let distance2 = x.mul_add(x, y * y);
        let rest = above.linear.mul_add(below.dz, above.constant);
        let variance = (below.dz * below.dz).mul_add(above.square, rest);
        let better = (distance2 * self.variance).lt(self.distance2 * variance);
        self.distance2 = better.select_f(distance2, self.distance2);
        self.variance = better.select_f(variance, self.variance);
        self.numbers = better.select_u(numbers, self.numbers);
    }

    /// Returns the indices of the hits above and below, or [`NONE`]. `firsts` are the numbers of the windows' first
    /// hits in pairs that begin at `begins` and have `lens` hits.
    #[inline(always)]
    pub(super) fn hits(
        &self,
        g: G,
        firsts: [U32<G>; 2],
        begins: [U32<G>; 2],
        lens: [U32<G>; 2],
    ) -> [U32<G>; 2] {
        let none = U32::splat(g, NONE);
        let lacks = self.numbers.eq(none);
        let above = wrapped(firsts[0] + self.numbers.shr::<16>(), lens[0]) + begins[0];
        let below = wrapped(firsts[1] + (self.numbers & U32::splat(g, 0xffff)), lens[1]) + begins[1];
        [lacks.select_u(none, above), lacks.select_u(none, below)]
    }
}

/// Wraps a number of a hit in a pair of `len` hits, which may be up to `len` too large.
#[inline(always)]
pub(super) fn wrapped<G: Gang>(number: U32<G>, len: U32<G>) -> U32<G> {
    number.min(number - len)
}

/// Returns the cells of the windows around hits with the directions `turn`.
#[inline(always)]
pub(super) fn cells<G: Gang>(g: G, turn: F32<G>) -> U32<G> {
    cell(g, bin(g, turn + F32::splat(g, BINS as f32 - HALF_WINDOW)))
}
