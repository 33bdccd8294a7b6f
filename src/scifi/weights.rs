//! Weights and thresholds of the choices of `fast` and `best`, made from simulated events alone.

use super::config::FEATURES;

/// Of `fast`: weights, and the smallest sum.
#[rustfmt::skip]
pub(super) const FAST: ([f32; FEATURES], f32) = (
    [17.082, 2.481, -3.559, -0.648, -1.483, -1.304, 0.707, 0.306, -0.014, 0.36, 0.341, -0.622, -0.02, 0.016, -1.423],
    -1.5,
);
/// Of the first pass of `best`: weights, and the smallest sum.
#[rustfmt::skip]
pub(super) const FIRST: ([f32; FEATURES], f32) = (
    [15.456, 2.306, -3.286, -0.728, -0.738, -2.072, 0.671, 0.242, -0.012, 0.48, -0.389, -0.676, -0.026, 0.027, -1.539],
    -2.0,
);
/// Of the second pass: weights, and the smallest sum.
#[rustfmt::skip]
pub(super) const SECOND: ([f32; FEATURES], f32) = (
    [13.441, 1.384, -2.547, -0.571, -1.17, -0.333, 0.419, 0.153, -0.035, 0.129, 0.207, -0.521, 0.011, 0.014, -1.131],
    0.1,
);
