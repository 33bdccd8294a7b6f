//! The scintillating-fibre tracker (SciFi): twelve layers behind the magnet, from raw banks to hits.
//!
//! Modules in data-flow order: [`geometry`] (also a nominal one) and `decode`, which holds its own naive twin.

mod decode;
pub mod geometry;
mod nominal;
mod sequence;

pub use decode::{SciFiScratch, decode};
#[cfg(feature = "reference")]
pub use decode::{
    position_f64 as decode_position_f64, reference as decode_reference,
    reference_with as decode_reference_with,
};
pub use geometry::{SciFiChannel, SciFiGeometry};
pub use sequence::SciFiHits;
