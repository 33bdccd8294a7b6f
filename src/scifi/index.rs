//! The hits of an event as the search reads them: x alone, layer by layer of each half, between sentinels, and tables
//! from which both ends of a window come without a search.

use super::config::LimitConfig;
use super::layers::{HALF_LAYERS, HALVES, ZONE};
use crate::Status;
use crate::event::{Column, SCIFI_ZONES, SciFiBatch};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// Layers of both halves.
pub(super) const SLOTS: usize = HALVES * HALF_LAYERS;
/// Sentinels before and behind the hits of a layer.
const GUARD: usize = 8;
/// x of the sentinels, far beyond every hit and every prediction that is searched for, mm.
const FAR: f32 = 1e30;
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
    /// The x of that hit, per bucket of the fine table, of one layer at a time.
    next: Column<f32>,
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

/// The same for one value: the same operations.
#[inline(always)]
fn bucket_of(x: f32, width: f32, buckets: usize) -> usize {
    let at = x.mul_add(1.0 / width, REACH / width);
    let at = if at > 0.0 { at } else { 0.0 };
    let last = (buckets - 1) as f32;
    (if at < last { at } else { last }) as usize
}

impl Index {
    /// Takes over the hits of an event; says why it cannot.
    #[inline(always)]
    pub(super) fn fill<G: Gang>(
        &mut self,
        g: G,
        limits: &LimitConfig,
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
        Status::Ok
    }

    /// Takes over the hits of another index that are not used.
    #[inline(always)]
    pub(super) fn keep_free<G: Gang>(&mut self, g: G, all: &Self, used: &[u32]) {
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
            let mut done = slot * BUCKETS;
            for hit in self.begin[slot]..self.end[slot] {
                let upto = slot * BUCKETS + bucket_of(x[hit as usize], BUCKET, BUCKETS) + 1;
                let value = U32::splat(g, hit);
                // Whole gangs: what is written too much, in the next row too, is written again.
                while done < upto {
                    value.store(&mut first[done..]);
                    done += G::LANES;
                }
                done = upto;
            }
            let value = U32::splat(g, self.end[slot]);
            while done < (slot + 1) * BUCKETS {
                value.store(&mut first[done..]);
                done += G::LANES;
            }
        }
    }

    /// Makes the fine table for a layer.
    #[inline(always)]
    pub(super) fn look_closely<G: Gang>(&mut self, g: G, half: usize, layer: usize) {
        let slot = half * HALF_LAYERS + layer;
        self.next.set_len(FINE_BUCKETS);
        let (x, next) = (self.x.padded(), self.next.padded_mut());
        let mut done = 0;
        for &x in &x[self.begin[slot] as usize..self.end[slot] as usize] {
            let upto = bucket_of(x, FINE_BUCKET, FINE_BUCKETS) + 1;
            let value = F32::splat(g, x);
            while done < upto {
                value.store(&mut next[done..]);
                done += G::LANES;
            }
            done = upto;
        }
        next[done..FINE_BUCKETS].fill(FAR);
    }

    /// A hit at or before the first one that is not below `x`, of the layer of [`look_closely`](Self::look_closely): when
    /// this one is too large, there is none.
    #[inline(always)]
    pub(super) fn next<G: Gang>(&self, g: G, x: F32<G>) -> F32<G> {
        F32::gather(self.next.padded(), bucket(g, x, FINE_BUCKET, FINE_BUCKETS))
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
        let mut hit = U32::gather(self.first, bucket(g, x, BUCKET, BUCKETS));
        let mut there = F32::gather(self.x, hit);
        loop {
            let below = there.lt(x);
            if !below.any() {
                return (hit, there);
            }
            hit = hit.count(below);
            there = F32::gather(self.x, hit);
        }
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
    /// The same of the hits from `begin` to `end`; far away when there is none.
    #[inline(always)]
    pub(super) fn nearest_within<G: Gang>(&self, g: G, x: F32<G>, begin: U32<G>, end: U32<G>) -> Nearest<G> {
        let (first, first_x) = self.lower_bound(g, x);
        let above = first.max(begin).min(end);
        let below = above - U32::splat(g, 1);
        let far = F32::splat(g, FAR);
        let above_x = match above.eq(first).all() {
            true => first_x,
            false => F32::gather(self.x, above),
        };
        let below_x = F32::gather(self.x, below);
        let up = above.lt(end).select_f((above_x - x).abs(), far);
        let down = below.lt(begin).select_f(far, (x - below_x).abs());
        let is_below = down.le(up);
        Nearest {
            hit: is_below.select_u(below, above),
            x: is_below.select_f(below_x, above_x),
            distance: is_below.select_f(down, up),
        }
    }
}
