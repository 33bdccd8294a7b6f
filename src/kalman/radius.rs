//! Transport to another radius in closed form: no iteration, no sine or cosine. `README.md` derives the formulas.

use super::matriplex::{Entry, Matrix, Pattern, similarity};
use super::state::CylinderState;
use crate::simd::Gang;
use crate::simd::math::atan_tail;
use crate::simd::varying::{F32, Mask};

/// Structure of the Jacobian of a transport; [`axis`](super::axis) gives the order of the parameters.
#[derive(Debug, Clone, Copy)]
pub struct RadiusJacobian;

impl Pattern<5, 5> for RadiusJacobian {
    const ENTRIES: [[Entry; 5]; 5] = {
        use Entry::{One as I, Value as V, Zero as O};
        [[I, O, V, V, O], [O, I, V, V, V], [O, O, I, O, O], [O, O, V, I, O], [O, O, O, O, I]]
    };
}

/// Parameters on the new radius, and their derivatives with respect to the parameters on the old radius.
#[derive(Clone, Copy)]
pub struct Step<G: Gang> {
    /// Parameters on the new radius.
    pub p: [F32<G>; 5],
    /// Derivatives of the parameters; only the values of `RadiusJacobian` are set.
    pub jacobian: Matrix<G, 5, 5>,
    /// Lanes that reach the new radius, moving outwards at both ends and turning by less than a quarter turn; in other
    /// lanes the parameters and derivatives are undefined.
    pub reached: Mask<G>,
}

/// Returns r cos(beta): the radial component of the transverse direction times the radius.
#[inline(always)]
pub(super) fn axis_of<G: Gang>(g: G, radius: F32<G>, moment: F32<G>) -> F32<G> {
    let square = moment.neg_mul_add(moment, radius * radius);
    square.max(F32::splat(g, f32::MIN_POSITIVE)).sqrt()
}

/// Returns whether a track of moment `q` crosses the radius `r`. False also near the turning point, where derivatives are
/// meaningless.
#[inline(always)]
pub(super) fn inside<G: Gang>(g: G, q: F32<G>, r: F32<G>) -> Mask<G> {
    (q * q).lt(F32::splat(g, 0.9999) * (r * r))
}

/// Common values of a transverse path from a point with moment q and radial axis a to one with q' and a'.
pub(super) struct Arc<G: Gang> {
    /// Tangent of half the turn.
    pub tau: F32<G>,
    /// Projection of the chord on the direction at either end.
    pub chord: F32<G>,
    /// Length of the path.
    pub length: F32<G>,
    /// (length - chord) / curvature.
    pub excess: F32<G>,
    /// Component of the chord across the final direction, over the curvature.
    pub across: F32<G>,
}

impl<G: Gang> Arc<G> {
    /// Computes the path from `reach`, which is (a' - a) / (1 - curvature (q + q') / 2): twice the tangent of half the
    /// turn over the curvature.
    #[inline(always)]
    pub fn new(g: G, reach: F32<G>, half_curvature: F32<G>) -> Self {
        let (one, half) = (F32::splat(g, 1.0), F32::splat(g, 0.5));
        let tau = half_curvature * reach;
        let square = tau * tau;
        let shrink = one / (square + one);
        let tail = atan_tail(square);
        let chord = reach * shrink;
        let half_reach = half * reach;
        Self {
            tau,
            chord,
            length: reach * square.mul_add(tail, one),
            excess: reach * half_reach * tau * (tail + shrink),
            across: chord * half_reach,
        }
    }
}

/// Returns the parameters on the cylinder of radius `radius`. `field` is the curvature for charge / pT = 1.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
pub fn step<G: Gang>(g: G, state: &CylinderState<G>, field: F32<G>, radius: F32<G>) -> Step<G> {
    let [azimuth, z, charge_over_pt, q, slope] = state.p;
    let (one, half) = (F32::splat(g, 1.0), F32::splat(g, 0.5));
    let r = state.radius;
    let per_charge = half * field * radius.mul_add(radius, -(r * r));
    let half_curvature = half * field * charge_over_pt;
    let q_new = per_charge.mul_add(charge_over_pt, q);
    let (a, a_new) = (axis_of(g, r, q), axis_of(g, radius, q_new));
    let turned = half_curvature.neg_mul_add(q + q_new, one);
    // One division gives both 1 / turned and 1 / (a a').
    let axes = a * a_new;
    let shared = one / (axes * turned);
    let arc = Arc::new(g, (a_new - a) * axes * shared, half_curvature);
    let weight = shared * turned;

    // The change of the azimuth, from the tangent of half of it.
    let sideways = arc.tau.mul_add(a, q);
    let lever = arc.chord * sideways;
    let forward = arc.tau.neg_mul_add(q, a);
    let tangent = lever / arc.chord.mul_add(forward, r * (radius + r));
    let square = tangent * tangent;
    let change = (tangent + tangent) * square.mul_add(atan_tail(square), one);

    let across_axis = arc.across * a * weight;
    let azimuth_by_q = arc.chord * weight;
    let azimuth_by_charge = field * across_axis;
    let length_by_q = lever * weight;
    let length_by_charge = field * across_axis.mul_add(q_new, -arc.excess);

    let mut jacobian = Matrix::splat(g, 0.0);
    jacobian.0[0][2] = azimuth_by_charge;
    jacobian.0[0][3] = azimuth_by_q;
    jacobian.0[1][2] = slope * length_by_charge;
    jacobian.0[1][3] = slope * length_by_q;
    jacobian.0[1][4] = arc.length;
    jacobian.0[3][2] = per_charge;
    let quarter = arc.tau.abs().lt(one) & tangent.abs().lt(one);
    Step {
        p: [azimuth + change, slope.mul_add(arc.length, z), charge_over_pt, q_new, slope],
        jacobian,
        reached: inside(g, q, r) & inside(g, q_new, radius) & quarter & F32::splat(g, 0.0).lt(turned),
    }
}

/// Transports the states to the cylinder of radius `radius`. Returns the lanes whose tracks reach it; in other lanes
/// the state is undefined.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
pub fn to_radius<G: Gang>(g: G, state: &mut CylinderState<G>, field: F32<G>, radius: F32<G>) -> Mask<G> {
    let step = step(g, state, field, radius);
    state.c = similarity::<RadiusJacobian, G, 5, 5>(g, &step.jacobian, &state.c);
    state.p = step.p;
    state.radius = radius;
    step.reached
}
