//! Velo tracks that may reach the SciFi, sorted by where they would be behind it in y: only a few of them are near a track
//! there.

use super::config::LongConfig;
use crate::event::{Column, VeloTracks};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};
use std::ops::Range;

/// Where the acceptance is judged, and where y is compared, mm.
const UT_Z: f32 = 2_484.6;
pub(super) const COMPARED_Z: f32 = 10_000.0;
/// Buckets in y, their width, and the y of the first, mm.
const BUCKETS: usize = 128;
const WIDTH: f32 = 64.0;
const LOWEST: f32 = -0.5 * BUCKETS as f32 * WIDTH;

/// Velo tracks by y: what pairs need of them, as columns.
#[derive(Debug, Default)]
pub(super) struct Selected {
    /// Number of the track among those of the batch.
    pub(super) track: Column<u32>,
    /// x, slopes, at the end of the Velo; y where it is compared.
    pub(super) x: Column<f32>,
    pub(super) tx: Column<f32>,
    pub(super) ty: Column<f32>,
    pub(super) y: Column<f32>,
    pub(super) z: Column<f32>,
    pub(super) len: usize,
    /// First track of each bucket.
    begin: Vec<u32>,
    /// The same before they are sorted.
    unsorted: Column<u32>,
    unsorted_y: Column<f32>,
    bucket: Column<u32>,
}

/// The bucket of a y.
#[inline(always)]
fn bucket<G: Gang>(g: G, y: F32<G>) -> U32<G> {
    let at = (y - F32::splat(g, LOWEST)) * F32::splat(g, 1.0 / WIDTH);
    at.max(F32::splat(g, 0.0)).min(F32::splat(g, (BUCKETS - 1) as f32)).to_i32().to_bits()
}

#[inline(always)]
fn bucket_of(y: f32) -> usize {
    let at = (y - LOWEST) * (1.0 / WIDTH);
    let at = if at > 0.0 { at } else { 0.0 };
    (if at < (BUCKETS - 1) as f32 { at } else { (BUCKETS - 1) as f32 }) as usize
}

impl Selected {
    /// Selects and sorts the tracks of `range`.
    #[inline(always)]
    pub(super) fn select<G: Gang>(
        &mut self,
        g: G,
        config: &LongConfig,
        velo: &VeloTracks,
        range: Range<usize>,
    ) {
        self.unsorted.reserve_total(range.len());
        self.unsorted_y.reserve_total(range.len());
        self.bucket.reserve_total(range.len());
        let value = inlined!(|value| F32::splat(g, value));
        let (beam, end) = (&velo.beam, &velo.end);
        let mut len = 0;
        for at in range.clone().step_by(G::LANES) {
            let load = inlined!(|column: &Column<f32>| F32::load(g, &column.padded()[at..]));
            let (tx, ty) = (load(&beam.tx), load(&beam.ty));
            let dz = value(UT_Z) - load(&beam.z);
            let (x, y) = (dz.mul_add(tx, load(&beam.x)), dz.mul_add(ty, load(&beam.y)));
            let radius2 = x.mul_add(x, y * y);
            let outside = value(config.inner_radius * config.inner_radius).lt(radius2);
            let inside = tx.abs().le(value(config.max_tx)) & ty.abs().le(value(config.max_ty));
            let backward = &velo.backward.padded()[at..];
            let mut forward = 0u64;
            for (lane, backward) in backward.iter().take(G::LANES).enumerate() {
                forward |= u64::from(*backward == 0) << lane;
            }
            let forward = Mask::from_bits(g, forward) & Mask::first(g, range.end - at);
            let dz = value(COMPARED_Z) - load(&end.z);
            let there = value(config.scale_y) * dz.mul_add(load(&end.ty), load(&end.y));
            let accepted = outside & inside & forward;
            let number = U32::splat(g, at as u32) + U32::iota(g);
            number.store_packed(&mut self.unsorted.padded_mut()[len..], accepted);
            there.store_packed(&mut self.unsorted_y.padded_mut()[len..], accepted);
            len += bucket(g, there).store_packed(&mut self.bucket.padded_mut()[len..], accepted);
        }
        self.sort(velo, len);
    }

    /// Puts the tracks in the order of their buckets.
    #[inline(always)]
    fn sort(&mut self, velo: &VeloTracks, len: usize) {
        self.begin.clear();
        self.begin.resize(BUCKETS + 1, 0);
        for &bucket in &self.bucket.padded()[..len] {
            self.begin[bucket as usize + 1] += 1;
        }
        for bucket in 0..BUCKETS {
            self.begin[bucket + 1] += self.begin[bucket];
        }
        self.len = len;
        self.track.set_len(len);
        for column in [&mut self.x, &mut self.tx, &mut self.ty, &mut self.y, &mut self.z] {
            column.set_len(len);
        }
        for number in 0..len {
            let place = &mut self.begin[self.bucket.padded()[number] as usize];
            let to = *place as usize;
            *place += 1;
            let track = self.unsorted.padded()[number];
            let from = track as usize;
            self.track[to] = track;
            self.x[to] = velo.end.x[from];
            self.tx[to] = velo.end.tx[from];
            self.ty[to] = velo.end.ty[from];
            self.z[to] = velo.end.z[from];
            self.y[to] = self.unsorted_y.padded()[number];
        }
        // Each bucket's place has moved to its end, the beginning of the next.
        self.begin.copy_within(0..BUCKETS, 1);
        self.begin[0] = 0;
    }

    /// Where the tracks are that may be within `distance` of `y`.
    #[inline(always)]
    pub(super) fn near(&self, y: f32, distance: f32) -> Range<usize> {
        self.begin[bucket_of(y - distance)] as usize..self.begin[bucket_of(y + distance) + 1] as usize
    }
}
