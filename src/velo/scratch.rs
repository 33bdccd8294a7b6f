//! Reused memory of one thread.

use super::find::{FindScratch, ROW};
use super::forwarding::ForwardingScratch;
use super::index::{Binning, Index, SortScratch};
use super::modules::Modules;
use super::paper::PaperScratch;
use crate::event::Column;
use bytemuck::{Pod, Zeroable};

/// Memory that one thread reuses from event to event: it grows to the largest event seen and then stays.
#[derive(Debug)]
pub struct VeloWorkspace {
    /// The hits of the event, sorted, and those that the first pass left.
    pub(super) index: [Index; 2],
    pub(super) sort: SortScratch,
    pub(super) find: FindScratch,
    /// The hits of the event as the other presets sort them.
    pub(super) modules: Modules,
    pub(super) paper: PaperScratch,
    pub(super) forwarding: ForwardingScratch,
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
            sort: SortScratch::default(),
            find: FindScratch::default(),
            modules: Modules::default(),
            paper: PaperScratch::default(),
            forwarding: ForwardingScratch::default(),
            path: Column::default(),
            found: Found::default(),
            taken: Column::default(),
        }
    }
}

/// A track candidate. All of it in one piece: who extends a track finds the rest nearby.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(super) struct Row {
    /// The hits, as indices among the sorted hits; `len` of them.
    pub(super) hits: [u32; ROW - 3],
    /// Score of the triplet it began with.
    pub(super) score: f32,
    /// Whether it shares a hit with another track, 0 or 1.
    pub(super) shares: u32,
    pub(super) len: u32,
}

/// The place of [`Row::len`] among the words of a row.
pub(super) const LEN_AT: usize = ROW - 1;

/// The track candidates of an event.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) rows: Column<Row>,
    /// The candidates that are tracks, in the order they were accepted.
    pub(super) tracks: Column<u32>,
    /// The same without clones, longest first.
    pub(super) order: Column<u32>,
}

impl Found {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.tracks.clear();
    }

    /// Reserves memory for so many candidates more.
    pub(super) fn reserve(&mut self, more: usize) {
        let candidates = self.rows.len() + more;
        self.rows.reserve_total(candidates);
        self.tracks.reserve_total(candidates);
    }

    /// Appends a candidate of a few hits.
    #[inline(always)]
    pub(super) fn push<const N: usize>(&mut self, hits: &[u32; N], score: f32) {
        let at = self.rows.len();
        self.rows.set_len(at + 1);
        let row = &mut self.rows.padded_mut()[at];
        row.hits[..N].copy_from_slice(hits);
        (row.score, row.shares, row.len) = (score, 0, N as u32);
    }

    /// Appends a hit to a candidate; returns how many it has then.
    #[inline(always)]
    pub(super) fn extend(&mut self, row: u32, hit: u32) -> usize {
        let row = &mut self.rows.padded_mut()[row as usize];
        row.hits[row.len as usize] = hit;
        row.len += 1;
        row.len as usize
    }

    /// Notes that the track in `row` has taken a hit that was in use before, as [`Marks::take`] tells.
    ///
    /// [`Marks::take`]: super::index::Marks::take
    #[inline(always)]
    pub(super) fn note_shared(&mut self, row: u32, before: u32) {
        if before != 0 {
            self.rows[row as usize].shares = 1;
            self.rows[before as usize - 1].shares = 1;
        }
    }

    /// The rows as words, [`ROW`] each.
    pub(super) fn words(&self) -> &[u32] {
        bytemuck::cast_slice(self.rows.padded())
    }

    #[inline(always)]
    pub(super) fn hits_of(&self, row: u32) -> &[u32] {
        let row = &self.rows.padded()[row as usize];
        &row.hits[..row.len as usize]
    }
}
