//! Reused memory of one thread.

use super::find::FindScratch;
use super::forwarding::ForwardingScratch;
use super::index::Index;
use super::paper::PaperScratch;
use crate::Status;
use crate::event::Column;

/// Events that a gang rides through at once.
pub(super) const GROUP: usize = 4;

/// Memory that one thread reuses from event to event: it grows to the largest event seen and then stays.
#[derive(Debug)]
pub struct VeloWorkspace {
    /// The hits of a group of events, sorted, and those that the first pass left.
    pub(super) index: [Index; 2],
    /// Per hit of the input: its key, then its place in the sorted order.
    pub(super) keys: Column<u32>,
    pub(super) ranks: Column<u32>,
    pub(super) find: FindScratch,
    pub(super) paper: PaperScratch,
    pub(super) forwarding: ForwardingScratch,
    /// Hits of a gang of tracks in the fit.
    pub(super) path: Column<f32>,
    /// The accepted tracks of each event of a group.
    pub(super) found: [Found; GROUP],
    /// Status of each event of a group, and its number in the index when that is Ok.
    pub(super) group: [(Status, usize); GROUP],
    /// Per sorted hit: whether a longer track has it.
    pub(super) taken: Column<u32>,
}

impl Default for VeloWorkspace {
    fn default() -> Self {
        Self {
            index: Default::default(),
            keys: Column::default(),
            ranks: Column::default(),
            find: FindScratch::default(),
            paper: PaperScratch::default(),
            forwarding: ForwardingScratch::default(),
            path: Column::default(),
            found: Default::default(),
            group: [(Status::Ok, 0); GROUP],
            taken: Column::default(),
        }
    }
}

/// Tracks of one event as lists of places among its sorted hits.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) start: Column<u32>,
    pub(super) hits: Column<u32>,
    /// Tracks by length, longest first.
    pub(super) order: Column<u32>,
}

impl Found {
    pub(super) fn clear(&mut self) {
        self.start.clear();
        self.start.push(0);
        self.hits.clear();
    }

    /// Appends a track; `origin` translates its hits when they are places in a selection.
    pub(super) fn push_track(&mut self, hits: &[u32], origin: Option<&[u32]>) {
        let first = self.hits.len();
        self.hits.extend_from_slice(hits);
        if let Some(origin) = origin {
            self.hits[first..].iter_mut().for_each(|hit| *hit = origin[*hit as usize]);
        }
        self.start.push(self.hits.len() as u32);
    }

    pub(super) fn tracks(&self) -> usize {
        self.start.len() - 1
    }

    pub(super) fn hits_of(&self, track: usize) -> &[u32] {
        &self.hits[self.start[track] as usize..self.start[track + 1] as usize]
    }
}
