//! The upstream tracker (UT): four planes of silicon strips before the magnet, from raw banks to hits.
//!
//! Rooms in data-flow order: [`geometry`] (with the magnet's [`tables`]), `decode`, and `reference`, the naive
//! twin of the decoder.

pub mod geometry;
pub mod tables;

pub use geometry::UtGeometry;
pub use tables::UtTables;
