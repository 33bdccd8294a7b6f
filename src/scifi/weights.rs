//! Weights and thresholds of the two choices of `best`, made from simulated events alone.
//!
//! Written by `cargo run --release --example choose -- scifi`, not by hand. Logistic regressions
//! (ridge 1, rounded to 0.001) on what a pass finds without a choice in `sim:lhcb,events=10`, seeds
//! 101..=140; true is what has 70 % of its hits of one particle.
//! First pass: 41856 true and 14383 false; second: 8203 true and 7782 false.
//! Thresholds: in steps of 0.5 on seeds 801..=840, by the criterion of docs/algorithms.md:
//! 17105 of 17820 and 13049 of 13445, ghosts 1641 of 46740.

use super::config::FEATURES;

/// Of the first pass.
pub(super) const FIRST: [f32; FEATURES] =
    [8.37, 3.122, -3.01, -0.391, -1.863, -0.816, 0.721, 0.276, -0.031, 0.053, 0.662, -0.571, 0.005, -0.011];
/// Of the second pass.
pub(super) const SECOND: [f32; FEATURES] =
    [6.445, 0.546, -2.462, -0.375, -1.145, -0.271, 0.448, 0.161, 0.04, 0.254, 0.26, -0.356, -0.005, 0.008];
/// The smallest sums of both.
pub(super) const MIN_SCORE: [f32; 2] = [0.5, -0.5];
