//! Attach: finds hits in the UT for long tracks (Velo and SciFi), whose momentum is known; one track per lane.
//!
//! A track is two straight lines that meet at the kink of velo-ut's fit. Each hit near the predicted position in one of
//! the first three planes corrects the prediction for the later planes, where the nearest hits are taken. The
//! combination with the most hits is chosen; if equal, the one with the smallest distances. This is LHCb's method of
//! 2025 (Allen, `TrackMatchingAddUTHitsTools`), but positions are relative to the straight line of the Velo track.

use super::fit::{Track, field_integral};
use super::{Beside, Line, MIDDLE, NONE, SLOPE, Tally};
use crate::event::{Column, UT_PLANES, UtBatch};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};
use crate::ut::config::LineConfig;
use crate::ut::grid::Near;
use crate::ut::layout::UtLayout;
use crate::ut::store::UtStore;

/// Largest number of hits of one plane that are tried for a track; further hits are counted as dropped.
const SLOTS: usize = 16;
/// Number of planes that may contain the first hit: a track needs two hits.
const FIRST_PLANES: usize = UT_PLANES - 1;
/// Largest distance of the first hit from its expected position, by plane: constant, mm, part per 1/GeV, smallest and
/// largest value, mm.
const FIRST: [[f32; 4]; UT_PLANES] = [
    [0.8333, 33.333, 1.2, 8.5],
    [0.8333, 33.333, 1.2, 8.5],
    [1.3333, 33.333, 1.5, 9.5],
    [1.3333, 33.333, 1.5, 9.5],
];
/// Largest distance of later hits, in the form of `FIRST`; no later hit is in the first plane.
const NEXT: [[f32; 4]; UT_PLANES] =
    [[0.0; 4], [0.2, 6.0, 0.5, 2.0], [0.4, 12.0, 1.0, 4.0], [0.4, 12.0, 1.0, 4.0]];
/// Largest distance of a track beyond the end of a strip, mm.
const Y_TOLERANCE: f32 = 2.0;
/// Upper limit of the rounding error of the edge of a window, mm.
const ROUNDING: f32 = 0.05;
/// Field integral in T m times q/p in 1/GeV, divided by this constant, is a change of slope.
const PER_FIELD: f32 = 3.3356;
/// A value above any sum of squares of distances, mm^2.
const FAR: f32 = 1e9;

/// The tracks: x, y, tx, ty at the end of the Velo, mm; 1/p in 1/GeV, positive where the track bends to larger x.
#[derive(Debug, Default)]
pub(crate) struct Bent {
    pub(crate) line: Column<[f32; 4]>,
    pub(crate) bend: Column<f32>,
}

/// Hits found for tracks, and reused memory.
#[derive(Debug, Default)]
pub(crate) struct Attached {
    store: UtStore,
    /// Hits of the store near the tracks of a gang.
    slots: Slots,
    /// Per plane and track: index of the hit in the store, or [`NONE`].
    hits: [Column<u32>; UT_PLANES],
    /// Number of hits of each track.
    pub(crate) count: Column<f32>,
    /// Sum of the squares of the hits' distances from the positions predicted by the hits before them, mm^2.
    pub(crate) distance2: Column<f32>,
    /// Number of near hits that were left out.
    pub(crate) lost: u64,
    /// Number of lanes with work, and number of all lanes.
    pub(crate) lanes: [u64; 2],
}

/// Hits of the store near the tracks of a gang. A row holds the hits of one number in one plane, with a lane for each
/// track.
#[derive(Debug, Default)]
struct Slots {
    hit: Column<u32>,
    /// Distance of the hit in x from the track's straight line, mm; distance in z from the kink, mm; and their ratio, a
    /// change of slope.
    d: Column<f32>,
    lever: Column<f32>,
    turn: Column<f32>,
}

/// Returns the start of a row of slots.
#[inline(always)]
fn row<G: Gang>(_: G, plane: usize, number: usize) -> usize {
    (plane * SLOTS + number) * G::LANES
}

