//! [`RowHits`]: x of an event's hits by half and layer, with sentinels (values far from all hits) before and after the
//! hits of each layer, and a table of the first hit in each bucket of x.

use super::plan::REACH;
use crate::Status;
use crate::event::{Column, PAD, SciFiBatch};
use crate::scifi::config::SciFiConfig;
use crate::scifi::index::{check, has_too_many};
use crate::scifi::layers::{HALF_LAYERS, HALVES, ZONE};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use std::ops::Range;

/// Layers of both halves.
pub(super) const SLOTS: usize = HALVES * HALF_LAYERS;
/// x of a place without a hit, mm.
pub(super) const FAR: f32 = 1e9;
/// Number of far places after each layer, and before the first layer. Place 0 stands for a missing hit.
pub(super) const GAP: usize = 8;
/// Width of a bucket, mm, and number of buckets of a layer; hits beyond are in the outermost buckets.
pub(super) const BUCKET: f32 = 8.0;
const BUCKETS: usize = 826;
/// Number of entries of a layer. A hit of bucket b is in entries b and b + 1, so that entry b + 1 gives the first hit of
/// these two buckets.
const ENTRIES: usize = BUCKETS + 2;
/// Entries of the lower half.
pub(super) const UPPER: u32 = (HALF_LAYERS * ENTRIES) as u32;
/// Which of the two entries of a 32-bit word is in its upper half.
const SECOND: u32 = if cfg!(target_endian = "little") { 1 } else { 0 };
/// Number of places that entries can address.
pub(super) const PLACES: usize = 1 << u16::BITS;

/// Hits by half, layer and x.
#[derive(Debug, Default)]
pub(super) struct RowHits {
    x: Column<f32>,
    /// Number of each hit in the event.
    source: Column<u32>,
    len: usize,
    /// First hit of each layer, and the place after its last hit.
    begin: [u32; SLOTS],
    end: [u32; SLOTS],
    /// Numbers of the first hit of each layer that is not in the outer part, and of the hit after the last one.
    inner: [[usize; 2]; SLOTS],
    /// First hit of bucket e - 1 or e, per layer and entry e; 0 when both are empty.
    first: Column<u16>,
    buckets: Column<u32>,
}

/// Returns the bucket of an x.
#[inline(always)]
fn bucket<G: Gang>(g: G, x: F32<G>) -> U32<G> {
    let at = x.mul_add(F32::splat(g, 1.0 / BUCKET), F32::splat(g, REACH as f32 / BUCKET));
    at.max(F32::splat(g, 0.0)).min(F32::splat(g, (BUCKETS - 1) as f32)).to_i32().to_bits()
}

/// Four neighbouring hits: the place of the first one, and their distances from an x, mm.
#[derive(Clone, Copy)]
pub(super) struct Four<G: Gang> {
    pub(super) first: U32<G>,
    pub(super) away: [F32<G>; 4],
}

impl RowHits {
    /// Begins an event of at most `hits` hits.
    #[inline(always)]
    fn begin_event(&mut self, hits: usize) {
        let most = GAP * (SLOTS + 1) + hits;
        self.x.set_len(most);
        self.source.set_len(most);
        self.x[..GAP].fill(FAR);
        self.source[..GAP].fill(0);
        self.len = GAP;
        self.first.set_len(SLOTS * ENTRIES);
        self.first.fill(0);
    }

    /// Copies the hits of an event. Returns the reason when it cannot.
    #[inline(always)]
    pub(super) fn fill<G: Gang>(
        &mut self,
        g: G,
        config: &SciFiConfig,
        hits: &SciFiBatch,
        event: usize,
    ) -> Status {
        let (limits, all) = (&config.limits, hits.of_event(event));
        if has_too_many(limits, hits, event) || all.len() + GAP * (SLOTS + 1) > PLACES {
            return Status::TooManyHits;
        }
        self.begin_event(all.len());
        for slot in 0..SLOTS {
            let zone = hits.of_zone(event, ZONE[slot % HALF_LAYERS] + slot / HALF_LAYERS);
            let to = &mut self.x.padded_mut()[self.len..];
            let status = check(g, limits, &hits.x.padded()[zone.start..], zone.len(), Some(to));
            if status != Status::Ok {
                return status;
            }
            let first = U32::splat(g, (zone.start - all.start) as u32) + U32::iota(g);
            for at in (0..zone.len()).step_by(G::LANES) {
                let number = first + U32::splat(g, at as u32);
                number.store(&mut self.source.padded_mut()[self.len + at..]);
            }
            self.close(g, slot, zone.len(), config.rows.outer);
        }
        Status::Ok
    }

