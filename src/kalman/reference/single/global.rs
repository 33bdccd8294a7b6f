//! The naive twin in f32 of the filter of x, y, z, charge / pT, phi and theta, with hits of three coordinates.

use super::maths::{atan2, fma, sincos};
use super::written::angle;
use super::{Hit, State, arc, axis_of, inside, noise_angle2, similarity, similarity_with};

/// A state in one frame for all tracks; only the lower triangle of the covariance is used.
#[derive(Debug, Clone, Copy)]
pub struct GlobalState {
    /// x, y, z, charge / pT, phi, theta.
    pub p: [f32; 6],
    /// Covariance of the parameters.
    pub c: [[f32; 6]; 6],
}

/// Converts a state on a cylinder.
pub fn to_global(state: &State) -> GlobalState {
    let [azimuth, z, k, moment, slope] = state.p;
    let (sine, cosine) = sincos(azimuth);
    let (x, y) = (state.radius * cosine, state.radius * sine);
    let axis = axis_of(state.radius, moment);
    let (o, i, some) = (None, Some(1.0), Some);
    let f = [
        [some(-y), o, o, o, o],
        [some(x), o, o, o, o],
        [o, i, o, o, o],
        [o, o, i, o, o],
        [i, o, o, some(1.0 / axis), o],
        [o, o, o, o, some(-(1.0 / fma(slope, slope, 1.0)))],
    ];
    let p = [x, y, z, k, azimuth + atan2(moment, axis), atan2(1.0, slope)];
    GlobalState { p, c: similarity(&f, &state.c) }
}

/// A state at a radius: the covariance has the axes along the radius and along r-phi in place of x and y.
struct OnRadius {
    p: [f32; 6],
    c: [[f32; 6]; 6],
    sine: f32,
    cosine: f32,
    radius: f32,
    axis: f32,
    slope: f32,
}

/// Transports the state to a cylinder. Returns whether the track reaches it.
fn to_radius(state: &GlobalState, field: f32, radius: f32) -> (OnRadius, bool) {
    let [x, y, z, k, phi, theta] = state.p;
    let ((uy, ux), (sine_theta, cosine_theta)) = (sincos(phi), sincos(theta));
    let slope = cosine_theta / sine_theta;
    let square = fma(x, x, y * y);
    let per_charge = 0.5 * field * fma(radius, radius, -square);
    let half_curvature = 0.5 * field * k;
    let curvature = half_curvature + half_curvature;
    let q = fma(x, uy, -(y * ux));
    let a = fma(x, ux, y * uy);
    let q_new = fma(per_charge, k, q);
    let axis = axis_of(radius, q_new);
    let turned = fma(-half_curvature, q + q_new, 1.0);
    let [tau, chord, length, excess, across] = arc((axis - a) / turned, half_curvature);
    let x_new = fma(chord, fma(-tau, uy, ux), x);
    let y_new = fma(chord, fma(tau, ux, uy), y);
    let (per_axis, per_radius) = (1.0 / axis, 1.0 / radius);
    let steep = q_new * per_axis;
    let (cosine, sine) = (x_new * per_radius, y_new * per_radius);
    let length_by = [
        -(x_new * per_axis),
        -(y_new * per_axis),
        field * fma(across, steep, -excess),
        fma(x, y_new, -(y * x_new)) * per_axis,
    ];
    let along_by = [
        -fma(cosine, steep, sine),
        fma(-sine, steep, cosine),
        field * across * per_axis * radius,
        chord * per_axis * radius,
    ];
    let z_by = length_by.map(|by| Some(slope * by));
    let phi_by = length_by.map(|by| curvature * by);
    let (o, i, some) = (None, Some(1.0), Some);
    let f = [
        [o; 6],
        [some(along_by[0]), some(along_by[1]), o, some(along_by[2]), some(along_by[3]), o],
        [z_by[0], z_by[1], i, z_by[2], z_by[3], some(-(length * fma(slope, slope, 1.0)))],
        [o, o, o, i, o, o],
        [some(phi_by[0]), some(phi_by[1]), o, some(fma(field, length, phi_by[2])), some(1.0 + phi_by[3]), o],
        [o, o, o, o, o, i],
    ];
    let p = [x_new, y_new, fma(slope, length, z), k, fma(curvature, length, phi), theta];
    let reached = inside(q_new, radius)
        && q * q < 0.9999 * square
        && 0.0 < a
        && 0.0 < fma(x, x_new, y * y_new)
        && 0.0 < sine_theta
        && tau.abs() < 1.0
        && 0.0 < turned;
    let mut ones = [[false; 6]; 6];
    [2, 3, 5].into_iter().for_each(|i| ones[i][i] = true);
    (OnRadius { p, c: similarity_with(&f, &ones, &state.c), sine, cosine, radius, axis, slope }, reached)
}

/// Adds the scattering of a layer to the covariance.
fn scatter(state: &mut OnRadius, thickness: f32) {
    let OnRadius { p, c, radius, axis, slope, .. } = state;
    let steep2 = fma(*slope, *slope, 1.0);
    let angle2 = noise_angle2(p[3], steep2, *radius / *axis, thickness);
    let by_slope = p[3] * *slope;
    c[3][3] += angle2 * (by_slope * by_slope);
    c[4][4] += angle2 * steep2;
    c[5][3] -= angle2 * by_slope;
    c[5][5] += angle2;
}

