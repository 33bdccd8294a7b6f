//! Weights and thresholds of the choices of `fast` and `best`, made from simulated events alone.
//!
//! Written by `cargo run --release --example choose -- scifi`, not by hand. Logistic regressions
//! (ridge 1, rounded to 0.001) on what a pass finds without a choice in `sim:lhcb,events=10`, seeds
//! 101..=140; true is what has 70 % of its hits of one particle.
//! `fast`: 42529 true and 10067 false; first pass of `best`: 33986 true and 6445 false; second: 14944 true and 7242 false.
//! Thresholds: in steps of 0.5 on seeds 801..=840, by the criterion of docs/algorithms.md:
//! `fast` 16563 of 17823 and 12566 of 13391, ghosts 934 of 41918;
//! `best` 17158 of 17823 and 13023 of 13391, ghosts 927 of 47059.

use super::config::FEATURES;

/// Of `fast`: weights, and the smallest sum.
#[rustfmt::skip]
pub(super) const FAST: ([f32; FEATURES], f32) = (
    [16.767, 3.271, -3.274, -0.67, -1.702, -1.274, 0.786, 0.242, -0.095, 0.319, 0.765, -0.652, -0.017, 0.004, -1.332],
    -0.5,
);
/// Of the first pass of `best`: weights, and the smallest sum.
#[rustfmt::skip]
pub(super) const FIRST: ([f32; FEATURES], f32) = (
    [16.708, 2.402, -3.068, -0.789, -1.61, -2.037, 0.695, 0.179, -0.082, 0.516, 0.762, -0.431, -0.021, 0.024, -1.507],
    0.5,
);
/// Of the second pass: weights, and the smallest sum.
#[rustfmt::skip]
pub(super) const SECOND: ([f32; FEATURES], f32) = (
    [13.829, 1.448, -2.572, -0.48, -1.328, -0.334, 0.365, 0.143, -0.074, 0.28, 0.479, -0.454, 0.006, 0.024, -1.115],
    0.5,
);
