//! Chooses among the tracks of a pass: a classifier rejects ghosts, and of tracks that share hits the better ones
//! remain.

use super::exact::{A, B, C, CHI2};
use super::hits::RowHits;
use super::uv::{CHI2_Y, Confirmed, TY, VALUES, Y};
use crate::event::Column;
use crate::scifi::config::ChoiceConfig;
use crate::scifi::find::track::{NO_HIT, Track};
use crate::scifi::layers::{HALF_LAYERS, X_LAYERS, Z_REFERENCE};
use crate::scifi::weights::FEATURES;
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, array_of, for_each, inlined};

/// Offset of chi2 in its logarithm, mm^2: a chi2 far below it carries no information.
const LEAST_X: f32 = 0.004;
const LEAST_Y: f32 = 1.0;
/// Largest y of a line at the origin that counts, mm; the feature is in units of 100 mm.
const MOST_Y: f32 = 400.0;
const PER_Y: f32 = 0.01;
/// Factor on the bend, mm, and the largest bend that counts, after this factor.
const PER_BEND: f32 = 1e6;
const MOST_BEND: f32 = 10.0;

/// Memory of this step.
#[derive(Debug, Default)]
pub(super) struct ChooseScratch {
    score: Column<f32>,
    /// Number of tracks with good scores that have the hit, per place.
    users: Column<u32>,
    /// Tracks that share hits: numbers of the tracks that share few hits; for the other tracks, keys that rise as the
    /// score falls, with the number in the low bits.
    few: Column<u32>,
    more: Vec<u64>,
    /// Smallest key of a chosen track that has the hit, per place.
    least: Column<u64>,
    /// Whether the track is chosen, per track: 0 or 1.
    chosen: Column<u32>,
    /// Whether a chosen track has the hit, per place: 0 or 1.
    pub(super) used: Column<u32>,
}

/// Returns bits that rise as a number falls.
#[inline(always)]
fn falling(score: f32) -> u32 {
    let bits = score.to_bits();
    // The bits of negative numbers already rise as the numbers fall.
    if bits >> 31 == 1 { bits } else { !(bits | 1 << 31) }
}

/// Returns an approximation of the logarithm to base 2: exact at powers of 2, linear between them.
#[inline(always)]
fn logarithm<G: Gang>(g: G, x: F32<G>) -> F32<G> {
    x.to_bits().as_i32().to_f32().mul_add(F32::splat(g, 1.0 / (1 << 23) as f32), F32::splat(g, -127.0))
}

impl ChooseScratch {
    /// Appends the chosen tracks to `out`, in their order.
    #[inline(always)]
    pub(super) fn choose<G: Gang>(
        &mut self,
        g: G,
        choice: &ChoiceConfig,
        hits: &RowHits,
        tracks: &Confirmed,
        out: &mut Vec<Track>,
    ) {
        self.score(g, choice, tracks);
        self.count_users(choice, hits.len(), tracks);
        self.part(g, choice, tracks);
        self.settle(choice, hits.len(), tracks);
        self.used.set_len(hits.len());
        self.used.fill(0);
        let (places, values) = (tracks.hits.columns(), tracks.values.columns());
        let used = &mut self.used[..];
        for (track, _) in self.chosen.iter().enumerate().filter(|(_, chosen)| **chosen == 1) {
            let value: [f32; VALUES] = array_of!(column => values[column][track]);
            let mut of = [NO_HIT; HALF_LAYERS];
            for (hit, places) in of.iter_mut().zip(&places) {
                let place = places[track];
                used[place as usize] = 1;
                *hit = if place == 0 { NO_HIT } else { hits.source(place) + 1 };
            }
            out.push(Track {
                hits: of,
                x: [value[A], value[B], value[C]],
                y: [value[Y], value[TY]],
                chi2_x: value[CHI2],
                chi2: value[CHI2_Y],
            });
        }
        self.used[0] = 0;
    }

    /// Computes the scores of tracks. The logarithm of the number of tracks is a feature, because more of them are ghosts
    /// when there are many.
    #[inline(always)]
    fn score<G: Gang>(&mut self, g: G, choice: &ChoiceConfig, tracks: &Confirmed) {
        let value = inlined!(|value: f32| F32::splat(g, value));
        self.score.set_len(tracks.len);
        let none = U32::splat(g, 0);
        let crowd = logarithm(g, value(tracks.len as f32));
        let (hits, values) = (tracks.hits.columns(), tracks.values.columns());
        for at in (0..tracks.len).step_by(G::LANES) {
            let of = inlined!(|column: usize| F32::load(g, &values[column][at..]));
            let (mut missing_x, mut missing_uv) = (none, none);
            for_each!(layer < X_LAYERS => {
                missing_x = missing_x.count(U32::load(g, &hits[layer][at..]).eq(none));
                missing_uv = missing_uv.count(U32::load(g, &hits[X_LAYERS + layer][at..]).eq(none));
            });
            let (missing_x, missing_uv) = (missing_x.as_i32().to_f32(), missing_uv.as_i32().to_f32());
            let x = logarithm(g, of(CHI2) + value(LEAST_X));
            let y = logarithm(g, of(CHI2_Y) + value(LEAST_Y));
            let origin = of(TY).neg_mul_add(value(Z_REFERENCE as f32), of(Y)).abs();
            let origin = (origin * value(PER_Y)).min(value(MOST_Y * PER_Y));
            let bend = (of(C).abs() * value(PER_BEND)).min(value(MOST_BEND));
            let features: [F32<G>; FEATURES] = [
                value(1.0),
                missing_x,
                missing_uv,
                x,
                y,
                origin,
                missing_x * x,
                missing_uv * y,
                missing_x * y,
                bend,
                y * y * value(0.1),
                missing_x * missing_uv,
                bend * y,
                bend * x,
                crowd,
            ];
            let mut sum = value(0.0);
            for (feature, weight) in features.iter().zip(choice.weights) {
                sum = feature.mul_add(value(weight), sum);
            }
            sum.store(&mut self.score.padded_mut()[at..]);
        }
    }

