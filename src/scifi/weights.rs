//! Weights and thresholds of the two choices of `best`, made from simulated events alone.
//!
//! Written by `cargo run --release --example choose -- scifi`, not by hand. Logistic regressions
//! (ridge 1, rounded to 0.001) on what a pass finds without a choice in `sim:lhcb,events=10`, seeds
//! 101..=140; true is what has 70 % of its hits of one particle.
//! First pass: 42062 true and 14424 false; second: 8081 true and 7927 false.
//! Thresholds: in steps of 0.5 on seeds 801..=840, by the criterion of docs/algorithms.md:
//! 17023 of 17823 and 12922 of 13391, ghosts 1773 of 46973.

use super::config::FEATURES;

/// Of the first pass.
pub(super) const FIRST: [f32; FEATURES] =
    [8.558, 2.521, -2.86, -0.363, -1.939, -0.777, 0.667, 0.242, 0.03, 0.09, 0.743, -0.437, -0.001, -0.012];
/// Of the second pass.
pub(super) const SECOND: [f32; FEATURES] =
    [5.91, 0.395, -2.335, -0.387, -1.014, -0.235, 0.439, 0.144, 0.059, 0.256, 0.159, -0.411, -0.003, 0.012];
/// The smallest sums of both.
pub(super) const MIN_SCORE: [f32; 2] = [0.0, -0.5];
