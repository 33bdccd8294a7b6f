//! Where states on a cylinder begin: at a vertex, or at the first hits.

use super::matriplex::{Entry, Matrix, Pattern, Symmetric, similarity};
use super::radius::{Arc, axis_of, inside};
use super::state::CylinderState;
use crate::simd::Gang;
use crate::simd::math::{atan_tail, atan2, sincos};
use crate::simd::varying::{F32, Mask};

/// A state at a point: x, y, z (cm), charge / pT (c/GeV), phi and theta of the momentum (rad), with covariance.
#[derive(Clone, Copy)]
pub struct VertexState<G: Gang> {
    /// x, y, z, charge / pT, phi, theta.
    pub p: [F32<G>; 6],
    /// Their covariance.
    pub c: Symmetric<G, 6>,
}

struct VertexJacobian;

impl Pattern<5, 6> for VertexJacobian {
    const ENTRIES: [[Entry; 6]; 5] = {
        use Entry::{One as I, Value as V, Zero as O};
        [[V, V, O, V, V, O], [V, V, I, V, V, V], [O, O, O, I, O, O], [V, V, O, V, V, O], [O, O, O, O, O, V]]
    };
}

/// The states where tracks from a vertex first leave the cylinder of radius `radius`, and the lanes that do (see
/// [`step`](super::step)).
#[inline(always)]
pub fn from_vertex<G: Gang>(
    g: G,
    vertex: &VertexState<G>,
    field: F32<G>,
    radius: F32<G>,
) -> (CylinderState<G>, Mask<G>) {
    let [x, y, z, charge_over_pt, phi, theta] = vertex.p;
    let (zero, one, half) = (F32::splat(g, 0.0), F32::splat(g, 1.0), F32::splat(g, 0.5));
    let (uy, ux) = sincos(phi);
    let (sine, cosine) = sincos(theta);
    let slope = cosine / sine;
    let square = x.mul_add(x, y * y);
    let per_charge = half * field * radius.mul_add(radius, -square);
    let half_curvature = half * field * charge_over_pt;
    let q = y.neg_mul_add(ux, x * uy);
    let a = x.mul_add(ux, y * uy);
    let q_new = per_charge.mul_add(charge_over_pt, q);
    let a_new = axis_of(g, radius, q_new);
    let turned = half_curvature.neg_mul_add(q + q_new, one);
    let arc = Arc::new(g, (a_new - a) / turned, half_curvature);
    let x_new = arc.chord.mul_add(arc.tau.neg_mul_add(uy, ux), x);
    let y_new = arc.chord.mul_add(arc.tau.mul_add(ux, uy), y);

    let per_axis = one / a_new;
    let steep = q_new * per_axis;
    let per_square = one / (radius * radius);
    let length_by_phi = y.neg_mul_add(x_new, x * y_new) * per_axis;
    let curvature = half_curvature + half_curvature;
    let mut jacobian = Matrix::splat(g, 0.0);
    let length_by = [
        -(x_new * per_axis),
        -(y_new * per_axis),
        field * arc.across.mul_add(steep, -arc.excess),
        length_by_phi,
    ];
    jacobian.0[4][5] = -slope.mul_add(slope, one);
    jacobian.0[0][0] = -(x_new.mul_add(steep, y_new) * per_square);
    jacobian.0[0][1] = y_new.neg_mul_add(steep, x_new) * per_square;
    jacobian.0[0][3] = field * arc.across * per_axis;
    jacobian.0[0][4] = arc.chord * per_axis;
    jacobian.0[1][0] = slope * length_by[0];
    jacobian.0[1][1] = slope * length_by[1];
    jacobian.0[1][3] = slope * length_by[2];
    jacobian.0[1][4] = slope * length_by[3];
    jacobian.0[1][5] = arc.length * jacobian.0[4][5];
    jacobian.0[3][0] = curvature.neg_mul_add(x, uy);
    jacobian.0[3][1] = -curvature.mul_add(y, ux);
    jacobian.0[3][3] = per_charge;
    jacobian.0[3][4] = a;

    let reached =
        inside(g, q_new, radius) & square.lt(radius * radius) & arc.tau.abs().lt(one) & zero.lt(turned);
    let p = [atan2(y_new, x_new), slope.mul_add(arc.length, z), charge_over_pt, q_new, slope];
    let c = similarity::<VertexJacobian, G, 5, 6>(g, &jacobian, &vertex.c);
    (CylinderState { radius, p, c }, reached)
}

/// Azimuths, z and radii of three hits of a track, from inside out.
pub type ThreeHits<G> = [[F32<G>; 3]; 3];

/// A hit in the frame in which `first` is the origin and x points outwards there.
#[inline(always)]
fn in_frame<G: Gang>(first: [F32<G>; 3], hit: [F32<G>; 3]) -> [F32<G>; 2] {
    let (sine, cosine) = sincos(hit[0] - first[0]);
    [hit[2].mul_add(cosine, -first[2]), hit[2] * sine]
}

#[inline(always)]
fn norm2<G: Gang>(v: [F32<G>; 2]) -> F32<G> {
    v[0].mul_add(v[0], v[1] * v[1])
}

/// The state at the first of three hits (azimuth, z, radius each) on the helix through them, with a diagonal
/// covariance `prior`. Lanes whose hits cannot be on an outward-going track get a state that reaches nothing.
#[inline(always)]
pub fn from_three_hits<G: Gang>(
    g: G,
    hits: ThreeHits<G>,
    field: F32<G>,
    prior: [F32<G>; 5],
) -> CylinderState<G> {
    let (one, half) = (F32::splat(g, 1.0), F32::splat(g, 0.5));
    let [[azimuth, z, r], middle, last] = hits;
    let (near, far) = (in_frame(hits[0], middle), in_frame(hits[0], last));
    let cross = near[1].neg_mul_add(far[0], near[0] * far[1]);
    let between = [far[0] - near[0], far[1] - near[1]];
    let (near2, far2) = (norm2(near), norm2(far));
    // Four areas over the product of the sides.
    let curvature = (cross + cross) / (near2 * far2 * norm2(between)).sqrt();
    // The direction at the first hit is that of the chord to the last, turned back by half the turn.
    let half_chord = half * far2.sqrt();
    let sine = curvature * half_chord;
    let cosine = axis_of(g, one, sine);
    let sideways = sine.neg_mul_add(far[0], cosine * far[1]) / (half_chord + half_chord);
    let square = sine * sine;
    // asin(s) / s for half turns well below a quarter.
    let tangent2 = square / (one - square).max(F32::splat(g, 0.5));
    let length = (half_chord + half_chord) * tangent2.mul_add(atan_tail(tangent2), one) / cosine;
    let slope = (last[1] - z) / length;
    let p = [azimuth, z, curvature / field, r * sideways, slope];
    CylinderState { radius: r, p, c: Symmetric::diagonal(g, prior) }
}
