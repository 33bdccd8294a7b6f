//! States on a cylinder around the z axis, inside the filter and as output.

use super::matriplex::{Matriplex, Matrix, Symmetric};
use super::radius::axis_of;
use crate::simd::Gang;
use crate::simd::math::atan2;
use crate::simd::varying::F32;

/// Indices of the parameters.
pub mod axis {
    /// Azimuth of the position, rad; it may exceed one turn.
    pub const AZIMUTH: usize = 0;
    /// z, cm.
    pub const Z: usize = 1;
    /// Charge over transverse momentum, c/GeV.
    pub const CHARGE_OVER_PT: usize = 2;
    /// Moment r sin(beta), cm: beta is the angle from the radius to the transverse direction.
    pub const MOMENT: usize = 3;
    /// Cotangent of the polar angle, dz over transverse path.
    pub const SLOPE: usize = 4;
}

/// Crossing of outward-going tracks with a cylinder: five parameters and their covariance.
///
/// The moment makes transport simple: it changes by half the curvature times the difference of the squared radii,
/// independently of the other parameters. The moment is also small, and well known even where the direction is not.
#[derive(Clone, Copy)]
pub struct CylinderState<G: Gang> {
    /// Radius of the cylinder, cm.
    pub radius: F32<G>,
    /// Parameters, see [`axis`].
    pub p: [F32<G>; 5],
    /// Covariance of the parameters.
    pub c: Symmetric<G, 5>,
}

impl<G: Gang> CylinderState<G> {
    /// Number of elements of a state in a [`Matriplex`]: radius, parameters, covariance.
    pub const ELEMENTS: usize = 1 + 5 + 15;

    /// Loads a gang of states from memory, beginning with state number `lane`.
    #[inline(always)]
    pub fn load(g: G, from: &Matriplex, lane: usize) -> Self {
        let Matrix([p]) = from.load(g, 1, lane);
        Self { radius: F32::load(g, &from.row(0)[lane..]), p, c: from.load_symmetric(g, 6, lane) }
    }

    /// Stores a gang of states to memory, beginning with state number `lane`.
    #[inline(always)]
    pub fn store(&self, to: &mut Matriplex, lane: usize) {
        self.radius.store(&mut to.row_mut(0)[lane..]);
        to.store(1, lane, &Matrix([self.p]));
        to.store_symmetric(6, lane, &self.c);
    }
}

/// A state in its output form: azimuth, z, charge / pT, phi and theta of the momentum. The covariance refers to r-phi
/// (cm, in place of the azimuth), z (cm), charge / pT (c/GeV), phi (rad) and theta (rad).
#[derive(Clone, Copy)]
pub struct Output<G: Gang> {
    /// Azimuth of the position (-pi..pi), z, charge / pT, phi (-pi..pi), theta.
    pub p: [F32<G>; 5],
    /// Covariance; the first parameter is r-phi.
    pub c: Symmetric<G, 5>,
}

/// Returns `angle` minus whole turns, for angles of a few turns at most.
#[inline(always)]
pub fn within_turn<G: Gang>(g: G, angle: F32<G>) -> F32<G> {
    use std::f32::consts::TAU;
    // Adding 1.5 * 2^23 rounds to an integer.
    let round = F32::splat(g, 12_582_912.0);
    let turns = angle.mul_add(F32::splat(g, 1.0 / TAU), round) - round;
    // The rounding error of tau in f32 is 1.7e-7, far below the errors of hits.
    turns.neg_mul_add(F32::splat(g, TAU), angle)
}

/// Returns an angle of the output form: within -pi..=pi.
#[inline(always)]
pub(super) fn written_angle<G: Gang>(g: G, angle: F32<G>) -> F32<G> {
    use std::f32::consts::PI;
    within_turn(g, angle).max(F32::splat(g, -PI)).min(F32::splat(g, PI))
}

/// Returns the state in its output form.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
pub fn output<G: Gang>(g: G, state: &CylinderState<G>) -> Output<G> {
    let [azimuth, z, charge_over_pt, moment, slope] = state.p;
    let one = F32::splat(g, 1.0);
    let axis = axis_of(g, state.radius, moment);
    let phi = azimuth + atan2(moment, axis);
    let p = [written_angle(g, azimuth), z, charge_over_pt, written_angle(g, phi), atan2(one, slope)];
    // Besides its diagonal of scales, the Jacobian has two elements: phi is azimuth + asin(moment / r).
    let per_moment = one / axis;
    let per_slope = -(one / slope.mul_add(slope, one));
    let c = &state.c;
    let mut out = *c;
    let r = state.radius;
    out.0[0][0] = r * r * c.0[0][0];
    out.0[1][0] = r * c.0[1][0];
    out.0[2][0] = r * c.0[2][0];
    let phi_with = [
        per_moment.mul_add(c.0[3][0], c.0[0][0]),
        per_moment.mul_add(c.0[3][1], c.0[1][0]),
        per_moment.mul_add(c.0[3][2], c.0[2][0]),
        per_moment.mul_add(c.0[3][3], c.0[3][0]),
    ];
    out.0[3][0] = r * phi_with[0];
    out.0[3][1] = phi_with[1];
    out.0[3][2] = phi_with[2];
    out.0[3][3] = per_moment.mul_add(phi_with[3], phi_with[0]);
    out.0[4][0] = r * (per_slope * c.0[4][0]);
    out.0[4][1] = per_slope * c.0[4][1];
    out.0[4][2] = per_slope * c.0[4][2];
    out.0[4][3] = per_slope * per_moment.mul_add(c.0[4][3], c.0[4][0]);
    out.0[4][4] = per_slope * per_slope * c.0[4][4];
    Output { p, c: out }
}
