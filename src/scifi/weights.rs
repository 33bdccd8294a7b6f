//! Weights and thresholds of the two choices of `best`, made from simulated events alone.
//!
//! Written by `cargo run --release --example choose -- scifi`, not by hand. Logistic regressions
//! (ridge 1, rounded to 0.001) on what a pass finds without a choice in `sim:lhcb,events=10`, seeds
//! 101..=140; true is what has 70 % of its hits of one particle.
//! First pass: 41774 true and 14387 false; second: 8245 true and 7805 false.
//! Thresholds: in steps of 0.5 on seeds 801..=840, by the criterion of docs/algorithms.md:
//! 17101 of 17809 and 13023 of 13414, ghosts 1634 of 46538.

use super::config::FEATURES;

/// Of the first pass.
pub(super) const FIRST: [f32; FEATURES] =
    [8.475, 2.904, -3.045, -0.377, -1.874, -0.788, 0.706, 0.279, -0.007, 0.057, 0.664, -0.532, 0.003, -0.013];
/// Of the second pass.
pub(super) const SECOND: [f32; FEATURES] =
    [6.51, 0.192, -2.516, -0.4, -1.111, -0.262, 0.467, 0.167, 0.089, 0.246, 0.199, -0.292, -0.004, 0.012];
/// The smallest sums of both.
pub(super) const MIN_SCORE: [f32; 2] = [0.5, -0.5];
