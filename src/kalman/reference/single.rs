//! The naive twin of the kernels in f32: one track, dense matrices, the same operations in the same order, so that
//! every gang can be compared with it bit by bit. It imports nothing from `simd/`.

use std::f32::consts::{FRAC_2_PI, FRAC_PI_2, PI, TAU};

/// A state on a cylinder: radius, parameters (azimuth, z, charge / pT, moment, slope), covariance.
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// cm
    pub radius: f32,
    /// See [`axis`](crate::kalman::axis).
    pub p: [f32; 5],
    /// The lower triangle counts.
    pub c: [[f32; 5]; 5],
}

/// A hit: azimuth, z, their variances and the radius.
#[derive(Debug, Clone, Copy)]
pub struct Hit {
    /// rad, cm
    pub position: [f32; 2],
    /// rad^2, cm^2
    pub variance: [f32; 2],
    /// cm
    pub radius: f32,
}

/// a b + c, rounded once.
fn fma(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

/// As gangs choose: the second of two that are equal or not numbers.
fn max(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

fn min(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

fn polynomial(x: f32, coefficients: &[f32]) -> f32 {
    coefficients.iter().rev().copied().reduce(|sum, c| fma(sum, x, c)).unwrap_or(0.0)
}

fn atan_tail(square: f32) -> f32 {
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

/// The angle of (x, y).
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

/// Sine and cosine of an angle of less than 65536.
fn sincos(x: f32) -> (f32, f32) {
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

/// `angle` without whole turns.
pub fn within_turn(angle: f32) -> f32 {
    let turns = fma(angle, 1.0 / TAU, 12_582_912.0) - 12_582_912.0;
    fma(-turns, TAU, angle)
}

/// f c f^T: the products with ones first, as they need no multiplication.
fn similarity<const R: usize, const N: usize>(f: &[[Option<f32>; N]; R], c: &[[f32; N]; N]) -> [[f32; R]; R] {
    let at = |i: usize, j: usize| c[i.max(j)][i.min(j)];
    let mut out = [[0.0; R]; R];
    for i in 0..R {
        let row: [f32; N] = std::array::from_fn(|j| {
            let mut sum = -0.0;
            for (m, f) in f[i].iter().enumerate() {
                sum = f.map_or(sum, |f| fma(f, at(m, j), sum));
            }
            sum
        });
        for l in 0..=i {
            let mut sum = -0.0;
            for (f, row) in f[l].iter().zip(row) {
                sum = if *f == Some(1.0) { sum + row } else { sum };
            }
            for (f, row) in f[l].iter().zip(row) {
                sum = if *f == Some(1.0) { sum } else { f.map_or(sum, |f| fma(f, row, sum)) };
            }
            out[i][l] = sum;
        }
    }
    out
}

fn axis_of(radius: f32, moment: f32) -> f32 {
    max(fma(-moment, moment, radius * radius), f32::MIN_POSITIVE).sqrt()
}

fn inside(q: f32, r: f32) -> bool {
    q * q < 0.9999 * (r * r)
}

/// tan of half the turn, chord along the final direction, length, excess, chord across: see `radius.rs`.
fn arc(reach: f32, half_curvature: f32) -> [f32; 5] {
    let tau = half_curvature * reach;
    let square = tau * tau;
    let shrink = 1.0 / (square + 1.0);
    let tail = atan_tail(square);
    let chord = reach * shrink;
    let half_reach = 0.5 * reach;
    [
        tau,
        chord,
        reach * fma(square, tail, 1.0),
        reach * half_reach * tau * (tail + shrink),
        chord * half_reach,
    ]
}

/// The state on another cylinder, if the track gets there.
pub fn to_radius(state: &State, field: f32, radius: f32) -> (State, bool) {
    let [azimuth, z, k, q, slope] = state.p;
    let r = state.radius;
    let per_charge = 0.5 * field * fma(radius, radius, -(r * r));
    let half_curvature = 0.5 * field * k;
    let q_new = fma(per_charge, k, q);
    let (a, a_new) = (axis_of(r, q), axis_of(radius, q_new));
    let turned = fma(-half_curvature, q + q_new, 1.0);
    let axes = a * a_new;
    let shared = 1.0 / (axes * turned);
    let [tau, chord, length, excess, across] = arc((a_new - a) * axes * shared, half_curvature);
    let weight = shared * turned;
    let lever = chord * fma(tau, a, q);
    let tangent = lever / fma(chord, fma(-tau, q, a), r * (radius + r));
    let square = tangent * tangent;
    let change = (tangent + tangent) * fma(square, atan_tail(square), 1.0);
    let across_axis = across * a * weight;
    let (o, i) = (None, Some(1.0));
    let f = [
        [i, o, Some(field * across_axis), Some(chord * weight), o],
        [
            o,
            i,
            Some(slope * (field * fma(across_axis, q_new, -excess))),
            Some(slope * (lever * weight)),
            Some(length),
        ],
        [o, o, i, o, o],
        [o, o, Some(per_charge), i, o],
        [o, o, o, o, i],
    ];
    let reached =
        inside(q, r) && inside(q_new, radius) && tau.abs() < 1.0 && tangent.abs() < 1.0 && 0.0 < turned;
    let p = [azimuth + change, fma(slope, length, z), k, q_new, slope];
    (State { radius, p, c: similarity(&f, &state.c) }, reached)
}

/// Takes in a hit on the state's own cylinder; its chi2, and whether the residual had a covariance.
pub fn update(state: &mut State, hit: &Hit) -> (f32, bool) {
    let c = state.c;
    let d = [within_turn(hit.position[0] - state.p[0]), hit.position[1] - state.p[1]];
    let s = [c[0][0] + hit.variance[0], c[1][0], c[1][1] + hit.variance[1]];
    let determinant = fma(-s[1], s[1], s[0] * s[2]);
    if !(0.0 < determinant && 0.0 < s[0]) {
        return (0.0, false);
    }
    let scale = 1.0 / determinant;
    let (w00, w10, w11) = (s[2] * scale, -(s[1] * scale), s[0] * scale);
    let w = [[w00, w10], [w10, w11]];
    let at = |i: usize, j: usize| c[i.max(j)][i.min(j)];
    let weighted = [0, 1].map(|i: usize| fma(w[i][1], d[1], w[i][0] * d[0]));
    let chi2 = fma(d[1], weighted[1], d[0] * weighted[0]);
    // V S^-1.
    let rest = [0, 1].map(|i: usize| [0, 1].map(|j: usize| hit.variance[i] * w[i][j]));
    for i in 0..5 {
        state.p[i] = fma(at(i, 1), weighted[1], fma(at(i, 0), weighted[0], state.p[i]));
        let gain = [0, 1].map(|j: usize| fma(c[i][1], w[1][j], c[i][0] * w[0][j]));
        for j in 0..=i {
            state.c[i][j] = if i < 2 {
                fma(rest[i][1], at(1, j), rest[i][0] * at(0, j))
            } else if j < 2 {
                fma(c[i][1], rest[j][1], c[i][0] * rest[j][0])
            } else {
                fma(-gain[1], c[j][1], fma(-gain[0], c[j][0], c[i][j]))
            };
        }
    }
    (chi2, true)
}

/// The state where a track from a vertex (x, y, z, charge / pT, phi, theta, with covariance) leaves a cylinder.
pub fn from_vertex(p: [f32; 6], c: &[[f32; 6]; 6], field: f32, radius: f32) -> (State, bool) {
    let [x, y, z, k, phi, theta] = p;
    let ((uy, ux), (sine, cosine)) = (sincos(phi), sincos(theta));
    let slope = cosine / sine;
    let square = fma(x, x, y * y);
    let per_charge = 0.5 * field * fma(radius, radius, -square);
    let half_curvature = 0.5 * field * k;
    let q = fma(-y, ux, x * uy);
    let a = fma(x, ux, y * uy);
    let q_new = fma(per_charge, k, q);
    let a_new = axis_of(radius, q_new);
    let turned = fma(-half_curvature, q + q_new, 1.0);
    let [tau, chord, length, excess, across] = arc((a_new - a) / turned, half_curvature);
    let x_new = fma(chord, fma(-tau, uy, ux), x);
    let y_new = fma(chord, fma(tau, ux, uy), y);
    let per_axis = 1.0 / a_new;
    let steep = q_new * per_axis;
    let per_square = 1.0 / (radius * radius);
    let curvature = half_curvature + half_curvature;
    let by_theta = -fma(slope, slope, 1.0);
    let some = Some;
    let (o, i) = (None, Some(1.0));
    let f = [
        [
            some(-(fma(x_new, steep, y_new) * per_square)),
            some(fma(-y_new, steep, x_new) * per_square),
            o,
            some(field * across * per_axis),
            some(chord * per_axis),
            o,
        ],
        [
            some(slope * -(x_new * per_axis)),
            some(slope * -(y_new * per_axis)),
            i,
            some(slope * (field * fma(across, steep, -excess))),
            some(slope * (fma(-y, x_new, x * y_new) * per_axis)),
            some(length * by_theta),
        ],
        [o, o, o, i, o, o],
        [some(fma(-curvature, x, uy)), some(-fma(curvature, y, ux)), o, some(per_charge), some(a), o],
        [o, o, o, o, o, some(by_theta)],
    ];
    let reached = inside(q_new, radius) && square < radius * radius && tau.abs() < 1.0 && 0.0 < turned;
    let p = [atan2(y_new, x_new), fma(slope, length, z), k, q_new, slope];
    (State { radius, p, c: similarity(&f, c) }, reached)
}
