//! Memory of seeding, forwarding and joining, reused from event to event.

use super::seed::SeedScratch;
use crate::event::{Column, PAD};

/// Reused memory of this stage.
#[derive(Debug, Default)]
pub(in crate::velo) struct FindScratch {
    pub(super) active: Active,
    pub(super) seeds: SeedScratch,
    pub(super) join: super::JoinScratch,
    /// Tracks that the current step extends: row, number of hits before, and the new hit.
    pub(super) extended: [Column<u32>; 3],
    /// Rows of the extended tracks that had three hits.
    pub(super) confirmed: Column<u32>,
    /// Weak tracks: bits of the score, then the row.
    pub(super) weak: Column<u64>,
    /// Bins of the remaining hits of a pair.
    pub(super) keys: Column<u32>,
}

/// Added to the number of hits of a track of the second event.
pub(super) const OF_SECOND: u32 = 32;

/// The active tracks as columns: line through the last two hits, row, number of hits, and number of pairs missed in a
/// row; then the windows of the current step.
#[derive(Debug, Default)]
pub(super) struct Active {
    /// The six columns of the lines, each of `room` values.
    pub(super) lines: Column<f32>,
    pub(super) room: usize,
    pub(super) row: Column<u32>,
    pub(super) hits: Column<u32>,
    pub(super) missed: Column<u32>,
    pub(super) first: Column<u32>,
    pub(super) count: Column<u32>,
    pub(super) len: usize,
}

impl Active {
    /// Removes all tracks and reserves memory for `tracks` tracks.
    pub(super) fn open(&mut self, tracks: usize) {
        self.len = 0;
        self.room = self.room.max(tracks + PAD);
        self.lines.reserve_total(6 * self.room);
        for column in [&mut self.row, &mut self.hits, &mut self.missed, &mut self.first, &mut self.count] {
            column.reserve_total(tracks);
        }
    }
}
