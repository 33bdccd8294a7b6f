//! Sort: hits of an event by (pair of modules, phi bin, input order), with a table of where each bin begins.
//!
//! phi is only a way to find neighbours, so a turn is cut into [`BINS`] bins on a scale that is cheap and
//! exact on every gang: the *diamond angle* t = y / (|x| + |y|), continued around the four quadrants. A window
//! is a number of whole bins, read off the table in two look-ups; no search is needed:
//!
//! ```text
//!   table[bin * STRIDE + pair]:   bin 0   bin 1   ...  bin 255 | bin 0 + turn, bin 1 + turn, ...
//!   sorted hits of a pair:      [ h h   | h     | ... | h h    ]  (windows over the wrap go on at the front)
//! ```
//!
//! Counting sort, O(hits + bins): the counts of all pairs are summed in lanes, one lane a pair.

use super::config::{LimitConfig, MAX_WINDOW};
use super::geometry::PAIRS;
use crate::Status;
use crate::event::{Column, VELO_MODULES, VeloEvent};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// Bins of a turn.
pub(super) const BINS: u32 = 256;
/// Pairs beside each other in a row of the table.
pub(super) const STRIDE: usize = 32;
/// Rows of the table: a turn, and as much again as the widest window reaches beyond it.
const ROWS: usize = BINS as usize + 2 * MAX_WINDOW as usize + 2;

/// The sorted hits of a group of events, one event after the other.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// x, y, z of each hit, and x again as long as no track uses it, NaN from then on: a NaN is never the
    /// nearest to anything, so used hits drop out of a search without a test.
    pub(super) hits: Column<[f32; 4]>,
    /// Place of each hit in its event's input columns.
    pub(super) source: Column<u32>,
    /// Where the pairs of each event begin, [`STRIDE`] per event; the last ones repeat the event's end.
    start: Column<u32>,
    /// [`ROWS`] rows of [`STRIDE`] per event.
    table: Column<u32>,
}

/// The columns of an [`Index`].
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) hits: &'a [[f32; 4]],
    table: &'a [u32],
    start: &'a [u32],
}

impl<'a> View<'a> {
    /// One pair, each lane in its event.
    #[inline(always)]
    pub(super) fn layer<G: Gang>(self, g: G, event: U32<G>, pair: usize) -> Layer<'a, G> {
        let at = event.shl::<5>() + U32::splat(g, pair as u32);
        let start = U32::gather(self.start, at);
        let len = U32::gather(self.start, at + U32::splat(g, 1)) - start;
        let column = event * U32::splat(g, (ROWS * STRIDE) as u32) + U32::splat(g, pair as u32);
        Layer { g, hits: self.hits, table: self.table, column, start, len }
    }
}

/// One pair of modules per lane, each of its lane's event.
pub(super) struct Layer<'a, G: Gang> {
    g: G,
    pub(super) hits: &'a [[f32; 4]],
    table: &'a [u32],
    column: U32<G>,
    /// Place of the pair's first hit among the sorted hits.
    start: U32<G>,
    len: U32<G>,
}

/// A window per lane: `count` hits from the `first` of the layer on, going on at its front after its last.
pub(super) struct Window<G: Gang> {
    pub(super) first: U32<G>,
    pub(super) count: U32<G>,
}

/// Direction on the diamond scale in bins, 0..=256, and 1 / (|x| + |y|). (0, 0) is at 0.
#[inline(always)]
pub(super) fn phi_turn<G: Gang>(g: G, x: F32<G>, y: F32<G>) -> (F32<G>, F32<G>) {
    let zero = F32::splat(g, 0.0);
    let scale = F32::splat(g, 1.0) / (x.abs() + y.abs()).max(F32::splat(g, 1e-30));
    let t = y * scale;
    let right = y.lt(zero).select_f(F32::splat(g, 4.0) + t, t);
    let turn = x.lt(zero).select_f(F32::splat(g, 2.0) - t, right);
    (turn * F32::splat(g, BINS as f32 / 4.0), scale)
}

/// phi bin of a direction, 0..256.
#[inline(always)]
pub(super) fn phi_bin<G: Gang>(g: G, x: F32<G>, y: F32<G>) -> U32<G> {
    phi_turn(g, x, y).0.to_i32().to_bits() & U32::splat(g, BINS - 1)
}

