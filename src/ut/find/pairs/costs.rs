//! Costs: computes the cost of each tracklet, and the slope of the line through its hits alone; one tracklet per lane.

use super::super::Search;
use super::spans::Spans;
use super::windows::Windows;
use super::{Selected, Tracklets};
use crate::event::{UT_PLANES, UtCellHits};
use crate::simd::varying::{Mask, U32};
use crate::simd::{Gang, array_of};

/// Computes the costs and slopes of all tracklets.
#[inline(always)]
pub(super) fn costs<G: Gang>(
    g: G,
    search: &Search<'_>,
    (hits, selected, spans, windows): (&UtCellHits, &Selected, &Spans, &Windows),
    tracklets: &mut Tracklets,
) {
    let zero = U32::splat(g, 0);
    for at in (0..tracklets.row.len()).step_by(G::LANES) {
        // Values behind the last tracklet may be left over from an event with more tracks.
        let lanes = Mask::first(g, tracklets.row.len() - at);
        let row = lanes.select_u(U32::load(g, &tracklets.row.padded()[at..]), zero);
        let places: [_; UT_PLANES] = array_of!(plane => {
            lanes.select_u(U32::load(g, &tracklets.places[plane].padded()[at..]), zero)
        });
        let tracklet = windows.tracklet(g, hits, places);
        let [cost, slope] = spans.track(g, search, selected, row).cost(g, search.config, &tracklet);
        cost.store(&mut tracklets.cost.padded_mut()[at..]);
        slope.store(&mut tracklets.slope.padded_mut()[at..]);
    }
}