/// A track per lane: its line, and its course in the UT.
struct Course<G: Gang> {
    line: Line<G>,
    /// Change of the slope, and z of the kink.
    turn: F32<G>,
    kink: F32<G>,
    /// Absolute value of 1/p, 1/GeV.
    inverse_p: F32<G>,
}

impl<G: Gang> Course<G> {
    #[inline(always)]
    fn new(g: G, layout: &UtLayout, line: Line<G>, bend: F32<G>) -> Self {
        let real = inlined!(|value: f32| F32::splat(g, value));
        let [constant, part, square] = LineConfig::KINK;
        let part = line.ty.abs().mul_add(real(part), real(constant));
        let distance = (line.ty * line.ty).mul_add(real(square), part);
        let (_, change) = Track::new(g, layout, line).sine(line.tx);
        let turn = bend * field_integral(g, layout, &line).abs() / (change * real(PER_FIELD));
        Self { line, turn, kink: real(MIDDLE) - distance, inverse_p: bend.abs() }
    }

    /// Returns a tolerance, mm.
    #[inline(always)]
    fn tolerance(&self, g: G, [constant, part, least, most]: [f32; 4]) -> F32<G> {
        let real = inlined!(|value: f32| F32::splat(g, value));
        self.inverse_p.mul_add(real(part), real(constant)).max(real(least)).min(real(most))
    }

    /// Returns the window of the near hits of a plane.
    #[inline(always)]
    fn near(&self, g: G, layout: &UtLayout, plane: usize, tolerance: F32<G>) -> Near<G> {
        let real = inlined!(|value: f32| F32::splat(g, value));
        let (z, depth) = (real(layout.z[plane]), real(layout.depth[plane]));
        let [x, y] = self.line.at(z);
        let middle = y.neg_mul_add(real(SLOPE[plane]), (z - self.kink).mul_add(self.turn, x));
        let along = (self.line.ty.neg_mul_add(real(SLOPE[plane]), self.line.tx) + self.turn).abs();
        let reach = depth.mul_add(along, tolerance) + real(ROUNDING);
        let y_reach = depth.mul_add(self.line.ty.abs(), real(Y_TOLERANCE + ROUNDING));
        Near { plane, x: [middle - reach, middle + reach], y: [y - y_reach, y + y_reach] }
    }
}

/// Hits of one track per lane.
#[derive(Clone, Copy)]
struct Hits<G: Gang> {
    hits: [U32<G>; UT_PLANES],
    count: U32<G>,
    distance2: F32<G>,
    /// Turn of the track, corrected by the hits.
    turn: F32<G>,
}

impl<G: Gang> Hits<G> {
    #[inline(always)]
    fn none(g: G, distance2: f32) -> Self {
        let (none, count) = (U32::splat(g, NONE), U32::splat(g, 0));
        let (distance2, turn) = (F32::splat(g, distance2), F32::splat(g, 0.0));
        Self { hits: [none; UT_PLANES], count, distance2, turn }
    }

    /// Takes the values of `other` in `lanes`.
    #[inline(always)]
    fn or(&mut self, other: &Self, lanes: Mask<G>) {
        for plane in 0..UT_PLANES {
            self.hits[plane] = lanes.select_u(other.hits[plane], self.hits[plane]);
        }
        self.count = lanes.select_u(other.count, self.count);
        self.distance2 = lanes.select_f(other.distance2, self.distance2);
    }
}

impl Attached {
    /// Stores the hits of an event.
    #[inline(always)]
    pub(crate) fn fill<G: Gang>(&mut self, g: G, layout: &UtLayout, hits: &UtBatch, event: usize) {
        self.store.fill(g, layout, hits, event);
    }

    /// Returns the numbers in the event of a track's hits, by plane.
    #[inline(always)]
    pub(crate) fn hits_of(&self, track: usize) -> impl Iterator<Item = u32> {
        let places = self.hits.iter().map(move |plane| plane.padded()[track]);
        places.filter(|place| *place != NONE).map(|place| self.store.number[place as usize])
    }

