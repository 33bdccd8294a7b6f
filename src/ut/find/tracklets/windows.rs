//! Windows: finds the hits in each plane that may belong to a track; one track per lane.
//!
//! The magnet bends a particle of the smallest momentum by `tolerance` in x. A hit is accepted if it is at most
//! `tolerance` in x from the track's straight line, and if the line passes the strip within a tolerance in y. If
//! `sectors` is not 0, the hit must also be in one of the `sectors` groups of sectors nearest to the track, but not in
//! a plane's outermost groups; hits are then sorted by group: the track's own, the left one, the right one, and so on.

use super::{Line, Planes, SLOPE, SLOT_BITS, SLOTS, Search, Tally, Tracks};
use crate::simd::varying::{F32, I32, Mask, U32};
use crate::simd::{Gang, inlined};
use crate::ut::grid::{Near, Stored};

/// More than rounding moves the edge of a window, mm.
pub(crate) const ROUNDING: f32 = 0.05;
/// 1/MeV: a momentum times this is one over the deflection in mm at the middle of the UT.
pub(crate) const BENDING: f32 = 4.0212e-5;
/// What 1 over the angle to the beam counts at most.
pub(crate) const MAX_INVERSE_ANGLE: f32 = 500.0;
/// The last bin of |ty| in the table of plane factors that is used.
pub(crate) const LAST_BIN: i32 = 29;

/// How far from the line hits of one plane may be, lane by lane.
struct Window<G: Gang> {
    plane: usize,
    slope: F32<G>,
    /// Deflection at the plane over that in the middle of the UT.
    factor: F32<G>,
    tolerance: F32<G>,
    y_tolerance: F32<G>,
    y_tolerance_slope: F32<G>,
    own_group: I32<G>,
}

impl<G: Gang> Window<G> {
    /// Whether hits, of which records are given, may be the track's.
    #[inline(always)]
    fn holds(&self, [x0, z, low, high]: [F32<G>; 4], line: &Line<G>) -> Mask<G> {
        let [x, y] = line.at(z);
        let d = y.mul_add(self.slope, x0) - x;
        let t = (d * self.factor).abs().mul_add(self.y_tolerance_slope, self.y_tolerance);
        d.abs().le(self.tolerance) & (low - t).le(y) & y.le(high + t)
    }

    /// Where hits of the window can be: a little more, as the plane has a depth.
    #[inline(always)]
    fn near(&self, g: G, planes: &Planes<'_>, line: &Line<G>) -> Near<G> {
        let depth = F32::splat(g, planes.depth[self.plane]);
        let [x, y] = line.at(F32::splat(g, planes.z[self.plane]));
        let middle = y.neg_mul_add(self.slope, x);
        let along = line.ty.neg_mul_add(self.slope, line.tx).abs();
        let reach = depth.mul_add(along, self.tolerance) + F32::splat(g, ROUNDING);
        let t = (self.tolerance * self.factor).mul_add(self.y_tolerance_slope, self.y_tolerance);
        let y_reach = depth.mul_add(line.ty.abs(), t) + F32::splat(g, ROUNDING);
        Near { plane: self.plane, x: [middle - reach, middle + reach], y: [y - y_reach, y + y_reach] }
    }
}

/// Finds the hits of all tracks, and the tracks with hits in three planes; returns how many hits were left out.
#[inline(always)]
pub(crate) fn windows<G: Gang>(
    g: G,
    search: &Search<'_>,
    store: &Stored<'_>,
    tracks: &mut Tracks<'_>,
) -> (u32, Tally<G>) {
    let Search { cuts, planes } = search;
    let whole = inlined!(|value: u32| U32::splat(g, value));
    let real = inlined!(|value: f32| F32::splat(g, value));
    let Tracks { len, line: lines, slots, counts, rows, kept } = tracks;
    let count = *len;
    let mut seek = Seek { search, store, slots, tally: Tally::new(g), lost: whole(0) };
    *kept = 0;
    for at in (0..count).step_by(G::LANES) {
        let lanes = Mask::first(g, count - at);
        let row = U32::iota(g) + whole(at as u32);
        let line = Line::gather(g, lines, row, planes.velo_z);
        let angle = line.tx.mul_add(line.tx, line.ty * line.ty).sqrt();
        let inverse_angle = (real(1.0) / angle).min(real(MAX_INVERSE_ANGLE));
        let momentum = (real(cuts.min_pt) * inverse_angle).max(real(cuts.min_momentum));
        let bending = real(BENDING) * momentum;
        let bin = line.ty.abs().mul_add(real(100.0), real(0.5)).to_i32();
        let bin = bin.max(I32::splat(g, 0)).min(I32::splat(g, LAST_BIN)).to_bits().shl::<2>();
        let mut filled = whole(0);
        for (plane, &slope) in SLOPE.iter().enumerate() {
            let factor = real(1.0) / F32::gather(planes.plane_factor, bin + whole(plane as u32));
            let [x, _] = line.at(real(planes.z[plane]));
            let window = Window {
                plane,
                slope: real(slope),
                factor,
                tolerance: factor / bending,
                y_tolerance: real(cuts.y_tolerance),
                y_tolerance_slope: real(cuts.y_tolerance_slope),
                own_group: if cuts.sectors > 0 { own_group(g, planes, plane, x) } else { I32::splat(g, 0) },
            };
            let place = row.shl::<2>() + whole(plane as u32);
            let hits = seek.hits(g, &window, &line, lanes, place);
            hits.scatter(counts, place, lanes);
            filled = filled.count(whole(0).lt(hits));
        }
        let enough = lanes & whole(2).lt(filled);
        *kept += row.store_packed(&mut rows[*kept..], enough);
    }
    (seek.lost.reduce_add(Mask::first(g, G::LANES)), seek.tally)
}

