//! Long tracks: each joins a Velo track and a SciFi track of one particle; the bend in the magnet gives the momentum.
//!
//! Modules in data-flow order: `matcher` runs `select` (Velo tracks that may reach the SciFi, by y), `pairs` (pairs of
//! tracks that are close), `judge` (two networks rank pairs; the second uses outputs of the first for `rivals`),
//! `choose` and `write`; `reference` is the naive reference, for tests; [`crate::lhcb::Bending`] gives the momentum.
//! [`Long`] finds long tracks without hits in the UT; [`LongUt`] adds hits in the UT to the tracks.

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
