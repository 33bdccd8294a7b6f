//! [`Column`]: contiguous values, 64-byte aligned, followed by [`PAD`] readable values. [`Starts`]: offsets of lists.

use aligned_vec::{AVec, ConstAlign};
use bytemuck::Pod;
use std::ops::{Deref, DerefMut};

/// Number of values after the end of every column that may be read, but are undefined: the lanes of the largest gang.
pub const PAD: usize = 64;

/// A growable column of plain values, 64-byte aligned and padded by [`PAD`] values that a full gang may load past the
/// end. Clearing keeps the memory, so a reused column allocates only when it needs more.
#[derive(Clone)]
pub struct Column<T: Pod> {
    // Always at least `len + PAD` initialised values.
    data: AVec<T, ConstAlign<64>>,
    len: usize,
}

impl<T: Pod> Default for Column<T> {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl<T: Pod> Column<T> {
    /// Makes an empty column with memory for `capacity` values.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut data = AVec::new(64);
        data.resize(capacity + PAD, T::zeroed());
        Self { data, len: 0 }
    }

    /// Reserves memory for a total of `len` values.
    #[inline]
    pub fn reserve_total(&mut self, len: usize) {
        if len + PAD > self.data.len() {
            self.grow(len);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, len: usize) {
        let grown = len.max(2 * self.len) + PAD;
        self.data.resize(grown, T::zeroed());
    }

    /// Removes the values and keeps the allocated memory.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Sets the length. New values are undefined: zero in new memory, old values in reused memory.
    #[inline]
    pub fn set_len(&mut self, len: usize) {
        self.reserve_total(len);
        self.len = len;
    }

    /// Appends one value.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        self.reserve_total(self.len + 1);
        self.data[self.len] = value;
        self.len += 1;
    }

    /// Appends all values of a slice.
    pub fn extend_from_slice(&mut self, values: &[T]) {
        let start = self.len;
        self.set_len(start + values.len());
        self.data[start..start + values.len()].copy_from_slice(values);
    }

    /// Returns the values and the padding after them, at least `len() + PAD` values.
    #[inline(always)]
    pub fn padded(&self) -> &[T] {
        &self.data
    }

    /// Returns the values and the padding after them, to write to. The padding is not part of the column.
    #[inline(always)]
    pub fn padded_mut(&mut self) -> &mut [T] {
        &mut self.data
    }
}

impl<T: Pod> Deref for Column<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.data[..self.len]
    }
}

impl<T: Pod> DerefMut for Column<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data[..self.len]
    }
}

impl<T: Pod + std::fmt::Debug> std::fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Pod + PartialEq> PartialEq for Column<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: Pod> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        let mut column = Self::default();
        for value in iter {
            column.push(value);
        }
        column
    }
}

/// Offsets of lists: the index of the first entry of each list, then the end of the last list; `[0]` for no lists.
#[derive(Debug, Clone, PartialEq)]
pub struct Starts(Column<u32>);

impl Default for Starts {
    fn default() -> Self {
        Self([0].into_iter().collect())
    }
}

impl Starts {
    /// Appends a list, given by the index after its last entry.
    #[inline(always)]
    pub fn push(&mut self, end: u32) {
        self.0.push(end);
    }
}

impl Deref for Starts {
    type Target = Column<u32>;
    #[inline(always)]
    fn deref(&self) -> &Column<u32> {
        &self.0
    }
}

impl DerefMut for Starts {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Column<u32> {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_aligned_and_padded_whatever_happens_to_it() {
        let mut column = Column::<f32>::default();
        for round in 0..3 {
            for i in 0..1000 {
                column.push(i as f32);
                assert!(column.padded().len() >= column.len() + PAD);
            }
            assert_eq!(column.as_ptr() as usize % 64, 0);
            assert_eq!(column[999], 999.0, "round {round}");
            column.clear();
        }
    }

    #[test]
    fn clearing_keeps_the_memory() {
        let mut column = Column::<u32>::with_capacity(100);
        let before = column.as_ptr();
        for _ in 0..5 {
            column.extend_from_slice(&[7; 100]);
            assert_eq!(column.as_ptr(), before);
            column.clear();
        }
    }
}
