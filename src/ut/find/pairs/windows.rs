//! Windows: the hits that a track may have left in each plane, those of all tracks one behind the other; a lane a hit.

use super::super::{MIDDLE, SLOPE, SLOTS, Search};
use super::spans::Spans;
use crate::event::{Column, StageCounter, UT_PLANES, UtCellHits};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, for_each, inlined};

/// The hits of all windows.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// Distance from the track in x, and z, mm; number in the batch. At place 0 is none.
    pub(super) d: Column<f32>,
    pub(super) z: Column<f32>,
    pub(super) hit: Column<u32>,
    /// Tracks with hits in three planes, and where the hits of each plane are.
    pub(super) rows: Column<u32>,
    pub(super) lists: Column<Lists>,
}

/// The hits of a track: by plane the place of the first and how many there are.
#[repr(C)]
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct Lists {
    pub(super) first: [u32; UT_PLANES],
    pub(super) len: [u32; UT_PLANES],
}

/// A track, and how far from it hits of a plane may be, in all lanes.
struct Window<G: Gang> {
    line: [F32<G>; 4],
    z: F32<G>,
    plane: usize,
    tolerance: F32<G>,
    y_tolerance: F32<G>,
    y_slope: F32<G>,
}

/// Columns of hits: x and z at y = 0, lower and upper end, all as long as the first.
struct Hits<'a>([&'a [f32]; 4]);

/// Takes the hits of all windows; returns how many were left out.
#[inline(always)]
pub(super) fn windows<G: Gang>(
    g: G,
    search: &Search<'_>,
    (hits, lines, spans): (&UtCellHits, &Column<[f32; 4]>, &Spans),
    out: &mut Windows,
    stage: &mut StageCounter,
) -> u64 {
    let columns = [&hits.x, &hits.z, &hits.y_begin, &hits.y_end];
    let most = columns.iter().fold(usize::MAX, |most, column| most.min(column.padded().len()));
    let hits = Hits(columns.map(|column| &column.padded()[..most]));
    out.clear(spans.live.len());
    let real = inlined!(|value: f32| F32::splat(g, value));
    let (z, y_tolerance) = (real(search.layout.velo_z), real(search.config.y_tolerance));
    let (mut place, mut lost, mut kept) = (1, 0, 0);
    let (mut active, mut steps) = (0, 0);
    for &track in spans.live.iter() {
        let at = track as usize;
        let line = lines[at];
        let line = [real(line[0]), real(line[1]), real(line[2]), real(line[3])];
        let (mut lists, mut filled, begin) = (Lists { first: [0; 4], len: [0; 4] }, 0, place);
        for_each!(plane < UT_PLANES => {
            let span = &spans.planes[plane];
            let (tolerance, y_slope) = (real(span.tolerance[at]), real(span.y_slope[at]));
            let window = Window { line, z, plane, tolerance, y_tolerance, y_slope };
            let (first, len, more) = (span.first[at] as usize, span.len[at] as usize, span.more_len[at] as usize);
            let mut count = window.scan(g, &hits, (first, len), out, place);
            steps += 1;
            if len > G::LANES || more > 0 {
                let mut rest = inlined!(|first: usize, len: usize, begin: usize| {
                    for step in (begin..len).step_by(G::LANES) {
                        let to = place + count.min(SLOTS);
                        count += window.scan(g, &hits, (first + step, len - step), out, to);
                        steps += 1;
                    }
                });
                rest(first, len, G::LANES);
                rest(span.more_first[at] as usize, more, 0);
            }
            active += len + more;
            let few = count.min(SLOTS);
            lost += count - few;
            (lists.first[plane], lists.len[plane]) = (place as u32, few as u32);
            filled += usize::from(few > 0);
            place += few;
        });
        let enough = filled > 2;
        out.rows.padded_mut()[kept] = track;
        out.lists.padded_mut()[kept] = lists;
        kept += usize::from(enough);
        place = if enough { place } else { begin };
    }
    out.rows.set_len(kept);
    out.lists.set_len(kept);
    stage.lanes_active += active as u64;
    stage.lanes_total += (steps * G::LANES) as u64;
    lost as u64
}

impl Windows {
    /// Makes room for the hits of so many tracks, and for what gangs write beyond.
    #[inline(always)]
    fn clear(&mut self, tracks: usize) {
        let room = 1 + SLOTS * (UT_PLANES * tracks + 1);
        self.d.reserve_total(room);
        self.z.reserve_total(room);
        self.hit.reserve_total(room);
        (self.d.padded_mut()[0], self.z.padded_mut()[0], self.hit.padded_mut()[0]) = (0.0, MIDDLE, 0);
        self.rows.reserve_total(tracks);
        self.lists.reserve_total(tracks);
    }
}

impl<G: Gang> Window<G> {
    /// Writes the hits that are in the window to `place` and the following ones, of the first lanes of so many hits from one on:
    /// how many there are.
    #[inline(always)]
    fn scan(
        &self,
        g: G,
        Hits([xs, zs, lows, highs]): &Hits<'_>,
        (first, len): (usize, usize),
        out: &mut Windows,
        place: usize,
    ) -> usize {
        let [x, y, tx, ty] = self.line;
        let z = F32::load(g, &zs[first..]);
        let dz = z - self.z;
        let (x, y) = (dz.mul_add(tx, x), dz.mul_add(ty, y));
        let d = beside(g, self.plane, F32::load(g, &xs[first..]), y) - x;
        let t = d.abs().mul_add(self.y_slope, self.y_tolerance);
        let outside = (F32::load(g, &lows[first..]) - y).max(y - F32::load(g, &highs[first..]));
        let good = Mask::first(g, len) & d.abs().le(self.tolerance) & outside.le(t);
        let hit = U32::iota(g) + U32::splat(g, first as u32);
        d.store_packed(&mut out.d.padded_mut()[place..], good);
        z.store_packed(&mut out.z.padded_mut()[place..], good);
        hit.store_packed(&mut out.hit.padded_mut()[place..], good)
    }
}

/// x of hits at some y.
#[inline(always)]
fn beside<G: Gang>(g: G, plane: usize, x: F32<G>, y: F32<G>) -> F32<G> {
    if SLOPE[plane] == 0.0 { x } else { y.mul_add(F32::splat(g, SLOPE[plane]), x) }
}
