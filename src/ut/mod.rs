//! The upstream tracker (UT), four planes of silicon strips before the magnet: from raw banks to hits on Velo tracks.
//!
//! Modules in data-flow order: [`geometry`] and the magnet's [`tables`], `decode`, `store` (sorts hits by plane, row
//! and x) and `find` (finds hits for Velo tracks, and momenta). `reference` is a naive version of `store` and `find`,
//! for tests.

mod cells;
mod config;
mod decode;
mod find;
pub mod geometry;
pub(crate) mod grid;
mod layout;
mod nominal;
#[cfg(feature = "reference")]
pub mod reference;
mod sequence;
mod store;
pub mod tables;

pub use config::{LineConfig, UtChoice, UtConfig, UtPreset};
pub use decode::{UtScratch, decode, decode_by_cell};
#[cfg(feature = "reference")]
pub use decode::{
    position_f64 as decode_position_f64, reference as decode_reference,
    reference_by_cell as decode_reference_by_cell, reference_with as decode_reference_with,
};
pub(crate) use find::{Attached, Bent};
pub use find::{UtFindInput, UtFindWorkspace, UtHitsIn, find};
#[cfg(feature = "cuda")]
pub(crate) use find::{halves, tracklets};
pub use geometry::{UtChannel, UtGeometry};
pub use layout::UtLayout;
pub use sequence::{UT_CELLS, UT_HITS, UtCells, UtHits};
pub use tables::UtTables;