impl<G: Gang> Layer<'_, G> {
    /// The hits at most `half_width` bins away from `bin`.
    #[inline(always)]
    pub(super) fn window(&self, bin: U32<G>, half_width: u32) -> Window<G> {
        let left = bin + U32::splat(self.g, BINS - half_width);
        self.bins(left, left + U32::splat(self.g, 2 * half_width))
    }

    /// The hits whose bins come within `reach` mm of the point (x, y), and `turn` mm^2 more: the turn of a
    /// line's point around the beam axis, as |point x step|.
    ///
    /// A step d across moves the diamond angle by at most d / (|x| + |y|), a turn exactly by
    /// |point x step| / (|x| + |y|)^2, to first order; the window never reaches further than [`MAX_WINDOW`] bins.
    #[inline(always)]
    pub(super) fn around(&self, x: F32<G>, y: F32<G>, reach: F32<G>, turn: F32<G>) -> Window<G> {
        let g = self.g;
        let (middle, scale) = phi_turn(g, x, y);
        let half = (turn.mul_add(scale, reach) * scale) * F32::splat(g, BINS as f32 / 4.0);
        let half = half.min(F32::splat(g, MAX_WINDOW as f32));
        let middle = middle + F32::splat(g, BINS as f32);
        self.bins((middle - half).to_i32().to_bits(), (middle + half).to_i32().to_bits())
    }

    /// The hits of the bins `left` to `right`, both counted from somewhere below; at most a few more than
    /// twice [`MAX_WINDOW`], else the window is empty.
    #[inline(always)]
    fn bins(&self, left: U32<G>, right: U32<G>) -> Window<G> {
        let g = self.g;
        let width = right - left;
        let sane = width.lt(U32::splat(g, 2 * MAX_WINDOW + 2));
        let at = (left & U32::splat(g, BINS - 1)).shl::<5>() + self.column;
        let first = U32::gather(self.table, at);
        let end = U32::gather(self.table, at + (width + U32::splat(g, 1)).shl::<5>());
        let count = sane.select_u(end - first, U32::splat(g, 0));
        Window { first: first - self.start, count }
    }

    /// Place among the sorted hits of the j-th hit of a window, given `first + j`.
    #[inline(always)]
    pub(super) fn place(&self, number: U32<G>) -> U32<G> {
        // Below the layer's length the difference wraps to a huge number.
        self.start + number.min(number - self.len)
    }
}

impl Index {
    /// Forgets all events.
    pub(super) fn clear(&mut self) {
        self.hits.clear();
        self.source.clear();
        self.start.clear();
        self.table.clear();
    }

    /// Number of events.
    pub(super) fn events(&self) -> usize {
        self.start.len() / STRIDE
    }

    /// The sorted hits of one pair of one event.
    #[inline(always)]
    pub(super) fn pair(&self, event: usize, pair: usize) -> std::ops::Range<usize> {
        let at = event * STRIDE + pair;
        self.start[at] as usize..self.start[at + 1] as usize
    }

