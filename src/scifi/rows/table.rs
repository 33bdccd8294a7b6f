//! [`Table`]: columns with a common index, spaced so that two columns do not compete for cache lines.

use crate::event::{Column, PAD};
use crate::simd::array_of;
use bytemuck::Pod;

/// Distance of columns: a multiple of `PAGE` values plus `SHIFT`. At a multiple of 4 KiB all columns would use the same few
/// lines of the first-level cache, and loads would wait for unrelated stores (the search took half as long again).
const PAGE: usize = 1024;
const SHIFT: usize = 80;

/// `K` columns of values of 32 bits, each followed by [`PAD`] values.
#[derive(Debug)]
pub(super) struct Table<T: Pod, const K: usize> {
    data: Column<T>,
    stride: usize,
}

impl<T: Pod, const K: usize> Default for Table<T, K> {
    fn default() -> Self {
        Self { data: Column::default(), stride: 0 }
    }
}

impl<T: Pod, const K: usize> Table<T, K> {
    /// Reserves room for `len` values in each column; the first `kept` values remain.
    #[inline(always)]
    pub(super) fn reserve(&mut self, len: usize, kept: usize) {
        if len + PAD > self.stride {
            self.grow(len, kept);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, len: usize, kept: usize) {
        let stride = (len.max(2 * kept) + PAD).next_multiple_of(PAGE) + SHIFT;
        let mut data = Column::default();
        data.set_len(K * stride);
        for column in 0..K {
            let from = column * self.stride;
            data[column * stride..][..kept].copy_from_slice(&self.data[from..from + kept]);
        }
        (self.data, self.stride) = (data, stride);
    }

    /// Returns a column.
    #[inline(always)]
    pub(super) fn column(&self, column: usize) -> &[T] {
        &self.data[column * self.stride..][..self.stride]
    }

    /// Returns all columns.
    #[inline(always)]
    pub(super) fn columns(&self) -> [&[T]; K] {
        array_of!(column => self.column(column))
    }

    /// Returns mutable references to all columns.
    #[inline(always)]
    pub(super) fn columns_mut(&mut self) -> [&mut [T]; K] {
        let mut columns = self.data.chunks_exact_mut(self.stride);
        std::array::from_fn(
            #[inline(always)]
            |_| columns.next().expect("`data` has K columns"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_keeps_what_is_there_and_columns_apart() {
        let mut table = Table::<u32, 3>::default();
        for len in [1, 100, 1_000, 5_000] {
            table.reserve(len, len / 2);
            assert!(!table.stride.is_multiple_of(PAGE) && table.column(0).len() >= len + PAD);
            for (number, column) in table.columns_mut().into_iter().enumerate() {
                (len / 20..len).for_each(|at| column[at] = (10 * at + number) as u32);
            }
            table.reserve(3 * len, len);
            for (number, column) in table.columns().iter().enumerate() {
                assert!((len / 20..len).all(|at| column[at] == (10 * at + number) as u32), "{len}");
            }
        }
    }
}
