//! Weights and thresholds of the two choices of `best`, made from simulated events alone.
//!
//! Written by `cargo run --release --example scifi_choice`, not by hand. Logistic regressions
//! (ridge 1, rounded to 0.001) on what a pass finds without a choice in `sim:lhcb,events=10`, seeds
//! 101..=140; true is what has 70 % of its hits of one particle.
//! First pass: 42845 true and 14020 false; second: 8032 true and 7255 false.
//! Thresholds: in steps of 0.25 on seeds 801..=840; of those with at most 5 % ghosts the pair that
//! finds the most long particles above 5 GeV/c, then above 3 GeV/c: 13041 of 13401 and 17146 of
//! 17785, ghosts 2461 of 49536.

use super::config::FEATURES;

/// Of the first pass.
pub(super) const FIRST: [f32; FEATURES] =
    [8.361, 3.152, -2.804, -0.352, -1.997, -0.638, 0.69, 0.248, -0.055, 0.024, 0.836, -0.562, 0.003, -0.02];
/// Of the second pass.
pub(super) const SECOND: [f32; FEATURES] =
    [5.623, 0.252, -2.335, -0.411, -0.878, -0.194, 0.467, 0.121, 0.07, 0.224, 0.042, -0.224, 0.002, 0.012];
/// The smallest sums of both.
pub(super) const MIN_SCORE: [f32; 2] = [-0.75, -1.0];
