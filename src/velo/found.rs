//! [`Found`]: the track candidates of an event, as lists of hits.

use crate::event::Column;
use bytemuck::{Pod, Zeroable};

/// Words of a candidate: its hits, one per pair of modules at most, and what else [`Row`] holds.
pub(super) const ROW: usize = 32;

/// A track candidate. All of it in one piece: who extends a track finds the rest nearby.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(super) struct Row {
    /// The hits, as indices among the sorted hits; `len` of them.
    pub(super) hits: [u32; ROW - 3],
    /// Score of the triplet it began with.
    pub(super) score: f32,
    /// Whether it shares a hit with another track, 0 or 1.
    pub(super) shares: u16,
    /// The pairs of its first and of its last hit: those of the preset `best` alone.
    pub(super) high: u8,
    /// See `high`.
    pub(super) low: u8,
    pub(super) len: u32,
}

/// The place of the word that has [`Row::shares`], [`Row::high`] in its third byte and [`Row::low`] in its fourth.
pub(super) const ENDS_AT: usize = ROW - 2;
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
    pub(super) fn push<const N: usize>(&mut self, hits: &[u32; N], score: f32) -> &mut Row {
        let at = self.rows.len();
        self.rows.set_len(at + 1);
        let row = &mut self.rows.padded_mut()[at];
        row.hits[..N].copy_from_slice(hits);
        (row.score, row.shares, row.high, row.low, row.len) = (score, 0, 0, 0, N as u32);
        row
    }

    /// Appends a hit to a candidate; returns how many it has then.
    #[inline(always)]
    pub(super) fn extend(&mut self, row: u32, hit: u32) -> usize {
        let row = &mut self.rows.padded_mut()[row as usize];
        row.hits[row.len as usize] = hit;
        row.len += 1;
        row.len as usize
    }

    /// Appends the hits of another candidate.
    pub(super) fn append(&mut self, row: u32, other: u32) {
        let Row { hits, shares, low, len, .. } = self.rows[other as usize];
        let row = &mut self.rows[row as usize];
        let end = (row.len + len) as usize;
        row.hits[row.len as usize..end].copy_from_slice(&hits[..len as usize]);
        (row.shares, row.low, row.len) = (row.shares | shares, low, end as u32);
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
