//! [`Products`]: products of 6 x 6 matrices for a comparison of memory layouts (Matriplex paper, figure 4). The Kalman
//! filter does not use these products; it stores its matrices as [`Matriplex`](super::matriplex::Matriplex).

use super::matriplex::{Dense, Matrix, multiply};
use crate::event::Column;
use crate::simd::varying::{F32, U32};
use crate::simd::{Gang, Level};

/// Rows and columns.
const N: usize = 6;
const ELEMENTS: usize = N * N;
/// Largest number of matrices of a tile whose rows need no padding.
const LONG: usize = 64;

/// Memory layouts of matrices, and ways to load them into lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One matrix after another, multiplied one at a time: the compiler vectorises the loops if it can.
    Array,
    /// One matrix after another, one lane per matrix: every element is gathered.
    ArrayInLanes,
    /// Tiles of this many matrices; a tile stores the first elements of its matrices, then the second elements, and so
    /// on. Tiles of one gang are the paper's layout for CPUs; one tile of all matrices is its layout for GPUs.
    Matriplex(usize),
}

/// Pairs of matrices in one layout, with memory for their products.
#[derive(Debug)]
pub struct Products {
    level: Level,
    count: usize,
    memory: Memory,
}

#[derive(Debug)]
enum Memory {
    Array { factors: [Vec<Plain>; 2], product: Vec<Plain>, in_lanes: bool },
    Matriplex { tiles: Tiles, factors: [Column<f32>; 2], product: Column<f32> },
}

type Plain = [f32; ELEMENTS];

/// Tiles of matrices, element first, one tile after another.
#[derive(Debug, Clone, Copy)]
struct Tiles {
    /// Matrices of a tile, a multiple of the gang.
    matrices: usize,
    /// Distance from an element of a tile to the next one.
    stride: usize,
    /// Tiles.
    count: usize,
}

impl Tiles {
    fn new(together: usize, lanes: usize, count: usize) -> Self {
        let matrices = together.clamp(1, count.max(1)).next_multiple_of(lanes);
        // Long rows must not fall on the same sets of the cache.
        let apart = if matrices > LONG { 16 } else { 0 };
        Self { matrices, stride: matrices + apart, count: count.div_ceil(matrices) }
    }

    /// Returns the position of an element of a pair's matrix.
    fn at(&self, pair: usize, element: usize) -> usize {
        (pair / self.matrices * ELEMENTS + element) * self.stride + pair % self.matrices
    }
}

/// Returns element `element` of the left (0) or right (1) factor of pair `pair`: a pseudorandom number between -0.5 and 0.5.
fn number(side: usize, pair: usize, element: usize) -> f32 {
    let seed = (pair * 2 + side) * ELEMENTS + element;
    let bits = (seed as u32).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(1_664_525);
    (bits >> 8) as f32 / 16_777_216.0 - 0.5
}

impl Products {
    /// Creates `count` pairs. The number of matrices of a tile is rounded up to a multiple of the lanes of `level`.
    pub fn new(level: Level, layout: Layout, count: usize) -> Self {
        let memory = match layout {
            Layout::Array | Layout::ArrayInLanes => {
                let plain = |side| move |pair| std::array::from_fn(|element| number(side, pair, element));
                Memory::Array {
                    factors: [0, 1].map(|side| (0..count).map(plain(side)).collect()),
                    product: vec![[0.0; ELEMENTS]; count],
                    in_lanes: layout == Layout::ArrayInLanes,
                }
            }
            Layout::Matriplex(together) => {
                let tiles = Tiles::new(together, level.gang(), count);
                let mut columns = [(); 3].map(|()| Column::default());
                for column in &mut columns {
                    column.set_len(tiles.count * ELEMENTS * tiles.stride);
                    column.fill(0.0);
                }
                let [mut left, mut right, product] = columns;
                for (side, column) in [&mut left, &mut right].into_iter().enumerate() {
                    for pair in 0..count {
                        (0..ELEMENTS).for_each(|e| column[tiles.at(pair, e)] = number(side, pair, e));
                    }
                }
                Memory::Matriplex { tiles, factors: [left, right], product }
            }
        };
        Self { level, count, memory }
    }

    /// Multiplies all pairs.
    pub fn multiply(&mut self) {
        let level = self.level;
        match &mut self.memory {
            Memory::Array { factors: [a, b], product, in_lanes: false } => {
                crate::simd::kernels!(dispatch_isa!(level, _g => one_by_one(a, b, product)));
            }
            Memory::Array { factors, product, in_lanes: true } => {
                crate::simd::kernels!(dispatch!(level, g => gathered(g, factors, product)));
            }
            Memory::Matriplex { tiles, factors, product } => {
                crate::simd::kernels!(dispatch!(level, g => together(g, *tiles, factors, product)));
            }
        }
    }

