//! Weights and thresholds of the two choices of `best`, made from simulated events alone.
//!
//! Written by `cargo run --release --example choose -- scifi`, not by hand. Logistic regressions
//! (ridge 1, rounded to 0.001) on what a pass finds without a choice in `sim:lhcb,events=10`, seeds
//! 101..=140; true is what has 70 % of its hits of one particle.
//! First pass: 34590 true and 4601 false; second: 11261 true and 3998 false.
//! Thresholds: in steps of 0.5 on seeds 801..=840, by the criterion of docs/algorithms.md:
//! 17167 of 17823 and 13053 of 13391, ghosts 1102 of 44582.

use super::config::FEATURES;

/// Of the first pass.
#[rustfmt::skip]
pub(super) const FIRST: [f32; FEATURES] =
    [17.092, 2.439, -2.631, -0.625, -1.442, -1.658, 0.601, 0.095, -0.072, 0.372, 0.688, -0.689, -0.014, 0.006, -1.582];
/// Of the second pass.
#[rustfmt::skip]
pub(super) const SECOND: [f32; FEATURES] =
    [13.044, 2.361, -2.35, -0.488, -1.231, -0.352, 0.504, 0.099, -0.108, 0.221, 0.433, -0.453, 0.009, 0.018, -1.094];
/// The smallest sums of both.
pub(super) const MIN_SCORE: [f32; 2] = [0.5, 0.0];
