//! Weights and thresholds of the choices of `fast` and `best`, made from simulated events alone.
//!
//! Written by `cargo run --release --example choose -- scifi`, not by hand. Logistic regressions
//! (ridge 1, rounded to 0.001) on what a pass finds without a choice in `sim:lhcb,events=10`, seeds
//! 101..=140; true is what has 70 % of its hits of one particle.
//! `fast`: 42529 true and 10067 false; first pass of `best`: 33986 true and 6445 false; second: 15134 true and 7457 false.
//! Thresholds: in steps of 0.25 on seeds 801..=840, by the criterion of docs/algorithms.md:
//! `fast` 16563 of 17823 and 12566 of 13391, ghosts 934 of 41918;
//! `best` 17184 of 17823 and 13041 of 13391, ghosts 1084 of 47397.

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
    [14.074, 1.665, -2.761, -0.489, -1.419, -0.357, 0.369, 0.176, -0.098, 0.281, 0.533, -0.459, 0.006, 0.026, -1.105],
    0.25,
);
