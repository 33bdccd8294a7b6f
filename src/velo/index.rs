//! Sort: hits of an event by (pair of modules, phi bin, input order), with a table of where each bin begins.
//!
//! phi is only a way to find neighbours, so a turn is cut into bins on a scale that is cheap and exact on
//! every gang: the *diamond angle* t = y / (|x| + |y|), continued around the four quadrants. A window is a
//! number of whole bins, read off the table in two look-ups; no search is needed. The bins of a pair go on for
//! a while after a turn, and so do its hits, so that a window over the wrap is in one piece:
//!
//! ```text
//!   table of a pair:        bin 0  bin 1  ...  bin 255 | bin 0, bin 1, ... bin 33 again
//!   sorted hits of a pair: [h h  | h    | ... | h h    | copies of the hits of the first bins]
//! ```
//!
//! Counting sort, O(hits + bins), pair by pair: a pair's hits and its part of the table stay in the first
//! cache.

use super::config::{LimitConfig, MAX_WINDOW};
use super::geometry::{PAIRS, pair_middle};
use crate::Status;
use crate::event::{Column, VELO_MODULES, VeloEvent};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use std::ops::Range;

/// What windows are counted in: 1/256 turn.
const TURN: f32 = 256.0;

/// How fine the bins of an [`Index`] are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Binning {
    /// Bins of a turn, a power of two.
    bins: u32,
    /// Bins that come again after a turn: as far as the widest window reaches.
    again: u32,
}

impl Binning {
    /// `bins` is 64..=256, a power of two: whole gangs.
    pub(super) const fn new(bins: u32) -> Self {
        Self { bins, again: 2 * MAX_WINDOW * bins / TURN as u32 + 1 }
    }

    /// Cells of the table for a pair: where each bin begins, and where the last one ends.
    const fn row(self) -> usize {
        (self.bins + self.again) as usize + 1
    }

    /// Bins of a width in 1/256 turn.
    pub(super) fn width(self, of: f32) -> f32 {
        of * (self.bins as f32 / TURN)
    }
}

/// The sorted hits of an event.
#[derive(Debug)]
pub(super) struct Index {
    /// x, y, z of each hit, and x again as long as no track uses it, NaN from then on: a NaN is never the
    /// nearest to anything, so used hits drop out of a search without a test.
    pub(super) hits: Column<[f32; 4]>,
    /// Where each hit comes from: its id, in a selection ([`Index::keep_free`]) its index among all hits.
    pub(super) source: Column<u32>,
    /// Its direction, in bins; not for copies.
    pub(super) turn: Column<f32>,
    /// How far behind each hit its copy is, 0 where there is none.
    copy: Column<u32>,
    /// The row of the track that uses the hit, plus 1; 0 when it is free. Not for copies.
    used: Column<u32>,
    /// The indices of each pair's hits, without copies.
    pairs: [(u32, u32); PAIRS],
    /// A row of cells per pair.
    table: Column<u32>,
    pub(super) binning: Binning,
}

/// One pair of modules, each lane its own.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a, G: Gang> {
    g: G,
    /// The hits of all pairs, and what may be read behind them.
    pub(super) hits: &'a [[f32; 4]],
    table: &'a [u32],
    binning: Binning,
    /// The pair's row in the table.
    row: U32<G>,
    begin: U32<G>,
    end: U32<G>,
    /// Middle of the pair, mm.
    pub(super) z: F32<G>,
}

/// A window per lane: `count` hits from index `first` on.
pub(super) struct Window<G: Gang> {
    pub(super) first: U32<G>,
    pub(super) count: U32<G>,
}

/// Direction on the diamond scale in `bins` of a turn, 0..=bins, and 1 / (|x| + |y|). (0, 0) is at 0.
#[inline(always)]
pub(super) fn phi_turn<G: Gang>(g: G, bins: u32, x: F32<G>, y: F32<G>) -> (F32<G>, F32<G>) {
    let zero = F32::splat(g, 0.0);
    let scale = F32::splat(g, 1.0) / (x.abs() + y.abs()).max(F32::splat(g, 1e-30));
    let t = y * scale;
    let right = y.lt(zero).select_f(F32::splat(g, 4.0) + t, t);
    let turn = x.lt(zero).select_f(F32::splat(g, 2.0) - t, right);
    (turn * F32::splat(g, bins as f32 / 4.0), scale)
}

