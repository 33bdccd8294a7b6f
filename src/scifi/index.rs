//! The hits of an event as the search reads them: x alone, layer by layer of each half, between sentinels, and tables
//! from which both ends of a window come without a search.

use super::config::LimitConfig;
use super::layers::{HALF_LAYERS, HALVES, X_LAYERS, ZONE};
use crate::Status;
use crate::event::{Column, PAD, SCIFI_ZONES, SciFiBatch};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// Layers of both halves.
pub(super) const SLOTS: usize = HALVES * HALF_LAYERS;
/// Sentinels before and behind the hits of a layer.
const GUARD: usize = 8;
/// x of the sentinels, far beyond every hit and every prediction that is searched for, mm.
pub(super) const FAR: f32 = 1e30;
/// What is searched for is cut off here, below the sentinels, mm.
const SEARCHED: f32 = 1e29;
/// The place of a hit that is not there: a sentinel.
pub(super) const NO_HIT: u32 = 0;

/// Half the width of the tables, mm: the fibres end at 3.2 m. What lies beyond is in the outermost buckets.
const REACH: f32 = 3_300.0;
/// Width of a bucket, mm, and buckets of a layer.
const BUCKET: f32 = 8.0;
const BUCKETS: usize = 832;
/// The same of the table that says whether there is any hit where a pair leads.
const FINE_BUCKET: f32 = 2.0;
const FINE_BUCKETS: usize = 3_328;

/// Width of a cell in which hits are marked, mm, and cells: with the margin, which is more than rounding makes of a distance,
/// the usual tolerances of 0.5, 1, and 1.5 mm are in two, three, and four cells at most.
const CELL: f32 = 1.0625;
const CELLS: usize = 6_272;
const MARGIN: f32 = 0.002;

/// The hits of an event, sorted by half, layer and x.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// x, mm.
    pub(super) x: Column<f32>,
    /// Number of each hit in the event.
    pub(super) source: Column<u32>,
    /// First hit of each layer and the one behind its last.
    begin: [u32; SLOTS],
    end: [u32; SLOTS],
    /// Per layer and bucket the first hit in it or behind it.
    first: Column<u32>,
    /// The same per bucket of the fine table, of one layer at a time; and the bits of that hit's x.
    next_place: Column<u32>,
    next: Column<u32>,
    /// Per cell, a bit for each x layer that has a hit within the tolerance of some place in it.
    marks: Column<u32>,
    /// Bucket of each hit of a layer, while tables are made.
    buckets: Column<u32>,
}

/// The first of the hits from `place` on that is not below `x`, and its x.
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

/// A layer of a half, to be searched.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
    pub(super) x: &'a [f32],
    pub(super) begin: u32,
    pub(super) end: u32,
    first: &'a [u32],
}

/// The bucket of an x.
#[inline(always)]
fn bucket<G: Gang>(g: G, x: F32<G>, width: f32, buckets: usize) -> U32<G> {
    let at = x.mul_add(F32::splat(g, 1.0 / width), F32::splat(g, REACH / width));
    at.max(F32::splat(g, 0.0)).min(F32::splat(g, (buckets - 1) as f32)).to_i32().to_bits()
}

/// Writes a value from `done` up to `upto`, and some more in whole gangs, which is written again later; the new `done`.
#[inline(always)]
fn fill_to<G: Gang>(g: G, row: &mut [u32], done: usize, upto: usize, value: u32) -> usize {
    let value = U32::splat(g, value);
    let mut at = done;
    // Once in any case: most hits are near, and so no branch is guessed wrongly.
    loop {
        value.store(&mut row[at..]);
        at += G::LANES;
        if at >= upto {
            return upto;
        }
    }
}

impl Index {
    /// Takes over the hits of an event, for a pass with this tolerance in x; says why it cannot.
    #[inline(always)]
    pub(super) fn fill<G: Gang>(
        &mut self,
        g: G,
        limits: &LimitConfig,
        tolerance: f32,
        hits: &SciFiBatch,
        event: usize,
    ) -> Status {
        let all = hits.of_event(event);
        let most = (0..SCIFI_ZONES).map(|zone| hits.of_zone(event, zone).len()).max().unwrap_or(0);
        if all.len() > limits.hits as usize || most > limits.hits_in_zone as usize {
            return Status::TooManyHits;
        }
        let room = all.len() + SLOTS * 2 * GUARD;
        self.x.set_len(room);
        self.source.set_len(room);
        self.first.set_len(SLOTS * BUCKETS);
        let mut to = 0;
        for slot in 0..SLOTS {
            let zone = hits.of_zone(event, ZONE[slot % HALF_LAYERS] + slot / HALF_LAYERS);
            let from = (zone.start - all.start) as u32;
            self.open(slot, &mut to);
            let status = self.copy(g, limits, &hits.x.padded()[zone.start..], zone.len(), to);
            if status != Status::Ok {
                return status;
            }
            for at in (0..zone.len()).step_by(G::LANES) {
                let number = U32::splat(g, from + at as u32) + U32::iota(g);
                number.store(&mut self.source.padded_mut()[to + at..]);
            }
            to += zone.len();
            self.close(slot, &mut to);
        }
        self.tabulate(g);
        self.mark(g, tolerance);
        Status::Ok
    }