    /// Returns the factors of a pair, row by row.
    ///
    /// # Panics
    /// When `pair` is not below the number of pairs.
    pub fn factors(&self, pair: usize) -> [[f32; 36]; 2] {
        assert!(pair < self.count, "pair {pair} of {}", self.count);
        [0, 1].map(|side| match &self.memory {
            Memory::Array { factors, .. } => factors[side][pair],
            Memory::Matriplex { tiles, factors, .. } => {
                std::array::from_fn(|element| factors[side][tiles.at(pair, element)])
            }
        })
    }

    /// Returns the product of a pair, row by row; zeros before [`Products::multiply`].
    ///
    /// # Panics
    /// When `pair` is not below the number of pairs.
    pub fn product(&self, pair: usize) -> [f32; 36] {
        assert!(pair < self.count, "pair {pair} of {}", self.count);
        match &self.memory {
            Memory::Array { product, .. } => product[pair],
            Memory::Matriplex { tiles, product, .. } => {
                std::array::from_fn(|element| product[tiles.at(pair, element)])
            }
        }
    }
}

#[inline(always)]
fn one_by_one(a: &[Plain], b: &[Plain], product: &mut [Plain]) {
    for ((a, b), product) in a.iter().zip(b).zip(product) {
        for i in 0..N {
            let mut row = [0.0; N];
            for j in 0..N {
                row[j] = a[i * N] * b[j];
            }
            for k in 1..N {
                for j in 0..N {
                    row[j] = a[i * N + k].mul_add(b[k * N + j], row[j]);
                }
            }
            product[i * N..(i + 1) * N].copy_from_slice(&row);
        }
    }
}

#[inline(always)]
fn gathered<G: Gang>(g: G, factors: &[Vec<Plain>; 2], product: &mut [Plain]) {
    let flat = [factors[0].as_flattened(), factors[1].as_flattened()];
    let count = product.len();
    let product = product.as_flattened_mut();
    let mut row = [0.0; 64];
    for first in (0..count).step_by(G::LANES) {
        let at = (U32::iota(g) + U32::splat(g, first as u32)) * U32::splat(g, ELEMENTS as u32);
        let mut matrices = [Matrix::<G, N, N>::splat(g, 0.0); 2];
        for (matrix, from) in matrices.iter_mut().zip(flat) {
            for i in 0..N {
                for j in 0..N {
                    matrix.0[i][j] = F32::gather(from, at + U32::splat(g, (i * N + j) as u32));
                }
            }
        }
        let result = multiply::<Dense, G, N, N, N>(g, &matrices[0], &matrices[1]);
        let pairs = G::LANES.min(count - first);
        for i in 0..N {
            for j in 0..N {
                result.0[i][j].store(&mut row);
                for (lane, value) in row[..pairs].iter().enumerate() {
                    product[(first + lane) * ELEMENTS + i * N + j] = *value;
                }
            }
        }
    }
}

#[inline(always)]
fn together<G: Gang>(g: G, tiles: Tiles, factors: &[Column<f32>; 2], product: &mut Column<f32>) {
    let Tiles { matrices, stride, count } = tiles;
    for tile in 0..count {
        for lane in (0..matrices).step_by(G::LANES) {
            let at = tile * ELEMENTS * stride + lane;
            let [left, right] = factors.each_ref().map(|from| &from.padded()[at..]);
            let product = &mut product.padded_mut()[at..];
            let mut b = [[F32::splat(g, 0.0); N]; N];
            for i in 0..N {
                for j in 0..N {
                    b[i][j] = F32::load(g, &right[(i * N + j) * stride..]);
                }
            }
            // Row by row: six sums stay in registers.
            for i in 0..N {
                let first = F32::load(g, &left[i * N * stride..]);
                let mut row = [F32::splat(g, 0.0); N];
                for j in 0..N {
                    row[j] = first * b[0][j];
                }
                for k in 1..N {
                    let a = F32::load(g, &left[(i * N + k) * stride..]);
                    for j in 0..N {
                        row[j] = a.mul_add(b[k][j], row[j]);
                    }
                }
                for j in 0..N {
                    row[j].store(&mut product[(i * N + j) * stride..]);
                }
            }
        }
    }
}