/// Returns the inverse of a symmetric matrix and its determinant, by Cramer's rule.
fn cramer(s: &[[f32; 3]; 3]) -> ([[f32; 3]; 3], f32) {
    let [[a, _, _], [b, d, _], [c, e, f]] = *s;
    let minors = [fma(-e, e, d * f), fma(-b, f, c * e), fma(-c, d, b * e)];
    let determinant = fma(c, minors[2], fma(b, minors[1], a * minors[0]));
    let scale = 1.0 / determinant;
    let [aa, bb, cc] = minors.map(|minor| minor * scale);
    let (dd, ee, ff) = (fma(-c, c, a * f) * scale, fma(-a, e, b * c) * scale, fma(-b, b, a * d) * scale);
    ([[aa, bb, cc], [bb, dd, ee], [cc, ee, ff]], determinant)
}

/// Adds a hit at the state's radius. Returns its chi2, and whether the residual has a valid covariance.
fn measure(state: &mut OnRadius, position: [f32; 3], [radial, tangential, var_z]: [f32; 3]) -> (f32, bool) {
    let OnRadius { p, c: symmetric, sine, cosine, radius, .. } = state;
    let [x, y, z] = position;
    let (across, along) = (fma(*cosine, y, -(*sine * x)), fma(*cosine, x, *sine * y));
    let (hit_sine, hit_cosine) = (across * (1.0 / *radius), along * (1.0 / *radius));
    let (sine2, cosine2) = (hit_sine * hit_sine, hit_cosine * hit_cosine);
    let between = hit_sine * hit_cosine * (radial - tangential);
    let v = [
        [fma(cosine2, radial, sine2 * tangential), between, 0.0],
        [between, fma(sine2, radial, cosine2 * tangential), 0.0],
        [0.0, 0.0, var_z],
    ];
    let mut d = [along - *radius, across, z - p[2]];
    let old = *symmetric;
    let c = |i: usize, j: usize| old[i.max(j)][i.min(j)];
    let s = [0, 1, 2].map(|i| [0, 1, 2].map(|j| c(i, j) + v[i][j]));
    let (mut w, determinant) = cramer(&s);
    let sane = 0.0 < determinant && 0.0 < s[0][0];
    let dot = |a: [f32; 3], b: [f32; 3]| fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0]));
    if !sane {
        (d, w) = ([0.0; 3], [[0.0; 3]; 3]);
    }
    // V S^-1
    let mut rest = [0, 1, 2].map(|i: usize| [0, 1, 2].map(|j: usize| dot(v[i], w[j])));
    if !sane {
        rest = [0, 1, 2].map(|i| [0, 1, 2].map(|j| f32::from(u8::from(i == j))));
    }
    let weighted = [0, 1, 2].map(|i: usize| dot(w[i], d));
    let chi2 = dot(d, weighted);
    let mut change = [0.0; 6];
    for i in 0..6 {
        let row = [0, 1, 2].map(|j| c(i, j));
        change[i] = fma(row[2], weighted[2], fma(row[1], weighted[1], fma(row[0], weighted[0], 0.0)));
        let gain = [0, 1, 2].map(|j: usize| dot(row, w[j]));
        for j in 0..=i {
            let column = [0, 1, 2].map(|m| c(m, j));
            symmetric[i][j] = match (i < 3, j < 3) {
                (true, _) => dot(rest[i], column),
                (false, true) => dot(row, rest[j]),
                (false, false) => (0..3).fold(c(i, j), |sum, m| fma(-gain[m], column[m], sum)),
            };
        }
    }
    p[0] = fma(-*sine, change[1], p[0]);
    p[1] = fma(*cosine, change[1], p[1]);
    (2..6).for_each(|i| p[i] += change[i]);
    (chi2, sane)
}

/// Transports the state to a hit, adds the scattering of the hit's layer, and adds the hit. Returns chi2 of the hit,
/// whether the track reaches the hit, and whether the residual has a valid covariance.
pub fn take(state: &mut GlobalState, field: f32, material: f32, radial: f32, hit: &Hit) -> (f32, bool, bool) {
    let (mut there, reached) = to_radius(state, field, hit.radius);
    if material > 0.0 {
        scatter(&mut there, material);
    }
    let (sine, cosine) = sincos(hit.position[0]);
    let position = [hit.radius * cosine, hit.radius * sine, hit.position[1]];
    let variance = [radial, hit.variance[0] * (hit.radius * hit.radius), hit.variance[1]];
    let (chi2, sane) = measure(&mut there, position, variance);
    let OnRadius { p, c, sine, cosine, .. } = there;
    let mut global = c;
    global[0][0] = sine * sine * c[1][1];
    global[1][0] = -(sine * cosine * c[1][1]);
    global[1][1] = cosine * cosine * c[1][1];
    for i in 2..6 {
        (global[i][0], global[i][1]) = (-(sine * c[i][1]), cosine * c[i][1]);
    }
    *state = GlobalState { p, c: global };
    (chi2, reached, sane)
}

/// Returns azimuth, z, charge / pT, phi and theta; the first parameter of the covariance is r-phi.
pub fn written_global(state: &GlobalState) -> State {
    let [x, y, z, k, phi, theta] = state.p;
    let c = |i: usize, j: usize| state.c[i.max(j)][i.min(j)];
    let radius = fma(x, x, y * y).sqrt();
    let (cosine, sine) = (x / radius, y / radius);
    let row: [f32; 6] = std::array::from_fn(|j| fma(cosine, c(1, j), -(sine * c(0, j))));
    let mut out = [[0.0; 5]; 5];
    out[0][0] = fma(cosine, row[1], -(sine * row[0]));
    for i in 1..5 {
        out[i][0] = row[i + 1];
        (1..=i).for_each(|j| out[i][j] = c(i + 1, j + 1));
    }
    State { radius, p: [atan2(y, x), z, k, angle(phi), theta], c: out }
}