/// The loops over hits.
struct Seek<'a, G: Gang> {
    search: &'a Search<'a>,
    store: &'a Stored<'a>,
    slots: &'a mut [u32],
    tally: Tally<G>,
    /// Hits that found no slot.
    lost: U32<G>,
}

impl<G: Gang> Seek<'_, G> {
    /// Writes the hits of a plane's windows into the slots of `place`, and returns how many there are.
    #[inline(always)]
    fn hits(&mut self, g: G, window: &Window<G>, line: &Line<G>, lanes: Mask<G>, place: U32<G>) -> U32<G> {
        let Self { search: Search { cuts, planes }, store, .. } = *self;
        let plane = window.plane;
        let whole = inlined!(|value: u32| U32::splat(g, value));
        let inner = [planes.first_group[plane], planes.first_group[plane + 1]];
        let slot = place.shl::<SLOT_BITS>();
        let mut count = whole(0);
        store.visit(
            g,
            &window.near(g, planes, line),
            lanes,
            #[inline(always)]
            |hit, on| {
                self.tally.step(on);
                let mut good = on & window.holds(F32::gather_records(store.hits, hit), line);
                if cuts.sectors > 0 {
                    let group = U32::gather(store.group, hit);
                    let ring = ring_of(g, group.as_i32(), window.own_group);
                    good = good
                        & ring.lt(whole(cuts.sectors))
                        & whole(inner[0]).lt(group)
                        & group.lt(whole(inner[1] - 1));
                }
                let fits = good & count.lt(whole(SLOTS as u32));
                self.lost = self.lost.count(good.and_not(fits));
                hit.scatter(self.slots, slot + count, fits);
                count = count.count(fits);
            },
        );
        if cuts.sectors > 0 && whole(1).lt(count).any() {
            let mut lanes = [[0; MOST_LANES]; 3];
            let [owns, firsts, counts] = &mut lanes;
            window.own_group.to_bits().store(owns);
            slot.store(firsts);
            count.store(counts);
            order_by_ring(store, lanes.each_ref().map(|values| &values[..G::LANES]), self.slots);
        }
        count
    }
}

/// The group of sectors that an x is in; one less than the first of the plane when it is left of them all.
#[inline(always)]
fn own_group<G: Gang>(g: G, planes: &Planes<'_>, plane: usize, x: F32<G>) -> I32<G> {
    let groups = planes.first_group[plane] as usize..planes.first_group[plane + 1] as usize;
    let mut own = U32::splat(g, groups.start as u32);
    for &left in &planes.group_x[groups] {
        own = own.count(F32::splat(g, left).lt(x));
    }
    own.as_i32() - I32::splat(g, 1)
}

/// 0 for the own group, 1 for the one to the left of it, 2 to the right, 3 for the next to the left, and so on.
#[inline(always)]
fn ring_of<G: Gang>(g: G, group: I32<G>, own: I32<G>) -> U32<G> {
    let twice = (group - own).shl::<1>();
    twice.max(I32::splat(g, -1) - twice).max(I32::splat(g, 0)).to_bits()
}

/// Puts the hits of inner rings first, and the hits of a ring in the order of the event, by group and y, as in the
/// paper. Works lane by lane, as hits are few; each lane's own group, first slot and number of hits are given.
#[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn order_by_ring(store: &Stored<'_>, [owns, firsts, counts]: [&[u32]; 3], slots: &mut [u32]) {
    for ((&own, &first), &count) in owns.iter().zip(firsts).zip(counts) {
        let (first, count) = (first as usize, count as usize);
        let Some(hits) = slots.get_mut(first..first + count) else { continue };
        let place = |hit: u32| {
            let away = 2 * (store.group[hit as usize] as i32 - own as i32);
            (away.max(-1 - away).max(0), store.number[hit as usize])
        };
        // In place: nothing is allocated.
        for end in 1..hits.len() {
            let mut at = end;
            while at > 0 && place(hits[at]) < place(hits[at - 1]) {
                hits.swap(at - 1, at);
                at -= 1;
            }
        }
    }
}

/// Lanes of the largest gang.
const MOST_LANES: usize = 64;
