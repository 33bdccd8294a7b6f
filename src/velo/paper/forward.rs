//! Track forwarding: every track under way looks for its next hit in both modules of a pair, one lane a track.

use super::config::PaperConfig;
use super::search::Best;
use super::sort::phi_on_side;
use super::{Active, PaperScratch};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::find::{Line, Tally};
use crate::velo::geometry::MODULE_Z;
use crate::velo::index::Index;

/// Forwards all tracks into `pair`. Hits that tracks use already may be taken again. A track that misses too
/// many pairs in a row is followed no more; the others move together, in order.
#[inline(always)]
pub(super) fn forward<G: Gang>(
    g: G,
    config: &PaperConfig,
    max_candidates: u32,
    index: &mut Index,
    scratch: &mut PaperScratch,
    pair: usize,
    tally: &mut Tally,
) {
    let PaperScratch { modules, active, extended, extended_by, rows, .. } = scratch;
    let tracks = active.row.len();
    extended.set_len(tracks);
    extended_by.set_len(tracks);
    let half = F32::splat(g, config.forward_window);
    let (mut kept, mut count) = (0, 0);
    for at in (0..tracks).step_by(G::LANES) {
        let lanes = Mask::first(g, tracks - at);
        let Active { before, last, row, missed } = &mut *active;
        let before_last = U32::load(g, &before.padded()[at..]);
        let from = U32::load(g, &last.padded()[at..]);
        let track = U32::load(g, &row.padded()[at..]);
        let misses = U32::load(g, &missed.padded()[at..]);
        let [x0, y0, z0, _] = F32::gather_records(&index.hits, before_last);
        let [x1, y1, z1, _] = F32::gather_records(&index.hits, from);
        let line = Line::through(g, [x0, y0, z0], [x1, y1, z1]);
        let mut best = Best::none(g, config.forward_scatter);
        for module in [2 * pair, 2 * pair + 1] {
            let dz = F32::splat(g, MODULE_Z[module] as f32) - line.z;
            let [x, y] = [line.tx.mul_add(dz, line.x), line.ty.mul_add(dz, line.y)];
            let mut window = modules.window(g, module, phi_on_side(g, x, y, module), half);
            window.count = tally.limit(g, window.count, max_candidates, lanes);
            best.improve(g, &index.hits, 0, &line, &window, lanes, tally);
        }
        let found = best.found;
        track.store_packed(&mut extended.padded_mut()[count..], found);
        count += best.place.store_packed(&mut extended_by.padded_mut()[count..], found);

        let misses = found.select_u(U32::splat(g, 0), misses + U32::splat(g, 1));
        let alive = lanes.and_not(U32::splat(g, config.skipped_pairs).lt(misses));
        found.select_u(from, before_last).store_packed(&mut before.padded_mut()[kept..], alive);
        found.select_u(best.place, from).store_packed(&mut last.padded_mut()[kept..], alive);
        track.store_packed(&mut row.padded_mut()[kept..], alive);
        kept += misses.store_packed(&mut missed.padded_mut()[kept..], alive);
    }
    active.set_len(kept);
    for (&row, &hit) in extended.padded()[..count].iter().zip(extended_by.padded()) {
        rows.extend(row, hit, index);
    }
}