    /// Finds the hits of all tracks.
    #[inline(always)]
    pub(crate) fn attach<G: Gang>(&mut self, g: G, layout: &UtLayout, tracks: &Bent) {
        let len = tracks.bend.len();
        self.slots.set_len(row(g, UT_PLANES, 0));
        self.hits.iter_mut().for_each(|plane| plane.set_len(len));
        self.count.set_len(len);
        self.distance2.set_len(len);
        let (mut tally, mut lost) = (Tally::new(g), U32::splat(g, 0));
        for at in (0..len).step_by(G::LANES) {
            let lanes = Mask::first(g, len - at);
            let row = lanes.select_u(U32::iota(g) + U32::splat(g, at as u32), U32::splat(g, 0));
            let line = Line::gather(g, tracks.line.padded(), row, layout.velo_z);
            let bend = F32::load(g, &tracks.bend.padded()[at..]);
            let course = Course::new(g, layout, line, lanes.select_f(bend, F32::splat(g, 1.0)));
            let (counts, left_out) = self.collect(g, layout, &course, lanes, &mut tally);
            lost = lost + left_out;
            self.slots.weigh(g, &self.store, &course, counts);
            let best = self.slots.choose(g, &course, counts, &mut tally);
            for (plane, hits) in self.hits.iter_mut().zip(best.hits) {
                hits.store(&mut plane.padded_mut()[at..]);
            }
            best.count.as_i32().to_f32().store(&mut self.count.padded_mut()[at..]);
            let some = U32::splat(g, 0).lt(best.count);
            let distance2 = some.select_f(best.distance2, F32::splat(g, 0.0));
            distance2.store(&mut self.distance2.padded_mut()[at..]);
        }
        self.lost = u64::from(lost.reduce_add(Mask::first(g, G::LANES)));
        let all = Mask::first(g, G::LANES);
        self.lanes = [u64::from(tally.active.reduce_add(all)), tally.steps * G::LANES as u64];
    }

    /// Writes the hits near the tracks in each plane into their slots; returns the numbers of these hits, and the
    /// number of hits left out.
    #[inline(always)]
    fn collect<G: Gang>(
        &mut self,
        g: G,
        layout: &UtLayout,
        course: &Course<G>,
        lanes: Mask<G>,
        tally: &mut Tally<G>,
    ) -> ([U32<G>; UT_PLANES], U32<G>) {
        let Self { store, slots, .. } = self;
        let whole = inlined!(|value: u32| U32::splat(g, value));
        let real = inlined!(|value: f32| F32::splat(g, value));
        let (mut counts, mut lost) = ([whole(0); UT_PLANES], whole(0));
        for (plane, found) in counts.iter_mut().enumerate() {
            let tolerance = course.tolerance(g, FIRST[plane]);
            let near = course.near(g, layout, plane, tolerance);
            let mut slot = U32::iota(g) + whole(row(g, plane, 0) as u32);
            let mut count = whole(0);
            store.view(layout).visit(
                g,
                &near,
                lanes,
                #[inline(always)]
                |hit, on| {
                    tally.step(on);
                    let [x0, z, low, high] = F32::gather_records(store.hits.padded(), hit);
                    let [x, y] = course.line.at(z);
                    let here = Beside { d: y.mul_add(real(SLOPE[plane]), x0) - x, z };
                    let reaches = (low - real(Y_TOLERANCE)).le(y) & y.le(high + real(Y_TOLERANCE));
                    let distance = course.turn.neg_mul_add(here.z - course.kink, here.d);
                    let good = on & reaches & distance.abs().le(tolerance);
                    let fits = good & count.lt(whole(SLOTS as u32));
                    lost = lost.count(good.and_not(fits));
                    hit.scatter(&mut slots.hit, slot, fits);
                    slot = fits.select_u(slot + whole(G::LANES as u32), slot);
                    count = count.count(fits);
                },
            );
            *found = count;
        }
        (counts, lost)
    }
}

impl Slots {
    fn set_len(&mut self, len: usize) {
        self.hit.set_len(len);
        for column in [&mut self.d, &mut self.lever, &mut self.turn] {
            column.set_len(len);
        }
    }

