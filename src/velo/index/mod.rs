//! Sort: sorts hits of two events by (event, pair of modules, phi bin, input order), with a table of bin starts.
//!
//! Bins of phi only serve to find nearby hits. They have equal widths in a scale that is cheap and exact on every gang:
//! the *diamond angle* t = y / (|x| + |y|), continued around the four quadrants. A window is a number of whole bins,
//! which two look-ups in the table find. The first bins of a pair and their hits are repeated after a full turn, so
//! that a window across phi = 2 pi is one range:
//!
//! ```text
//!   table of a pair:        bin 0  bin 1  ...  bin 255 | bin 0, bin 1, ... bin 33 again
//!   sorted hits of a pair: [h h  | h    | ... | h h    | copies of the hits of the first bins]
//! ```
//!
//! Hits are sorted by counting, pair by pair, in a time proportional to hits plus bins: a pair's hits and its part of
//! the table stay in the first-level cache.

mod bins;
mod layer;
mod sort;

use super::config::MAX_WINDOW;
use super::geometry::PAIRS;
use crate::event::Column;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use bins::Bins;
use std::ops::Range;

pub(super) use layer::{Layer, Window, phi_turn};
pub(super) use sort::{SortScratch, check_sizes, status_of_bad_hits};

/// Unit of windows: 1/256 turn.
const TURN: f32 = 256.0;

/// The bins of an [`Index`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Binning {
    /// Bins of a turn, a power of two.
    bins: u32,
    /// Number of bins that are repeated after a turn: as many as the widest window needs.
    again: u32,
}

impl Binning {
    /// Creates a binning of 64 to 256 bins, a power of two, which fill whole gangs.
    pub(super) const fn new(bins: u32) -> Self {
        Self { bins, again: 2 * MAX_WINDOW * bins / TURN as u32 + 1 }
    }

    /// Returns the number of cells of a pair: the start of each bin, and the end of the last.
    const fn row(self) -> usize {
        (self.bins + self.again) as usize + 1
    }

    /// Converts a width from 1/256 turn to bins.
    pub(super) fn width(self, of: f32) -> f32 {
        of * (self.bins as f32 / TURN)
    }
}

/// Number of events that are searched side by side. Each lane works on one of them, so that loops over the hits or
/// tracks of a pair of modules are longer: fewer lanes idle, and fewer loop ends are mispredicted.
pub(super) const EVENTS: usize = 2;

/// The sorted hits of two events: first the hits of the first event, then the hits of the second.
#[derive(Debug)]
pub(super) struct Index {
    /// x, y, z of each hit, and x again while no track uses the hit, then NaN: a hit at NaN is never the nearest, so
    /// used hits drop out of a search without a test.
    pub(super) hits: Column<[f32; 4]>,
    /// Source of each hit: its id, or, in a selection ([`Index::keep_free`]), its index among all hits.
    pub(super) source: Column<u32>,
    /// Direction of each hit, in bins; not set for copies.
    pub(super) turn: Column<f32>,
    /// Distance from each hit to its copy, 0 where there is none.
    copy: Column<u32>,
    /// Row of the track that uses the hit, plus 1; 0 when the hit is free. Not set for copies.
    used: Column<u32>,
    /// Begin and end of each pair's hits, without copies: first the pairs of the first event, then the pairs of the
    /// second.
    pairs: [(u32, u32); EVENTS * PAIRS],
    /// A row of cells per pair of each event.
    table: Column<u32>,
    /// Index where the hits of the second event begin.
    pub(super) second: u32,
    pub(super) binning: Binning,
}

impl Index {
    pub(super) fn new(binning: Binning) -> Self {
        Self {
            hits: Column::default(),
            source: Column::default(),
            turn: Column::default(),
            copy: Column::default(),
            used: Column::default(),
            pairs: [(0, 0); EVENTS * PAIRS],
            second: 0,
            table: Column::default(),
            binning,
        }
    }

    /// Returns the indices of the hits of a pair of an event.
    #[inline(always)]
    pub(super) fn pair(&self, event: usize, pair: usize) -> Range<usize> {
        let (begin, end) = self.pairs[event * PAIRS + pair];
        begin as usize..end as usize
    }

    /// Returns the lanes whose hits belong to the first event.
    #[inline(always)]
    pub(super) fn of_first<G: Gang>(&self, g: G, hit: U32<G>) -> Mask<G> {
        hit.lt(U32::splat(g, self.second))
    }

    /// Empties the index and reserves memory for `hits` hits and their copies; searches may read up to
    /// `beyond` indices behind the last.
    pub(super) fn open(&mut self, hits: usize, beyond: u32) {
        self.hits.clear();
        self.hits.reserve_total(2 * hits + beyond as usize);
        for column in [&mut self.source, &mut self.copy, &mut self.used] {
            column.reserve_total(2 * hits);
        }
        self.turn.reserve_total(2 * hits);
        self.table.set_len(EVENTS * PAIRS * self.binning.row());
    }

