//! Removes clones among tracks in x: of candidates that share hits only the best remains.

use super::half::HalfHits;
use super::triplets::Candidates;
use crate::event::Column;
use crate::scifi::config::SeedPass;
use crate::scifi::layers::X_LAYERS;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// Values that differ by less than this belong to the same candidate.
const SAME: f32 = 0.01;

/// Memory of this step.
#[derive(Debug, Default)]
pub(super) struct CloneScratch {
    /// Smallest value of the candidates that use the hit, per place in the index.
    smallest: Column<f32>,
    keys: Vec<(u64, u32)>,
}

impl CloneScratch {
    /// Writes the candidates that are the best for enough of their hits to `kept`, in the order of their kind, first, last
    /// and middle hit.
    #[inline(always)]
    pub(super) fn keep_best<G: Gang>(
        &mut self,
        g: G,
        hits: HalfHits<'_>,
        pass: &SeedPass,
        candidates: &Candidates,
        kept: &mut Column<u32>,
    ) {
        let Self { smallest, keys } = self;
        let none = hits.index.none();
        smallest.set_len(none as usize + 1);
        for layer in 0..X_LAYERS {
            let layer = hits.layer(layer);
            smallest[layer.begin as usize..layer.end as usize].fill(f32::INFINITY);
        }
        for candidate in 0..candidates.len {
            let value = candidates.value.padded()[candidate];
            for column in &candidates.hits {
                let smallest = &mut smallest[column.padded()[candidate] as usize];
                *smallest = if value < *smallest { value } else { *smallest };
            }
        }
        // No candidate owns the entry that stands for missing hits.
        smallest[none as usize] = f32::NEG_INFINITY;
        kept.clear();
        kept.reserve_total(candidates.len);
        let mut len = 0;
        let (none, zero, same) = (U32::splat(g, none), U32::splat(g, 0), F32::splat(g, SAME));
        for at in (0..candidates.len).step_by(G::LANES) {
            let value = F32::load(g, &candidates.value.padded()[at..]);
            let (mut own, mut missing) = (zero, zero);
            for column in &candidates.hits {
                let hit = U32::load(g, &column.padded()[at..]);
                own = own.count((F32::gather(smallest.padded(), hit) - value).abs().lt(same));
                missing = missing.count(hit.eq(none));
            }
            let has_all = missing.eq(zero);
            let least =
                has_all.select_u(U32::splat(g, pass.min_own_of_six), U32::splat(g, pass.min_own_hits));
            let best = !own.lt(least) & Mask::first(g, candidates.len - at);
            let number = U32::splat(g, at as u32) + U32::iota(g);
            len += number.store_packed(&mut kept.padded_mut()[len..], best);
        }
        keys.clear();
        for &candidate in &kept.padded()[..len] {
            let at = candidate as usize;
            let kind = candidates.kind.padded()[at];
            let place = |layer: usize| u64::from(candidates.hits[layer].padded()[at]);
            let [first, middle, last] = pass.triplets[kind as usize];
            let [first, middle, last] = [place(first), place(middle), place(last)];
            keys.push((u64::from(kind) << 60 | first << 40 | last << 20 | middle, candidate));
        }
        keys.sort_unstable();
        kept.clear();
        keys.iter().for_each(|&(_, candidate)| kept.push(candidate));
    }
}
