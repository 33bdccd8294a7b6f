//! Weights and thresholds of the choices of `fast` and `best`, made from simulated events alone.
//!
//! Written by `cargo run --release --example choose -- scifi`, not by hand. Logistic regressions
//! (ridge 1, rounded to 0.001) on what a pass finds without a choice in `sim:lhcb,events=10`, `best` with
//! `realism=1`, seeds 101..=140; true is what has 70 % of its hits of one particle.
//! `fast`: 42194 true and 7505 false; first pass of `best`: 32212 true and 4374 false; second: 15212 true and 5898 false.
//! Thresholds: in steps of 0.25 on seeds 801..=840, by the criterion of docs/algorithms.md:
//! `fast` 16556 of 17823 and 12562 of 13391, ghosts 990 of 41933;
//! `best` 16789 of 17612 and 12751 of 13269, ghosts 1105 of 45679.

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
    [16.803, 2.586, -2.861, -0.657, -1.464, -2.528, 0.687, 0.186, -0.053, 0.328, 0.799, -0.596, -0.032, -0.029, -1.562],
    1.25,
);
/// Of the second pass: weights, and the smallest sum.
#[rustfmt::skip]
pub(super) const SECOND: ([f32; FEATURES], f32) = (
    [13.882, 1.675, -2.426, -0.476, -1.348, -0.585, 0.308, 0.166, -0.09, 0.208, 0.555, -0.815, 0.009, 0.015, -1.135],
    0.25,
);
