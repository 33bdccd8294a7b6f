//! Doublets: finds pairs of hits in planes 0 and 2, then in planes 3 and 1, with slopes near the Velo track's slope;
//! one track per lane. A track gets at most `candidates` doublets, in the order of hits. The choice `compass` takes
//! only doublets with a third hit near their line, and planes 3 and 1 only if planes 0 and 2 give none.

use super::complete::{Follow, PlaneOf};
use super::{Beside, Doublets, Line, NONE, SLOPE, SLOT_BITS, Search, Tally, Tracks};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};
use crate::ut::grid::Stored;

/// Planes of the first and of the third hit, on both ways, and of the second and the fourth.
const WAYS: [[usize; 4]; 2] = [[0, 2, 1, 3], [3, 1, 2, 0]];

/// Lists the doublets of all tracks with enough hits.
#[inline(always)]
pub(crate) fn doublets<G: Gang>(
    g: G,
    search: &Search<'_>,
    store: &Stored<'_>,
    tracks: &Tracks<'_>,
    found: &mut Doublets<'_>,
) -> Tally<G> {
    let Search { cuts, planes } = search;
    let whole = inlined!(|value: u32| U32::splat(g, value));
    let Tracks { line: lines, slots, counts, rows, kept, .. } = tracks;
    let Doublets { row: row_of, backward, hits: [firsts, _, thirds, _], len, .. } = found;
    let is_compass = cuts.compass != 0;
    let mut tally = Tally::new(g);
    *len = 0;
    for at in (0..*kept).step_by(G::LANES) {
        let lanes = Mask::first(g, kept - at);
        let row = U32::load(g, &rows[at..]);
        let line = Line::gather(g, lines, row, planes.velo_z);
        let mut seen = whole(0);
        for (way, roles) in WAYS.into_iter().enumerate() {
            let (a, c) = (roles[0] as u32, roles[1] as u32);
            let place = [row.shl::<2>() + whole(a), row.shl::<2>() + whole(c)];
            let slot = [place[0].shl::<SLOT_BITS>(), place[1].shl::<SLOT_BITS>()];
            let count = [U32::gather(counts, place[0]), U32::gather(counts, place[1])];
            let slope = [F32::splat(g, SLOPE[roles[0]]), F32::splat(g, SLOPE[roles[1]])];
            let goes = if is_compass { lanes & seen.lt(whole(1)) } else { lanes };
            let all = goes.select_u(count[0] * count[1], whole(0));
            let (mut tried, mut number) = (whole(0), [whole(0); 2]);
            loop {
                let on = tried.lt(all) & seen.lt(whole(cuts.candidates));
                if !on.any() {
                    break;
                }
                tally.step(on);
                let first = U32::gather(slots, slot[0] + number[0]);
                let third = U32::gather(slots, slot[1] + number[1]);
                let a = Beside::gather(store.hits, first, &line, slope[0]);
                let c = Beside::gather(store.hits, third, &line, slope[1]);
                let angle = (c.d - a.d) / (c.z - a.z);
                let mut good = on & angle.abs().le(F32::splat(g, cuts.slope_tolerance));
                if is_compass && good.any() {
                    let follow = Follow { g, store, tracks, line, angle, tolerance: cuts.hit_tolerance };
                    let mut completed = Mask::first(g, 0);
                    for (plane, from) in [(roles[2], a), (roles[3], c)] {
                        let place = row.shl::<2>() + whole(plane as u32);
                        let plane = PlaneOf { place, slope: F32::splat(g, SLOPE[plane]) };
                        let lanes = good.and_not(completed);
                        let (_, hit) = follow.nearest(plane, from, lanes, &mut tally);
                        completed = completed | lanes & hit.lt(whole(NONE));
                    }
                    good = good & completed;
                }
                first.store_packed(&mut firsts[*len..], good);
                third.store_packed(&mut thirds[*len..], good);
                whole(way as u32).store_packed(&mut backward[*len..], good);
                *len += row.store_packed(&mut row_of[*len..], good);
                seen = seen.count(good);
                tried = tried + whole(1);
                let next = number[1] + whole(1);
                let goes_on = next.lt(count[1]);
                number[0] = goes_on.select_u(number[0], number[0] + whole(1));
                number[1] = goes_on.select_u(next, whole(0));
            }
        }
    }
    tally
}