    /// Begins the hits of an event.
    #[inline(always)]
    pub(super) fn begin_event(&mut self, event: usize) {
        if event == 1 {
            self.second = self.hits.len() as u32;
        }
    }

    /// Completes a pair of `hits` hits whose cells hold the start of each bin: repeats the first bins, and appends
    /// copies of their hits.
    #[inline(always)]
    fn close_pair<G: Gang>(&mut self, g: G, pair: usize, hits: usize) {
        let (start, end) = (self.hits.len(), self.hits.len() + hits);
        let row = self.binning.row();
        let cells = &mut self.table[pair * row..(pair + 1) * row];
        let (turn, again) = cells.split_at_mut(self.binning.bins as usize);
        for (cell, &first) in again.iter_mut().zip(turn.iter()) {
            *cell = first + hits as u32;
        }
        self.pairs[pair] = (start as u32, end as u32);
        let copies = cells[row - 1] as usize - end;
        self.hits.padded_mut().copy_within(start..start + copies, end);
        let copy = &mut self.copy.padded_mut()[start..];
        for at in (0..copies).step_by(G::LANES) {
            U32::splat(g, hits as u32).store_some(&mut copy[at..], Mask::first(g, copies - at));
        }
        self.hits.set_len(end + copies);
    }

    /// Copies the hits of `all` that no track uses, in the same order. `source` then holds their indices in `all`.
    #[inline(always)]
    pub(super) fn keep_free<G: Gang>(&mut self, g: G, all: &Index, beyond: u32, keys: &mut Column<u32>) {
        self.open(all.hits.len(), beyond);
        for (pair, &(first, end)) in all.pairs.iter().enumerate() {
            if pair == PAIRS {
                self.begin_event(1);
            }
            let (begin, range) = (self.hits.len(), first as usize..end as usize);
            let (indices, turns) =
                (&mut self.source.padded_mut()[begin..], &mut self.turn.padded_mut()[begin..]);
            let count = all.free(g, range, indices, turns);
            keys.set_len(count);
            let mut bins = Bins::open(&mut self.table, self.binning, pair);
            for at in (0..count).step_by(G::LANES) {
                let records = F32::load_records(g, all.hits.padded(), &indices[at..]);
                F32::store_records(records, &mut self.hits.padded_mut()[begin + at..]);
                // Both tables have the same bins.
                bins.add(
                    g,
                    F32::load(g, &turns[at..]),
                    Mask::first(g, count - at),
                    &mut keys.padded_mut()[at..],
                );
                U32::splat(g, 0).store(&mut self.copy.padded_mut()[begin + at..]);
                U32::splat(g, 0).store(&mut self.used.padded_mut()[begin + at..]);
            }
            bins.sum(g, begin as u32, true);
            self.close_pair(g, pair, count);
        }
    }

    /// Writes the indices and the directions of the free hits of a range, and returns their number.
    #[inline(always)]
    pub(super) fn free<G: Gang>(
        &self,
        g: G,
        range: Range<usize>,
        indices: &mut [u32],
        turns: &mut [f32],
    ) -> usize {
        let (used, turn) = (self.used.padded(), self.turn.padded());
        let mut kept = 0;
        for at in range.clone().step_by(G::LANES) {
            let free = U32::load(g, &used[at..]).eq(U32::splat(g, 0)) & Mask::first(g, range.end - at);
            F32::load(g, &turn[at..]).store_packed(&mut turns[kept..], free);
            let index = U32::iota(g) + U32::splat(g, at as u32);
            kept += index.store_packed(&mut indices[kept..], free);
        }
        kept
    }

    /// Returns a [`Marks`], which marks hits as used.
    #[inline(always)]
    pub(super) fn marks(&mut self) -> Marks<'_> {
        let hits = self.hits.padded_mut();
        // One length for all slices, for one bounds check.
        let len = hits.len().min(self.used.padded().len()).min(self.copy.padded().len());
        Marks {
            hits: &mut hits[..len],
            used: &mut self.used.padded_mut()[..len],
            copy: &self.copy.padded()[..len],
        }
    }
}

/// Access to the hits of the events for marking them as used.
pub(super) struct Marks<'a> {
    hits: &'a mut [[f32; 4]],
    used: &'a mut [u32],
    copy: &'a [u32],
}

impl Marks<'_> {
    /// Takes a hit of the track in `row` out of later searches; returns the row of the track that had it before, plus
    /// 1, or 0.
    #[inline(always)]
    pub(super) fn take(&mut self, hit: u32, row: u32) -> u32 {
        let hit = hit as usize;
        let before = std::mem::replace(&mut self.used[hit], row + 1);
        self.hits[hit][3] = f32::NAN;
        self.hits[hit + self.copy[hit] as usize][3] = f32::NAN;
        before
    }

    #[inline(always)]
    pub(super) fn is_free(&self, hit: u32) -> bool {
        self.used[hit as usize] == 0
    }
}
