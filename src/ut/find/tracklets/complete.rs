//! Complete: adds the hits of the other two planes that are nearest to a doublet's line, and fits all hits a first
//! time; one doublet per lane, of any track.

use super::tracklet::{PLANES, Tracklet};
use super::{Beside, Cuts, Doublets, KINK, Line, NONE, SLOT_BITS, Search, Tally, Tracks};
use crate::event::UT_PLANES;
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};
use crate::ut::grid::{MIDDLE, Stored};

/// Cosine of the angle of tilted strips.
const COSINE: f32 = 0.996_175_3;

/// Follows the lines of doublets to the other planes, a lane a doublet.
pub(super) struct Follow<'a, G: Gang> {
    pub(super) g: G,
    pub(super) store: &'a Stored<'a>,
    pub(super) tracks: &'a Tracks<'a>,
    pub(super) line: Line<G>,
    /// Slope of the doublet against the track's.
    pub(super) angle: F32<G>,
    /// Largest distance, mm.
    pub(super) tolerance: f32,
}

/// A plane that is searched: row and plane of each lane's window, and the slope of the strips.
pub(super) struct PlaneOf<G: Gang> {
    pub(super) place: U32<G>,
    pub(super) slope: F32<G>,
}

impl<G: Gang> Follow<'_, G> {
    /// The hit of a plane that is nearest to the line from hit `from` on; `from` and [`NONE`] where none is near.
    #[inline(always)]
    pub(super) fn nearest(
        &self,
        plane: PlaneOf<G>,
        from: Beside<G>,
        lanes: Mask<G>,
        tally: &mut Tally<G>,
    ) -> (Beside<G>, U32<G>) {
        let Self { g, store, tracks, line, angle, tolerance } = self;
        let whole = inlined!(|value: u32| U32::splat(*g, value));
        let count = lanes.select_u(U32::gather(tracks.counts, plane.place), whole(0));
        let slot = plane.place.shl::<SLOT_BITS>();
        let mut found = (from, whole(NONE));
        let mut nearest = F32::splat(*g, *tolerance);
        let mut number = whole(0);
        loop {
            let on = number.lt(count);
            if !on.any() {
                return found;
            }
            tally.step(on);
            let hit = U32::gather(tracks.slots, slot + number);
            let here = Beside::gather(store.hits, hit, line, plane.slope);
            let distance = (here.d - (here.z - from.z).mul_add(*angle, from.d)).abs();
            let nearer = on & distance.lt(nearest);
            nearest = nearer.select_f(distance, nearest);
            found = (here.select(nearer, found.0), nearer.select_u(hit, found.1));
            number = number + whole(1);
        }
    }
}

/// Completes all doublets.
#[inline(always)]
pub(crate) fn complete<G: Gang>(
    g: G,
    search: &Search<'_>,
    store: &Stored<'_>,
    tracks: &Tracks<'_>,
    doublets: &mut Doublets<'_>,
) -> Tally<G> {
    let Search { cuts, planes } = search;
    let whole = inlined!(|value: u32| U32::splat(g, value));
    let Doublets { row: rows, backward, hits, count: counts, chi2: chi2s, kick: kicks, len } = doublets;
    let [firsts, seconds, thirds, fourths] = hits;
    let mut tally = Tally::new(g);
    for at in (0..*len).step_by(G::LANES) {
        let lanes = Mask::first(g, *len - at);
        // What stands behind the last doublet may be of an event with more tracks.
        let row = lanes.select_u(U32::load(g, &rows[at..]), whole(0));
        let back = whole(0).lt(U32::load(g, &backward[at..]));
        let line = Line::gather(g, tracks.line, row, planes.velo_z);
        let slope = Tracklet::slopes(g, back);
        let first = U32::load(g, &firsts[at..]);
        let third = U32::load(g, &thirds[at..]);
        let a = Beside::gather(store.hits, first, &line, slope[0]);
        let c = Beside::gather(store.hits, third, &line, slope[2]);
        let angle = (c.d - a.d) / (c.z - a.z);
        let follow = Follow { g, store, tracks, line, angle, tolerance: cuts.hit_tolerance };
        let mut found = [(a, whole(NONE)), (c, whole(NONE))];
        for (role, found) in [1, 3].into_iter().zip(&mut found) {
            let (there, back_there) = (PLANES[0][role] as u32, PLANES[1][role] as u32);
            let place = row.shl::<2>() + back.select_u(whole(back_there), whole(there));
            *found = follow.nearest(PlaneOf { place, slope: slope[role] }, found.0, lanes, &mut tally);
        }
        let [(b, second), (d, fourth)] = found;
        let has = [second.lt(whole(NONE)), fourth.lt(whole(NONE))];
        let weight = Tracklet::weights(g, store.weight, [first, second, third, fourth], has);
        let tracklet = Tracklet { hits: [a, b, c, d], slope, weight, four: has[0] & has[1] };
        let count = whole(2).count(has[0]).count(has[1]);
        let [chi2, kick] = fit_kick(g, cuts, &line, &tracklet, count);
        second.store(&mut seconds[at..]);
        fourth.store(&mut fourths[at..]);
        chi2.store(&mut chi2s[at..]);
        kick.store(&mut kicks[at..]);
        count.store(&mut counts[at..]);
    }
    tally
}

