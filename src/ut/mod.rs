//! The upstream tracker (UT): four planes of silicon strips before the magnet, from raw banks to hits.
//!
//! Modules in data-flow order: [`geometry`] (with the magnet's [`tables`], and both of a nominal detector) and `decode`, which holds its own
//! naive twin.

mod decode;
pub mod dipole;
pub mod geometry;
mod nominal;
mod sequence;
pub mod tables;

pub use decode::{UtScratch, decode};
#[cfg(feature = "reference")]
pub use decode::{
    position_f64 as decode_position_f64, reference as decode_reference,
    reference_with as decode_reference_with,
};
pub use geometry::{UtChannel, UtGeometry};
pub use sequence::UtHits;
pub use tables::UtTables;
