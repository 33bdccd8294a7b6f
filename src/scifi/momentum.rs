//! Momentum of a track from the SciFi alone: of a particle that comes from the origin.

use super::config::SciFiConfig;
use crate::lhcb::Bending;
use crate::simd::varying::F32;
use crate::simd::{Gang, inlined};

/// p = C0 + (C1 + C2 tx^2 + C3 ty^2 + C4 x0^2) / |x0|, x0 being where the line of the track at the end of the SciFi meets z = 0: C0
/// in MeV, the others in 1e6 MeV mm (C4 over mm^2). Form of Allen, 2023, with a constant for what particles lose on their way;
/// coefficients by `cargo run --release --example choose -- scifi-momentum`.
const COEFFICIENTS: [f32; 5] = [34.538136, 6.520863, 4.3997498, 9.906894, -3.953126e-8];
const SCALE: f32 = 1e6;
/// C1 + ... is no less than this: no particle comes from so far out, and its expansion says nothing there.
const LEAST: f32 = 1.0;
/// z where lines before and behind the magnet meet, mm.
const MAGNET_Z: f32 = 5_290.0;

/// The coefficients are of the nominal magnet. Another one bends by this much less or more, at most.
const OTHER_MAGNET: [f32; 2] = [0.9, 1.1];
/// Variance of all hits over the variance of the narrowest clusters, for which the configuration gives the resolution: states of
/// particles above 30 GeV/c, which hardly scatter, have pulls that are 1.06 wide in x and 1.11 in y (`check --sequence scifi
/// sim:lhcb,events=600,seed=700`; pulls are quoted on other events, docs/algorithms.md).
const ALL_HITS: f32 = 1.2;

/// What a momentum and its error are made from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Momentum {
    /// The nominal magnet, and the one that there is.
    nominal: Bending,
    bending: Bending,
    /// Charge over momentum of p = 1 MeV, c/GeV, with the polarity's sign.
    per_mev: f32,
    /// Standard deviation of z where particles begin, mm.
    origin_z: f32,
    /// Relative error of the formula.
    error: f32,
    state_z: f32,
}

impl Momentum {
    /// For a magnet, and the errors of a configuration.
    pub(super) fn new(bending: Bending, config: &SciFiConfig, state_z: f32) -> Self {
        let nominal = Bending::nominal(bending.polarity);
        let per_mev = (crate::units::MEV_PER_GEV / f64::from(bending.polarity)) as f32;
        let (origin_z, error) = (config.origin_z, config.momentum_error);
        Self { nominal, bending, per_mev, origin_z, error, state_z }
    }

    /// Slope in x before the magnet of a particle from the origin, of lines at the states' z.
    #[inline(always)]
    fn before<G: Gang>(&self, g: G, [x, _, tx, _]: [F32<G>; 4]) -> F32<G> {
        F32::splat(g, MAGNET_Z - self.state_z).mul_add(tx, x) / F32::splat(g, MAGNET_Z)
    }

    /// How charge over momentum of a change of slope is another in the magnet that there is than in the nominal one: by the
    /// formulas for tracks whose slope before it is measured, too, which are known of both.
    #[inline(always)]
    fn by_magnet<G: Gang>(&self, g: G, line: [F32<G>; 4]) -> F32<G> {
        let [_, _, tx, ty] = line;
        let before = [self.before(g, line), ty];
        let factor = self.bending.qop_of_lanes(g, before, tx) / self.nominal.qop_of_lanes(g, before, tx);
        let [least, most] = OTHER_MAGNET;
        factor.max(F32::splat(g, least)).min(F32::splat(g, most))
    }

    /// Charge over momentum, c/GeV, of lines (x, y, tx, ty) at the states' z, and the same over x0, c/GeV/mm.
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

    /// Variance of charge over momentum, of variances of x0, mm^2: by hits, and by scattering at 1 GeV/c.
    #[inline(always)]
    pub(super) fn variance<G: Gang>(
        &self,
        g: G,
        line: [F32<G>; 4],
        [qop, per_x0]: [F32<G>; 2],
        x0: [F32<G>; 2],
    ) -> F32<G> {
        let value = inlined!(|value: f32| F32::splat(g, value));
        // A particle that begins at another z with this slope begins so far from the line from the origin.
        let origin = value(self.origin_z) * self.before(g, line);
        let of_x0 = origin.mul_add(origin, x0[1].mul_add(qop * qop, value(ALL_HITS) * x0[0]));
        let of_formula = value(self.error) * qop;
        of_formula.mul_add(of_formula, per_x0 * per_x0 * of_x0)
    }
}
