//! Selects Velo tracks that may reach the SciFi, and sorts them by extrapolated y, to find the few near a SciFi track.

use super::config::LongConfig;
use crate::event::{Column, VeloTracks};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};
use std::ops::Range;

/// z of the cut on the acceptance, and z of the comparison in y, mm.
const UT_Z: f32 = 2_484.6;
pub(super) const COMPARED_Z: f32 = 10_000.0;
/// Number of buckets in y, their width, and the lower end of the first bucket, mm.
const BUCKETS: usize = 256;
const WIDTH: f32 = 32.0;
const LOWEST: f32 = -0.5 * BUCKETS as f32 * WIDTH;

/// The selected Velo tracks by y, as columns for the search for pairs.
#[derive(Debug, Default)]
pub(super) struct Selected {
    /// Number of the track in the batch.
    pub(super) track: Column<u32>,
    /// x, slopes and z at the end of the Velo; y at the z of the comparison.
    pub(super) x: Column<f32>,
    pub(super) tx: Column<f32>,
    pub(super) ty: Column<f32>,
    pub(super) y: Column<f32>,
    pub(super) z: Column<f32>,
    pub(super) len: usize,
    /// First track of each bucket, and the end of the last bucket.
    begin: Begin,
    /// Numbers of the tracks before sorting, and their buckets.
    unsorted: Column<u32>,
    bucket: Column<u32>,
}

/// First track of each bucket, and the end of the last.
#[derive(Debug)]
struct Begin([u32; BUCKETS + 1]);

impl Default for Begin {
    fn default() -> Self {
        Self([0; BUCKETS + 1])
    }
}

/// Returns the bucket of a y.
#[inline(always)]
fn bucket<G: Gang>(g: G, y: F32<G>) -> U32<G> {
    let at = (y - F32::splat(g, LOWEST)) * F32::splat(g, 1.0 / WIDTH);
    at.max(F32::splat(g, 0.0)).min(F32::splat(g, (BUCKETS - 1) as f32)).to_i32().to_bits()
}

/// Returns y of tracks at the z of the comparison, given y, z and the slope at the end of the Velo.
#[inline(always)]
fn compared_y<G: Gang>(g: G, config: &LongConfig, [y, z, ty]: [F32<G>; 3]) -> F32<G> {
    F32::splat(g, config.scale_y) * (F32::splat(g, COMPARED_Z) - z).mul_add(ty, y)
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
            let mut forward = 0u64;
            for (lane, backward) in velo.backward.padded()[at..at + G::LANES].iter().enumerate() {
                forward |= u64::from(*backward == 0) << lane;
            }
            let forward = Mask::from_bits(g, forward) & Mask::first(g, range.end - at);
            let there = compared_y(g, config, [load(&end.y), load(&end.z), load(&end.ty)]);
            let accepted = outside & inside & forward;
            let number = U32::splat(g, at as u32) + U32::iota(g);
            number.store_packed(&mut self.unsorted.padded_mut()[len..], accepted);
            len += bucket(g, there).store_packed(&mut self.bucket.padded_mut()[len..], accepted);
        }
        self.len = len;
        self.sort();
        self.take(g, config, velo);
    }

    /// Puts the numbers of the tracks in the order of their buckets.
    #[inline(always)]
    fn sort(&mut self) {
        let Self { track, begin: Begin(begin), unsorted, bucket, len, .. } = self;
        let (unsorted, bucket) = (&unsorted.padded()[..*len], &bucket.padded()[..*len]);
        begin.fill(0);
        for &bucket in bucket {
            begin[(bucket as usize + 1).min(BUCKETS)] += 1;
        }
        let mut before = 0;
        for begin in begin.iter_mut() {
            before += *begin;
            *begin = before;
        }
        track.set_len(*len);
        for (&number, &bucket) in unsorted.iter().zip(bucket) {
            let place = &mut begin[(bucket as usize).min(BUCKETS)];
            track[*place as usize] = number;
            *place += 1;
        }
        // The entry of each bucket has moved to the end of the bucket, the start of the next.
        begin.copy_within(0..BUCKETS, 1);
        begin[0] = 0;
    }

    /// Fills the columns of the tracks, in their order.
    #[inline(always)]
    fn take<G: Gang>(&mut self, g: G, config: &LongConfig, velo: &VeloTracks) {
        let Self { track, x, tx, ty, y, z, len, .. } = self;
        for column in [&mut *x, &mut *tx, &mut *ty, &mut *y, &mut *z] {
            column.set_len(*len);
        }
        for at in (0..*len).step_by(G::LANES) {
            let lanes = Mask::first(g, *len - at);
            let number = lanes.select_u(U32::load(g, &track.padded()[at..]), U32::splat(g, 0));
            let end = &velo.end;
            let gather = inlined!(|column: &Column<f32>| F32::gather(column, number));
            let [end_y, end_z, end_ty] = [gather(&end.y), gather(&end.z), gather(&end.ty)];
            let columns = [&mut *x, &mut *tx, &mut *ty, &mut *y, &mut *z];
            let there = compared_y(g, config, [end_y, end_z, end_ty]);
            let values = [gather(&end.x), gather(&end.tx), end_ty, there, end_z];
            for (column, value) in columns.into_iter().zip(values) {
                value.store(&mut column.padded_mut()[at..]);
            }
        }
    }

    /// Returns the range of the tracks that may be within `distance` of `y`.
    #[inline(always)]
    pub(super) fn near(&self, y: f32, distance: f32) -> Range<usize> {
        self.begin.0[bucket_of(y - distance)] as usize..self.begin.0[bucket_of(y + distance) + 1] as usize
    }
}
