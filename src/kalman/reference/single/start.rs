//! Where filters begin.

use super::maths::{atan_tail, atan2, fma, max, sincos};
use super::{State, arc, axis_of, inside, similarity};

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

/// A hit (azimuth, z, radius) in the frame in which `first` is the origin and x points outwards there.
fn in_frame(first: [f32; 3], hit: [f32; 3]) -> [f32; 2] {
    let (sine, cosine) = sincos(hit[0] - first[0]);
    [fma(hit[2], cosine, -first[2]), hit[2] * sine]
}

/// The state at the first of three hits (azimuth, z, radius) on the helix through them.
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
