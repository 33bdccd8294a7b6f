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

/// The sorted hits of one event.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) x: Column<f32>,
    pub(super) y: Column<f32>,
    pub(super) z: Column<f32>,
    /// x of the hits that no track uses, NaN for the others: a NaN is never the nearest to anything, so used
    /// hits drop out of every search without a test.
    pub(super) free_x: Column<f32>,
    /// Place of the hit in the event's input columns.
    pub(super) source: Column<u32>,
    /// Where each pair begins; the last ones repeat the end.
    pub(super) pair_start: [u32; STRIDE + 1],
    table: Column<u32>,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            x: Column::default(),
            y: Column::default(),
            z: Column::default(),
            free_x: Column::default(),
            source: Column::default(),
            pair_start: [0; STRIDE + 1],
            table: Column::default(),
        }
    }
}

/// The hits of one pair and their table.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
    pub(super) x: &'a [f32],
    pub(super) y: &'a [f32],
    pub(super) z: &'a [f32],
    table: &'a [u32],
    pair: u32,
    /// Place of the pair's first hit among the sorted hits.
    pub(super) start: u32,
}

/// A window per lane: `count` hits from place `first` (within the layer) on, going on at 0 after the last.
pub(super) struct Window<G: Gang> {
    pub(super) first: U32<G>,
    pub(super) count: U32<G>,
}

/// phi bin of a direction, 0..256. (0, 0) is in bin 0.
#[inline(always)]
pub(super) fn phi_bin<G: Gang>(g: G, x: F32<G>, y: F32<G>) -> U32<G> {
    let zero = F32::splat(g, 0.0);
    let t = y / (x.abs() + y.abs()).max(F32::splat(g, 1e-30));
    let right = y.lt(zero).select_f(F32::splat(g, 4.0) + t, t);
    let turn = x.lt(zero).select_f(F32::splat(g, 2.0) - t, right);
    let bin = (turn * F32::splat(g, BINS as f32 / 4.0)).to_i32().to_bits();
    bin & U32::splat(g, BINS - 1)
}

/// x, y and z of hits, from columns of equal length.
#[inline(always)]
pub(super) fn position<G: Gang>([x, y, z]: [&[f32]; 3], place: U32<G>) -> [F32<G>; 3] {
    [F32::gather(x, place), F32::gather(y, place), F32::gather(z, place)]
}

impl Layer<'_> {
    /// x, y and z of hits of this layer.
    #[inline(always)]
    pub(super) fn position<G: Gang>(&self, place: U32<G>) -> [F32<G>; 3] {
        position([self.x, self.y, self.z], place)
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.x.len()
    }

    /// The hits at most `half_width` bins away from `bin`.
    #[inline(always)]
    pub(super) fn window<G: Gang>(&self, g: G, bin: U32<G>, half_width: u32) -> Window<G> {
        let left = (bin + U32::splat(g, BINS - half_width)) & U32::splat(g, BINS - 1);
        let at = left.shl::<5>() + U32::splat(g, self.pair);
        let first = U32::gather(self.table, at);
        let end = U32::gather(self.table, at + U32::splat(g, (2 * half_width + 1) * STRIDE as u32));
        Window { first: first - U32::splat(g, self.start), count: end - first }
    }

    /// Place within the layer of the j-th hit of a window, given `first + j`.
    #[inline(always)]
    pub(super) fn wrap<G: Gang>(&self, g: G, place: U32<G>) -> U32<G> {
        // Below the layer's length the difference wraps to a huge number.
        place.min(place - U32::splat(g, self.len() as u32))
    }
}

