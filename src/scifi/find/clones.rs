//! Clones in x: of candidates that share hits the best live.

use super::half::HalfHits;
use super::triplets::Candidates;
use crate::event::Column;
use crate::scifi::config::SeedPass;
use crate::scifi::index::NO_HIT;
use crate::scifi::layers::X_LAYERS;

/// Values this near are the same candidate's.
const SAME: f32 = 0.01;

/// Memory of this step.
#[derive(Debug, Default)]
pub(super) struct CloneScratch {
    /// Per place in the index the smallest value of the candidates that use the hit.
    smallest: Column<f32>,
    keys: Vec<(u64, u32)>,
}

impl CloneScratch {
    /// Writes the candidates that are the best of enough of their hits to `kept`, in the order of their kind, first, last
    /// and middle hit.
    #[inline(always)]
    pub(super) fn keep_best(
        &mut self,
        HalfHits { index, half }: HalfHits<'_>,
        pass: &SeedPass,
        candidates: &Candidates,
        kept: &mut Column<u32>,
    ) {
        let Self { smallest, keys } = self;
        smallest.set_len(index.x.len());
        smallest[index.places(half, 0..X_LAYERS)].fill(f32::INFINITY);
        for candidate in 0..candidates.len {
            let value = candidates.value.padded()[candidate];
            for column in &candidates.hits {
                let smallest = &mut smallest[column.padded()[candidate] as usize];
                *smallest = if value < *smallest { value } else { *smallest };
            }
        }
        // What stands for a missing hit is nobody's.
        smallest[NO_HIT as usize] = f32::NEG_INFINITY;
        keys.clear();
        for candidate in 0..candidates.len {
            let value = candidates.value.padded()[candidate];
            let (mut own, mut hits) = (0, 0);
            for column in &candidates.hits {
                let hit = column.padded()[candidate];
                own += u32::from((smallest[hit as usize] - value).abs() < SAME);
                hits += u32::from(hit != NO_HIT);
            }
            let enough = if hits == X_LAYERS as u32 { pass.min_own_of_six } else { pass.min_own_hits };
            if own >= enough {
                let kind = candidates.kind.padded()[candidate];
                let place = |layer: usize| u64::from(candidates.hits[layer].padded()[candidate]);
                let [first, middle, last] = pass.triplets[kind as usize];
                let [first, middle, last] = [place(first), place(middle), place(last)];
                let key = u64::from(kind) << 60 | first << 40 | last << 20 | middle;
                keys.push((key, candidate as u32));
            }
        }
        keys.sort_unstable();
        kept.clear();
        keys.iter().for_each(|&(_, candidate)| kept.push(candidate));
    }
}
