//! Spans: finds the ranges of hits, sorted by cell, whose cells a track's windows touch; one track per lane.
//!
//! The half width of a window is the bend of a particle of the smallest momentum. The hits of a window in its lowest
//! row of sectors are one range. The few windows that touch several rows are listed, and a second loop finds their
//! further ranges with full lanes.

use super::super::fit::Track;
use super::super::tracklets::{BENDING, LAST_BIN, MAX_INVERSE_ANGLE, ROUNDING};
use super::super::{Line, SLOPE, Search};
use crate::event::{Column, UT_PLANES};
use crate::simd::varying::{F32, I32, Mask, U32};
use crate::simd::{Gang, inlined};
use crate::ut::layout::FACTORS;

/// Smallest change of slope per unit of 1/p; smaller values are replaced by it.
const MIN_KICK: f32 = 1e-12;

/// Mark in a number of hits: there are hits in further rows.
pub(super) const MORE: u32 = 1 << 31;

/// The windows of the tracks, in the order of selection.
#[derive(Debug, Default)]
pub(super) struct Spans {
    pub(super) planes: [Plane; UT_PLANES],
    /// Factor from a difference of sines to q/p in 1/MeV.
    pub(super) per_kick: Column<f32>,
    /// Distance from the kink, where lines of hits meet the track, to the middle of the UT, mm.
    pub(super) kink: Column<f32>,
    /// Largest slope of pairs relative to the track.
    pub(super) max_slope: Column<f32>,
    /// Number of planes with near hits.
    filled: Column<u32>,
    /// Tracks with near hits in three planes.
    pub(super) live: Column<u32>,
}

/// The windows of one plane.
#[derive(Debug, Default)]
pub(super) struct Plane {
    /// First hit and number of hits in the lowest row with hits, both as bits, with [`MORE`] in the number if further
    /// rows have hits; largest distance of hits in x, mm, and growth of the tolerance in y per mm of that distance.
    pub(super) windows: Column<[f32; 4]>,
    /// First hit and number of hits in further rows.
    more: [Column<u32>; 2],
    /// Windows that touch several rows: their tracks, and their ends in the upper rows.
    several: Column<u32>,
    ends: [Column<u32>; 2],
}

/// A track per lane, and the parameters of its windows.
struct Bent<G: Gang> {
    line: Line<G>,
    /// Bending of a particle of the smallest momentum in the middle of the UT, mm.
    bending: F32<G>,
    /// Bin of |ty| in the table of factors.
    bin: U32<G>,
}

/// Finds the hits that the windows of all tracks touch; `starts` are the first hits of the event's cells.
#[inline(always)]
pub(super) fn spans<G: Gang>(
    g: G,
    search: &Search<'_>,
    starts: &[u32],
    lines: &Column<[f32; 4]>,
    spans: &mut Spans,
) {
    let count = lines.len();
    spans.set_len(count);
    let (Search { config, layout, .. }, real) = (search, inlined!(|value: f32| F32::splat(g, value)));
    let mut listed = [0; UT_PLANES];
    for at in (0..count).step_by(G::LANES) {
        let row = U32::iota(g) + U32::splat(g, at as u32);
        let line = Line::gather(g, lines.padded(), row, layout.velo_z);
        let track = Track::new(g, layout, line);
        let inverse_angle = (real(1.0) / track.angle()).min(real(MAX_INVERSE_ANGLE));
        let momentum = (real(config.min_pt) * inverse_angle).max(real(config.min_momentum));
        let bin = line.ty.abs().mul_add(real(100.0), real(0.5)).to_i32();
        let bin = bin.max(I32::splat(g, 0)).min(I32::splat(g, LAST_BIN)).to_bits();
        let bent = Bent { line, bending: real(1.0) / (real(BENDING) * momentum), bin };
        let mut filled = U32::splat(g, 0);
        // The loop over the planes is not unrolled: code that runs a few times per event must not fill the instruction
        // cache.
        for (plane, listed) in listed.iter_mut().enumerate() {
            let out = &mut spans.planes[plane];
            let (len, several) = bent.touch(g, search, (starts, plane), out, (at, *listed));
            let several = several & Mask::first(g, count - at);
            *listed += row.store_packed(&mut out.several.padded_mut()[*listed..], several);
            filled = filled.count(U32::splat(g, 0).lt(len));
        }
        filled.store(&mut spans.filled.padded_mut()[at..]);
        track.per_kick.store(&mut spans.per_kick.padded_mut()[at..]);
        track.kink(g, config.line.kink).store(&mut spans.kink.padded_mut()[at..]);
        steepest(g, search, &track).store(&mut spans.max_slope.padded_mut()[at..]);
    }
    for (plane, listed) in spans.planes.iter_mut().zip(listed) {
        plane.touch_upper(g, search, starts, (&mut spans.filled, listed));
    }
    let mut kept = 0;
    for at in (0..count).step_by(G::LANES) {
        let filled = U32::load(g, &spans.filled.padded()[at..]);
        let enough = U32::splat(g, 2).lt(filled) & Mask::first(g, count - at);
        let row = U32::iota(g) + U32::splat(g, at as u32);
        kept += row.store_packed(&mut spans.live.padded_mut()[kept..], enough);
    }
    spans.live.set_len(kept);
}

