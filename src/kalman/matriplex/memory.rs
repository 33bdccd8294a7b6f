//! [`Matriplex`]: N matrices in memory, stored element by element.

use super::{Matrix, Symmetric, packed, unroll};
use crate::event::{Column, PAD};
use crate::simd::Gang;
use crate::simd::varying::{F32, U32};

/// N matrices of `elements` values: element e of matrix l is `row(e)[l]`. A row is followed by padding for a full
/// gang, so that the last lanes can be loaded and stored as a full gang.
#[derive(Debug, Clone, Default)]
pub struct Matriplex {
    data: Column<f32>,
    elements: usize,
    stride: usize,
}

impl Matriplex {
    /// Reserves memory for `lanes` matrices of `elements` values; their values are arbitrary. The memory never shrinks.
    pub fn resize(&mut self, elements: usize, lanes: usize) {
        // One cache line more than a multiple of `PAD`: rows must not fall on the same sets of the cache.
        self.stride = lanes.next_multiple_of(PAD) + 16;
        self.elements = elements;
        self.data.set_len(elements * self.stride);
    }

    /// Returns element `element` of all matrices.
    #[inline(always)]
    pub fn row(&self, element: usize) -> &[f32] {
        &self.data.padded()[element * self.stride..]
    }

    /// Returns element `element` of all matrices for writing.
    #[inline(always)]
    pub fn row_mut(&mut self, element: usize) -> &mut [f32] {
        &mut self.data.padded_mut()[element * self.stride..]
    }

    /// Loads `R x C` matrices: the elements from number `first` on, of the matrices from number `lane` on.
    #[inline(always)]
    pub fn load<G: Gang, const R: usize, const C: usize>(
        &self,
        g: G,
        first: usize,
        lane: usize,
    ) -> Matrix<G, R, C> {
        let mut out = Matrix::splat(g, 0.0);
        unroll!(I < R; {
            unroll!(J < C; {
                out.0[I][J] = F32::load(g, &self.row(first + I * C + J)[lane..]);
            });
        });
        out
    }

    /// Gathers `R x C` matrices: the elements from number `first` on, of the matrices whose numbers are `index`.
    #[inline(always)]
    pub fn gather<G: Gang, const R: usize, const C: usize>(
        &self,
        g: G,
        first: usize,
        index: U32<G>,
    ) -> Matrix<G, R, C> {
        let mut out = Matrix::splat(g, 0.0);
        unroll!(I < R; {
            unroll!(J < C; {
                out.0[I][J] = F32::gather(self.row(first + I * C + J), index);
            });
        });
        out
    }

    /// Writes the elements that [`Matriplex::load`] reads.
    #[inline(always)]
    pub fn store<G: Gang, const R: usize, const C: usize>(
        &mut self,
        first: usize,
        lane: usize,
        value: &Matrix<G, R, C>,
    ) {
        unroll!(I < R; {
            unroll!(J < C; {
                value.0[I][J].store(&mut self.row_mut(first + I * C + J)[lane..]);
            });
        });
    }

    /// Loads symmetric matrices, whose lower triangles are packed row by row from element `first` on.
    #[inline(always)]
    pub fn load_symmetric<G: Gang, const N: usize>(
        &self,
        g: G,
        first: usize,
        lane: usize,
    ) -> Symmetric<G, N> {
        let mut out = Symmetric::splat(g, 0.0);
        unroll!(I < N; {
            unroll!(J < I + 1; {
                out.0[I][J] = F32::load(g, &self.row(first + packed(I) + J)[lane..]);
            });
        });
        out
    }

    /// Gathers packed symmetric matrices whose numbers are `index`.
    #[inline(always)]
    pub fn gather_symmetric<G: Gang, const N: usize>(
        &self,
        g: G,
        first: usize,
        index: U32<G>,
    ) -> Symmetric<G, N> {
        let mut out = Symmetric::splat(g, 0.0);
        unroll!(I < N; {
            unroll!(J < I + 1; {
                out.0[I][J] = F32::gather(self.row(first + packed(I) + J), index);
            });
        });
        out
    }

    /// Writes the elements that [`Matriplex::load_symmetric`] reads.
    #[inline(always)]
    pub fn store_symmetric<G: Gang, const N: usize>(
        &mut self,
        first: usize,
        lane: usize,
        value: &Symmetric<G, N>,
    ) {
        unroll!(I < N; {
            unroll!(J < I + 1; {
                value.0[I][J].store(&mut self.row_mut(first + packed(I) + J)[lane..]);
            });
        });
    }
}
