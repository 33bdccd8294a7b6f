//! States at which filters start.

use super::maths::{atan_tail, atan2, fma, max, sincos, within_turn};
use super::{Hit, State, arc, axis_of, inside};

/// Returns the parameters where a track from a vertex (x, y, z, charge / pT, phi, theta) leaves a cylinder, their
/// derivatives, and whether it gets there.
fn leave(vertex: [f32; 6], field: f32, radius: f32) -> ([f32; 5], [[Option<f32>; 6]; 5], bool) {
    let [x, y, z, k, phi, theta] = vertex;
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
    (p, f, reached)
}

/// Returns the state of a track from a vertex (variances `before`) on the cylinder of `radius`, after the hit if there
/// is one; whether the track reaches the cylinder; and the result of [`update`](super::update) for the hit.
pub fn from_vertex(
    vertex: [f32; 6],
    before: [f32; 6],
    field: f32,
    radius: f32,
    hit: Option<&Hit>,
) -> (State, bool, (f32, bool)) {
    let (mut p, f, reached) = leave(vertex, field, radius);
    let none = Hit { position: [0.0; 2], variance: [1.0; 2], radius };
    let Hit { position, variance: v, .. } = hit.unwrap_or(&none);
    let sparse = f;
    let f = f.map(|row| row.map(|element| element.unwrap_or(0.0)));
    let with = [0, 1, 2, 3, 4].map(|i: usize| {
        let terms = |a: usize| sparse[i].iter().zip(before).zip(f[a]).map(|((f, b), g)| (*f, b * g));
        let sum = |sum, (f, term): (Option<f32>, f32)| f.map_or(sum, |f| fma(f, term, sum));
        [0, 1].map(|a: usize| terms(a).fold(-0.0, sum))
    });
    let s = [with[0][0] + v[0], with[1][0], with[1][1] + v[1]];
    let determinant = fma(-s[1], s[1], s[0] * s[2]);
    let sane = 0.0 < determinant && 0.0 < s[0];
    let scale = 1.0 / determinant;
    let mut d = [within_turn(position[0] - p[0]), position[1] - p[1]];
    let off = -(s[1] * scale);
    let mut w = [[s[2] * scale, off], [off, s[0] * scale]];
    let mut rest = [0, 1].map(|i: usize| [0, 1].map(|a: usize| v[i] * w[i][a]));
    if hit.is_none() || !sane {
        (d, w, rest) = ([0.0; 2], [[0.0; 2]; 2], [[1.0, 0.0], [0.0, 1.0]]);
    }
    let weighted = [0, 1].map(|i: usize| fma(w[i][1], d[1], w[i][0] * d[0]));
    (0..5).for_each(|i| p[i] = fma(with[i][1], weighted[1], fma(with[i][0], weighted[0], p[i])));
    let gain = with.map(|with| [0, 1].map(|a: usize| fma(with[1], w[1][a], with[0] * w[0][a])));
    // (1 - K H) F
    let l: [[f32; 6]; 5] = std::array::from_fn(|i| {
        std::array::from_fn(|m| match i {
            0 | 1 => fma(rest[i][1], f[1][m], rest[i][0] * f[0][m]),
            _ => fma(-gain[i][1], f[1][m], fma(-gain[i][0], f[0][m], f[i][m])),
        })
    });
    let mut c = [[0.0; 5]; 5];
    for i in 0..5 {
        for j in 0..=i {
            let of_hit = fma(gain[i][1] * v[1], gain[j][1], gain[i][0] * v[0] * gain[j][0]);
            c[i][j] = (0..6).fold(of_hit, |sum, m| fma(l[i][m] * before[m], l[j][m], sum));
        }
    }
    let chi2 = fma(d[1], weighted[1], d[0] * weighted[0]);
    (State { radius, p, c }, reached, (chi2, sane))
}

/// Returns a hit (azimuth, z, radius) in the frame in which `first` is the origin and x points outwards there.
fn in_frame(first: [f32; 3], hit: [f32; 3]) -> [f32; 2] {
    let (sine, cosine) = sincos(hit[0] - first[0]);
    [fma(hit[2], cosine, -first[2]), hit[2] * sine]
}

/// Returns the state at the first of three hits (azimuth, z, radius) on the helix through them.
pub fn from_three_hits(hits: [[f32; 3]; 3], field: f32, prior: [f32; 5]) -> State {
    let norm2 = |v: [f32; 2]| fma(v[0], v[0], v[1] * v[1]);
    let [[azimuth, z, radius], middle, last] = hits;
    let (near, far) = (in_frame(hits[0], middle), in_frame(hits[0], last));
    let cross = fma(-near[1], far[0], near[0] * far[1]);
    let between = [far[0] - near[0], far[1] - near[1]];
    let curvature = (cross + cross) / (norm2(near) * norm2(far) * norm2(between)).sqrt();
    let half_chord = 0.5 * norm2(far).sqrt();
    let sine = curvature * half_chord;
    let cosine = axis_of(1.0, sine);
    let chord = half_chord + half_chord;
    let sideways = fma(-sine, far[0], cosine * far[1]) / chord;
    let square = sine * sine;
    let tangent2 = square / max(1.0 - square, 0.5);
    let length = chord * fma(tangent2, atan_tail(tangent2), 1.0) / cosine;
    let mut c = [[0.0; 5]; 5];
    (0..5).for_each(|i| c[i][i] = prior[i]);
    State { radius, p: [azimuth, z, curvature / field, radius * sideways, (last[1] - z) / length], c }
}
