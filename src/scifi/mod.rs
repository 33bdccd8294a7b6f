//! The scintillating-fibre tracker (SciFi): twelve layers behind the magnet, from raw banks to hits.
//!
//! Rooms in data-flow order: [`geometry`], `decode`, and `reference`, the naive twin of the decoder.

pub mod geometry;

pub use geometry::SciFiGeometry;
