//! Weights and thresholds of the two choices of `best`, made from simulated events alone.
//!
//! Written by `cargo run --release --example choose -- scifi`, not by hand. Logistic regressions
//! (ridge 1, rounded to 0.001) on what a pass finds without a choice in `sim:lhcb,events=10`, seeds
//! 101..=140; true is what has 70 % of its hits of one particle.
//! First pass: 34590 true and 4601 false; second: 13429 true and 5099 false.
//! Thresholds: in steps of 0.5 on seeds 801..=840, by the criterion of docs/algorithms.md:
//! 17092 of 17823 and 13002 of 13391, ghosts 1268 of 46617.

use super::config::FEATURES;

/// Of the first pass.
#[rustfmt::skip]
pub(super) const FIRST: [f32; FEATURES] =
    [17.092, 2.439, -2.631, -0.625, -1.442, -1.658, 0.601, 0.095, -0.072, 0.372, 0.688, -0.689, -0.014, 0.006, -1.582];
/// Of the second pass.
#[rustfmt::skip]
pub(super) const SECOND: [f32; FEATURES] =
    [12.703, 1.68, -2.251, -0.582, -1.183, -0.14, 0.504, 0.088, -0.095, 0.184, 0.387, -0.4, 0.013, 0.021, -1.042];
/// The smallest sums of both.
pub(super) const MIN_SCORE: [f32; 2] = [0.5, 0.0];
