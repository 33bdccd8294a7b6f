//! Weak track filter: accepts or rejects tracks of three hits, one track per lane.

use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::config::PaperConfig;
use crate::velo::found::{Found, HITS_AT, LEN_AT, ROW};
use crate::velo::modules::{Modules, three_hit_chi2};

/// Accepts all candidates with four hits or more, and straight candidates with three hits that share no hit with a
/// longer candidate.
#[inline(always)]
pub(super) fn accept<G: Gang>(g: G, config: &PaperConfig, modules: &Modules, found: &mut Found) {
    let candidates = found.rows.len();
    found.tracks.set_len(candidates);
    let Found { rows, tracks, .. } = found;
    let words: &[u32] = bytemuck::cast_slice(rows.padded());
    let mut accepted = 0;
    for at in (0..candidates).step_by(G::LANES) {
        let lanes = Mask::first(g, candidates - at);
        let row = U32::iota(g) + U32::splat(g, at as u32);
        let word = row * U32::splat(g, ROW as u32);
        let len = U32::gather(words, word + U32::splat(g, LEN_AT as u32));
        let is_weak = len.eq(U32::splat(g, 3)) & lanes;
        let mut keep = lanes.and_not(is_weak);
        if is_weak.any() {
            let zero = F32::splat(g, 0.0);
            let mut hits = [[zero; 3]; 3];
            let mut are_free = is_weak;
            for (number, hit) in hits.iter_mut().enumerate() {
                let index = U32::gather(words, word + U32::splat(g, (HITS_AT + number) as u32));
                let [x, y, z, free] = F32::gather_records(&modules.hits, index);
                *hit = [x, y, z];
                are_free = are_free & free.eq(free);
            }
            let weight = F32::splat(g, config.weak_weight);
            let chi2 = three_hit_chi2(
                &hits,
                weight,
                #[inline(always)]
                |value| F32::splat(g, value),
            );
            let is_straight = chi2.lt(F32::splat(g, config.weak_chi2));
            keep = keep | (are_free & is_straight);
        }
        accepted += row.store_packed(&mut tracks.padded_mut()[accepted..], keep);
    }
    tracks.set_len(accepted);
}