    /// Takes over the hits of another index that are not used, for a pass with this tolerance in x.
    #[inline(always)]
    pub(super) fn keep_free<G: Gang>(&mut self, g: G, tolerance: f32, all: &Self, used: &[u32]) {
        let room = all.x.len();
        self.x.set_len(room);
        self.source.set_len(room);
        self.first.set_len(SLOTS * BUCKETS);
        let mut to = 0;
        for slot in 0..SLOTS {
            self.open(slot, &mut to);
            let (begin, end) = (all.begin[slot] as usize, all.end[slot] as usize);
            for at in (begin..end).step_by(G::LANES) {
                let free = U32::load(g, &used[at..]).eq(U32::splat(g, 0)) & Mask::first(g, end - at);
                F32::load(g, &all.x.padded()[at..]).store_packed(&mut self.x.padded_mut()[to..], free);
                let source = U32::load(g, &all.source.padded()[at..]);
                to += source.store_packed(&mut self.source.padded_mut()[to..], free);
            }
            self.close(slot, &mut to);
        }
        self.x.set_len(to);
        self.source.set_len(to);
        self.tabulate(g);
        self.mark(g, tolerance);
    }

    /// Begins a layer.
    #[inline(always)]
    fn open(&mut self, slot: usize, to: &mut usize) {
        self.x.padded_mut()[*to..*to + GUARD].fill(-FAR);
        *to += GUARD;
        self.begin[slot] = *to as u32;
    }

    /// Ends a layer.
    #[inline(always)]
    fn close(&mut self, slot: usize, to: &mut usize) {
        self.end[slot] = *to as u32;
        self.x.padded_mut()[*to..*to + GUARD].fill(FAR);
        *to += GUARD;
    }

    /// Copies the x of a layer, which must be finite, near the detector, and in order.
    #[inline(always)]
    fn copy<G: Gang>(&mut self, g: G, limits: &LimitConfig, from: &[f32], len: usize, to: usize) -> Status {
        let (mut finite, mut near) = (true, true);
        for at in (0..len).step_by(G::LANES) {
            let x = F32::load(g, &from[at..]);
            let (here, followed) = (Mask::first(g, len - at), Mask::first(g, len - at - 1));
            finite &= !here.and_not(x.abs().lt(F32::splat(g, f32::INFINITY))).any();
            near &= !here.and_not(x.abs().le(F32::splat(g, limits.coordinate))).any();
            near &= !followed.and_not(x.le(F32::load(g, &from[at + 1..]))).any();
            x.store(&mut self.x.padded_mut()[to + at..]);
        }
        match (finite, near) {
            (true, true) => Status::Ok,
            (true, false) => Status::OutOfRange,
            (false, _) => Status::NotFinite,
        }
    }

