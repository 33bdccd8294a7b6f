//! [`Few`]: a list that needs no heap memory as long as it is short.

use std::ops::{Deref, DerefMut};

/// A list of any length; up to `N` items are kept in place.
#[derive(Debug, Clone)]
pub(super) struct Few<T, const N: usize> {
    /// Number of items in place; they are all in `more` when there are more than `N`.
    len: usize,
    here: [T; N],
    more: Vec<T>,
}

impl<T: Copy + Default, const N: usize> Few<T, N> {
    /// Creates a list of one item.
    pub fn one(item: T) -> Self {
        let mut few = Self::default();
        few.push(item);
        few
    }

    pub fn push(&mut self, item: T) {
        if !self.more.is_empty() {
            self.more.push(item);
        } else if self.len < N {
            self.here[self.len] = item;
            self.len += 1;
        } else {
            self.more.reserve(2 * N);
            self.more.extend_from_slice(&self.here);
            self.more.push(item);
            self.len = 0;
        }
    }

    pub fn extend(&mut self, items: &[T]) {
        items.iter().for_each(|item| self.push(*item));
    }
}

impl<T: Copy + Default + Ord, const N: usize> Few<T, N> {
    /// Sorts the items in rising order and removes duplicates.
    pub fn sort_and_dedup(&mut self) {
        if self.more.is_empty() {
            let items = &mut self.here[..self.len];
            items.sort_unstable();
            let mut kept = items.len().min(1);
            for i in 1..items.len() {
                if items[i] != items[kept - 1] {
                    items[kept] = items[i];
                    kept += 1;
                }
            }
            self.len = kept;
        } else {
            self.more.sort_unstable();
            self.more.dedup();
        }
    }
}

impl<T: Copy + Default, const N: usize> Default for Few<T, N> {
    fn default() -> Self {
        Self { len: 0, here: [T::default(); N], more: Vec::new() }
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.more.is_empty() { &self.here[..self.len] } else { &self.more }
    }
}

impl<T, const N: usize> DerefMut for Few<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        if self.more.is_empty() { &mut self.here[..self.len] } else { &mut self.more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list() {
        for len in 0..12u32 {
            let items: Vec<u32> = (0..len).map(|i| (7 * i + 3) % 5).collect();
            let mut few = Few::<u32, 4>::default();
            few.extend(&items);
            assert_eq!(few[..], items[..]);
            let mut expected = items.clone();
            expected.sort_unstable();
            expected.dedup();
            few.sort_and_dedup();
            assert_eq!(few[..], expected[..]);
            // The list can grow again after it became shorter.
            few.push(9);
            assert_eq!(few[few.len() - 1], 9);
            assert_eq!(few.len(), expected.len() + 1);
        }
    }
}
