//! Weights and thresholds of the two choices of `best`, made from simulated events alone.
//!
//! Written by `cargo run --release --example choose -- scifi`, not by hand. Logistic regressions
//! (ridge 1, rounded to 0.001) on what a pass finds without a choice in `sim:lhcb,events=10`, seeds
//! 101..=140; true is what has 70 % of its hits of one particle.
//! First pass: 42062 true and 14424 false; second: 8257 true and 8149 false.
//! Thresholds: in steps of 0.5 on seeds 801..=840, by the criterion of docs/algorithms.md:
//! 17074 of 17823 and 12959 of 13391, ghosts 1682 of 47181.

use super::config::FEATURES;

/// Of the first pass.
#[rustfmt::skip]
pub(super) const FIRST: [f32; FEATURES] =
    [15.851, 2.36, -2.47, -0.508, -1.676, -1.039, 0.64, 0.149, -0.04, 0.137, 0.692, -0.453, -0.001, -0.005, -1.1];
/// Of the second pass.
#[rustfmt::skip]
pub(super) const SECOND: [f32; FEATURES] =
    [12.161, 0.456, -2.365, -0.469, -1.348, -0.302, 0.342, 0.134, -0.023, 0.231, 0.444, -0.488, 0.004, 0.016, -0.828];
/// The smallest sums of both.
pub(super) const MIN_SCORE: [f32; 2] = [1.0, -0.5];