    /// Counts the tracks with good scores that have each hit.
    #[inline(always)]
    fn count_users(&mut self, choice: &ChoiceConfig, places: usize, tracks: &Confirmed) {
        self.users.set_len(places);
        self.users.fill(0);
        let hits: [&[u32]; HALF_LAYERS] = array_of!(layer => &tracks.hits.column(layer)[..tracks.len]);
        let users = &mut self.users[..];
        for (track, &score) in self.score.iter().enumerate() {
            let is_good = u32::from(score > choice.min_score);
            for hits in &hits {
                users[hits[track] as usize] += is_good;
            }
        }
        self.users[0] = 0;
    }

    /// Chooses the tracks that share few hits with any other tracks, and lists the tracks that share more hits.
    #[inline(always)]
    fn part<G: Gang>(&mut self, g: G, choice: &ChoiceConfig, tracks: &Confirmed) {
        self.chosen.set_len(tracks.len);
        self.few.reserve_total(tracks.len);
        self.more.clear();
        let (one, zero) = (U32::splat(g, 1), U32::splat(g, 0));
        let mut few_len = 0;
        let (hits, users) = (tracks.hits.columns(), self.users.padded());
        for at in (0..tracks.len).step_by(G::LANES) {
            let score = F32::load(g, &self.score.padded()[at..]);
            let is_good = F32::splat(g, choice.min_score).lt(score) & Mask::first(g, tracks.len - at);
            let mut shared = zero;
            for hits in &hits {
                shared = shared.count(one.lt(U32::gather(users, U32::load(g, &hits[at..]))));
            }
            let is_more = U32::splat(g, choice.shared_hits).lt(shared);
            let is_chosen = is_good.and_not(is_more);
            is_chosen.select_u(one, zero).store(&mut self.chosen.padded_mut()[at..]);
            let number = U32::splat(g, at as u32) + U32::iota(g);
            let few = is_chosen & zero.lt(shared);
            few_len += number.store_packed(&mut self.few.padded_mut()[few_len..], few);
            let mut more = (is_good & is_more).bits();
            while more != 0 {
                let track = at + more.trailing_zeros() as usize;
                self.more.push(u64::from(falling(self.score[track])) << 32 | track as u64);
                more &= more - 1;
            }
        }
        self.few.set_len(few_len);
    }

    /// Chooses, in the order of scores, the listed tracks that share few hits with better tracks.
    #[inline(always)]
    fn settle(&mut self, choice: &ChoiceConfig, places: usize, tracks: &Confirmed) {
        let Self { score, few, more, least, chosen, .. } = self;
        if more.is_empty() {
            return;
        }
        let hit = |track: usize, layer: usize| tracks.hits.column(layer)[track] as usize;
        least.set_len(places);
        for &key in more.iter() {
            (0..HALF_LAYERS).for_each(|layer| least[hit(key as u32 as usize, layer)] = u64::MAX);
        }
        for &track in few.iter() {
            let track = track as usize;
            let key = u64::from(falling(score[track])) << 32 | track as u64;
            for layer in 0..HALF_LAYERS {
                let least = &mut least[hit(track, layer)];
                *least = key.min(*least);
            }
        }
        more.sort_unstable();
        for &key in more.iter() {
            let track = key as u32 as usize;
            // No track owns the entry that stands for missing hits.
            least[0] = u64::MAX;
            let shared = (0..HALF_LAYERS).filter(|layer| least[hit(track, *layer)] < key).count();
            if shared <= choice.shared_hits as usize {
                chosen[track] = 1;
                for layer in 0..HALF_LAYERS {
                    let least = &mut least[hit(track, layer)];
                    *least = key.min(*least);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::falling;

    #[test]
    fn better_scores_come_first() {
        let scores = [7.5, 0.25, 0.0, -0.0, -1e-9, -3.0, -1e9];
        assert!(scores.windows(2).all(|pair| falling(pair[0]) < falling(pair[1])));
    }
}
