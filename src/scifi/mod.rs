//! The scintillating-fibre tracker (SciFi): twelve layers behind the magnet, from raw banks to hits and tracks.
//!
//! Modules in data-flow order: [`geometry`] (also a nominal one), `decode`, which contains its own naive twin,
//! `index` (sort), `find` and `rows` (two searches for tracks in x, then u and v), `gains`, `momentum` and `state`,
//! and `reference`, the naive twin of the stages after decoding. [`SciFiHits`] ends at hits, [`SciFi`] at tracks.

mod config;
mod decode;
mod find;
mod gains;
pub mod geometry;
mod index;
mod layers;
mod momentum;
mod nominal;
#[cfg(feature = "reference")]
pub mod reference;
mod rows;
mod seeding;
mod sequence;
mod state;
mod weights;

pub use config::{ChoiceConfig, LimitConfig, RowPass, RowsConfig, SciFiConfig, SciFiPreset, SeedPass};

pub use decode::{SciFiScratch, decode};
#[cfg(feature = "reference")]
pub use decode::{
    position_f64 as decode_position_f64, reference as decode_reference,
    reference_with as decode_reference_with,
};
pub use geometry::{SciFiChannel, SciFiGeometry};
pub use seeding::{SCIFI_TRACKS, SciFi, SciFiWorkspace};
pub use sequence::{SCIFI_HITS, SciFiHits};
