//! The choice among the tracks of a pass: a classifier tells tracks from ghosts, and of tracks that share hits the better
//! ones live.

use super::track::{NO_HIT, Track};
use crate::event::Column;
use crate::scifi::config::{ChoiceConfig, FEATURES};
use crate::scifi::index::Index;
use crate::scifi::layers::{UV_LAYERS, X_LAYERS, Z_REFERENCE};

/// What logarithms are taken of is this at least, mm^2: below it a chi2 says nothing.
const LEAST_X: f32 = 0.004;
const LEAST_Y: f32 = 1.0;
/// y of a line at the origin counts up to here, mm, and in units of 100 mm.
const MOST_Y: f32 = 400.0;
const PER_Y: f32 = 0.01;
/// Units of the bend, mm, and where it ends.
const PER_BEND: f32 = 1e6;
const MOST_BEND: f32 = 10.0;

/// Memory of this step.
#[derive(Debug, Default)]
pub(in crate::scifi) struct ChooseScratch {
    /// Bits that rise as the score falls, then the number of the track.
    keys: Vec<u64>,
    /// Per place in the index, counted from 1, whether a chosen track has the hit: 0 or 1.
    pub(in crate::scifi) used: Column<u32>,
    chosen: Vec<bool>,
}

impl ChooseScratch {
    /// Keeps the tracks that are chosen, in their order; all of them without a choice.
    #[inline(always)]
    pub(in crate::scifi) fn choose(
        &mut self,
        choice: Option<&ChoiceConfig>,
        index: &Index,
        tracks: &mut Vec<Track>,
    ) {
        let Some(choice) = choice else { return };
        let Self { keys, used, chosen } = self;
        used.set_len(index.none() as usize + 1);
        used.fill(0);
        keys.clear();
        let crowd = logarithm(tracks.len() as f32);
        for (number, track) in tracks.iter().enumerate() {
            let score = score(choice, track, crowd);
            if score > choice.min_score {
                keys.push(u64::from(falling(score)) << 32 | number as u64);
            }
        }
        keys.sort_unstable();
        chosen.clear();
        chosen.resize(tracks.len(), false);
        for number in keys.iter().map(|&key| key as u32 as usize) {
            let hits = &tracks[number].hits;
            // What stands for a missing hit is never used.
            let shared: u32 = hits.iter().map(|&hit| used[hit as usize]).sum();
            if shared <= choice.shared_hits {
                hits.iter().for_each(|&hit| used[hit as usize] = 1);
                used[NO_HIT as usize] = 0;
                chosen[number] = true;
            }
        }
        let mut number = 0;
        tracks.retain(|_| {
            number += 1;
            chosen[number - 1]
        });
    }
}

/// Bits that rise as a number falls.
#[inline(always)]
fn falling(score: f32) -> u32 {
    let bits = score.to_bits();
    // Negative numbers rise with their bits already.
    if bits >> 31 == 1 { bits } else { !(bits | 1 << 31) }
}

/// Almost the logarithm to base 2: straight between powers of 2.
#[inline(always)]
fn logarithm(x: f32) -> f32 {
    (x.to_bits() as i32 as f32).mul_add(1.0 / (1 << 23) as f32, -127.0)
}

/// How much a track looks like one; `crowd` is the logarithm of the number of tracks that are there to choose from: where there
/// are many, more of them are none.
#[inline(always)]
fn score(choice: &ChoiceConfig, track: &Track, crowd: f32) -> f32 {
    let missing = |layers: std::ops::Range<usize>| {
        track.hits[layers].iter().map(|&hit| u32::from(hit == NO_HIT)).sum::<u32>() as f32
    };
    let (missing_x, missing_uv) = (missing(0..X_LAYERS), missing(X_LAYERS..X_LAYERS + UV_LAYERS));
    let (x, y) = (logarithm(track.chi2_x + LEAST_X), logarithm(track.chi2 + LEAST_Y));
    let origin = (-track.y[1]).mul_add(Z_REFERENCE as f32, track.y[0]).abs();
    let origin = if origin < MOST_Y { origin * PER_Y } else { MOST_Y * PER_Y };
    let bend = track.x[2].abs() * PER_BEND;
    let bend = if bend < MOST_BEND { bend } else { MOST_BEND };
    let features: [f32; FEATURES] = [
        1.0,
        missing_x,
        missing_uv,
        x,
        y,
        origin,
        missing_x * x,
        missing_uv * y,
        missing_x * y,
        bend,
        y * y * 0.1,
        missing_x * missing_uv,
        bend * y,
        bend * x,
        crowd,
    ];
    features
        .iter()
        .zip(&choice.weights)
        .fold(0.0, |sum: f32, (feature, weight)| feature.mul_add(*weight, sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_scores_come_first() {
        let scores = [7.5, 0.25, 0.0, -0.0, -1e-9, -3.0, -1e9];
        assert!(scores.windows(2).all(|pair| falling(pair[0]) < falling(pair[1])));
    }

    #[test]
    fn logarithms_are_those_of_powers_of_two() {
        for (power, x) in [(-3.0, 0.125), (0.0, 1.0), (4.0, 16.0)] {
            assert_eq!(logarithm(x), power);
        }
        assert_eq!(logarithm(3.0), 1.5);
    }
}
