//! Reused memory of one thread.

use super::find::{FindScratch, ROW};
use super::forwarding::ForwardingScratch;
use super::index::{Binning, Index};
use super::modules::Modules;
use super::paper::PaperScratch;
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
            keys: Column::default(),
            ranks: Column::default(),
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

/// The track candidates of an event: a row of hits each, as places among the sorted hits.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// [`ROW`] hits per candidate.
    pub(super) hits: Column<u32>,
    /// How many hits of its row a candidate has.
    pub(super) len: Column<u32>,
    /// Score of the triplet it began with.
    pub(super) score: Column<f32>,
    /// The candidates that are tracks, in the order they were accepted.
    pub(super) tracks: Column<u32>,
    /// The same without clones, longest first.
    pub(super) order: Column<u32>,
}

impl Found {
    pub(super) fn clear(&mut self) {
        self.len.clear();
        self.tracks.clear();
    }

    /// Makes room for so many candidates more.
    pub(super) fn reserve(&mut self, more: usize) {
        let candidates = self.len.len() + more;
        self.hits.reserve_total(candidates * ROW);
        self.len.reserve_total(candidates);
        self.score.reserve_total(candidates);
        self.tracks.reserve_total(candidates);
    }

    /// Appends a candidate of a few hits.
    #[inline(always)]
    pub(super) fn push<const N: usize>(&mut self, hits: &[u32; N], score: f32) {
        let row = self.len.len();
        self.hits.padded_mut()[row * ROW..row * ROW + N].copy_from_slice(hits);
        self.score.padded_mut()[row] = score;
        self.len.push(N as u32);
    }

    /// Appends a hit to a candidate; says how many it has then.
    #[inline(always)]
    pub(super) fn extend(&mut self, row: u32, hit: u32) -> usize {
        let len = self.len[row as usize] as usize;
        self.hits.padded_mut()[row as usize * ROW + len] = hit;
        self.len[row as usize] += 1;
        len + 1
    }

    #[inline(always)]
    pub(super) fn hits_of(&self, row: u32) -> &[u32] {
        let first = row as usize * ROW;
        &self.hits.padded()[first..first + self.len[row as usize] as usize]
    }
}
