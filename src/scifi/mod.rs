//! The scintillating-fibre tracker (SciFi): twelve layers behind the magnet, from raw banks to hits and tracks.
//!
//! Modules in data-flow order: [`geometry`], `decode`, `index` (sort), `find` and `rows` (two alternative searches,
//! first in x, then in u and v), `gains`, `momentum` and `state`. For tests, `reference` implements the stages after
//! decoding in plain scalar code. [`SciFiHits`] decodes raw banks to hits, and [`SciFi`] finds tracks from hits.

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
