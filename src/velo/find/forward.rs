//! Forwarding: finds the next hit of every track under construction, one track per lane.

use super::nearest::{Candidates, Line, Reach, Search, columns_of_lines};
use super::scratch::{FindScratch, OF_SECOND};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::found::Found;
use crate::velo::geometry::PAIR_HALF_DEPTH;
use crate::velo::index::Index;

/// Value of `missed` for a track that leaves the detector.
const GONE: u32 = u32::MAX;

/// Forwards all tracks into `pair`. Hits that tracks use already may be taken again. Drops a track from the active
/// tracks when it misses too many pairs in a row, or points where no hits can be; the others keep their order.
#[inline(always)]
pub(super) fn forward<G: Gang>(
    g: G,
    search: &mut Search<'_, G>,
    index: &mut Index,
    scratch: &mut FindScratch,
    found: &mut Found,
    pair: usize,
) {
    let config = search.config;
    let FindScratch { active, extended, confirmed, .. } = scratch;
    extended.iter_mut().chain([&mut *confirmed]).for_each(|column| column.reserve_total(active.len));
    let reach = Reach {
        used_too: true,
        chi2: F32::splat(g, config.forward_chi2),
        scatter_slope: config.scatter_slope,
        inner_radius: config.forward_inner_radius,
    };
    let layer = index.layer(g, pair);
    let mut lines = columns_of_lines(active.lines.padded_mut(), active.room);
    let (first_of, count_of) = (active.first.padded_mut(), active.count.padded_mut());
    let (rows_of, missed_of) = (active.row.padded_mut(), active.missed.padded_mut());
    let hits_of = active.hits.padded_mut();
    let (none, one) = (U32::splat(g, 0), U32::splat(g, 1));
    // Windows are opened first: the search then reads their indices from memory.
    for at in (0..active.len).step_by(G::LANES) {
        let line = Line::load(g, lines.each_ref().map(|column| &**column), at);
        let missed = U32::load(g, &missed_of[at..]);
        // A triplet over a gap may have its last hit in this pair: it waits for the next pair.
        let ahead = (layer.z + F32::splat(g, PAIR_HALF_DEPTH)).lt(line.z);
        let searching = ahead & Mask::first(g, active.len - at);
        let first = U32::load(g, &hits_of[at..]).lt(U32::splat(g, OF_SECOND));
        let (window, inside) = search.window(g, &layer, first, &line, reach);
        let count = search.judge.limit(g, window.count, searching);
        let more = inside.select_u(missed + one, U32::splat(g, GONE));
        window.first.store(&mut first_of[at..]);
        searching.select_u(count, none).store(&mut count_of[at..]);
        searching.select_u(more, missed).store(&mut missed_of[at..]);
    }
    let [extended, lengths, extended_by] = extended.each_mut().map(|column| column.padded_mut());
    let (mut kept, mut count, mut count_confirmed) = (0, 0, 0);
    for at in (0..active.len).step_by(G::LANES) {
        let lanes = Mask::first(g, active.len - at);
        let line = Line::load(g, lines.each_ref().map(|column| &**column), at);
        let row = U32::load(g, &rows_of[at..]);
        let first = &first_of[at..];
        let candidates = Candidates { first, count: U32::load(g, &count_of[at..]) };
        let (best, is_hit) = search.judge.nearest(g, layer.hits, candidates, &line, reach);
        let marked = U32::load(g, &hits_of[at..]);
        let is_first = marked.lt(U32::splat(g, OF_SECOND));
        let hits = marked & U32::splat(g, OF_SECOND - 1);
        let place = layer.original(is_first, U32::load(g, first) + best.number);
        let fourth = is_hit & hits.eq(U32::splat(g, 3));
        count_confirmed += row.store_packed(&mut confirmed.padded_mut()[count_confirmed..], fourth);
        row.store_packed(&mut extended[count..], is_hit);
        hits.store_packed(&mut lengths[count..], is_hit);
        count += place.store_packed(&mut extended_by[count..], is_hit);

        let next = Line::through(g, [line.x, line.y, line.z], [best.x, best.y, best.z]);
        let missed = is_hit.select_u(none, U32::load(g, &missed_of[at..]));
        let alive = missed.lt(U32::splat(g, config.skipped_pairs + 1)) & lanes;
        next.select(is_hit, &line).store_packed(&mut lines, kept, alive);
        row.store_packed(&mut rows_of[kept..], alive);
        marked.count(is_hit).store_packed(&mut hits_of[kept..], alive);
        kept += missed.store_packed(&mut missed_of[kept..], alive);
    }
    active.len = kept;

    let mut marks = index.marks();
    let (extended, lengths, extended_by) = (&extended[..count], &lengths[..count], &extended_by[..count]);
    for i in 0..count {
        let (row, hit) = (extended[i], extended_by[i]);
        found.extend_in(row, lengths[i], hit, pair);
        found.note_shared(row, marks.take(hit, row));
    }
    // A track of three hits may still be dropped, so it takes its hits only with the fourth. The order does not change
    // which tracks share hits.
    for &row in &confirmed.padded()[..count_confirmed] {
        let [a, b, c, ..] = found.rows[row as usize].hits;
        for hit in [a, b, c] {
            found.note_shared(row, marks.take(hit, row));
        }
    }
}
