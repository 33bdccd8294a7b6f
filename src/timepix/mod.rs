//! Timepix3, Timepix4 and their like: from hits of single pixels to clusters.

mod sort;

pub use sort::TimeSorter;
