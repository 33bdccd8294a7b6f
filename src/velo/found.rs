//! [`Found`]: the track candidates of an event, as lists of hits.

use crate::event::Column;
use bytemuck::{Pod, Zeroable};

/// Words of a candidate: its hits, one per pair of modules at most, and what else [`Row`] holds.
pub(super) const ROW: usize = 32;

/// A track candidate. All of it in one piece, and what every step needs, with the first 13 hits, in one cache line: who extends a
/// track finds the rest nearby.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(super) struct Row {
    /// Score of the triplet it began with.
    pub(super) score: f32,
    /// Whether it shares a hit with another track, 0 or 1.
    pub(super) shares: u8,
    /// Whether it is of the second of two events, 0 or 1: of the preset `best` alone, as the next two.
    pub(super) second: u8,
    /// The pairs of its first and of its last hit.
    pub(super) high: u8,
    /// See `high`.
    pub(super) low: u8,
    pub(super) len: u32,
    /// The hits, as indices among the sorted hits; `len` of them.
    pub(super) hits: [u32; ROW - HITS_AT],
}

/// The place of the word that has [`Row::second`] in its second byte, [`Row::high`] in its third and [`Row::low`] in its fourth.
pub(super) const ENDS_AT: usize = 1;
/// The place of [`Row::len`] among the words of a row.
pub(super) const LEN_AT: usize = 2;
/// The place of the first hit among the words of a row.
pub(super) const HITS_AT: usize = 3;

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
        (row.score, row.len) = (score, N as u32);
        (row.shares, row.second, row.high, row.low) = (0, 0, 0, 0);
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

    /// Appends a hit in `pair` to a candidate that has `len` of them.
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

    /// Drops the last one.
    pub(super) fn drop_last(&mut self, row: u32) {
        let row = &mut self.rows[row as usize];
        (row.len, row.low) = (row.len - 1, row.low + 1);
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

    /// Brings the tracks of the first of two events before those of the second; says how many those are.
    pub(super) fn part_events(&mut self) -> usize {
        let Self { rows, tracks, order } = self;
        // Those that were accepted are not needed any more.
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