    /// Computes the positions of the hits relative to their tracks, once for all trials.
    #[inline(always)]
    fn weigh<G: Gang>(&mut self, g: G, store: &UtStore, course: &Course<G>, counts: [U32<G>; UT_PLANES]) {
        let all = Mask::first(g, G::LANES);
        for (plane, count) in counts.into_iter().enumerate() {
            for number in 0..count.reduce_max(all) {
                let at = row(g, plane, number as usize);
                let whole = inlined!(|value: u32| U32::splat(g, value));
                let hit = whole(number).lt(count).select_u(U32::load(g, &self.hit[at..]), whole(0));
                let here =
                    Beside::gather(store.hits.padded(), hit, &course.line, F32::splat(g, SLOPE[plane]));
                let lever = here.z - course.kink;
                here.d.store(&mut self.d[at..]);
                lever.store(&mut self.lever[at..]);
                (here.d / lever).store(&mut self.turn[at..]);
            }
        }
    }

    /// Returns the best hits of each track.
    #[inline(always)]
    fn choose<G: Gang>(
        &self,
        g: G,
        course: &Course<G>,
        counts: [U32<G>; UT_PLANES],
        tally: &mut Tally<G>,
    ) -> Hits<G> {
        let whole = inlined!(|value: u32| U32::splat(g, value));
        let mut best = Hits::none(g, FAR);
        for first in 0..FIRST_PLANES {
            for number in 0..SLOTS {
                // A combination that begins in this plane cannot win if the best has more hits than it can have.
                let on = whole(number as u32).lt(counts[first])
                    & best.count.lt(whole((UT_PLANES - first + 1) as u32));
                if !on.any() {
                    break;
                }
                let at = row(g, first, number);
                let mut found = Hits::none(g, 0.0);
                (found.hits[first], found.count) = (U32::load(g, &self.hit[at..]), whole(1));
                found.turn = mean(course.turn, F32::load(g, &self.turn[at..]));
                for (plane, &count) in counts.iter().enumerate().skip(first + 1) {
                    let tolerance = course.tolerance(g, NEXT[plane]);
                    let count = on.select_u(count, whole(0));
                    self.follow(g, &Plane { plane, count, tolerance }, &mut found, tally);
                }
                let better = best.count.lt(found.count)
                    | found.count.eq(best.count) & found.distance2.lt(best.distance2);
                best.or(&found, on & better & whole(1).lt(found.count));
            }
        }
        best
    }

    /// Takes the hit of a plane nearest to the track after its turn, if there is one, and corrects the turn by it.
    #[inline(always)]
    fn follow<G: Gang>(&self, g: G, of: &Plane<G>, found: &mut Hits<G>, tally: &mut Tally<G>) {
        let whole = inlined!(|value: u32| U32::splat(g, value));
        let turn = found.turn;
        let (mut nearest, mut taken, mut next) = (of.tolerance, whole(NONE), turn);
        for number in 0..SLOTS {
            let on = whole(number as u32).lt(of.count);
            if !on.any() {
                break;
            }
            tally.step(on);
            let at = row(g, of.plane, number);
            let (d, lever) = (F32::load(g, &self.d[at..]), F32::load(g, &self.lever[at..]));
            let distance = turn.neg_mul_add(lever, d).abs();
            let nearer = on & distance.lt(nearest);
            nearest = nearer.select_f(distance, nearest);
            taken = nearer.select_u(U32::load(g, &self.hit[at..]), taken);
            next = nearer.select_f(F32::load(g, &self.turn[at..]), next);
        }
        let has = taken.lt(whole(NONE));
        found.hits[of.plane] = taken;
        found.count = found.count.count(has);
        found.distance2 = has.select_f(nearest.mul_add(nearest, found.distance2), found.distance2);
        found.turn = has.select_f(mean(turn, next), turn);
    }
}

/// Returns a turn, corrected by the turn of a hit.
#[inline(always)]
fn mean<G: Gang>(turn: F32<G>, of_hit: F32<G>) -> F32<G> {
    F32::splat(turn.g, 0.5) * (turn + of_hit)
}

/// A plane whose near hits are in slots: number of these hits, and their largest distance, mm.
struct Plane<G: Gang> {
    plane: usize,
    count: U32<G>,
    tolerance: F32<G>,
}
