//! Windows: lists the hits of each plane that may belong to a track, track after track; one hit per lane.

use super::super::{MIDDLE, SLOPE, SLOTS, Search};
use super::spans::{MORE, Spans};
use crate::event::{Column, PAD, StageCounter, UT_PLANES, UtCellHits};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};

/// Index of a hit that is near no line, which is the start of windows without hits; and the first index of real hits.
const NO_HIT: usize = 1;
const FIRST_PLACE: usize = 2;

/// The hits of all windows.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// Distance of the hit from the track in x, and z, mm; number in the batch. Index 0 stands for no hit; the distance
    /// at [`NO_HIT`] is NaN.
    pub(super) d: Column<f32>,
    pub(super) z: Column<f32>,
    pub(super) hit: Column<u32>,
    /// Tracks with hits in three planes, and their lists of hits.
    pub(super) rows: Column<u32>,
    pub(super) lists: Column<Lists>,
}

/// The hits of a track, by plane: index of the first hit, and number of hits.
#[repr(C)]
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct Lists {
    pub(super) first: [u32; UT_PLANES],
    pub(super) len: [u32; UT_PLANES],
}

/// A track and the tolerances for hits of a plane, the same in all lanes.
struct Window<G: Gang> {
    line: [F32<G>; 4],
    z: F32<G>,
    slope: F32<G>,
    tolerance: F32<G>,
    y_tolerance: F32<G>,
    y_slope: F32<G>,
}

/// Columns of hits: x and z at y = 0, lower and upper end in y.
type Hits<'a> = [&'a [f32]; 4];

/// Output columns for the hits of windows: distances, z, numbers.
struct Places<'a> {
    d: &'a mut [f32],
    z: &'a mut [f32],
    hit: &'a mut [u32],
}

/// Collects the hits of all windows; returns the number of hits left out.
#[inline(always)]
pub(super) fn windows<G: Gang>(
    g: G,
    search: &Search<'_>,
    (hits, lines, spans): (&UtCellHits, &Column<[f32; 4]>, &Spans),
    out: &mut Windows,
    stage: &mut StageCounter,
) -> u64 {
    // One length for all columns, for one bounds check.
    let columns = [&hits.x, &hits.z, &hits.y_begin, &hits.y_end];
    let most = columns.iter().fold(usize::MAX, |most, column| most.min(column.padded().len()));
    let hits: Hits<'_> = columns.map(|column| &column.padded()[..most]);
    let records = spans.planes.each_ref().map(|plane| &plane.windows[..lines.len()]);
    let (mut to, rows, lists) = out.places(spans.live.len());
    let real = inlined!(|value: f32| F32::splat(g, value));
    let (z, y_tolerance) = (real(search.layout.velo_z), real(search.config.y_tolerance));
    let (mut place, mut lost, mut kept) = (FIRST_PLACE, 0, 0);
    let (mut active, mut steps) = (0, 0);
    for &track in spans.live.iter() {
        let at = track as usize;
        let line = lines[at];
        let line = [real(line[0]), real(line[1]), real(line[2]), real(line[3])];
        let (mut list, mut filled, begin) = (Lists { first: [0; 4], len: [0; 4] }, 0, place);
        for plane in 0..UT_PLANES {
            let [first, len, tolerance, y_slope] = records[plane][at];
            let (first, len) = (first.to_bits() as usize, len.to_bits());
            let (slope, tolerance, y_slope) = (real(SLOPE[plane]), real(tolerance), real(y_slope));
            let window = Window { line, z, slope, tolerance, y_tolerance, y_slope };
            let in_row = (len & !MORE) as usize;
            let mut count = window.scan(g, hits, (first, in_row), &mut to, place);
            steps += 1;
            active += in_row;
            if len as usize > G::LANES {
                let further = if len & MORE == 0 { [0; 2] } else { spans.planes[plane].more_of(at) };
                let rest = (first + G::LANES, in_row.saturating_sub(G::LANES));
                for (first, len) in [rest, (further[0], further[1])] {
                    for step in (0..len).step_by(G::LANES) {
                        let place = place + count.min(SLOTS);
                        count += window.scan(g, hits, (first + step, len - step), &mut to, place);
                        steps += 1;
                    }
                }
                active += further[1];
            }
            let few = count.min(SLOTS);
            lost += count - few;
            (list.first[plane], list.len[plane]) = (if few > 0 { place } else { NO_HIT } as u32, few as u32);
            filled += usize::from(few > 0);
            place += few;
        }
        (rows[kept], lists[kept]) = (track, list);
        let enough = filled > 2;
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
    /// Returns room for the hits of `tracks` tracks and for writes of gangs beyond, and for the rows and lists of the
    /// tracks.
    #[inline(always)]
    fn places(&mut self, tracks: usize) -> (Places<'_>, &mut [u32], &mut [Lists]) {
        let room = FIRST_PLACE + SLOTS * UT_PLANES * tracks + 2 * PAD;
        let Self { d, z, hit, rows, lists } = self;
        d.reserve_total(room);
        z.reserve_total(room);
        hit.reserve_total(room);
        rows.reserve_total(tracks);
        lists.reserve_total(tracks);
        let (d, z, hit) = (d.padded_mut(), z.padded_mut(), hit.padded_mut());
        let most = d.len().min(z.len()).min(hit.len());
        (d[0], z[0], hit[0]) = (0.0, MIDDLE, 0);
        (d[NO_HIT], z[NO_HIT]) = (f32::NAN, MIDDLE);
        let places = Places { d: &mut d[..most], z: &mut z[..most], hit: &mut hit[..most] };
        (places, rows.padded_mut(), lists.padded_mut())
    }
}

impl<G: Gang> Window<G> {
    /// Tests a gang of at most `len` hits from number `first` on, writes the hits in the window from index `place` on,
    /// and returns their number.
    #[inline(always)]
    fn scan(
        &self,
        g: G,
        [xs, zs, lows, highs]: Hits<'_>,
        (first, len): (usize, usize),
        to: &mut Places<'_>,
        place: usize,
    ) -> usize {
        let [x, y, tx, ty] = self.line;
        let z = F32::load(g, &zs[first..]);
        let dz = z - self.z;
        let (x, y) = (dz.mul_add(tx, x), dz.mul_add(ty, y));
        let d = y.mul_add(self.slope, F32::load(g, &xs[first..])) - x;
        let t = d.abs().mul_add(self.y_slope, self.y_tolerance);
        let outside = (F32::load(g, &lows[first..]) - y).max(y - F32::load(g, &highs[first..]));
        let good = Mask::first(g, len) & d.abs().le(self.tolerance) & outside.le(t);
        let hit = U32::iota(g) + U32::splat(g, first as u32);
        d.store_packed(&mut to.d[place..], good);
        z.store_packed(&mut to.z[place..], good);
        hit.store_packed(&mut to.hit[place..], good)
    }
}
