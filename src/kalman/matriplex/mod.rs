//! Small matrices, one per lane: lane l of every value belongs to the matrix of track l.
//!
//! In registers a matrix is an array of SIMD values ([`Matrix`], [`Symmetric`]); in memory a [`Matriplex`] holds N
//! matrices, with element (i, j) of all N matrices contiguous. This is the layout of the Matriplex library (Cerati et
//! al., EPJ Web of Conf. 2017, section 2.1); a GPU uses the same layout with a larger N.
//!
//! Known zeros and ones of a matrix are part of a type ([`Pattern`]); products skip them at compile time, at no cost.

mod general;
mod inverse;
mod memory;
mod pattern;
mod symmetric;
#[cfg(test)]
mod tests;
mod unroll;

pub use general::{Matrix, multiply};
pub use inverse::Cramer;
pub use memory::Matriplex;
pub use pattern::{Dense, Entry, Pattern};
pub use symmetric::{Symmetric, similarity};
pub(crate) use unroll::unroll;

/// Returns the number of stored elements of a symmetric matrix of `n` rows: its lower triangle.
#[inline(always)]
pub const fn packed(n: usize) -> usize {
    n * (n + 1) / 2
}
