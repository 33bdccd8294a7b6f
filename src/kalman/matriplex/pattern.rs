//! Elements of a matrix that are known at compile time.

/// Value of one element, as far as it is known at compile time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Always 0.
    Zero,
    /// Always 1.
    One,
    /// Any value.
    Value,
}

/// The known elements of an R x C matrix. Elements that are not [`Entry::Value`] are never read.
pub trait Pattern<const R: usize, const C: usize> {
    /// Entries row by row.
    const ENTRIES: [[Entry; C]; R];
}

/// The structure of a matrix without known elements.
#[derive(Debug, Clone, Copy)]
pub struct Dense;

impl<const R: usize, const C: usize> Pattern<R, C> for Dense {
    const ENTRIES: [[Entry; C]; R] = [[Entry::Value; C]; R];
}
