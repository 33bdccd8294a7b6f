//! Long tracks: a track in the Velo and one in the SciFi that the magnet connects, and their momentum.
//!
//! Modules in data-flow order: `matcher` with `select` (Velo tracks that may reach the SciFi, by y), `pairs` (near
//! pairs), `judge` (two classifiers of pairs; the second uses the outputs of the first for `rivals`), `choose` and
//! `write`, and `reference`, the naive twin; [`crate::lhcb::Bending`] gives the momentum. [`Long`] is the algorithm,
//! and [`LongUt`] the algorithm that adds hits in the UT.

mod choose;
mod config;
mod judge;
mod matcher;
mod pair_first_network;
mod pair_network;
mod pair_ut_network;
mod pairs;
mod parts;
#[cfg(feature = "reference")]
pub mod reference;
mod rivals;
mod select;
mod sequence;
mod write;

pub use crate::lhcb::Bending;
pub use config::{LongConfig, LongPreset};
pub use sequence::{LONG_TRACKS, Long, LongUt, LongUtInput, LongWorkspace};
