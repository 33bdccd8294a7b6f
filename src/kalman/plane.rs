//! States on planes of constant z, and transport between them.

use super::matriplex::{Entry, Matrix, Pattern, Symmetric, similarity};
use crate::simd::Gang;
use crate::simd::math::sincos;
use crate::simd::varying::{F32, Mask};

/// Crossing of tracks with a plane of constant z.
#[derive(Clone, Copy)]
pub struct PlaneState<G: Gang> {
    /// z of the plane, cm.
    pub z: F32<G>,
    /// x, y (cm), charge / pT (c/GeV), azimuth of the momentum (rad), slope dz over transverse path.
    pub p: [F32<G>; 5],
    /// Covariance of the parameters.
    pub c: Symmetric<G, 5>,
}

struct PlaneJacobian;

impl Pattern<5, 5> for PlaneJacobian {
    const ENTRIES: [[Entry; 5]; 5] = {
        use Entry::{One as I, Value as V, Zero as O};
        [[I, O, V, V, V], [O, I, V, V, V], [O, O, I, O, O], [O, O, V, I, V], [O, O, O, O, I]]
    };
}

/// Transports the states to the plane at `z`. Returns the lanes in which the transport is possible: the slope is not
/// zero, and the turn is less than 1000 rad. In lanes without transport the state is undefined.
#[inline(always)]
pub fn to_plane<G: Gang>(g: G, state: &mut PlaneState<G>, field: F32<G>, z: F32<G>) -> Mask<G> {
    let [x, y, charge_over_pt, phi, slope] = state.p;
    let (zero, half) = (F32::splat(g, 0.0), F32::splat(g, 0.5));
    let per_slope = F32::splat(g, 1.0) / slope;
    let length = (z - state.z) * per_slope;
    let curvature = field * charge_over_pt;
    let turn = curvature * length;
    let half_turn = half * turn;
    let (sine, cosine) = sincos(half_turn);
    let (up, along) = sincos(phi + half_turn);
    // The chord is length * sin(t) / t, where t is the half turn; sin(t) keeps its relative precision for small t.
    let straight = half_turn.eq(zero);
    let ratio = sine / straight.select_f(F32::splat(g, 1.0), half_turn);
    let chord = length * straight.select_f(F32::splat(g, 1.0), ratio);
    let (dx, dy) = (chord * along, chord * up);
    // The final direction is the direction of the chord, rotated by the half turn.
    let (ux, uy) = (sine.neg_mul_add(up, cosine * along), sine.mul_add(along, cosine * up));

    // d(position) / d(curvature) = excess u' + across (z x u'). The excess is (length - sin(turn) /
    // curvature) / curvature, and is computed by its series where this difference cancels.
    let across = half * chord * chord;
    let square = turn * turn;
    let series = square.neg_mul_add(
        square.neg_mul_add(F32::splat(g, 1.0 / 5040.0), F32::splat(g, 1.0 / 120.0)),
        F32::splat(g, 1.0 / 6.0),
    );
    let small = square.lt(F32::splat(g, 0.5));
    let direct = (chord.neg_mul_add(cosine, length)) / curvature;
    let excess = small.select_f(length * length * turn * series, direct);

    let by_slope = -(length * per_slope);
    let mut jacobian = Matrix::splat(g, 0.0);
    jacobian.0[0][2] = field * excess.mul_add(ux, -(across * uy));
    jacobian.0[0][3] = -dy;
    jacobian.0[0][4] = by_slope * ux;
    jacobian.0[1][2] = field * excess.mul_add(uy, across * ux);
    jacobian.0[1][3] = dx;
    jacobian.0[1][4] = by_slope * uy;
    jacobian.0[3][2] = field * length;
    jacobian.0[3][4] = curvature * by_slope;
    state.c = similarity::<PlaneJacobian, G, 5, 5>(g, &jacobian, &state.c);
    state.p = [x + dx, y + dy, charge_over_pt, phi + turn, slope];
    state.z = z;
    zero.lt(slope.abs()) & turn.abs().lt(F32::splat(g, 1000.0))
}
