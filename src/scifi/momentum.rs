//! Momentum of a track with hits in the SciFi alone, on the assumption that the particle comes from the origin.

use super::config::SciFiConfig;
use crate::lhcb::Bending;
use crate::simd::varying::F32;
use crate::simd::{Gang, inlined};

/// Coefficients of p = C0 + (C1 + C2 tx^2 + C3 ty^2 + C4 x0^2) / |x0|, where x0 is x of the line of the track at the end of
/// the SciFi, extended to z = 0: C0 in MeV, the other ones in 1e6 MeV mm (C4 per mm^2). Form of Allen, 2023, with a
/// constant for the energy loss of particles; coefficients by `cargo run --release --example choose -- scifi-momentum`.
const COEFFICIENTS: [f32; 5] = [34.538136, 6.520863, 4.3997498, 9.906894, -3.953126e-8];
const SCALE: f32 = 1e6;
/// Smallest value of C1 + ...: it is lower only far outside, where there are no particles and the expansion is not valid.
const LEAST: f32 = 1.0;
/// z at which lines before and behind the magnet meet, mm.
const MAGNET_Z: f32 = 5_290.0;

/// Limits of the factor for another magnet: the coefficients are for the nominal magnet.
const OTHER_MAGNET: [f32; 2] = [0.9, 1.1];
/// Variance of all hits over the variance of the narrowest clusters, which have the configured resolution. With it the
/// states of particles above 30 GeV/c, which hardly scatter, have pulls of width 1.06 in x and 1.11 in y (`check --sequence
/// scifi sim:lhcb,events=600,seed=700`; pulls are quoted on other events, docs/algorithms.md).
const ALL_HITS: f32 = 1.2;

/// Parameters of momenta and their errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Momentum {
    /// The nominal magnet, and the actual one.
    nominal: Bending,
    bending: Bending,
    /// Charge over momentum for p = 1 MeV, c/GeV, with the polarity's sign.
    per_mev: f32,
    /// Standard deviation of z of the particles' origin, mm.
    origin_z: f32,
    /// Relative error of the formula.
    error: f32,
    state_z: f32,
}

impl Momentum {
    /// Returns the parameters for a magnet, and for the errors of a configuration.
    pub(super) fn new(bending: Bending, config: &SciFiConfig, state_z: f32) -> Self {
        let nominal = Bending::nominal(bending.polarity);
        let per_mev = (crate::units::MEV_PER_GEV / f64::from(bending.polarity)) as f32;
        let (origin_z, error) = (config.origin_z, config.momentum_error);
        Self { nominal, bending, per_mev, origin_z, error, state_z }
    }

    /// Returns the slope in x before the magnet of a particle from the origin, for lines at z of the states.
    #[inline(always)]
    fn before<G: Gang>(&self, g: G, [x, _, tx, _]: [F32<G>; 4]) -> F32<G> {
        F32::splat(g, MAGNET_Z - self.state_z).mul_add(tx, x) / F32::splat(g, MAGNET_Z)
    }

    /// Returns the factor on charge over momentum in the actual magnet relative to the nominal one. It comes from the
    /// formulas for tracks whose slope before the magnet is measured, too, which exist for both magnets.
    #[inline(always)]
    fn by_magnet<G: Gang>(&self, g: G, line: [F32<G>; 4]) -> F32<G> {
        let [_, _, tx, ty] = line;
        let before = [self.before(g, line), ty];
        let factor = self.bending.qop_of_lanes(g, before, tx) / self.nominal.qop_of_lanes(g, before, tx);
        let [least, most] = OTHER_MAGNET;
        factor.max(F32::splat(g, least)).min(F32::splat(g, most))
    }

    /// Returns charge over momentum, c/GeV, of lines (x, y, tx, ty) at z of the states, and charge over momentum over
    /// x0, c/GeV/mm.
    #[inline(always)]
    pub(super) fn qop<G: Gang>(&self, g: G, line: [F32<G>; 4]) -> [F32<G>; 2] {
        let value = inlined!(|value: f32| F32::splat(g, value));
        let ([x, _, tx, ty], [c0, c1, c2, c3, c4]) = (line, COEFFICIENTS);
        let x0 = tx.neg_mul_add(value(self.state_z), x);
        let of_slopes = value(c3).mul_add(ty * ty, value(c2).mul_add(tx * tx, value(c1)));
        let field = value(c4).mul_add(x0 * x0, of_slopes).max(value(LEAST));
        let momentum = value(c0).mul_add(x0.abs(), value(SCALE) * field);
        let per_x0 = value(self.per_mev) / momentum * self.by_magnet(g, line);
        [x0 * per_x0, per_x0]
    }

    /// Returns the variance of charge over momentum, given the variances of x0, mm^2: by hits, and by scattering at 1 GeV/c.
    #[inline(always)]
    pub(super) fn variance<G: Gang>(
        &self,
        g: G,
        line: [F32<G>; 4],
        [qop, per_x0]: [F32<G>; 2],
        x0: [F32<G>; 2],
    ) -> F32<G> {
        let value = inlined!(|value: f32| F32::splat(g, value));
        // Displacement of x0 when the particle begins one standard deviation in z from the origin.
        let origin = value(self.origin_z) * self.before(g, line);
        let of_x0 = origin.mul_add(origin, x0[1].mul_add(qop * qop, value(ALL_HITS) * x0[0]));
        let of_formula = value(self.error) * qop;
        of_formula.mul_add(of_formula, per_x0 * per_x0 * of_x0)
    }
}
