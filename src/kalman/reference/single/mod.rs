//! The naive twin of the kernels in f32: one track, dense matrices, the same operations in the same order, so that
//! every gang can be compared with it bit by bit. The naive twin imports nothing from `simd/`.

mod global;
mod maths;
mod smooth;
mod start;
mod written;

use maths::{atan_tail, fma, max};
use smooth::noise_angle2;

pub use global::{GlobalState, take, to_global, written_global};
pub use maths::{atan2, sincos, within_turn};
pub use smooth::{Filtered, carry_back, noise, smooth};
pub use start::{from_three_hits, from_vertex};
pub use written::{judge, written};

/// A state on a cylinder: radius, parameters (azimuth, z, charge / pT, moment, slope), covariance.
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// Radius, cm.
    pub radius: f32,
    /// Parameters, see [`axis`](crate::kalman::axis).
    pub p: [f32; 5],
    /// Covariance; only the lower triangle is used.
    pub c: [[f32; 5]; 5],
}

/// A hit: azimuth, z, their variances and the radius.
#[derive(Debug, Clone, Copy)]
pub struct Hit {
    /// Azimuth, rad, and z, cm.
    pub position: [f32; 2],
    /// Variances, rad^2 and cm^2.
    pub variance: [f32; 2],
    /// Radius, cm.
    pub radius: f32,
}

/// Returns f c f^T. Products with ones come first, as they need no multiplication.
fn similarity<const R: usize, const N: usize>(f: &[[Option<f32>; N]; R], c: &[[f32; N]; N]) -> [[f32; R]; R] {
    similarity_with(f, &f.map(|row| row.map(|f| f == Some(1.0))), c)
}

/// Returns f c f^T for an f whose values may be 1 by chance: `ones` marks the elements that are known to be 1.
fn similarity_with<const R: usize, const N: usize>(
    f: &[[Option<f32>; N]; R],
    ones: &[[bool; N]; R],
    c: &[[f32; N]; N],
) -> [[f32; R]; R] {
    let at = |i: usize, j: usize| c[i.max(j)][i.min(j)];
    // The start of a sum, -0, changes nothing; a sum without terms is 0.
    let begin = |row: &[Option<f32>; N]| if row.iter().all(Option::is_none) { 0.0 } else { -0.0 };
    let mut out = [[0.0; R]; R];
    for i in 0..R {
        let row: [f32; N] = std::array::from_fn(|j| {
            let mut sum = begin(&f[i]);
            for (m, f) in f[i].iter().enumerate() {
                sum = f.map_or(sum, |f| fma(f, at(m, j), sum));
            }
            sum
        });
        for l in 0..=i {
            let mut sum = begin(&f[l]);
            for (one, row) in ones[l].iter().zip(row) {
                sum = if *one { sum + row } else { sum };
            }
            for ((one, f), row) in ones[l].iter().zip(&f[l]).zip(row) {
                sum = if *one { sum } else { f.map_or(sum, |f| fma(f, row, sum)) };
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

/// Returns the tangent of half the turn, chord along the final direction, length, excess, chord across: see `radius.rs`.
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

/// The derivatives of a step to another cylinder: `None` where they are 0.
pub type Derivatives = [[Option<f32>; 5]; 5];

/// Returns the state on another cylinder, and whether the track reaches it.
pub fn to_radius(state: &State, field: f32, radius: f32) -> (State, bool) {
    let (state, _, reached) = step(state, field, radius);
    (state, reached)
}

/// Returns the state on another cylinder, the derivatives, and whether the track reaches it.
pub fn step(state: &State, field: f32, radius: f32) -> (State, Derivatives, bool) {
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
    (State { radius, p, c: similarity(&f, &state.c) }, f, reached)
}

/// Adds the hit, if any, which is on the state's own cylinder. Returns chi2 of the hit, and whether the residual has a
/// valid covariance. Without a hit or a valid covariance nothing changes: the same operations run with weights of zero.
pub fn update(state: &mut State, hit: Option<&Hit>) -> (f32, bool) {
    let c = state.c;
    let at = |i: usize, j: usize| c[i.max(j)][i.min(j)];
    let none = Hit { position: [0.0; 2], variance: [1.0; 2], radius: 0.0 };
    let Hit { position, variance, .. } = hit.unwrap_or(&none);
    let s = [c[0][0] + variance[0], c[1][0], c[1][1] + variance[1]];
    let determinant = fma(-s[1], s[1], s[0] * s[2]);
    let sane = 0.0 < determinant && 0.0 < s[0];
    let scale = 1.0 / determinant;
    let mut d = [within_turn(position[0] - state.p[0]), position[1] - state.p[1]];
    let off = -(s[1] * scale);
    let mut w = [[s[2] * scale, off], [off, s[0] * scale]];
    // V S^-1, including the zeros of V: they matter where S^-1 is infinite.
    let v = [[variance[0], 0.0], [0.0, variance[1]]];
    let mut rest = v.map(|v| [0, 1].map(|j: usize| fma(v[1], w[1][j], v[0] * w[0][j])));
    if hit.is_none() || !sane {
        (d, w, rest) = ([0.0; 2], [[0.0; 2]; 2], [[1.0, 0.0], [0.0, 1.0]]);
    }
    let weighted = [0, 1].map(|i: usize| fma(w[i][1], d[1], w[i][0] * d[0]));
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
    (fma(d[1], weighted[1], d[0] * weighted[0]), sane)
}

/// Adds the scattering in a layer of `thickness` radiation lengths to the covariance.
pub fn scatter(state: &mut State, thickness: f32) {
    let noise = noise(state, thickness);
    for (i, j) in [(2, 2), (3, 3), (4, 2), (4, 4)] {
        state.c[i][j] += noise[i][j];
    }
}
