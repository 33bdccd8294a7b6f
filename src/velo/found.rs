//! [`Found`]: the track candidates of an event, as lists of hits.

use crate::event::Column;
use bytemuck::{Pod, Zeroable};

/// Number of words of a candidate: at most one hit per pair of modules, and the other fields of [`Row`].
pub(super) const ROW: usize = 32;

/// A track candidate. The fields that every step needs and the first 13 hits are in one cache line; the other hits
/// follow.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(super) struct Row {
    /// Score of the candidate's first triplet.
    pub(super) score: f32,
    /// Whether the candidate shares a hit with another track, 0 or 1.
    pub(super) shares: u8,
    /// Whether the candidate belongs to the second of two events, 0 or 1. Only the preset `best` uses this field.
    pub(super) second: u8,
    /// Pair of the first hit.
    pub(super) high: u8,
    /// Pair of the last hit.
    pub(super) low: u8,
    pub(super) len: u32,
    /// Indices of the `len` hits among the sorted hits.
    pub(super) hits: [u32; ROW - HITS_AT],
}

/// Index of the word that has [`Row::second`] in its second byte, [`Row::high`] in its third and [`Row::low`] in its
/// fourth.
pub(super) const ENDS_AT: usize = 1;
/// Index of [`Row::len`] among the words of a row.
pub(super) const LEN_AT: usize = 2;
/// Index of the first hit among the words of a row.
pub(super) const HITS_AT: usize = 3;

/// The track candidates of an event.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) rows: Column<Row>,
    /// Rows of the candidates that are tracks, in the order in which they were accepted.
    pub(super) tracks: Column<u32>,
    /// Rows of the tracks without clones, longest first.
    pub(super) order: Column<u32>,
}

impl Found {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.tracks.clear();
    }

    /// Reserves memory for `more` further candidates.
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
        (row.score, row.len) = (score, N as u32);
        (row.shares, row.second, row.high, row.low) = (0, 0, 0, 0);
        row
    }

    /// Appends a hit to a candidate; returns the new number of its hits.
    #[inline(always)]
    pub(super) fn extend(&mut self, row: u32, hit: u32) -> usize {
        let row = &mut self.rows.padded_mut()[row as usize];
        row.hits[row.len as usize] = hit;
        row.len += 1;
        row.len as usize
    }

    /// Appends a hit in `pair` to a candidate that has `len` hits.
    #[inline(always)]
    pub(super) fn extend_in(&mut self, row: u32, len: u32, hit: u32, pair: usize) {
        let row = &mut self.rows.padded_mut()[row as usize];
        row.hits[len as usize] = hit;
        (row.len, row.low) = (len + 1, pair as u8);
    }

    /// Appends the hits of another candidate.
    pub(super) fn append(&mut self, row: u32, other: u32) {
        let Row { hits, shares, low, len, .. } = self.rows[other as usize];
        let row = &mut self.rows[row as usize];
        let end = (row.len + len) as usize;
        row.hits[row.len as usize..end].copy_from_slice(&hits[..len as usize]);
        (row.shares, row.low, row.len) = (row.shares | shares, low, end as u32);
    }

    /// Drops the first hit of a candidate, whose hits are in consecutive pairs.
    pub(super) fn drop_first(&mut self, row: u32) {
        let row = &mut self.rows[row as usize];
        row.hits.copy_within(1..row.len as usize, 0);
        (row.len, row.high) = (row.len - 1, row.high - 1);
    }

    /// Drops the last hit of a candidate with hits in consecutive pairs.
    pub(super) fn drop_last(&mut self, row: u32) {
        let row = &mut self.rows[row as usize];
        (row.len, row.low) = (row.len - 1, row.low + 1);
    }

    /// Notes that the track in `row` and an earlier track share a hit; `before` comes from [`Marks::take`].
    ///
    /// [`Marks::take`]: super::index::Marks::take
    #[inline(always)]
    pub(super) fn note_shared(&mut self, row: u32, before: u32) {
        if before != 0 {
            self.rows[row as usize].shares = 1;
            self.rows[before as usize - 1].shares = 1;
        }
    }

    /// Moves the tracks of the first of two events before the tracks of the second; returns the number of the former.
    pub(super) fn part_events(&mut self) -> usize {
        let Self { rows, tracks, order } = self;
        // The list of accepted tracks is not needed any more.
        tracks.set_len(order.len());
        tracks.copy_from_slice(order);
        let (mut first, mut second) =
            (0, tracks.iter().filter(|&&row| rows[row as usize].second == 0).count());
        let of_first = second;
        for &row in tracks.iter() {
            let place = if rows[row as usize].second == 0 { &mut first } else { &mut second };
            order[*place] = row;
            *place += 1;
        }
        of_first
    }

    /// Returns the rows as words, [`ROW`] words each.
    pub(super) fn words(&self) -> &[u32] {
        bytemuck::cast_slice(self.rows.padded())
    }

    #[inline(always)]
    pub(super) fn hits_of(&self, row: u32) -> &[u32] {
        let row = &self.rows.padded()[row as usize];
        &row.hits[..row.len as usize]
    }
}