/// Fits a line through the hits which the Velo track meets where the magnet's kick is put: chi2 per degree of freedom,
/// and the difference of the angles' sines before and behind the kick.
///
/// As in LHCb's program the cosine of tilted strips stands on one side of the equations only: it makes the chi2 of hits
/// far from the beam larger, which costs no tracks and removes ghosts there.
#[inline(always)]
fn fit_kick<G: Gang>(
    g: G,
    cuts: &Cuts,
    line: &Line<G>,
    tracklet: &Tracklet<G>,
    count: U32<G>,
) -> [F32<G>; 2] {
    let Tracklet { hits, slope, weight, .. } = tracklet;
    let real = inlined!(|value: f32| F32::splat(g, value));
    let lever = real(0.001 * (KINK - MIDDLE));
    let per_mm = real(1.0) / (real(KINK) - line.z);
    let per_error = real(1.0 / cuts.velo_slope_error);
    let root = per_mm * per_error;
    let velo = root * root;
    let (mut a, mut b, mut c) = (velo, velo * lever, velo * lever * lever);
    let (mut r, mut s) = (real(0.0), real(0.0));
    for role in 0..UT_PLANES {
        let Beside { d, z } = hits[role];
        let dz = tracklet.depth(g, role);
        let cosine = slope[role].eq(real(0.0)).select_f(real(1.0), real(COSINE));
        let [x, _] = line.at(z);
        let d = x.mul_add(real(1.0) - cosine, d);
        let w = weight[role];
        let wz = w * dz;
        let (wc, wzc) = (w * cosine, wz * cosine);
        (a, b, c) = (a + wc, b + wzc, wzc.mul_add(dz, c));
        (r, s) = (w.mul_add(d, r), wz.mul_add(d, s));
    }
    let scale = real(1.0) / b.neg_mul_add(b, a * c);
    let x = b.neg_mul_add(s, c * r) * scale;
    let t = b.neg_mul_add(r, a * s) * scale;
    let bend = t.mul_add(lever, x) * per_mm;
    let pull = bend * per_error;
    let mut chi2 = pull * pull;
    for role in 0..UT_PLANES {
        let dz = tracklet.depth(g, role);
        let rest = t.mul_add(dz, x) - hits[role].d;
        chi2 = (weight[role] * rest).mul_add(rest, chi2);
    }
    let freedom = (count - U32::splat(g, 1)).as_i32().to_f32();
    let sine = inlined!(|t: F32<G>| t * t.mul_add(t, real(1.0)).sqrt());
    let (before, behind) = (line.tx + bend, t.mul_add(real(0.001), line.tx));
    [chi2 / freedom, sine(before) - sine(behind)]
}
