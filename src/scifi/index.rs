//! The hits of an event as input of the search by triplets: x of the hits, and tables that give both ends of a window
//! without a search. x is copied to one block, layer by layer of each half, or read from the event's columns; the
//! search finds the same tracks in both cases.

use super::config::{LimitConfig, SciFiConfig};
use super::layers::{HALF_LAYERS, HALVES, X_LAYERS, ZONE};
use crate::Status;
use crate::event::{Column, PAD, SCIFI_ZONES, SciFiBatch};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use std::ops::Range;

/// Layers of both halves.
pub(super) const SLOTS: usize = HALVES * HALF_LAYERS;
/// x of a missing hit, mm: far beyond every hit and every prediction that is searched for.
pub(super) const FAR: f32 = 1e30;

/// Half the width of the tables, mm: the fibres end at 3.2 m. Hits beyond are in the outermost buckets.
const REACH: f32 = 3_300.0;
/// Width of a bucket, mm, and buckets of a layer.
const BUCKET: f32 = 8.0;
const BUCKETS: usize = 832;
/// Width of a bucket of the fine table, mm, and its number of buckets. The fine table shows whether a pair may have a
/// middle hit.
const FINE_BUCKET: f32 = 2.0;
const FINE_BUCKETS: usize = 3_328;

/// Width of a cell in which hits are marked, mm, and number of cells; two cells share a word. With the margin, which
/// exceeds the rounding error of a distance, the usual tolerances of 0.5 and 0.8 mm span at most three and four cells.
const CELL: f32 = 0.54;
const CELLS: usize = 12_288;
const CELLS_OF_WORD: usize = 2;
const MARGIN: f32 = 0.002;

/// The hits of an event, each layer of a half sorted by x.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Whether x and numbers are copied; otherwise places are numbers in the event.
    is_copy: bool,
    /// x, mm, and number of each hit in the event, by half, layer and x.
    x: Column<f32>,
    source: Column<u32>,
    /// Number of places.
    len: usize,
    /// First hit of each layer, the place after its last hit, and x of the last hit, which is below every x for an empty layer.
    begin: [u32; SLOTS],
    end: [u32; SLOTS],
    last: [f32; SLOTS],
    /// First hit in the bucket or after it, per layer and bucket.
    first: Column<u32>,
    /// Place, and bits of x, of the first hit in the bucket or after it, per bucket of the fine table, for one layer at a time.
    next_place: Column<u32>,
    next: Column<u32>,
    /// x of the last hit of the layer in the fine table, mm.
    next_last: f32,
    /// Marks per word: one bit for each of its cells and each x layer, set when a hit is within the tolerance of some x in
    /// the cell.
    marks: Column<u32>,
    /// Bucket of each hit of a layer, while tables are built.
    buckets: Column<u32>,
}

/// Returns the first hit from `place` on that is not below `x`, and its x; there must be one.
#[inline(always)]
fn not_below<G: Gang>(all: &[f32], place: U32<G>, x: F32<G>) -> (U32<G>, F32<G>) {
    let mut hit = place;
    let mut there = F32::gather(all, hit);
    loop {
        let below = there.lt(x);
        if !below.any() {
            return (hit, there);
        }
        hit = hit.count(below);
        there = F32::gather(all, hit);
    }
}

/// A layer of a half, as the search reads it.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
    x: &'a [f32],
    pub(super) begin: u32,
    pub(super) end: u32,
    last: f32,
    first: &'a [u32],
}

/// Returns the bucket of an x.
#[inline(always)]
fn bucket<G: Gang>(g: G, x: F32<G>, width: f32, buckets: usize) -> U32<G> {
    let at = x.mul_add(F32::splat(g, 1.0 / width), F32::splat(g, REACH / width));
    at.max(F32::splat(g, 0.0)).min(F32::splat(g, (buckets - 1) as f32)).to_i32().to_bits()
}

/// Returns the bit of a word's first cell in a layer; the bit of the second cell is the next one.
#[inline(always)]
fn first_bit(slot: usize) -> usize {
    CELLS_OF_WORD * (slot / HALF_LAYERS * X_LAYERS + slot % HALF_LAYERS)
}

/// Writes a value from `done` up to `upto`, and beyond in whole gangs, which is overwritten later. Returns the new `done`.
#[inline(always)]
fn fill_to<G: Gang>(g: G, row: &mut [u32], done: usize, upto: usize, value: u32) -> usize {
    let value = U32::splat(g, value);
    let mut at = done;
    // One iteration is usually enough, as most hits are near one another: the branch is predictable.
    loop {
        value.store(&mut row[at..]);
        at += G::LANES;
        if at >= upto {
            return upto;
        }
    }
}