    /// Completes a layer of `hits` hits whose x are already stored.
    #[inline(always)]
    fn close<G: Gang>(&mut self, g: G, slot: usize, hits: usize, outer: f32) {
        let (begin, end) = (self.len, self.len + hits);
        self.x[end..end + GAP].fill(FAR);
        self.len = end + GAP;
        (self.begin[slot], self.end[slot]) = (begin as u32, end as u32);
        self.buckets.reserve_total(hits);
        let buckets = self.buckets.padded_mut();
        let (low, high) = (F32::splat(g, -outer), F32::splat(g, outer));
        let (mut below, mut above) = (0, 0);
        for at in (0..hits).step_by(G::LANES) {
            let x = F32::load(g, &self.x.padded()[begin + at..]);
            bucket(g, x).store(&mut buckets[at..]);
            let here = Mask::first(g, hits - at);
            below += (x.lt(low) & here).count();
            above += (high.lt(x) & here).count();
        }
        self.inner[slot] = [below, hits - above];
        let first = &mut self.first[slot * ENTRIES..][..ENTRIES];
        // In reverse order, so that the first hit of a bucket remains.
        for (place, &bucket) in (begin as u32..end as u32).zip(&buckets[..hits]).rev() {
            let (bucket, place) = (bucket as usize, place as u16);
            if let Some(two) = first.get_mut(bucket..bucket + 2) {
                two.copy_from_slice(&[place, place]);
            }
        }
    }

    /// Copies the hits of `all` that are not used; `used` is per place.
    #[inline(always)]
    pub(super) fn keep_free<G: Gang>(&mut self, g: G, all: &Self, used: &[u32], outer: f32) {
        self.begin_event(all.len);
        for slot in 0..SLOTS {
            let (begin, end) = (all.begin[slot] as usize, all.end[slot] as usize);
            let (mut to, from) = (self.len, self.len);
            for at in (begin..end).step_by(G::LANES) {
                let free = U32::load(g, &used[at..]).eq(U32::splat(g, 0)) & Mask::first(g, end - at);
                let x = F32::load(g, &all.x.padded()[at..]);
                x.store_packed(&mut self.x.padded_mut()[to..], free);
                let source = U32::load(g, &all.source.padded()[at..]);
                to += source.store_packed(&mut self.source.padded_mut()[to..], free);
            }
            self.close(g, slot, to - from, outer);
        }
    }

    /// Returns the number of places, including the far ones.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the places of a layer's hits.
    #[inline(always)]
    pub(super) fn layer(&self, slot: usize) -> Range<usize> {
        self.begin[slot] as usize..self.end[slot] as usize
    }

    /// Returns the numbers of a layer's hits that are not in the outer part.
    #[inline(always)]
    pub(super) fn inner(&self, slot: usize) -> Range<usize> {
        self.inner[slot][0]..self.inner[slot][1]
    }

    /// Returns x of all places, mm, and padding.
    #[inline(always)]
    pub(super) fn x(&self) -> &[f32] {
        self.x.padded()
    }

    /// Returns x of these places, mm, and padding.
    #[inline(always)]
    pub(super) fn x_of(&self, places: Range<usize>) -> &[f32] {
        &self.x.padded()[places.start..places.end + PAD]
    }

    /// Returns the number of a hit in the event.
    #[inline(always)]
    pub(super) fn source(&self, place: u32) -> u32 {
        self.source.padded()[place as usize]
    }

    /// Returns four neighbouring hits of a layer that include the hits between `low` and `high`; when there are more than
    /// four, they begin with the first hit that is not below `low`. `upper` is 0 in the lower half, and [`UPPER`] in the
    /// upper half. Missing hits are far away.
    #[inline(always)]
    pub(super) fn four<G: Gang>(
        &self,
        g: G,
        layer: usize,
        upper: U32<G>,
        [low, middle, high]: [F32<G>; 3],
    ) -> Four<G> {
        let row = U32::splat(g, (layer * ENTRIES + 1) as u32);
        let entry = bucket(g, low) + row + upper;
        let two = U32::gather(bytemuck::cast_slice(&self.first), entry.shr::<1>());
        let is_second = U32::splat(g, SECOND).eq(entry & U32::splat(g, 1));
        let mut first = is_second.select_u(two.shr::<16>(), two & U32::splat(g, PLACES as u32 - 1));
        let mut x = F32::gather_four(self.x.padded(), first);
        loop {
            // Rare case: more than four hits.
            let more = x[3].lt(high) & x[0].lt(low);
            if !more.any() {
                break;
            }
            for x in &x[..3] {
                first = first.count(more & x.lt(low));
            }
            x = F32::gather_four(self.x.padded(), first);
        }
        Four { first, away: [x[0] - middle, x[1] - middle, x[2] - middle, x[3] - middle] }
    }
}

impl<G: Gang> Four<G> {
    /// Returns the distance of the hit nearest to the place `at` from the x, with the hit's number in the last two bits.
    #[inline(always)]
    pub(super) fn nearest(&self, g: G, at: F32<G>) -> F32<G> {
        let mask = U32::splat(g, 0x7FFF_FFFC);
        let mut nearest = ((self.away[0] - at).to_bits() & mask).as_f32();
        for number in 1..4 {
            let distance = (self.away[number] - at).to_bits() & mask | U32::splat(g, number as u32);
            nearest = nearest.min(distance.as_f32());
        }
        nearest
    }

    /// Returns the place of the hit whose number is in the last two bits, and its distance from the x.
    #[inline(always)]
    pub(super) fn named(&self, g: G, nearest: F32<G>) -> (U32<G>, F32<G>) {
        let number = nearest.to_bits() & U32::splat(g, 3);
        let zero = U32::splat(g, 0);
        let (odd, upper) = (zero.lt(number & U32::splat(g, 1)), zero.lt(number & U32::splat(g, 2)));
        let [a, b, c, d] = self.away;
        let away = upper.select_f(odd.select_f(d, c), odd.select_f(b, a));
        (self.first + number, away)
    }
}