impl Binning {
    /// Cells of a row between which the hits are that lie at most `half` of a bin from `middle`; the same cell
    /// twice when that makes no sense.
    #[inline(always)]
    pub(super) fn cells<G: Gang>(self, g: G, middle: F32<G>, half: F32<G>) -> [U32<G>; 2] {
        let middle = middle + F32::splat(g, self.bins as f32);
        let left = (middle - half).to_i32().to_bits();
        let width = (middle + half).to_i32().to_bits() - left + U32::splat(g, 1);
        let sane = width.lt(U32::splat(g, self.again + 2));
        let from = left & U32::splat(g, self.bins - 1);
        [from, from + sane.select_u(width, U32::splat(g, 0))]
    }

    /// Bin of a direction in bins.
    #[inline(always)]
    fn bin<G: Gang>(self, g: G, turn: F32<G>) -> U32<G> {
        turn.to_i32().to_bits() & U32::splat(g, self.bins - 1)
    }
}

impl<'a, G: Gang> Layer<'a, G> {
    /// Lane by lane this pair or the other one.
    #[inline(always)]
    pub(super) fn select(self, lanes: Mask<G>, other: &Self) -> Self {
        Self {
            row: lanes.select_u(self.row, other.row),
            begin: lanes.select_u(self.begin, other.begin),
            end: lanes.select_u(self.end, other.end),
            z: lanes.select_f(self.z, other.z),
            ..self
        }
    }

    /// The hits whose bins come within `reach` mm of a point, and `turn` mm^2 more: the turn of a line's
    /// point around the beam axis, as |point x step|.
    ///
    /// A step d across moves the diamond angle by at most d / (|x| + |y|), a turn exactly by
    /// |point x step| / (|x| + |y|)^2, to first order; the window never reaches further than [`MAX_WINDOW`].
    #[inline(always)]
    pub(super) fn around(&self, [x, y]: [F32<G>; 2], reach: F32<G>, turn: F32<G>) -> Window<G> {
        let (g, bins) = (self.g, self.binning.bins);
        let (middle, scale) = phi_turn(g, bins, x, y);
        let half = (turn.mul_add(scale, reach) * scale) * F32::splat(g, bins as f32 / 4.0);
        let half = half.min(F32::splat(g, self.binning.width(MAX_WINDOW as f32)));
        let [from, to] = self.binning.cells(g, middle, half);
        let first = U32::gather(self.table, self.row + from);
        Window { first, count: U32::gather(self.table, self.row + to) - first }
    }

    /// The hit itself, for an index that may be that of a copy.
    #[inline(always)]
    pub(super) fn original(&self, index: U32<G>) -> U32<G> {
        index.lt(self.end).select_u(index, index - (self.end - self.begin))
    }
}

impl Index {
    pub(super) fn new(binning: Binning) -> Self {
        Self {
            hits: Column::default(),
            source: Column::default(),
            turn: Column::default(),
            copy: Column::default(),
            used: Column::default(),
            pairs: [(0, 0); PAIRS],
            table: Column::default(),
            binning,
        }
    }

    /// The indices of the hits of a pair.
    #[inline(always)]
    pub(super) fn pair(&self, pair: usize) -> Range<usize> {
        let (begin, end) = self.pairs[pair];
        begin as usize..end as usize
    }

