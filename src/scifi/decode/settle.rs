//! Checks that the hits of a zone are sorted, and sorts them if they are not.

use crate::event::{Column, SciFiBatch};
use crate::lhcb::decode::Order;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use std::ops::Range;

/// Returns whether the hits of a range are sorted by x, id and width.
#[inline(always)]
pub(super) fn is_settled<G: Gang>(g: G, out: &SciFiBatch, range: Range<usize>) -> bool {
    let last = range.end.saturating_sub(1);
    for at in (range.start..last).step_by(G::LANES) {
        let here = Mask::first(g, last - at);
        let (x, next_x) = (F32::load(g, &out.x.padded()[at..]), F32::load(g, &out.x.padded()[at + 1..]));
        let suspect = here.and_not(x.lt(next_x));
        if suspect.any() {
            let (id, next_id) = neighbours(g, &out.id, at);
            let (width, next_width) = neighbours(g, &out.width, at);
            let width_rises = id.eq(next_id).and_not(next_width.lt(width));
            let in_order = x.eq(next_x) & (id.lt(next_id) | width_rises);
            if suspect.and_not(in_order).any() {
                return false;
            }
        }
    }
    true
}

/// Returns the values from `at` on, and the value after each of them.
#[inline(always)]
fn neighbours<G: Gang>(g: G, column: &Column<u32>, at: usize) -> (U32<G>, U32<G>) {
    (U32::load(g, &column.padded()[at..]), U32::load(g, &column.padded()[at + 1..]))
}

/// Sorts the hits of a range.
#[inline(never)]
pub(super) fn settle(order: &mut Order, out: &mut SciFiBatch, range: Range<usize>) {
    order.find(range, |a, b| {
        let by_x = out.x[a].partial_cmp(&out.x[b]).expect("x is not NaN");
        by_x.then(out.id[a].cmp(&out.id[b])).then(out.width[a].cmp(&out.width[b]))
    });
    for column in [&mut out.x, &mut out.z, &mut out.y_end] {
        order.apply(column);
    }
    order.apply(&mut out.id);
    order.apply(&mut out.width);
}
