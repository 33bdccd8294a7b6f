//! The fit in the published form: states x, y, z, charge / pT, phi and theta, and hits with three coordinates.

use super::config::CylinderConfig;
use super::fit::{Fitted, Form};
use super::hit::judged;
use crate::kalman::{CylinderHit, CylinderState, GlobalHit, GlobalState, global_to_radius};
use crate::simd::Gang;
use crate::simd::math::sincos;
use crate::simd::varying::{F32, Mask};

/// State of a filter from the outermost hit inwards.
pub(super) struct FollowGlobal<G: Gang> {
    state: GlobalState<G>,
    /// Lanes that have reached every hit, and lanes whose residuals all had a valid covariance.
    reached: Mask<G>,
    measured: Mask<G>,
    chi2: F32<G>,
    /// Radiation lengths of a layer.
    material: f32,
    /// Variance of hits along the radius, cm^2.
    radial: f32,
}

impl<G: Gang> Form<G> for FollowGlobal<G> {
    #[inline(always)]
    fn start(g: G, config: &CylinderConfig, state: &CylinderState<G>, reached: Mask<G>) -> Self {
        Self {
            state: GlobalState::from_cylinder(g, state),
            reached,
            measured: Mask::first(g, G::LANES),
            chi2: F32::splat(g, 0.0),
            material: config.material,
            radial: config.fit.radial_error * config.fit.radial_error,
        }
    }

    #[inline(always)]
    fn take(&mut self, g: G, field: F32<G>, hit: &CylinderHit<G>, has: Mask<G>) {
        let (mut state, reached) = global_to_radius(g, &self.state, field, hit.radius);
        if self.material > 0.0 {
            state.scatter(g, self.material);
        }
        let radius = hit.radius;
        let (sine, cosine) = sincos(hit.position[0]);
        let hit = GlobalHit {
            position: [radius * cosine, radius * sine, hit.position[1]],
            variance: [F32::splat(g, self.radial), hit.variance[0] * (radius * radius), hit.variance[1]],
        };
        let taken = state.measure(g, &hit, has);
        self.state = state.to_global().select(has, &self.state);
        self.reached = self.reached & (reached | !has);
        self.measured = self.measured & (taken.sane | !has);
        self.chi2 = self.chi2 + has.select_f(taken.chi2, F32::splat(g, 0.0));
    }

    #[inline(always)]
    fn fitted(&self, g: G) -> Fitted<G> {
        let (state, radius) = self.state.output(g);
        let status = judged(g, &state, self.reached, self.measured, self.chi2);
        Fitted { radius, state, chi2: self.chi2, status }
    }
}