    /// A pair to be searched.
    #[inline(always)]
    pub(super) fn layer<G: Gang>(&self, g: G, pair: usize) -> Layer<'_, G> {
        let (begin, end) = self.pairs[pair];
        Layer {
            g,
            hits: self.hits.padded(),
            table: &self.table,
            binning: self.binning,
            row: U32::splat(g, (pair * self.binning.row()) as u32),
            begin: U32::splat(g, begin),
            end: U32::splat(g, end),
            z: F32::splat(g, pair_middle(pair)),
        }
    }

    /// The table's row of a pair: between which indices the hits of a cell are.
    #[inline(always)]
    pub(super) fn row(&self, pair: usize) -> &[u32] {
        let row = self.binning.row();
        &self.table[pair * row..(pair + 1) * row]
    }

    /// Empties the index and reserves memory for `hits` hits and their copies; searches may read up to
    /// `beyond` indices behind the last.
    fn open(&mut self, hits: usize, beyond: u32) {
        self.hits.clear();
        self.hits.reserve_total(2 * hits + beyond as usize);
        for column in [&mut self.source, &mut self.copy, &mut self.used] {
            column.reserve_total(2 * hits);
        }
        self.turn.reserve_total(2 * hits);
        self.table.set_len(PAIRS * self.binning.row());
    }

    /// Opens the row of a pair: empty bins.
    #[inline(always)]
    fn open_row(&mut self, pair: usize) -> &mut [u32] {
        let row = self.binning.row();
        let cells = &mut self.table[pair * row..(pair + 1) * row];
        cells.fill(0);
        cells
    }

    /// Turns the counts of a pair's bins into the indices where they begin, and repeats the first bins.
    #[inline(always)]
    fn close_row<G: Gang>(&mut self, g: G, pair: usize, begin: u32) {
        let row = self.binning.row();
        let cells = &mut self.table[pair * row..(pair + 1) * row];
        let mut index = begin;
        let (turn, again) = cells.split_at_mut(self.binning.bins as usize);
        for cells in turn.chunks_exact_mut(G::LANES) {
            let counts = U32::load(g, cells);
            let (sums, sum) = counts.prefix_sum();
            (sums - counts + U32::splat(g, index)).store(cells);
            index += sum;
        }
        self.pairs[pair] = (begin, index);
        for (cell, &first) in again.iter_mut().zip(turn.iter()) {
            *cell = first + (index - begin);
        }
    }

    /// Appends the copies behind the hits of a pair, which are all free.
    #[inline(always)]
    fn copy_first_bins(&mut self, pair: usize) {
        let Range { start, end } = self.pair(pair);
        let row = self.binning.row();
        let copies = self.table[pair * row + row - 1] as usize - end;
        self.hits.padded_mut().copy_within(start..start + copies, end);
        let copy = &mut self.copy.padded_mut()[start..end];
        copy[..copies].fill((end - start) as u32);
        copy[copies..].fill(0);
        self.used.padded_mut()[start..end].fill(0);
        self.hits.set_len(end + copies);
    }

    /// Sorts the hits of an event. When the event cannot be reconstructed the status says why, and the index
    /// is not to be used.
    #[inline(always)]
    pub(super) fn sort<G: Gang>(
        &mut self,
        g: G,
        event: &VeloEvent<'_>,
        limits: &LimitConfig,
        SortScratch { turn: turns, keys, ranks }: &mut SortScratch,
    ) -> Status {
        let status = check_sizes(event, limits);
        if status != Status::Ok {
            return status;
        }
        self.open(event.len(), limits.candidates_in_window);
        let reach = F32::splat(g, limits.coordinate);
        let mut sane = Mask::first(g, G::LANES);
        for pair in 0..PAIRS {
            let range = event.module(2 * pair).start..event.module(2 * pair + 1).end;
            let (x, y, z) = (&event.x[range.clone()], &event.y[range.clone()], &event.z[range.clone()]);
            let id = &event.id[range.clone()];
            turns.set_len(range.len());
            keys.set_len(range.len());
            ranks.set_len(range.len());
            for at in (0..range.len()).step_by(G::LANES) {
                let lanes = Mask::first(g, range.len() - at);
                let x = F32::load_some(&x[at..], lanes);
                let y = F32::load_some(&y[at..], lanes);
                let z = F32::load_some(&z[at..], lanes);
                sane = sane & x.abs().le(reach) & y.abs().le(reach) & z.abs().le(reach);
                let (turn, _) = phi_turn(g, self.binning.bins, x, y);
                turn.store(&mut turns.padded_mut()[at..]);
                self.binning.bin(g, turn).store(&mut keys.padded_mut()[at..]);
            }
            let cells = self.open_row(pair);
            for (rank, &key) in ranks.iter_mut().zip(keys.iter()) {
                let count = &mut cells[key as usize];
                *rank = *count;
                *count += 1;
            }
            let begin = self.hits.len();
            self.close_row(g, pair, begin as u32);
            let row = self.binning.row();
            let cells = &self.table[pair * row..(pair + 1) * row];
            for at in (0..range.len()).step_by(G::LANES) {
                let first = U32::gather(cells, U32::load(g, &keys.padded()[at..]));
                (first + U32::load(g, &ranks.padded()[at..])).store(&mut keys.padded_mut()[at..]);
            }
            // One index and slices of one length: chained iterators spill here.
            let end = begin + range.len();
            let (hits, source) = (&mut self.hits.padded_mut()[..end], &mut self.source.padded_mut()[..end]);
            let turn = &mut self.turn.padded_mut()[..end];
            let (turns, places) = (&turns[..range.len()], &keys[..range.len()]);
            for i in 0..range.len() {
                let place = places[i] as usize;
                hits[place] = [x[i], y[i], z[i], x[i]];
                source[place] = id[i];
                turn[place] = turns[i];
            }
            self.copy_first_bins(pair);
        }
        if sane.all() { Status::Ok } else { status_of_bad_hits(event) }
    }

    /// Takes over the hits of `all` that no track uses; their order stays. `source` then holds their index
    /// in `all`.
    #[inline(always)]
    pub(super) fn keep_free<G: Gang>(&mut self, g: G, all: &Index, beyond: u32, keys: &mut Column<u32>) {
        self.open(all.hits.len(), beyond);
        for pair in 0..PAIRS {
            let (begin, range) = (self.hits.len(), all.pair(pair));
            let (indices, turns) =
                (&mut self.source.padded_mut()[begin..], &mut self.turn.padded_mut()[begin..]);
            let count = all.free(g, range, indices, turns);
            for (hit, &index) in self.hits.padded_mut()[begin..begin + count].iter_mut().zip(&*indices) {
                *hit = all.hits[index as usize];
            }
            keys.set_len(count);
            for at in (0..count).step_by(G::LANES) {
                // Both tables have equal bins.
                self.binning.bin(g, F32::load(g, &turns[at..])).store(&mut keys.padded_mut()[at..]);
            }
            let cells = self.open_row(pair);
            keys.iter().for_each(|&key| cells[key as usize] += 1);
            self.close_row(g, pair, begin as u32);
            self.copy_first_bins(pair);
        }
    }

    /// Writes the indices and the directions of the free hits of a range, and returns how many there are.
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

    /// What marks hits as used.
    #[inline(always)]
    pub(super) fn marks(&mut self) -> Marks<'_> {
        let hits = self.hits.padded_mut();
        // One length for all three: one check.
        let len = hits.len().min(self.used.padded().len()).min(self.copy.padded().len());
        Marks {
            hits: &mut hits[..len],
            used: &mut self.used.padded_mut()[..len],
            copy: &self.copy.padded()[..len],
        }
    }
}

