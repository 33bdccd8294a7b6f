//! Checks that the hits of an event are sorted, and sorts them if they are not.

use super::SECTOR_SHIFT;
use crate::event::{Column, UT_GROUPS, UtBatch};
use crate::lhcb::decode::Order;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::ut::geometry::UtGeometry;

/// Returns whether the hits from `start` on are sorted by y, x and id within their groups.
#[inline(always)]
pub(super) fn is_settled<G: Gang>(
    g: G,
    geometry: &UtGeometry,
    placed: &Column<u32>,
    start: usize,
    out: &UtBatch,
) -> bool {
    let mut wrong = Mask::first(g, 0);
    for at in (0..placed.len().saturating_sub(1)).step_by(G::LANES) {
        let (y, next_y) = neighbours(g, &out.y_begin, start + at);
        let (x, next_x) = neighbours(g, &out.x, start + at);
        let below = y.lt(next_y) | (y.eq(next_y) & x.lt(next_x));
        let suspect = Mask::first(g, placed.len() - 1 - at).and_not(below);
        if suspect.any() {
            // A new group, or the same position.
            let same_place = y.eq(next_y) & x.eq(next_x);
            let new_group = group(g, geometry, placed, at).lt(group(g, geometry, placed, at + 1));
            let id = U32::load(g, &out.id.padded()[start + at..]);
            let next_id = U32::load(g, &out.id.padded()[start + at + 1..]);
            let in_order = new_group | same_place.and_not(next_id.lt(id));
            wrong = wrong | suspect.and_not(in_order);
        }
    }
    !wrong.any()
}

/// Returns the values from `at` on, and the values from `at + 1` on.
#[inline(always)]
fn neighbours<G: Gang>(g: G, column: &Column<f32>, at: usize) -> (F32<G>, F32<G>) {
    (F32::load(g, &column.padded()[at..]), F32::load(g, &column.padded()[at + 1..]))
}

/// Returns the groups of the hits from `at` on.
#[inline(always)]
fn group<G: Gang>(g: G, geometry: &UtGeometry, placed: &Column<u32>, at: usize) -> U32<G> {
    let hit = U32::load(g, &placed.padded()[at..]) & U32::splat(g, (1 << 31) - 1);
    U32::gather(&geometry.group, hit.shr::<SECTOR_SHIFT>())
}

/// Sorts the hits of each group of the last event.
#[inline(never)]
pub(super) fn settle(order: &mut Order, out: &mut UtBatch) {
    let groups = out.group_start.len() - 1 - UT_GROUPS;
    for group in groups..groups + UT_GROUPS {
        let range = out.group_start[group] as usize..out.group_start[group + 1] as usize;
        order.find(range, |a, b| {
            let key = |hit: usize| (out.y_begin[hit], out.x[hit], out.id[hit]);
            let (a, b) = (key(a), key(b));
            let order = a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1));
            if a.0 == b.0 && a.1 == b.1 { a.2.cmp(&b.2) } else { order }
        });
        for column in [&mut out.x, &mut out.z, &mut out.y_begin, &mut out.y_end, &mut out.weight] {
            order.apply(column);
        }
        order.apply(&mut out.id);
    }
}
