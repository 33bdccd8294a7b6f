//! Naive reference of the choice among the tracks of a pass, for tests.

use super::track::Found;
use crate::scifi::config::ChoiceConfig;
use crate::scifi::weights::FEATURES;

/// Returns an approximation of the logarithm to base 2: exact at powers of 2, linear between them.
fn logarithm(x: f32) -> f32 {
    (x.to_bits() as i32 as f32).mul_add(1.0 / 8_388_608.0, -127.0)
}

/// Returns the features that the classifier weighs.
pub(super) fn features(found: &Found) -> [f32; FEATURES] {
    let missing = |hits: &[Option<usize>; 6]| hits.iter().filter(|hit| hit.is_none()).count() as f32;
    let (nx, nuv) = (missing(&found.x_hits), missing(&found.uv_hits));
    let (x, y) = (logarithm(found.chi2_x + 0.004), logarithm(found.chi2 + 1.0));
    let origin = (-found.y[1]).mul_add(8520.0, found.y[0]).abs();
    let origin = if origin < 400.0 { origin * 0.01 } else { 400.0f32 * 0.01 };
    let bend = (found.x[2].abs() * 1e6).min(10.0);
    let products = [nx * x, nuv * y, nx * y, bend, y * y * 0.1, nx * nuv, bend * y, bend * x];
    let mut all = [0.0; FEATURES];
    all[..6].copy_from_slice(&[1.0, nx, nuv, x, y, origin]);
    all[6..14].copy_from_slice(&products);
    all[14] = logarithm(found.crowd as f32);
    all
}

/// Returns the weighted sum of a track's features.
fn score(weights: &[f32], found: &Found) -> f32 {
    let features = features(found).into_iter();
    features.zip(weights).fold(0.0, |sum: f32, (feature, weight)| feature.mul_add(*weight, sum))
}

/// Returns the tracks with good scores that share few hits with better tracks, in their order.
pub(super) fn choose(choice: &ChoiceConfig, tracks: Vec<Found>) -> Vec<Found> {
    let scores: Vec<f32> = tracks.iter().map(|track| score(&choice.weights, track)).collect();
    let hits = |number: usize| {
        let Found { x_hits, uv_hits, .. } = &tracks[number];
        x_hits.iter().chain(uv_hits).flatten()
    };
    let mut order: Vec<usize> =
        (0..tracks.len()).filter(|number| scores[*number] > choice.min_score).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let mut chosen: Vec<usize> = Vec::new();
    for number in order {
        let is_used = |hit: &&usize| chosen.iter().any(|other| hits(*other).any(|used| used == *hit));
        if hits(number).filter(is_used).count() <= choice.shared_hits as usize {
            chosen.push(number);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|number| tracks[number].clone()).collect()
}