impl Spans {
    fn set_len(&mut self, count: usize) {
        for Plane { windows, more, several, ends } in &mut self.planes {
            windows.set_len(count);
            more.iter_mut().chain([several]).chain(ends).for_each(|column| column.set_len(count));
        }
        let Self { per_kick, kink, max_slope, filled, live, .. } = self;
        [per_kick, kink, max_slope].into_iter().for_each(|column| column.set_len(count));
        [filled, live].into_iter().for_each(|column| column.set_len(count));
    }
}

impl<G: Gang> Bent<G> {
    /// Writes the hits that windows of a plane touch in their lowest row, from track `at` on, and the packed ends of
    /// the windows in upper rows, from index `listed` on. Returns the numbers of hits, and the lanes with windows in
    /// upper rows.
    #[inline(always)]
    fn touch(
        &self,
        g: G,
        search: &Search<'_>,
        (starts, plane): (&[u32], usize),
        out: &mut Plane,
        (at, listed): (usize, usize),
    ) -> (U32<G>, Mask<G>) {
        let Search { config, layout, .. } = search;
        let real = inlined!(|value: f32| F32::splat(g, value));
        let Self { line, bending, bin } = self;
        let (slope, depth, rounding) = (real(SLOPE[plane]), real(layout.depth[plane]), real(ROUNDING));
        let factor = if 2 * G::LANES == FACTORS {
            F32::look_up(&layout.factors[plane], *bin)
        } else {
            F32::gather(&layout.factors[plane], *bin)
        };
        let (tolerance, y_slope) = (factor * *bending, factor.abs() * real(config.y_tolerance_slope));
        let [x, y] = line.at(real(layout.z[plane]));
        let (middle, along) = (y.neg_mul_add(slope, x), line.ty.neg_mul_add(slope, line.tx).abs());
        let reach = depth.mul_add(along, tolerance) + rounding;
        let beyond = tolerance.mul_add(y_slope, real(config.y_tolerance));
        let y_reach = depth.mul_add(line.ty.abs(), beyond) + rounding;
        let (across, up) = ([middle - reach, middle + reach], [y - y_reach, y + y_reach]);
        let touched = layout.cells.touched(g, plane, across, up);
        let [first, len] = layout.cells.hits(starts, touched.ends);
        let record = [first.as_f32(), len.as_f32(), tolerance, y_slope];
        F32::store_records(record, &mut out.windows.padded_mut()[at..]);
        let several = U32::splat(g, 0).lt(touched.beyond);
        for (ends, end) in out.ends.iter_mut().zip(touched.above(g)) {
            end.store_packed(&mut ends.padded_mut()[listed..], several);
        }
        (len, several)
    }
}

impl Plane {
    /// Returns the first hit and the number of hits of a window in further rows.
    #[inline(always)]
    pub(super) fn more_of(&self, track: usize) -> [usize; 2] {
        [self.more[0][track] as usize, self.more[1][track] as usize]
    }

    /// Writes the hits that the listed windows touch in upper rows; `filled` counts planes with hits.
    #[inline(always)]
    fn touch_upper<G: Gang>(
        &mut self,
        g: G,
        search: &Search<'_>,
        starts: &[u32],
        (filled, listed): (&mut Column<u32>, usize),
    ) {
        let Self { windows, more, several, ends: [left, right] } = self;
        let records: &mut [u32] = bytemuck::cast_slice_mut(&mut windows[..]);
        let (zero, one) = (U32::splat(g, 0), U32::splat(g, 1));
        for at in (0..listed).step_by(G::LANES) {
            let row = U32::load(g, &several.padded()[at..]);
            let ends = [U32::load(g, &left.padded()[at..]), U32::load(g, &right.padded()[at..])];
            let [first, len] = search.layout.cells.hits(starts, ends);
            let some = zero.lt(len) & Mask::first(g, listed - at);
            let record = row.shl::<2>();
            let lowest = U32::gather(records, record + one);
            // If the lowest row has no hits, these hits are the first range.
            let alone = lowest.eq(zero) & some;
            let further = some.and_not(alone);
            first.scatter(records, record, alone);
            alone.select_u(len, lowest | U32::splat(g, MORE)).scatter(records, record + one, some);
            first.scatter(&mut more[0], row, further);
            len.scatter(&mut more[1], row, further);
            (U32::gather(filled, row) + one).scatter(filled, row, alone);
        }
    }
}

/// Returns the largest slope of pairs relative to the tracks: steep enough, with a margin, for the smallest momentum
/// and transverse momentum, but within the tolerance.
#[inline(always)]
fn steepest<G: Gang>(g: G, search: &Search<'_>, track: &Track<G>) -> F32<G> {
    let real = inlined!(|value: f32| F32::splat(g, value));
    let config = search.config;
    let (per_p, per_pt) = (real(1.0 / config.final_momentum), real(1.0 / config.final_pt));
    let largest = (track.angle() * per_pt).min(per_p) * real(config.line.pair_margin);
    (largest / track.per_kick.abs().max(real(MIN_KICK))).min(real(config.slope_tolerance))
}