impl Index {
    /// The hits of one pair; `free` ones only show their x when no track uses them.
    #[inline(always)]
    pub(super) fn layer(&self, pair: usize, free: bool) -> Layer<'_> {
        let range = self.pair_start[pair] as usize..self.pair_start[pair + 1] as usize;
        let x = if free { &self.free_x[range.clone()] } else { &self.x[range.clone()] };
        Layer {
            x,
            y: &self.y[range.clone()],
            z: &self.z[range.clone()],
            table: &self.table,
            pair: pair as u32,
            start: range.start as u32,
        }
    }

    fn resize(&mut self, hits: usize) {
        for column in [&mut self.x, &mut self.y, &mut self.z, &mut self.free_x] {
            column.set_len(hits);
        }
        self.source.set_len(hits);
    }

    /// Turns counts per bin into the places where bins begin, one lane a pair, and continues the table for
    /// windows that reach over the wrap.
    #[inline(always)]
    fn sum_table<G: Gang>(&mut self, g: G) {
        for pair in (0..STRIDE).step_by(G::LANES) {
            let lanes = Mask::first(g, STRIDE - pair);
            let begin = U32::load_some(&self.pair_start[pair..STRIDE], lanes);
            let mut place = begin;
            for row in 0..BINS as usize {
                let cells = &mut self.table[row * STRIDE + pair..(row + 1) * STRIDE];
                let count = U32::load_some(cells, lanes);
                place.store_some(cells, lanes);
                place = place + count;
            }
            let turn = place - begin;
            for row in BINS as usize..ROWS {
                let below = (row - BINS as usize) * STRIDE + pair;
                let cells = U32::load_some(&self.table[below..below + STRIDE - pair], lanes);
                (cells + turn).store_some(&mut self.table[row * STRIDE + pair..(row + 1) * STRIDE], lanes);
            }
        }
    }

    fn clear_table(&mut self) {
        self.table.set_len(ROWS * STRIDE);
        self.table[..BINS as usize * STRIDE].fill(0);
    }

    /// Sorts the hits of an event.
    ///
    /// The status tells when the event is not one that can be reconstructed.
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
        self.resize(hits);
        keys.set_len(hits);
        ranks.set_len(hits);
        self.clear_table();
        for pair in 0..PAIRS {
            self.pair_start[pair] = event.module_start[2 * pair] - event.module_start[0];
        }
        self.pair_start[PAIRS..].fill(hits as u32);

        let reach = F32::splat(g, limits.coordinate);
        let mut sane = true;
        for pair in 0..PAIRS {
            let range = self.pair_start[pair] as usize..self.pair_start[pair + 1] as usize;
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
        for (rank, &key) in ranks.iter_mut().zip(keys.iter()) {
            let count = &mut self.table[key as usize];
            *rank = *count;
            *count += 1;
        }
        self.sum_table(g);
        for at in (0..hits).step_by(G::LANES) {
            let lanes = Mask::first(g, hits - at);
            let key = U32::load(g, &keys.padded()[at..]);
            let place = U32::gather(&self.table, key) + U32::load(g, &ranks.padded()[at..]);
            let source = U32::iota(g) + U32::splat(g, at as u32);
            source.scatter(&mut self.source, place, lanes);
        }
        for at in (0..hits).step_by(G::LANES) {
            let source = U32::load(g, &self.source.padded()[at..]);
            let x = F32::gather(event.x, source);
            x.store(&mut self.x.padded_mut()[at..]);
            x.store(&mut self.free_x.padded_mut()[at..]);
            F32::gather(event.y, source).store(&mut self.y.padded_mut()[at..]);
            F32::gather(event.z, source).store(&mut self.z.padded_mut()[at..]);
        }
        Status::Ok
    }

    /// Takes over the hits of `all` that no track uses; their order stays.
    #[inline(always)]
    pub(super) fn keep_free<G: Gang>(&mut self, g: G, all: &Index) {
        self.resize(all.x.len());
        self.clear_table();
        let mut kept = 0;
        for pair in 0..PAIRS {
            self.pair_start[pair] = kept as u32;
            let range = all.pair_start[pair] as usize..all.pair_start[pair + 1] as usize;
            for at in range.clone().step_by(G::LANES) {
                let x = F32::load(g, &all.free_x.padded()[at..]);
                let free = x.eq(x) & Mask::first(g, range.end - at);
                let y = F32::load(g, &all.y.padded()[at..]);
                let z = F32::load(g, &all.z.padded()[at..]);
                let source = U32::load(g, &all.source.padded()[at..]);
                x.store_packed(&mut self.x.padded_mut()[kept..], free);
                x.store_packed(&mut self.free_x.padded_mut()[kept..], free);
                y.store_packed(&mut self.y.padded_mut()[kept..], free);
                z.store_packed(&mut self.z.padded_mut()[kept..], free);
                let count = source.store_packed(&mut self.source.padded_mut()[kept..], free);
                let key = phi_bin(g, x, y).shl::<5>() + U32::splat(g, pair as u32);
                let mut packed = [0; 64];
                key.store_packed(&mut packed, free);
                for &key in &packed[..count] {
                    self.table[key as usize] += 1;
                }
                kept += count;
            }
        }
        self.pair_start[PAIRS..].fill(kept as u32);
        self.resize(kept);
        self.sum_table(g);
    }

    /// Takes a hit out of every later search.
    #[inline(always)]
    pub(super) fn mark_used(&mut self, hit: usize) {
        self.free_x[hit] = f32::NAN;
    }

    #[inline(always)]
    pub(super) fn is_free(&self, hit: usize) -> bool {
        !self.free_x[hit].is_nan()
    }
}

fn check_sizes(event: &VeloEvent<'_>, limits: &LimitConfig) -> Status {
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
fn why_not_sane(event: &VeloEvent<'_>) -> Status {
    let finite = |column: &[f32]| column.iter().all(|v| v.is_finite());
    if finite(event.x) && finite(event.y) && finite(event.z) { Status::OutOfRange } else { Status::NotFinite }
}
