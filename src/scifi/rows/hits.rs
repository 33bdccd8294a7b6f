//! [`RowHits`]: x of an event's hits by half and layer, with distant sentinels around each layer, and a table with
//! the first hits of buckets.

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
/// x where no hit is, mm.
pub(super) const FAR: f32 = 1e9;
/// Far places behind each layer, and before the first. Place 0 is that of a hit that is not there.
pub(super) const GAP: usize = 8;
/// Width of a bucket, mm, and buckets of a layer: what lies beyond is in the outermost ones.
pub(super) const BUCKET: f32 = 8.0;
const BUCKETS: usize = 826;
/// Entries of a layer: one before its buckets, so that a bucket's own entry is that of the next one's predecessor.
const ENTRIES: usize = BUCKETS + 2;
/// Entries of the lower half.
pub(super) const UPPER: u32 = (HALF_LAYERS * ENTRIES) as u32;
/// Which of the two entries of a word is in its upper half.
const SECOND: u32 = if cfg!(target_endian = "little") { 1 } else { 0 };
/// Places that entries can name.
pub(super) const PLACES: usize = 1 << u16::BITS;

/// Hits by half, layer and x.
#[derive(Debug, Default)]
pub(super) struct RowHits {
    x: Column<f32>,
    /// Number of each hit in the event.
    source: Column<u32>,
    len: usize,
    /// First hit of each layer, and the place behind its last.
    begin: [u32; SLOTS],
    end: [u32; SLOTS],
    /// Hits of each layer below the outer part's inner edge, and those up to its other one.
    inner: [[usize; 2]; SLOTS],
    /// Per layer and bucket the first hit that is in it or in the one before; 0 where neither has any.
    first: Column<u16>,
    buckets: Column<u32>,
}

/// The bucket of an x.
#[inline(always)]
fn bucket<G: Gang>(g: G, x: F32<G>) -> U32<G> {
    let at = x.mul_add(F32::splat(g, 1.0 / BUCKET), F32::splat(g, REACH as f32 / BUCKET));
    at.max(F32::splat(g, 0.0)).min(F32::splat(g, (BUCKETS - 1) as f32)).to_i32().to_bits()
}

/// Four neighbouring hits: the place of the first, and their distances from an x.
#[derive(Clone, Copy)]
pub(super) struct Four<G: Gang> {
    pub(super) first: U32<G>,
    pub(super) away: [F32<G>; 4],
}

impl RowHits {
    /// Begins an event of at most so many hits.
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

    /// Takes over the hits of an event; says why it cannot.
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

    /// Takes over so many hits as the next layer.
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
        // From behind, so that the first of a bucket stays.
        for (place, &bucket) in (begin as u32..end as u32).zip(&buckets[..hits]).rev() {
            let (bucket, place) = (bucket as usize, place as u16);
            if let Some(two) = first.get_mut(bucket..bucket + 2) {
                two.copy_from_slice(&[place, place]);
            }
        }
    }

    /// Takes over the hits of others that are not used, by their places.
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

    /// Places, the far ones included.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Places of a layer's hits.
    #[inline(always)]
    pub(super) fn layer(&self, slot: usize) -> Range<usize> {
        self.begin[slot] as usize..self.end[slot] as usize
    }

    /// Numbers of the layer's hits that are not in the outer part.
    #[inline(always)]
    pub(super) fn inner(&self, slot: usize) -> Range<usize> {
        self.inner[slot][0]..self.inner[slot][1]
    }

    /// x of all places, mm, and behind them.
    #[inline(always)]
    pub(super) fn x(&self) -> &[f32] {
        self.x.padded()
    }

    /// x of these places, and of some behind them.
    #[inline(always)]
    pub(super) fn x_of(&self, places: Range<usize>) -> &[f32] {
        &self.x.padded()[places.start..places.end + PAD]
    }

    /// Number of a hit in the event.
    #[inline(always)]
    pub(super) fn source(&self, place: u32) -> u32 {
        self.source.padded()[place as usize]
    }

    /// Four neighbouring hits of a layer such that those between `low` and `high` are among them; of more than four those from the first
    /// on that is not below `low`. `upper` is 0 in the lower half, and [`UPPER`] in the upper one. Hits of layers behind are far.
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
            // Seldom: more hits than four.
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
    /// Distance of the nearest to a place this far from the x, and its number in the last two bits.
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

    /// The place that a number in the last two bits names, and how far it is from the x.
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
