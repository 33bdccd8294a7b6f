//! Which pairs are tracks: each Velo track and each SciFi track is part of one at most.

use super::config::LongConfig;
use super::pairs::Pairs;
use std::ops::Range;

/// Memory of this step.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// Keys of pairs: bits of the rank, Velo and SciFi track; and the place of the pair.
    keys: Vec<(u32, u32, u32, u32)>,
    taken: [Vec<bool>; 2],
    /// The tracks: Velo track, SciFi track, pair; by Velo track.
    pub(super) tracks: Vec<(u32, u32, u32)>,
}

impl Choice {
    /// Chooses among pairs of the tracks of these ranges.
    pub(super) fn choose(
        &mut self,
        config: &LongConfig,
        pairs: &Pairs,
        velo: Range<usize>,
        scifi: Range<usize>,
    ) {
        let Self { keys, taken, tracks } = self;
        keys.clear();
        // A rank is not negative, so that its bits have its order.
        let pair = |at: usize| {
            (pairs.rank.padded()[at].to_bits(), pairs.velo.padded()[at], pairs.scifi.padded()[at], at as u32)
        };
        let is_taken = |at: &usize| pairs.rank.padded()[*at] < f32::INFINITY;
        keys.extend((0..pairs.len).filter(is_taken).map(pair));
        if !config.all_pairs {
            keep_best_of_each(keys);
        }
        keys.sort_unstable();
        for (taken, count) in taken.iter_mut().zip([velo.len(), scifi.len()]) {
            taken.clear();
            taken.resize(count, false);
        }
        tracks.clear();
        for &(_, velo_track, scifi_track, at) in keys.iter() {
            let [velo_taken, scifi_taken] = &mut *taken;
            let one = &mut velo_taken[velo_track as usize - velo.start];
            let other = &mut scifi_taken[scifi_track as usize - scifi.start];
            if !(*one || *other) {
                (*one, *other) = (true, true);
                tracks.push((velo_track, scifi_track, at));
            }
        }
        tracks.sort_unstable();
    }
}

/// Keeps the best pair of each SciFi track, which stand together; of equal ones that of the first Velo track.
fn keep_best_of_each(keys: &mut Vec<(u32, u32, u32, u32)>) {
    let mut kept = 0;
    for at in 0..keys.len() {
        let key = keys[at];
        if kept > 0 && keys[kept - 1].2 == key.2 {
            keys[kept - 1] = keys[kept - 1].min(key);
        } else {
            keys[kept] = key;
            kept += 1;
        }
    }
    keys.truncate(kept);
}
