//! Long tracks: a track in the Velo and one in the SciFi that the magnet connects, and their momentum.
//!
//! Modules in data-flow order: `select` (Velo tracks that may reach the SciFi, by y), `pairs` (which belong together, as a classifier has it),
//! and `reference`, the naive twin; the momentum is [`crate::lhcb::Bending`]'s. [`Long`] is the sequence from raw banks.

mod choose;
mod config;
mod pair_network;
mod pairs;
#[cfg(feature = "reference")]
pub mod reference;
mod select;
mod sequence;

pub use crate::lhcb::Bending;
pub use config::{LongConfig, LongPreset};
pub use sequence::{Long, LongWorkspace};
