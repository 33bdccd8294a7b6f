//! The upgraded LHCb vertex locator (Velo): from raw banks or hits to straight tracks with states.
//!
//! Modules in data-flow order: [`geometry`], `decode`, `index` (sort), `find` (seeding, forwarding, weak tracks) and
//! `fit`; `reference` is a naive version for tests. `link` finds tracks in the preset `fast`; `paper` and `forwarding`
//! sort hits and find tracks in the presets of these names. [`reconstruct`] runs the stages over a slice of events.

mod config;
mod decode;
mod find;
mod fit;
mod forwarding;
mod found;
pub mod geometry;
mod index;
mod link;
mod modules;
mod paper;
#[cfg(feature = "reference")]
pub mod reference;
mod run;
mod scratch;
mod sensors;
mod sequence;

#[cfg(feature = "cuda")]
pub(crate) use config::MAX_WINDOW;
pub use config::{
    BestConfig, FitConfig, ForwardingConfig, LimitConfig, LinkConfig, PaperConfig, PassConfig, Preset,
    VeloConfig,
};
pub use decode::{DecodeScratch, VeloBanks, VeloDecoder, decode};
#[cfg(feature = "reference")]
pub use decode::{
    position_f64 as decode_position_f64, reference as decode_reference,
    reference_with as decode_reference_with,
};
#[cfg(feature = "cuda")]
pub(crate) use fit::{MAX_SLOPE2, MIN_LENGTH, XX_ROUNDED_UP};
pub use run::{fit_tracks, reconstruct};
pub use scratch::VeloWorkspace;
pub use sensors::{ALL_SENSORS, VeloSensors, boards};
pub use sequence::{VELO_TRACKS, Velo, VeloInputBatch, VeloSequenceWorkspace};
