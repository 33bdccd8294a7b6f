//! General matrices of 1 to 6 rows and columns.

use super::{Entry, Pattern, unroll};
use crate::simd::varying::F32;
use crate::simd::{Gang, copies};

/// An R x C matrix per lane, row by row.
#[derive(Clone, Copy)]
pub struct Matrix<G: Gang, const R: usize, const C: usize>(pub [[F32<G>; C]; R]);

impl<G: Gang, const R: usize, const C: usize> Matrix<G, R, C> {
    /// Returns a matrix with `value` in all elements.
    #[inline(always)]
    pub fn splat(g: G, value: f32) -> Self {
        Self(copies(copies(F32::splat(g, value))))
    }
}

/// Returns `sum + a * b`, where `a` may be known at compile time. An empty sum is `None`.
#[inline(always)]
pub(super) fn accumulate<G: Gang>(sum: Option<F32<G>>, known: Entry, a: F32<G>, b: F32<G>) -> Option<F32<G>> {
    match (known, sum) {
        (Entry::Zero, sum) => sum,
        (Entry::One, None) => Some(b),
        (Entry::One, Some(sum)) => Some(sum + b),
        (Entry::Value, None) => Some(a * b),
        (Entry::Value, Some(sum)) => Some(a.mul_add(b, sum)),
    }
}

/// Returns a sum, or 0 for an empty sum.
#[inline(always)]
pub(super) fn finish<G: Gang>(g: G, sum: Option<F32<G>>) -> F32<G> {
    match sum {
        Some(sum) => sum,
        None => F32::splat(g, 0.0),
    }
}

/// Returns the product a b, where `P` is the structure of `a`. Terms are added in the order of the columns of `a`, by
/// fused multiply-adds.
#[inline(always)]
pub fn multiply<P: Pattern<R, K>, G: Gang, const R: usize, const K: usize, const C: usize>(
    g: G,
    a: &Matrix<G, R, K>,
    b: &Matrix<G, K, C>,
) -> Matrix<G, R, C> {
    let mut out = Matrix::splat(g, 0.0);
    unroll!(I < R; {
        unroll!(J < C; {
            let mut sum = None;
            unroll!(M < K; {
                sum = accumulate(sum, P::ENTRIES[I][M], a.0[I][M], b.0[M][J]);
            });
            out.0[I][J] = finish(g, sum);
        });
    });
    out
}