/// Returns x of all places, from the copy or from the event. Takes single fields, because callers borrow the other ones.
#[inline(always)]
fn places_x<'a>(is_copy: bool, copy: &'a Column<f32>, event: &'a [f32]) -> &'a [f32] {
    if is_copy { copy.padded() } else { event }
}

/// Returns whether an event, or one of its zones, has too many hits.
pub(super) fn has_too_many(limits: &LimitConfig, hits: &SciFiBatch, event: usize) -> bool {
    let most = (0..SCIFI_ZONES).map(|zone| hits.of_zone(event, zone).len()).max().unwrap_or(0);
    hits.of_event(event).len() > limits.hits as usize || most > limits.hits_in_zone as usize
}

/// Checks that the x of a layer are finite, near the detector, and in order; copies them.
#[inline(always)]
pub(super) fn check<G: Gang>(
    g: G,
    limits: &LimitConfig,
    from: &[f32],
    len: usize,
    mut copy: Option<&mut [f32]>,
) -> Status {
    let (mut finite, mut near) = (true, true);
    for at in (0..len).step_by(G::LANES) {
        let x = F32::load(g, &from[at..]);
        let (here, followed) = (Mask::first(g, len - at), Mask::first(g, len - at - 1));
        finite &= !here.and_not(x.abs().lt(F32::splat(g, f32::INFINITY))).any();
        near &= !here.and_not(x.abs().le(F32::splat(g, limits.coordinate))).any();
        near &= !followed.and_not(x.le(F32::load(g, &from[at + 1..]))).any();
        if let Some(copy) = &mut copy {
            x.store(&mut copy[at..]);
        }
    }
    match (finite, near) {
        (true, true) => Status::Ok,
        (true, false) => Status::OutOfRange,
        (false, _) => Status::NotFinite,
    }
}

impl Index {
    /// Copies the hits of an event and builds the tables, for the configuration's tolerance in x. Returns the reason
    /// when it cannot.
    #[inline(always)]
    pub(super) fn fill<G: Gang>(
        &mut self,
        g: G,
        config: &SciFiConfig,
        hits: &SciFiBatch,
        event: usize,
    ) -> Status {
        let (limits, all) = (&config.limits, hits.of_event(event));
        if has_too_many(limits, hits, event) {
            return Status::TooManyHits;
        }
        self.begin_event(config.compact, all.len());
        let mut to = 0;
        for slot in 0..SLOTS {
            let zone = hits.of_zone(event, ZONE[slot % HALF_LAYERS] + slot / HALF_LAYERS);
            let from = zone.start - all.start;
            let x = &hits.x.padded()[zone.start..];
            let copy = if self.is_copy { Some(&mut self.x.padded_mut()[to..]) } else { None };
            let status = check(g, limits, x, zone.len(), copy);
            if status != Status::Ok {
                return status;
            }
            if self.is_copy {
                for at in (0..zone.len()).step_by(G::LANES) {
                    let number = U32::splat(g, (from + at) as u32) + U32::iota(g);
                    number.store(&mut self.source.padded_mut()[to + at..]);
                }
            }
            let begin = if self.is_copy { to } else { from };
            self.close(slot, begin..begin + zone.len(), x[..zone.len()].last().copied());
            to += zone.len();
        }
        let x = &hits.x.padded()[all.start..];
        self.tabulate(g, x);
        self.mark(g, x, config.hlt1.x_tolerance);
        Status::Ok
    }

    /// Begins an event of at most `len` hits.
    #[inline(always)]
    fn begin_event(&mut self, is_copy: bool, len: usize) {
        (self.is_copy, self.len) = (is_copy, len);
        if is_copy {
            self.x.set_len(len);
            self.source.set_len(len);
        }
        self.first.set_len(SLOTS * BUCKETS);
    }

    /// Stores the places of a layer, and its last x.
    #[inline(always)]
    fn close(&mut self, slot: usize, places: Range<usize>, last: Option<f32>) {
        (self.begin[slot], self.end[slot]) = (places.start as u32, places.end as u32);
        self.last[slot] = last.unwrap_or(-FAR);
    }

    /// Returns x of all places, mm; `event` has the x of the event's hits.
    #[inline(always)]
    pub(super) fn x<'a>(&'a self, event: &'a [f32]) -> &'a [f32] {
        places_x(self.is_copy, &self.x, event)
    }

    /// Returns the number of a hit in the event.
    #[inline(always)]
    pub(super) fn source(&self, place: u32) -> u32 {
        if self.is_copy { self.source[place as usize] } else { place }
    }

    /// Returns the place of a missing hit: after all other places. It may be read.
    #[inline(always)]
    pub(super) fn none(&self) -> u32 {
        self.len as u32
    }

