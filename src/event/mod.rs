//! Data of events as columns (structure of arrays) with offsets: hits, raw banks, tracks and clusters.
//!
//! A batch of events is a few [`Column`]s with CSR offsets, as in Arrow's list layout. Each column is one allocation,
//! 64-byte aligned, and padded so that a full gang may load past the end of any list.

mod append;
mod bank_blocks;
mod bank_kind;
mod column;
mod columns;
mod counters;
mod cylinder;
mod cylinder_fits;
mod cylinder_tracks;
mod difference;
mod event_banks;
mod hash;
mod layout;
mod long_tracks;
mod outcome;
mod particles;
mod pixel_clusters;
mod pixels;
mod raw_bank;
mod raw_banks;
mod raw_events;
mod results;
mod schema;
mod scifi_hits;
mod scifi_tracks;
mod state_columns;
mod table;
mod track_lists;
mod tracks;
mod ut_cell_hits;
mod ut_hits;
mod velo_hits;
mod velo_ut_tracks;

pub use append::append;
pub use bank_blocks::BankBlock;
pub use bank_kind::{BadBanks, BankKind};
pub use column::{Column, PAD, Starts};
pub use columns::Columns;
pub use counters::{Counters, MAX_PARTS, MAX_STAGES, StageClock, StageCounter, Truncation};
pub use cylinder::{
    CYLINDER_LAYERS, CylinderBatch, CylinderEvent, CylinderInput, CylinderSeeds, CylinderTruth, NO_HIT,
};
pub use cylinder_fits::CylinderFits;
pub use cylinder_tracks::{CYLINDER_STATE, CylinderTracks};
pub use difference::difference;
pub use event_banks::EventBanks;
pub use hash::{Hasher, Hashes};
pub use layout::{Layout, MAX_SIDE};
pub use long_tracks::LongTracks;
pub use outcome::Outcome;
pub use particles::{Particle, TrueState, TrueStates, TruthEvent};
pub use pixel_clusters::{ClusterFeatures, PixelClusters};
pub use pixels::{Edge, NS_PER_TICK, PixelBlock, PixelHits, TICKS_PER_CLOCK, TriggerPairs, Triggers};
pub use raw_bank::RawBank;
pub use raw_banks::RawBatch;
pub use raw_events::{RawEvent, RawEvents};
pub use results::{Product, Results};
pub(crate) use schema::results;
pub use schema::{ColumnInfo, Kind, MAX_DEPTH, Schema, Values, ValuesMut};
pub use scifi_hits::{SCIFI_ZONES, SciFiBatch};
pub use scifi_tracks::{SciFiState, SciFiStates, SciFiTracks, SearchedLines};
pub use state_columns::{STATE_COLUMNS, STATE_PREFIXES, StateColumn, no_column, renamed_column};
pub use table::Table;
use track_lists::track_lists;
pub use tracks::{States, VeloTracks};
pub use ut_cell_hits::{UT_CELLS, UtCellHits};
pub use ut_hits::{UT_GROUPS, UT_PLANES, UtBatch};
pub use velo_hits::{VELO_MODULES, VeloBatch, VeloEvent, VeloEvents};
pub use velo_ut_tracks::VeloUtTracks;

/// Version of the output columns: their names, types, units and nesting ([`Schema::columns`], and their form in files).
/// The version rises with every change that a reader of the columns would notice.
pub const SCHEMA_VERSION: u32 = 5;

/// Checks that 32-bit offsets can count `copies` copies of `items` items.
///
/// # Errors
/// [`Error::Config`](crate::Error::Config) when they do not.
pub(crate) fn countable(copies: usize, items: usize) -> crate::Result<()> {
    if items.saturating_mul(copies) <= u32::MAX as usize {
        return Ok(());
    }
    let message = format!("{copies} copies of {items} hits or words reach 2^32: use fewer copies or events");
    Err(crate::Error::Config(message))
}
