//! Reused memory of one thread.

use super::find::{FindScratch, ROW};
use super::index::{Binning, Index};
use crate::event::Column;

/// Memory that one thread reuses from event to event: it grows to the largest event seen and then stays.
#[derive(Debug)]
pub struct VeloWorkspace {
    /// The hits of the event, sorted, and those that the first pass left.
    pub(super) index: [Index; 2],
    /// Per hit of a pair: its bin, then its number in the bin.
    pub(super) keys: Column<u32>,
    pub(super) ranks: Column<u32>,
    pub(super) find: FindScratch,
    /// Hits of a gang of tracks in the fit.
    pub(super) path: Column<f32>,
    pub(super) found: Found,
    /// Per sorted hit: whether a longer track has it.
    pub(super) taken: Column<u32>,
}

impl Default for VeloWorkspace {
    fn default() -> Self {
        Self {
            // A quarter of the hits is left for the second pass: its bins are as well filled as the first's.
            index: [Index::new(Binning::new(256)), Index::new(Binning::new(256))],
            keys: Column::default(),
            ranks: Column::default(),
            find: FindScratch::default(),
            path: Column::default(),
            found: Found::default(),
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

    /// Appends a track of the first hits of a row; `origin` translates its hits when they are places in a
    /// selection.
    #[inline(always)]
    pub(super) fn push_track(&mut self, (hits, len): (&[u32; ROW], usize), origin: Option<&[u32]>) {
        let first = self.hits.len();
        self.hits.set_len(first + len);
        // The whole row: a copy of constant length is two instructions; the next track overwrites the rest.
        let to: &mut [u32; ROW] =
            self.hits.padded_mut()[first..].first_chunk_mut().expect("rows fit the padding");
        *to = *hits;
        if let Some(origin) = origin {
            to[..len].iter_mut().for_each(|hit| *hit = origin[*hit as usize]);
        }
        self.start.push(self.hits.len() as u32);
    }

    pub(super) fn tracks(&self) -> usize {
        self.start.len() - 1
    }

    #[inline(always)]
    pub(super) fn hits_of(&self, track: usize) -> &[u32] {
        &self.hits[self.start[track] as usize..self.start[track + 1] as usize]
    }
}
