//! The arithmetic and functions of gangs, for a single value.

use std::f32::consts::{FRAC_2_PI, FRAC_PI_2, PI, TAU};

/// Returns a b + c, rounded once.
pub(super) fn fma(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

/// Returns the larger value, as gangs do: `b` when the values are equal or one is NaN.
pub(super) fn max(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

pub(super) fn min(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

fn polynomial(x: f32, coefficients: &[f32]) -> f32 {
    coefficients.iter().rev().copied().reduce(|sum, c| fma(sum, x, c)).unwrap_or(0.0)
}

pub(super) fn atan_tail(square: f32) -> f32 {
    let p = [
        -0.333_333,
        0.199_985_48,
        -0.142_642_42,
        0.109_521_85,
        -0.084_034_49,
        0.057_957_58,
        -0.031_177_83,
        0.010_914_599,
        -0.001_793_620_3,
    ];
    polynomial(square, &p)
}

/// Returns the angle of (x, y).
pub fn atan2(y: f32, x: f32) -> f32 {
    let (near, far) = (x.abs().min(y.abs()), x.abs().max(y.abs()));
    let steep = x.abs() < y.abs();
    let ratio = if far == 0.0 {
        0.0
    } else if near == far {
        1.0
    } else {
        near / far
    };
    let ratio = if x.is_nan() || y.is_nan() { f32::NAN } else { ratio };
    let square = ratio * ratio;
    let angle = fma(ratio * square, atan_tail(square), ratio);
    let left = x.is_sign_negative();
    let angle = match (steep, left) {
        (false, false) => angle,
        (false, true) => PI + (-angle - 8.742_278e-8),
        (true, false) => FRAC_PI_2 + (-angle - 4.371_139e-8),
        (true, true) => FRAC_PI_2 + (angle - 4.371_139e-8),
    };
    angle.copysign(y)
}

/// Returns sine and cosine of an angle up to 65536 rad; NaN for larger angles.
pub fn sincos(x: f32) -> (f32, f32) {
    if x.is_nan() || x.abs() > 65_536.0 {
        return (f32::NAN, f32::NAN);
    }
    let turns = fma(x, FRAC_2_PI, 12_582_912.0) - 12_582_912.0;
    let parts = [FRAC_PI_2.next_down(), 7.549_789_4e-8, 5.390_303e-15];
    let rest = parts.iter().fold(x, |rest, part| fma(-turns, *part, rest));
    let square = rest * rest;
    let s = polynomial(square, &[-0.166_666_55, 0.008_332_156, -0.000_195_146_32]);
    let c = polynomial(square, &[0.041_666_646, -0.001_388_731, 2.443_241_3e-5]);
    let sine = fma(rest * square, s, rest);
    let cosine = fma(square * square, c, fma(square, -0.5, 1.0));
    match (turns as i64).rem_euclid(4) {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

/// Returns `angle` minus whole turns.
pub fn within_turn(angle: f32) -> f32 {
    let turns = fma(angle, 1.0 / TAU, 12_582_912.0) - 12_582_912.0;
    fma(-turns, TAU, angle)
}