    /// Builds the tables of buckets.
    #[inline(always)]
    fn tabulate<G: Gang>(&mut self, g: G, event_x: &[f32]) {
        let x = places_x(self.is_copy, &self.x, event_x);
        let first = self.first.padded_mut();
        for slot in 0..SLOTS {
            let (begin, end) = (self.begin[slot] as usize, self.end[slot] as usize);
            let row = &mut first[slot * BUCKETS..][..BUCKETS + PAD];
            self.buckets.reserve_total(end - begin);
            let buckets = self.buckets.padded_mut();
            for at in (begin..end).step_by(G::LANES) {
                bucket(g, F32::load(g, &x[at..]), BUCKET, BUCKETS).store(&mut buckets[at - begin..]);
            }
            let mut done = 0;
            for (hit, &bucket) in (begin as u32..end as u32).zip(&buckets[..end - begin]) {
                done = fill_to(g, row, done, bucket as usize + 1, hit);
            }
            fill_to(g, row, done, BUCKETS, end as u32);
        }
    }

    /// Marks the cells near hits of the x layers.
    #[inline(always)]
    fn mark<G: Gang>(&mut self, g: G, event_x: &[f32], tolerance: f32) {
        let reach = tolerance + MARGIN;
        let wide = (2.0 * reach / CELL).ceil() as usize + 1;
        // `near` has a bit for each cell near a hit, and `span` words hold them at any offset. A tolerance too wide for the
        // 64 bits marks all cells of its words: a mark too many only costs time.
        let near = if wide < u64::BITS as usize { (1 << wide) - 1 } else { u64::MAX };
        let span = (wide + CELLS_OF_WORD - 1).div_ceil(CELLS_OF_WORD);
        let words = CELLS / CELLS_OF_WORD;
        self.marks.set_len(words);
        self.marks.fill(0);
        let x = places_x(self.is_copy, &self.x, event_x);
        let marks = &mut self.marks[..words];
        for slot in (0..SLOTS).filter(|slot| slot % HALF_LAYERS < X_LAYERS) {
            let (begin, end) = (self.begin[slot] as usize, self.end[slot] as usize);
            self.buckets.reserve_total(end - begin);
            let cells = self.buckets.padded_mut();
            for at in (begin..end).step_by(G::LANES) {
                let from = F32::load(g, &x[at..]) - F32::splat(g, reach);
                bucket(g, from, CELL, CELLS).store(&mut cells[at - begin..]);
            }
            let (bit, in_word) = (first_bit(slot), (1 << CELLS_OF_WORD) - 1);
            for &cell in &cells[..end - begin] {
                let word = cell as usize / CELLS_OF_WORD;
                let mut near = near.rotate_left(cell % CELLS_OF_WORD as u32);
                for mark in &mut marks[word..words.min(word + span)] {
                    *mark |= ((near & in_word) as u32) << bit;
                    near = near.rotate_right(CELLS_OF_WORD as u32);
                }
            }
        }
    }

    /// Builds the fine tables for a layer.
    #[inline(always)]
    pub(super) fn look_closely<G: Gang>(&mut self, g: G, event_x: &[f32], half: usize, layer: usize) {
        let slot = half * HALF_LAYERS + layer;
        self.next.set_len(FINE_BUCKETS);
        self.next_place.set_len(FINE_BUCKETS);
        let (begin, end) = (self.begin[slot] as usize, self.end[slot] as usize);
        self.next_last = self.last[slot];
        let x = places_x(self.is_copy, &self.x, event_x);
        let places = self.next_place.padded_mut();
        self.buckets.reserve_total(end - begin);
        let buckets = self.buckets.padded_mut();
        for at in (begin..end).step_by(G::LANES) {
            bucket(g, F32::load(g, &x[at..]), FINE_BUCKET, FINE_BUCKETS).store(&mut buckets[at - begin..]);
        }
        let (mut done, next) = (0, self.next.padded_mut());
        for (hit, &bucket) in (begin as u32..end as u32).zip(&buckets[..end - begin]) {
            let upto = bucket as usize + 1;
            fill_to(g, next, done, upto, x[hit as usize].to_bits());
            done = fill_to(g, places, done, upto, hit);
        }
        fill_to(g, next, done, FINE_BUCKETS, FAR.to_bits());
        fill_to(g, places, done, FINE_BUCKETS, end as u32);
    }

    /// Returns x of a hit at or before the first one that is not below `x`, in the layer of
    /// [`look_closely`](Self::look_closely). When it is beyond a window that begins at `x`, the window is empty.
    #[inline(always)]
    pub(super) fn next<G: Gang>(&self, g: G, x: F32<G>) -> F32<G> {
        U32::gather(self.next.padded(), bucket(g, x, FINE_BUCKET, FINE_BUCKETS)).as_f32()
    }

