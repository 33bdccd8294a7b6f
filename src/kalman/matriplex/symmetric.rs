//! Symmetric matrices of 1 to 6 rows; only the lower triangle is used.

use super::general::{accumulate, finish};
use super::{Entry, Matrix, Pattern, unroll};
use crate::simd::varying::F32;
use crate::simd::{Gang, copies};

/// An N x N symmetric matrix per lane. Only elements (i, j) with j <= i are used.
#[derive(Clone, Copy)]
pub struct Symmetric<G: Gang, const N: usize>(pub(crate) [[F32<G>; N]; N]);

impl<G: Gang, const N: usize> Symmetric<G, N> {
    /// Returns a matrix with `value` in all elements.
    #[inline(always)]
    pub fn splat(g: G, value: f32) -> Self {
        Self(copies(copies(F32::splat(g, value))))
    }

    /// Returns a diagonal matrix.
    #[inline(always)]
    pub fn diagonal(g: G, values: [F32<G>; N]) -> Self {
        let mut out = Self::splat(g, 0.0);
        unroll!(I < N; {
            out.0[I][I] = values[I];
        });
        out
    }

    /// Returns element (i, j).
    #[inline(always)]
    pub fn at(&self, i: usize, j: usize) -> F32<G> {
        if i < j { self.0[j][i] } else { self.0[i][j] }
    }

    /// Sets the elements (i, j) and (j, i).
    #[inline(always)]
    pub fn set(&mut self, i: usize, j: usize, value: F32<G>) {
        if i < j {
            self.0[j][i] = value;
        } else {
            self.0[i][j] = value;
        }
    }

    /// Returns the sum with another matrix.
    #[inline(always)]
    pub fn plus(&self, other: &Self) -> Self {
        let mut out = *self;
        unroll!(I < N; {
            unroll!(J < I + 1; {
                out.0[I][J] = self.0[I][J] + other.0[I][J];
            });
        });
        out
    }

    /// Returns the full matrix.
    #[inline(always)]
    pub fn to_matrix(&self) -> Matrix<G, N, N> {
        let mut out = Matrix(self.0);
        unroll!(I < N; {
            unroll!(J < I; {
                out.0[J][I] = self.0[I][J];
            });
        });
        out
    }
}

/// Returns f c f^T for a symmetric c, where `P` is the structure of f. Each row of f c is multiplied by the rows of f;
/// only the lower triangle is computed.
#[inline(always)]
pub fn similarity<P: Pattern<R, N>, G: Gang, const R: usize, const N: usize>(
    g: G,
    f: &Matrix<G, R, N>,
    c: &Symmetric<G, N>,
) -> Symmetric<G, R> {
    let mut out = Symmetric::splat(g, 0.0);
    unroll!(I < R; {
        let mut row = copies::<_, N>(F32::splat(g, 0.0));
        unroll!(J < N; {
            let mut sum = None;
            unroll!(M < N; {
                sum = accumulate(sum, P::ENTRIES[I][M], f.0[I][M], c.at(M, J));
            });
            row[J] = finish(g, sum);
        });
        unroll!(L < I + 1; {
            let mut sum = None;
            // Terms with a factor 1 come first: the first term of a sum needs no addition.
            unroll!(M < N; {
                if matches!(P::ENTRIES[L][M], Entry::One) {
                    sum = accumulate(sum, Entry::One, f.0[L][M], row[M]);
                }
            });
            unroll!(M < N; {
                if matches!(P::ENTRIES[L][M], Entry::Value) {
                    sum = accumulate(sum, Entry::Value, f.0[L][M], row[M]);
                }
            });
            out.0[I][L] = finish(g, sum);
        });
    });
    out
}
