//! The order of the hits of a zone: checked, and put right where it is not.

use crate::event::SciFiBatch;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use std::ops::Range;

/// Memory for sorting.
#[derive(Debug, Default)]
pub(super) struct Order {
    order: Vec<u32>,
    values: Vec<u32>,
}

/// Whether the hits of a range are sorted by x, id and width.
#[inline(always)]
pub(super) fn is_settled<G: Gang>(g: G, out: &SciFiBatch, range: Range<usize>) -> bool {
    let last = range.end.saturating_sub(1);
    for at in (range.start..last).step_by(G::LANES) {
        let here = Mask::first(g, last - at);
        let load = |at: usize| F32::load(g, &out.x.padded()[at..]);
        let suspect = here.and_not(load(at).lt(load(at + 1)));
        if suspect.any() {
            let id = |at: usize| U32::load(g, &out.id.padded()[at..]);
            let width = |at: usize| U32::load(g, &out.width.padded()[at..]);
            let tie = load(at).eq(load(at + 1));
            let width_rises = id(at).eq(id(at + 1)).and_not(width(at + 1).lt(width(at)));
            let in_order = tie & (id(at).lt(id(at + 1)) | width_rises);
            if suspect.and_not(in_order).any() {
                return false;
            }
        }
    }
    true
}

/// Sorts the hits of a range.
#[inline(never)]
pub(super) fn settle(memory: &mut Order, out: &mut SciFiBatch, range: Range<usize>) {
    let Order { order, values } = memory;
    order.clear();
    order.extend(range.clone().map(|hit| hit as u32));
    order.sort_unstable_by(|&a, &b| {
        let (a, b) = (a as usize, b as usize);
        let by_x = out.x[a].partial_cmp(&out.x[b]).expect("numbers, as the mats exist");
        by_x.then(out.id[a].cmp(&out.id[b])).then(out.width[a].cmp(&out.width[b]))
    });
    for column in [&mut out.x, &mut out.z, &mut out.y_end] {
        permute(bytemuck::cast_slice_mut(&mut column[..]), &range, order, values);
    }
    permute(&mut out.id[..], &range, order, values);
    permute(&mut out.width[..], &range, order, values);
}

/// Rearranges the values of a range: the first becomes that at `order[0]`, and so on.
fn permute(column: &mut [u32], range: &Range<usize>, order: &[u32], values: &mut Vec<u32>) {
    values.clear();
    values.extend(order.iter().map(|&from| column[from as usize]));
    column[range.clone()].copy_from_slice(values);
}
