//! Multiple scattering in thin layers.

use super::matriplex::Symmetric;
use super::radius::axis_of;
use super::state::CylinderState;
use crate::simd::Gang;
use crate::simd::varying::F32;

/// Highland's constant, GeV/c; the logarithmic term is left out.
const HIGHLAND: f32 = 0.0136;

/// Returns the variance of a scattering angle, (13.6 MeV / p)^2 times the path through the layer in radiation lengths: p is
/// the root of `steep2` over charge / pT, and `path` the factor on the path of a track that does not go along the radius.
#[inline(always)]
pub(super) fn scattering<G: Gang>(
    g: G,
    charge_over_pt: F32<G>,
    steep2: F32<G>,
    path: F32<G>,
    thickness: f32,
) -> F32<G> {
    let scale = F32::splat(g, HIGHLAND * HIGHLAND * thickness);
    scale * charge_over_pt * charge_over_pt * path / steep2.sqrt()
}

/// Returns the covariance that scattering in a layer of `thickness` radiation lengths at the state's radius adds. The
/// size of the momentum does not change, so that charge / pT changes with the polar angle.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
pub fn noise<G: Gang>(g: G, state: &CylinderState<G>, thickness: f32) -> Symmetric<G, 5> {
    let [_, _, charge_over_pt, moment, slope] = state.p;
    let one = F32::splat(g, 1.0);
    let axis = axis_of(g, state.radius, moment);
    let steep2 = slope.mul_add(slope, one);
    let angle2 = scattering(g, charge_over_pt, steep2, state.radius / axis, thickness);
    let by_slope = charge_over_pt * slope;
    let mut out = Symmetric::splat(g, 0.0);
    out.set(2, 2, angle2 * (by_slope * by_slope));
    out.set(3, 3, angle2 * (axis * axis * steep2));
    out.set(4, 2, angle2 * (by_slope * steep2));
    out.set(4, 4, angle2 * (steep2 * steep2));
    out
}

/// Adds the [`noise`] of a layer to the covariance.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
pub fn scatter<G: Gang>(g: G, state: &mut CylinderState<G>, thickness: f32) {
    let noise = noise(g, state, thickness);
    for (i, j) in [(2, 2), (3, 3), (4, 2), (4, 4)] {
        state.c.set(i, j, state.c.at(i, j) + noise.at(i, j));
    }
}
