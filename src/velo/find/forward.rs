//! Forwarding: every track under way looks for its next hit, one lane a track.

use super::nearest::{Line, Reach, Search};
use super::{FindScratch, Tally};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::config::BestConfig;
use crate::velo::geometry::{PAIR_HALF_DEPTH, pair_middle};
use crate::velo::index::Index;

/// Forwards all tracks into `pair`. Hits that tracks use already may be taken again. A track that misses too
/// many pairs in a row is followed no more; the others move together, in order.
#[inline(always)]
pub(super) fn forward<G: Gang>(
    g: G,
    search: &Search,
    config: &BestConfig,
    index: &mut Index,
    scratch: &mut FindScratch,
    pair: usize,
    tally: &mut Tally,
) {
    let FindScratch { active, extended, extended_by, rows, .. } = scratch;
    extended.reserve_total(active.len);
    extended_by.reserve_total(active.len);
    let reach = Reach { used_too: true, chi2: config.forward_chi2, scatter_slope: config.scatter_slope };
    let view = index.view();
    let (lines, room) = active.lines.parts();
    let (rows_of, events_of) = (active.row.padded_mut(), active.event.padded_mut());
    let missed_of = active.missed.padded_mut();
    let (extended_rows, extended_hits) = (extended.padded_mut(), extended_by.padded_mut());
    let (mut kept, mut count) = (0, 0);
    for at in (0..active.len).step_by(G::LANES) {
        let lanes = Mask::first(g, active.len - at);
        let line = Line::load(g, (lines, room), at);
        let row = U32::load(g, &rows_of[at..]);
        let missed = U32::load(g, &missed_of[at..]);
        let event = U32::load(g, &events_of[at..]);
        let layer = view.layer(g, event, pair);
        // A triplet over a gap may have its last hit in this very pair: it waits for the next one.
        let searching = F32::splat(g, pair_middle(pair) + PAIR_HALF_DEPTH).lt(line.z) & lanes;
        let (best, found) = search.nearest(g, &layer, pair, &line, reach, searching, tally);

        row.store_packed(&mut extended_rows[count..], found);
        count += best.place.store_packed(&mut extended_hits[count..], found);

        let next = Line::through(g, [line.x, line.y, line.z], [best.x, best.y, best.z]);
        let more = searching.select_u(missed + U32::splat(g, 1), missed);
        let missed = found.select_u(U32::splat(g, 0), more);
        let alive = missed.lt(U32::splat(g, config.skipped_pairs + 1)) & lanes;
        next.select(found, &line).store_packed((&mut *lines, room), kept, alive);
        row.store_packed(&mut rows_of[kept..], alive);
        event.store_packed(&mut events_of[kept..], alive);
        kept += missed.store_packed(&mut missed_of[kept..], alive);
    }
    active.len = kept;

    for (&row, &hit) in extended.padded()[..count].iter().zip(extended_by.padded()) {
        rows.extend(row, hit, index);
    }
}