    /// Makes the tables of buckets.
    #[inline(always)]
    fn tabulate<G: Gang>(&mut self, g: G) {
        let (x, first) = (self.x.padded(), self.first.padded_mut());
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

    /// Marks where hits of the x layers are near.
    #[inline(always)]
    fn mark<G: Gang>(&mut self, g: G, tolerance: f32) {
        let reach = tolerance + MARGIN;
        let wide = (2.0 * reach / CELL).ceil() as usize + 1;
        self.marks.set_len(CELLS);
        self.marks.fill(0);
        let (x, marks) = (self.x.padded(), &mut self.marks[..CELLS]);
        for slot in (0..SLOTS).filter(|slot| slot % HALF_LAYERS < X_LAYERS) {
            let (begin, end) = (self.begin[slot] as usize, self.end[slot] as usize);
            self.buckets.reserve_total(end - begin);
            let cells = self.buckets.padded_mut();
            for at in (begin..end).step_by(G::LANES) {
                let from = F32::load(g, &x[at..]) - F32::splat(g, reach);
                bucket(g, from, CELL, CELLS).store(&mut cells[at - begin..]);
            }
            for &cell in &cells[..end - begin] {
                let cell = cell as usize;
                marks[cell..(cell + wide).min(CELLS)].iter_mut().for_each(|mark| *mark |= 1 << slot);
            }
        }
    }

    /// Makes the fine tables for a layer.
    #[inline(always)]
    pub(super) fn look_closely<G: Gang>(&mut self, g: G, half: usize, layer: usize) {
        let slot = half * HALF_LAYERS + layer;
        self.next.set_len(FINE_BUCKETS);
        self.next_place.set_len(FINE_BUCKETS);
        let (begin, end) = (self.begin[slot] as usize, self.end[slot] as usize);
        let (x, places) = (self.x.padded(), self.next_place.padded_mut());
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

    /// A hit at or before the first one that is not below `x`, of the layer of [`look_closely`](Self::look_closely): when
    /// this one is too large, there is none.
    #[inline(always)]
    pub(super) fn next<G: Gang>(&self, g: G, x: F32<G>) -> F32<G> {
        U32::gather(self.next.padded(), bucket(g, x, FINE_BUCKET, FINE_BUCKETS)).as_f32()
    }

    /// The first hit of that layer that is not below `x`, or the sentinel behind the last, and its x.
    #[inline(always)]
    pub(super) fn first_from<G: Gang>(&self, g: G, x: F32<G>) -> (U32<G>, F32<G>) {
        let x = x.min(F32::splat(g, SEARCHED));
        let bucket = bucket(g, x, FINE_BUCKET, FINE_BUCKETS);
        let place = U32::gather(self.next_place.padded(), bucket);
        not_below(self.x.padded(), place, x)
    }

    /// Lanes where a hit of an x layer may be within the tolerance that the index was made for.
    #[inline(always)]
    pub(super) fn is_marked<G: Gang>(&self, g: G, half: usize, layer: usize, x: F32<G>) -> Mask<G> {
        let marks = U32::gather(self.marks.padded(), bucket(g, x, CELL, CELLS));
        U32::splat(g, 0).lt(marks & U32::splat(g, 1 << (half * HALF_LAYERS + layer)))
    }

    /// A layer of a half.
    #[inline(always)]
    pub(super) fn layer(&self, half: usize, layer: usize) -> Layer<'_> {
        let slot = half * HALF_LAYERS + layer;
        Layer {
            x: self.x.padded(),
            begin: self.begin[slot],
            end: self.end[slot],
            first: &self.first.padded()[slot * BUCKETS..][..BUCKETS],
        }
    }

    /// The places of all hits of a half's x layers, sentinels between them included.
    pub(super) fn places(&self, half: usize, layers: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let slot = half * HALF_LAYERS;
        self.begin[slot + layers.start] as usize..self.end[slot + layers.end - 1] as usize
    }
}

/// A hit that was searched for.
#[derive(Clone, Copy)]
pub(super) struct Nearest<G: Gang> {
    pub(super) hit: U32<G>,
    pub(super) x: F32<G>,
    pub(super) distance: F32<G>,
}

impl Layer<'_> {
    /// The first hit that is not below `x`, or the sentinel behind the last, and its x.
    #[inline(always)]
    pub(super) fn lower_bound<G: Gang>(&self, g: G, x: F32<G>) -> (U32<G>, F32<G>) {
        let x = x.min(F32::splat(g, SEARCHED));
        not_below(self.x, U32::gather(self.first, bucket(g, x, BUCKET, BUCKETS)), x)
    }

    /// Places between which all hits from `low` to `high` lie, and some that are not far.
    #[inline(always)]
    pub(super) fn around<G: Gang>(&self, g: G, low: F32<G>, high: F32<G>) -> (U32<G>, U32<G>) {
        let from = U32::gather(self.first, bucket(g, low, BUCKET, BUCKETS));
        let next = bucket(g, high, BUCKET, BUCKETS) + U32::splat(g, 1);
        let is_last = next.eq(U32::splat(g, BUCKETS as u32));
        (from, is_last.select_u(U32::splat(g, self.end), U32::gather(self.first, next)))
    }

    /// The hit nearest to `x`; of two that are equally near the lower one.
    #[inline(always)]
    pub(super) fn nearest<G: Gang>(&self, g: G, x: F32<G>) -> Nearest<G> {
        let (above, above_x) = self.lower_bound(g, x);
        let below = above - U32::splat(g, 1);
        let below_x = F32::gather(self.x, below);
        let (up, down) = (above_x - x, x - below_x);
        let is_below = down.le(up);
        Nearest {
            hit: is_below.select_u(below, above),
            x: is_below.select_f(below_x, above_x),
            distance: is_below.select_f(down, up),
        }
    }
}
