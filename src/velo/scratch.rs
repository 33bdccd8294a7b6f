//! Reused memory of one thread.

use super::find::FindScratch;
use super::index::Index;
use crate::event::Column;

/// Memory that one thread reuses from event to event: it grows to the largest event seen and then stays.
#[derive(Debug, Default)]
pub struct VeloWorkspace {
    /// The hits of the event, sorted, and those that the first pass left.
    pub(super) index: [Index; 2],
    /// Per hit of the input: its key, then its place in the sorted order.
    pub(super) keys: Column<u32>,
    pub(super) ranks: Column<u32>,
    pub(super) find: FindScratch,
    /// The accepted tracks of one event.
    pub(super) found: Found,
}

/// Tracks of one event as lists of places among its sorted hits.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) start: Column<u32>,
    pub(super) hits: Column<u32>,
    /// Tracks by length, longest first.
    pub(super) order: Column<u32>,
    /// Per hit: whether a longer track has it.
    pub(super) taken: Column<u32>,
}

impl Found {
    pub(super) fn clear(&mut self) {
        self.start.clear();
        self.start.push(0);
        self.hits.clear();
    }

    /// Ends the track whose hits were pushed since the last call.
    pub(super) fn end_track(&mut self) {
        self.start.push(self.hits.len() as u32);
    }

    pub(super) fn tracks(&self) -> usize {
        self.start.len() - 1
    }

    pub(super) fn hits_of(&self, track: usize) -> &[u32] {
        &self.hits[self.start[track] as usize..self.start[track + 1] as usize]
    }
}
