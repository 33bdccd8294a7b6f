//! Choose: the cheapest tracklet of each track, the first of equals; and which track a hit belongs to.

use super::Workspace;
use crate::ut::config::LineConfig;
use std::ops::Range;

/// Chooses; `hits` are those of the event.
pub(super) fn choose(config: &LineConfig, hits: Range<usize>, workspace: &mut Workspace) {
    let Workspace { windows, tracklets, chosen, cheapest, .. } = workspace;
    let (costs, starts) = (&tracklets.cost[..], &tracklets.start[..]);
    chosen.clear();
    chosen.reserve_total(starts.len());
    for range in starts.windows(2) {
        let mut best = (config.max_cost, None);
        for (&cost, number) in costs[range[0] as usize..range[1] as usize].iter().zip(range[0]..) {
            if cost < best.0 {
                best = (cost, Some(number));
            }
        }
        if let Some(number) = best.1 {
            chosen.push(number);
        }
    }
    cheapest.set_len(hits.len());
    cheapest.fill(f32::INFINITY);
    let hits_of = |tracklet: u32| {
        let places = tracklets.places.iter().map(move |places| places[tracklet as usize] as usize);
        let taken = places.filter(|place| *place > 0);
        taken.map(|place| windows.hit.padded()[place] as usize - hits.start)
    };
    for &tracklet in chosen.iter() {
        for hit in hits_of(tracklet) {
            cheapest[hit] = cheapest[hit].min(costs[tracklet as usize]);
        }
    }
    let mut kept = 0;
    for at in 0..chosen.len() {
        let tracklet = chosen[at];
        let own = hits_of(tracklet).filter(|&hit| cheapest[hit] == costs[tracklet as usize]).count();
        chosen[kept] = tracklet;
        kept += usize::from(own >= config.own_hits as usize);
    }
    chosen.set_len(kept);
}
