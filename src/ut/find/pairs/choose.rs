//! Choose: selects the tracklet of lowest cost for each track (if equal, the first), and the best track of each hit.

use super::{Chosen, Tracklets, Workspace};
use crate::event::UT_PLANES;
use crate::simd::varying::{F32, Mask};
use crate::simd::{Gang, array_of};
use crate::ut::config::LineConfig;
use std::ops::Range;

/// Chooses; `hits` is the range of the event's hits.
#[inline(always)]
pub(super) fn choose<G: Gang>(g: G, config: &LineConfig, hits: Range<usize>, workspace: &mut Workspace) {
    let Workspace { windows, tracklets, chosen: Chosen { number, hit }, cheapest, .. } = workspace;
    let rows = tracklets.start.len() - 1;
    number.set_len(rows);
    hit.set_len(rows);
    let (numbers, records) = (number.padded_mut(), hit.padded_mut());
    let mut kept = 0;
    for range in tracklets.start.windows(2) {
        let (cost, tracklet) = tracklets.cheapest(g, range[0] as usize..range[1] as usize);
        numbers[kept] = tracklet;
        kept += usize::from(cost < config.max_cost);
    }
    // The number for no hit belongs to no track.
    let none = hits.len();
    cheapest.set_len(none + 1);
    let cheapest = cheapest.padded_mut();
    cheapest[..none].fill(f32::INFINITY);
    let places: [_; UT_PLANES] = array_of!(plane => tracklets.places[plane].padded());
    let of_windows = windows.hit.padded();
    for (&tracklet, record) in numbers[..kept].iter().zip(records.iter_mut()) {
        let cost = tracklets.cost[tracklet as usize];
        for (places, hit) in places.iter().zip(record) {
            let place = places[tracklet as usize] as usize;
            let number = if place > 0 { of_windows[place] as usize - hits.start } else { none };
            *hit = number as u32;
            cheapest[number] = cheapest[number].min(cost);
        }
    }
    cheapest[none] = f32::NAN;
    let mut left = 0;
    for at in 0..kept {
        let (tracklet, record) = (numbers[at], records[at]);
        let cost = tracklets.cost[tracklet as usize];
        let mut own = 0;
        for number in record {
            own += u32::from(cheapest[number as usize] == cost);
        }
        (numbers[left], records[left]) = (tracklet, record);
        left += usize::from(own >= config.own_hits);
    }
    number.set_len(left);
    hit.set_len(left);
}

impl Tracklets {
    /// Returns the smallest cost in a range, and its first tracklet.
    #[inline(always)]
    fn cheapest<G: Gang>(&self, g: G, range: Range<usize>) -> (f32, u32) {
        let mut best = (f32::INFINITY, 0);
        for at in range.clone().step_by(G::LANES) {
            let lanes = Mask::first(g, range.end - at);
            let costs = F32::load(g, &self.cost.padded()[at..]);
            let cost = costs.reduce_min(lanes);
            if cost < best.0 {
                let first = (costs.eq(F32::splat(g, cost)) & lanes).bits().trailing_zeros();
                best = (cost, at as u32 + first);
            }
        }
        best
    }
}
