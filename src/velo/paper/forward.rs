//! Track forwarding: finds the next hit of every track under construction in both modules of a pair, one track per
//! lane.

use super::scratch::{Active, PaperScratch, Step};
use super::search::{Best, Candidates, Line, Measure, limit, window};
use super::sort::phi_on_side;
use crate::event::Counters;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::found::Found;
use crate::velo::geometry::MODULE_Z;
use crate::velo::modules::Modules;

/// Forwards all tracks into `pair`. Hits that tracks use already may be taken again. Drops a track from the active
/// tracks when it misses too many pairs in a row; the others keep their order.
#[inline(always)]
pub(super) fn forward<G: Gang>(
    g: G,
    step: &Step<'_>,
    modules: &mut Modules,
    scratch: &mut PaperScratch,
    found: &mut Found,
    counters: &mut Counters,
) {
    let Step { config, max_candidates, pair } = *step;
    let PaperScratch { phi, active, extended, extended_by, .. } = scratch;
    let tracks = active.row.len();
    extended.set_len(tracks);
    extended_by.set_len(tracks);
    let half = F32::splat(g, config.forward_window);
    let (measure, max) = if config.forward_by_angle {
        (Measure::Angle, config.forward_angle2)
    } else {
        (Measure::Distance, config.forward_scatter)
    };
    let (mut kept, mut count) = (0, 0);
    for at in (0..tracks).step_by(G::LANES) {
        let lanes = Mask::first(g, tracks - at);
        let Active { before, last, row, missed } = &mut *active;
        let before_last = U32::load(g, &before.padded()[at..]);
        let from = U32::load(g, &last.padded()[at..]);
        let track = U32::load(g, &row.padded()[at..]);
        let misses = U32::load(g, &missed.padded()[at..]);
        let line = Line::through(g, &modules.hits, before_last, from);
        let mut best = Best::none(g, max);
        for module in [2 * pair, 2 * pair + 1] {
            let dz = F32::splat(g, MODULE_Z[module] as f32) - line.z;
            let [x, y] = [line.tx.mul_add(dz, line.x), line.ty.mul_add(dz, line.y)];
            let mut window = window(g, phi, modules.range(module), phi_on_side(g, x, y, module), half);
            window.count = limit(g, window.count, max_candidates, lanes, counters);
            let hits = Candidates { hits: &modules.hits, x_column: 0, measure, window };
            best.improve(g, &hits, &line, lanes, counters);
        }
        let is_hit = best.found;
        track.store_packed(&mut extended.padded_mut()[count..], is_hit);
        count += best.index.store_packed(&mut extended_by.padded_mut()[count..], is_hit);

        let misses = is_hit.select_u(U32::splat(g, 0), misses + U32::splat(g, 1));
        let alive = lanes.and_not(U32::splat(g, config.skipped_pairs).lt(misses));
        is_hit.select_u(from, before_last).store_packed(&mut before.padded_mut()[kept..], alive);
        is_hit.select_u(best.index, from).store_packed(&mut last.padded_mut()[kept..], alive);
        track.store_packed(&mut row.padded_mut()[kept..], alive);
        kept += misses.store_packed(&mut missed.padded_mut()[kept..], alive);
    }
    active.set_len(kept);
    for (&row, &hit) in extended.padded()[..count].iter().zip(extended_by.padded()) {
        modules.mark_used(hit);
        if found.extend(row, hit) == 4 {
            found.hits_of(row)[..3].iter().for_each(|&hit| modules.mark_used(hit));
        }
    }
}
