//! Inverses of symmetric matrices: Cramer's rule for 1 to 3 rows, Cholesky's factors for any size.

use super::{Symmetric, unroll};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask};

/// Inverse by Cramer's rule, with one division.
pub trait Cramer<G: Gang>: Sized {
    /// Returns the inverse and the determinant; where the determinant is 0 the inverse is not finite.
    fn cramer(&self) -> (Self, F32<G>);
}

impl<G: Gang> Cramer<G> for Symmetric<G, 1> {
    #[inline(always)]
    fn cramer(&self) -> (Self, F32<G>) {
        let [[a]] = self.0;
        (Self([[F32::splat(a.g, 1.0) / a]]), a)
    }
}

impl<G: Gang> Cramer<G> for Symmetric<G, 2> {
    #[inline(always)]
    fn cramer(&self) -> (Self, F32<G>) {
        let [[a, _], [b, c]] = self.0;
        let determinant = b.neg_mul_add(b, a * c);
        let inverse = F32::splat(a.g, 1.0) / determinant;
        let off = -(b * inverse);
        (Self([[c * inverse, off], [off, a * inverse]]), determinant)
    }
}

impl<G: Gang> Cramer<G> for Symmetric<G, 3> {
    #[inline(always)]
    fn cramer(&self) -> (Self, F32<G>) {
        let [[a, _, _], [b, d, _], [c, e, f]] = self.0;
        let aa = e.neg_mul_add(e, d * f);
        let bb = b.neg_mul_add(f, c * e);
        let cc = c.neg_mul_add(d, b * e);
        let determinant = c.mul_add(cc, b.mul_add(bb, a * aa));
        let inverse = F32::splat(a.g, 1.0) / determinant;
        let [aa, bb, cc] = [aa * inverse, bb * inverse, cc * inverse];
        let dd = c.neg_mul_add(c, a * f) * inverse;
        let ee = a.neg_mul_add(e, b * c) * inverse;
        let ff = b.neg_mul_add(b, a * d) * inverse;
        (Self([[aa, bb, cc], [bb, dd, ee], [cc, ee, ff]]), determinant)
    }
}

impl<G: Gang, const N: usize> Symmetric<G, N> {
    /// Returns the lower factor L of the matrix L L^T, with reciprocals on the diagonal, and the lanes in which every
    /// pivot is positive: there the matrix is positive definite.
    #[inline(always)]
    pub fn factor(&self, g: G) -> (Self, Mask<G>) {
        let mut l = *self;
        let mut positive = Mask::first(g, G::LANES);
        unroll!(J < N; {
            let mut pivot = l.0[J][J];
            unroll!(M < J; {
                pivot = l.0[J][M].neg_mul_add(l.0[J][M], pivot);
            });
            positive = positive & F32::splat(g, 0.0).lt(pivot);
            let reciprocal = F32::splat(g, 1.0) / pivot.sqrt();
            l.0[J][J] = reciprocal;
            unroll!(I < N; {
                if I > J {
                    let mut sum = l.0[I][J];
                    unroll!(M < J; {
                        sum = l.0[I][M].neg_mul_add(l.0[J][M], sum);
                    });
                    l.0[I][J] = sum * reciprocal;
                }
            });
        });
        (l, positive)
    }

    /// Returns the lanes in which the matrix, with its diagonal multiplied by `grown`, is positive definite: all pivots
    /// of its factors L D L^T are positive. The test needs no square root, and no scaling for pivots above 3e-39.
    #[inline(always)]
    pub fn is_definite(&self, g: G, grown: f32) -> Mask<G> {
        let mut positive = Mask::first(g, G::LANES);
        // The factors L, and L D.
        let (mut l, mut scaled) = (*self, *self);
        unroll!(J < N; {
            unroll!(I < N; {
                if I >= J {
                    let mut sum = self.0[I][J];
                    if I == J {
                        sum = sum * F32::splat(g, grown);
                    }
                    unroll!(M < J; {
                        sum = l.0[J][M].neg_mul_add(scaled.0[I][M], sum);
                    });
                    scaled.0[I][J] = sum;
                }
            });
            let pivot = scaled.0[J][J];
            positive = positive & F32::splat(g, 0.0).lt(pivot);
            let reciprocal = F32::splat(g, 1.0) / pivot;
            unroll!(I < N; {
                if I > J {
                    l.0[I][J] = scaled.0[I][J] * reciprocal;
                }
            });
        });
        positive
    }

    /// Returns the inverse by Cholesky's factors, and the lanes in which the matrix is positive definite; in other lanes
    /// the inverse is undefined.
    #[inline(always)]
    pub fn cholesky(&self, g: G) -> (Self, Mask<G>) {
        let (l, positive) = self.factor(g);
        // The inverse of L, column by column.
        let mut m = l;
        unroll!(J < N; {
            unroll!(I < N; {
                if I > J {
                    let mut sum = F32::splat(g, 0.0);
                    unroll!(M < I; {
                        if M >= J {
                            sum = l.0[I][M].neg_mul_add(m.0[M][J], sum);
                        }
                    });
                    m.0[I][J] = sum * l.0[I][I];
                }
            });
        });
        let mut out = Self::splat(g, 0.0);
        unroll!(I < N; {
            unroll!(J < I + 1; {
                let mut sum = m.0[I][I] * m.0[I][J];
                unroll!(M < N; {
                    if M > I {
                        sum = m.0[M][I].mul_add(m.0[M][J], sum);
                    }
                });
                out.0[I][J] = sum;
            });
        });
        (out, positive)
    }
}