    /// The columns as plain slices: taken once before a loop, so that the loop does not look them up again.
    #[inline(always)]
    pub(super) fn view(&self) -> View<'_> {
        View { hits: &self.hits, table: &self.table, start: &self.start }
    }

    /// Makes room for one more event of `hits` hits, with empty bins; returns its number and its first hit.
    fn open_event(&mut self, hits: usize) -> (usize, usize) {
        let (event, first) = (self.events(), self.hits.len());
        self.hits.set_len(first + hits);
        self.source.set_len(first + hits);
        self.start.set_len((event + 1) * STRIDE);
        self.table.set_len((event + 1) * ROWS * STRIDE);
        let cells = event * ROWS * STRIDE;
        self.table[cells..cells + BINS as usize * STRIDE].fill(0);
        (event, first)
    }

    /// Turns counts per bin into the places where bins begin, one lane a pair, and continues the table for
    /// windows that reach over the wrap.
    #[inline(always)]
    fn sum_table<G: Gang>(&mut self, g: G, event: usize) {
        let start = &self.start[event * STRIDE..(event + 1) * STRIDE];
        let table = &mut self.table[event * ROWS * STRIDE..(event + 1) * ROWS * STRIDE];
        for pair in (0..STRIDE).step_by(G::LANES) {
            let lanes = Mask::first(g, STRIDE - pair);
            let begin = U32::load_some(&start[pair..], lanes);
            let mut place = begin;
            for row in 0..BINS as usize {
                let cells = &mut table[row * STRIDE + pair..(row + 1) * STRIDE];
                let count = U32::load_some(cells, lanes);
                place.store_some(cells, lanes);
                place = place + count;
            }
            let turn = place - begin;
            for row in BINS as usize..ROWS {
                let below = (row - BINS as usize) * STRIDE + pair;
                let cells = U32::load_some(&table[below..below + STRIDE - pair], lanes);
                (cells + turn).store_some(&mut table[row * STRIDE + pair..(row + 1) * STRIDE], lanes);
            }
        }
    }

    /// Sorts the hits of one more event. When the event cannot be reconstructed the status tells why, and the
    /// index stays as it was.
    #[inline(always)]
    pub(super) fn sort<G: Gang>(
        &mut self,
        g: G,
        event: &VeloEvent<'_>,
        limits: &LimitConfig,
        keys: &mut Column<u32>,
        ranks: &mut Column<u32>,
    ) -> Status {
        let hits = event.len();
        let status = check_sizes(event, limits);
        if status != Status::Ok {
            return status;
        }
        keys.set_len(hits);
        ranks.set_len(hits);

        let reach = F32::splat(g, limits.coordinate);
        let mut sane = true;
        for pair in 0..PAIRS {
            let range = event.module(2 * pair).start..event.module(2 * pair + 1).end;
            for at in range.clone().step_by(G::LANES) {
                let lanes = Mask::first(g, range.end - at);
                let x = F32::load_some(&event.x[at..], lanes);
                let y = F32::load_some(&event.y[at..], lanes);
                let z = F32::load_some(&event.z[at..], lanes);
                sane &= (x.abs().max(y.abs()).le(reach) & x.abs().le(reach) & z.abs().le(reach)).all();
                let key = phi_bin(g, x, y).shl::<5>() + U32::splat(g, pair as u32);
                key.store(&mut keys.padded_mut()[at..]);
            }
        }
        if !sane {
            return why_not_sane(event);
        }
        let (number, first) = self.open_event(hits);
        let start = &mut self.start[number * STRIDE..(number + 1) * STRIDE];
        start.fill((first + hits) as u32);
        for (pair, start) in start[..PAIRS].iter_mut().enumerate() {
            *start = (first + event.module(2 * pair).start) as u32;
        }
        let cells = number * ROWS * STRIDE;
        let table = &mut self.table[cells..];
        for (rank, &key) in ranks.iter_mut().zip(keys.iter()) {
            let count = &mut table[key as usize];
            *rank = *count;
            *count += 1;
        }
        self.sum_table(g, number);
        let table = &self.table[cells..];
        let positions = event.x.iter().zip(event.y).zip(event.z);
        let places = keys.iter().zip(ranks.iter());
        for ((hit, (&key, &rank)), ((&x, &y), &z)) in (0..).zip(places).zip(positions) {
            let place = (table[key as usize] + rank) as usize;
            self.hits[place] = [x, y, z, x];
            self.source[place] = hit;
        }
        Status::Ok
    }

    /// Takes over the hits of `all` that no track uses; their order stays. `source` then tells their place
    /// in `all`.
    #[inline(always)]
    pub(super) fn keep_free<G: Gang>(&mut self, g: G, all: &Index) {
        self.clear();
        for event in 0..all.events() {
            let range = all.pair(event, 0).start..all.pair(event, PAIRS - 1).end;
            // One more than can be kept: the loop writes before it knows whether it keeps.
            let (_, first) = self.open_event(range.len() + 1);
            let mut kept = first;
            for pair in 0..PAIRS {
                self.start[event * STRIDE + pair] = kept as u32;
                for place in all.pair(event, pair) {
                    self.hits[kept] = all.hits[place];
                    self.source[kept] = place as u32;
                    kept += usize::from(all.is_free(place));
                }
            }
            self.start[event * STRIDE + PAIRS..].fill(kept as u32);
            self.hits.set_len(kept);
            self.source.set_len(kept);
            for pair in 0..PAIRS {
                let range = self.pair(event, pair);
                for at in range.clone().step_by(G::LANES) {
                    let place = U32::iota(g) + U32::splat(g, at as u32);
                    let [x, y, _, _] = F32::gather_records(&self.hits, place);
                    let mut bins = [0; 64];
                    phi_bin(g, x, y).store(&mut bins);
                    for &bin in &bins[..G::LANES.min(range.end - at)] {
                        self.table[(event * ROWS + bin as usize) * STRIDE + pair] += 1;
                    }
                }
            }
            self.sum_table(g, event);
        }
    }

    /// Takes a hit out of every later search.
    #[inline(always)]
    pub(super) fn mark_used(&mut self, hit: usize) {
        self.hits[hit][3] = f32::NAN;
    }

    #[inline(always)]
    pub(super) fn is_free(&self, hit: usize) -> bool {
        !self.hits[hit][3].is_nan()
    }
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
pub(super) fn why_not_sane(event: &VeloEvent<'_>) -> Status {
    let finite = |column: &[f32]| column.iter().all(|v| v.is_finite());
    if finite(event.x) && finite(event.y) && finite(event.z) { Status::OutOfRange } else { Status::NotFinite }
}
