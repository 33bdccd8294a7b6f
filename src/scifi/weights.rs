//! Weights and thresholds of the choices of `fast` and `best`, made from simulated events alone.
//!
//! Written by `cargo run --release --example choose -- scifi`, not by hand. Logistic regressions
//! (ridge 1, rounded to 0.001) on what a pass finds without a choice in `sim:lhcb,events=10`, seeds
//! 101..=140; true is what has 70 % of its hits of one particle.
//! `fast`: 42194 true and 7505 false; first pass of `best`: 33812 true and 4620 false; second: 15521 true and 5986 false.
//! Thresholds: in steps of 0.25 on seeds 801..=840, by the criterion of docs/algorithms.md:
//! `fast` 16556 of 17823 and 12562 of 13391, ghosts 990 of 41933;
//! `best` 17195 of 17823 and 13055 of 13391, ghosts 1097 of 47380.

use super::config::FEATURES;

/// Of `fast`: weights, and the smallest sum.
#[rustfmt::skip]
pub(super) const FAST: ([f32; FEATURES], f32) = (
    [16.955, 3.282, -3.162, -0.672, -1.609, -1.359, 0.777, 0.213, -0.096, 0.336, 0.84, -0.682, -0.019, 0.005, -1.448],
    -0.75,
);
/// Of the first pass of `best`: weights, and the smallest sum.
#[rustfmt::skip]
pub(super) const FIRST: ([f32; FEATURES], f32) = (
    [16.121, 2.365, -2.836, -0.766, -1.479, -2.066, 0.698, 0.144, -0.046, 0.485, 0.82, -0.582, -0.02, 0.019, -1.527],
    0.75,
);
/// Of the second pass: weights, and the smallest sum.
#[rustfmt::skip]
pub(super) const SECOND: ([f32; FEATURES], f32) = (
    [12.997, 1.584, -2.355, -0.53, -1.139, -0.431, 0.36, 0.118, -0.101, 0.305, 0.441, -0.531, 0.004, 0.029, -1.149],
    0.25,
);