    /// Returns the first hit of that layer that is not below `x`, or the last hit, and its x; `all` has x of all places.
    #[inline(always)]
    pub(super) fn first_from<G: Gang>(&self, g: G, all: &[f32], x: F32<G>) -> (U32<G>, F32<G>) {
        let x = x.min(F32::splat(g, self.next_last));
        let bucket = bucket(g, x, FINE_BUCKET, FINE_BUCKETS);
        not_below(all, U32::gather(self.next_place.padded(), bucket), x)
    }

    /// Returns the lanes where a hit of an x layer may be within the tolerance of the index.
    #[inline(always)]
    pub(super) fn is_marked<G: Gang>(&self, g: G, half: usize, layer: usize, x: F32<G>) -> Mask<G> {
        let cell = bucket(g, x, CELL, CELLS);
        let marks = U32::gather(self.marks.padded(), cell.shr::<1>());
        let bit = 1 << first_bit(half * HALF_LAYERS + layer);
        let is_first = (cell & U32::splat(g, 1)).eq(U32::splat(g, 0));
        let bit = is_first.select_u(U32::splat(g, bit), U32::splat(g, bit << 1));
        U32::splat(g, 0).lt(marks & bit)
    }

    /// Returns a layer of a half; `all` has x of all places.
    #[inline(always)]
    pub(super) fn layer<'a>(&'a self, all: &'a [f32], half: usize, layer: usize) -> Layer<'a> {
        let slot = half * HALF_LAYERS + layer;
        Layer {
            x: all,
            begin: self.begin[slot],
            end: self.end[slot],
            last: self.last[slot],
            first: &self.first.padded()[slot * BUCKETS..][..BUCKETS],
        }
    }
}

/// The result of a search for a hit.
#[derive(Clone, Copy)]
pub(super) struct Nearest<G: Gang> {
    pub(super) hit: U32<G>,
    pub(super) x: F32<G>,
    pub(super) distance: F32<G>,
}

impl Layer<'_> {
    /// Returns whether the layer has no hit.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.begin == self.end
    }

    /// Returns the first hit that is not below `x`, its x, and the lanes where all hits are below `x`; in these lanes the
    /// hit is one at the last x.
    #[inline(always)]
    fn search<G: Gang>(&self, g: G, x: F32<G>) -> (U32<G>, F32<G>, Mask<G>) {
        let last = F32::splat(g, self.last);
        let within = x.min(last);
        let place = U32::gather(self.first, bucket(g, within, BUCKET, BUCKETS));
        let (hit, there) = not_below(self.x, place, within);
        (hit, there, last.lt(x))
    }

    /// Returns the first hit that is not below `x`, or the place after the last hit.
    #[inline(always)]
    pub(super) fn lower_bound<G: Gang>(&self, g: G, x: F32<G>) -> U32<G> {
        let (hit, _, is_behind) = self.search(g, x);
        is_behind.select_u(U32::splat(g, self.end), hit)
    }

    /// Returns places between which all hits from `low` to `high` lie, and some hits nearby.
    #[inline(always)]
    pub(super) fn around<G: Gang>(&self, g: G, low: F32<G>, high: F32<G>) -> (U32<G>, U32<G>) {
        let from = U32::gather(self.first, bucket(g, low, BUCKET, BUCKETS));
        let next = bucket(g, high, BUCKET, BUCKETS) + U32::splat(g, 1);
        let is_last = next.eq(U32::splat(g, BUCKETS as u32));
        (from, is_last.select_u(U32::splat(g, self.end), U32::gather(self.first, next)))
    }

    /// Returns the hit nearest to `x`; the lower one of two equally near hits. There must be a hit.
    #[inline(always)]
    pub(super) fn nearest<G: Gang>(&self, g: G, x: F32<G>) -> Nearest<G> {
        let (above, above_x, is_behind) = self.search(g, x);
        let one = U32::splat(g, 1);
        // When `x` is beyond all hits, the last hit is nearest: `above_x - x` is then negative, and less than any
        // distance below.
        let above = is_behind.select_u(U32::splat(g, self.end) - one, above);
        // For the first hit, `below` is the hit itself.
        let below = above.max(U32::splat(g, self.begin) + one) - one;
        let below_x = F32::gather(self.x, below);
        let is_below = (x - below_x).le(above_x - x);
        let nearest_x = is_below.select_f(below_x, above_x);
        Nearest { hit: is_below.select_u(below, above), x: nearest_x, distance: (nearest_x - x).abs() }
    }
}