/// The hits of an event, to mark them as used.
pub(super) struct Marks<'a> {
    hits: &'a mut [[f32; 4]],
    used: &'a mut [u32],
    copy: &'a [u32],
}

impl Marks<'_> {
    /// Takes a hit of the track in `row` out of every later search; returns whose it was before: a row plus 1, or
    /// 0.
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

/// Memory of [`Index::sort`]: per hit of a pair its direction, its bin, and its number in the bin.
#[derive(Debug, Default)]
pub(super) struct SortScratch {
    turn: Column<f32>,
    pub(super) keys: Column<u32>,
    pub(super) ranks: Column<u32>,
}

pub(super) fn check_sizes(event: &VeloEvent<'_>, limits: &LimitConfig) -> Status {
    if event.status != Status::Ok {
        event.status
    } else if event.len() > limits.hits as usize {
        Status::TooManyHits
    } else if (0..VELO_MODULES).any(|module| event.module(module).len() > limits.hits_in_module as usize) {
        Status::TooManyHitsInModule
    } else {
        Status::Ok
    }
}

#[cold]
pub(super) fn status_of_bad_hits(event: &VeloEvent<'_>) -> Status {
    let finite = |column: &[f32]| column.iter().all(|v| v.is_finite());
    if finite(event.x) && finite(event.y) && finite(event.z) { Status::OutOfRange } else { Status::NotFinite }
}
