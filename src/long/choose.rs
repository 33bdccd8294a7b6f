//! Chooses the pairs that become tracks: each Velo track and each SciFi track is part of at most one track.

use super::config::LongConfig;
use super::pairs::Pairs;
use crate::event::Column;
use crate::simd::Gang;
use crate::simd::varying::{Mask, U32};
use std::ops::Range;

/// Value for no pair.
const NONE: u32 = u32::MAX;

/// Memory of this step.
#[derive(Debug, Default)]
pub(super) struct Choice {
    keys: Vec<u128>,
    /// The pair of each Velo track of the event, or [`NONE`].
    pair_of: Column<u32>,
    /// Whether each SciFi track of the event is part of a track.
    taken: Vec<bool>,
    /// The chosen tracks: number of the Velo track, and the pair.
    pub(super) velo: Column<u32>,
    pub(super) pair: Column<u32>,
}

/// Returns the sort key of a pair, from its rank, Velo track, SciFi track and index; the pair with the smallest key is
/// taken first. One integer is faster to sort than four numbers.
fn key(rank: f32, velo: u32, scifi: u32, pair: usize) -> u128 {
    // A rank is not negative, so that its bits are ordered like the rank.
    let words = [rank.to_bits(), velo, scifi, pair as u32];
    words.into_iter().fold(0, |key, word| key << 32 | u128::from(word))
}

fn velo_of(key: u128) -> usize {
    (key >> 64) as u32 as usize
}

fn scifi_of(key: u128) -> usize {
    (key >> 32) as u32 as usize
}

impl Choice {
    /// Chooses among pairs of the tracks in the ranges `velo` and `scifi`.
    #[inline(always)]
    pub(super) fn choose<G: Gang>(
        &mut self,
        g: G,
        config: &LongConfig,
        pairs: &Pairs,
        velo: Range<usize>,
        scifi: Range<usize>,
    ) {
        let Self { keys, pair_of, taken, .. } = self;
        keys.clear();
        let [velos, scifis] = [&pairs.velo, &pairs.scifi].map(|column| &column.padded()[..pairs.len]);
        let ranks = &pairs.rank.padded()[..pairs.len];
        for (pair, ((&rank, &velo), &scifi)) in ranks.iter().zip(velos).zip(scifis).enumerate() {
            if rank < f32::INFINITY {
                keys.push(key(rank, velo, scifi, pair));
            }
        }
        if !config.all_pairs {
            keep_best_of_each(keys);
        }
        keys.sort_unstable();
        pair_of.set_len(velo.len());
        pair_of.fill(NONE);
        taken.clear();
        taken.resize(scifi.len(), false);
        for &key in keys.iter() {
            let one = &mut pair_of[velo_of(key) - velo.start];
            let other = &mut taken[scifi_of(key) - scifi.start];
            if *one == NONE && !*other {
                (*one, *other) = (key as u32, true);
            }
        }
        self.list(g, velo);
    }

    /// Lists the chosen tracks.
    #[inline(always)]
    fn list<G: Gang>(&mut self, g: G, velo: Range<usize>) {
        let Self { pair_of, velo: tracks, pair: pairs, .. } = self;
        tracks.reserve_total(velo.len());
        pairs.reserve_total(velo.len());
        let mut count = 0;
        for at in (0..velo.len()).step_by(G::LANES) {
            let pair = U32::load(g, &pair_of.padded()[at..]);
            let has = pair.lt(U32::splat(g, NONE)) & Mask::first(g, velo.len() - at);
            let number = U32::splat(g, (velo.start + at) as u32) + U32::iota(g);
            number.store_packed(&mut tracks.padded_mut()[count..], has);
            count += pair.store_packed(&mut pairs.padded_mut()[count..], has);
        }
        tracks.set_len(count);
        pairs.set_len(count);
    }
}

/// Keeps the best pair of each SciFi track, whose pairs are adjacent; of equally good pairs, the pair of the first Velo
/// track.
fn keep_best_of_each(keys: &mut Vec<u128>) {
    let mut kept = 0;
    for at in 0..keys.len() {
        let key = keys[at];
        if kept > 0 && scifi_of(keys[kept - 1]) == scifi_of(key) {
            keys[kept - 1] = keys[kept - 1].min(key);
        } else {
            keys[kept] = key;
            kept += 1;
        }
    }
    keys.truncate(kept);
}
