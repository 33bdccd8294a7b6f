//! Momentum of a track from the SciFi alone: of a particle that comes from the origin.

use super::config::SciFiConfig;
use crate::lhcb::Bending;

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

    /// Slope in x before the magnet of a particle from the origin, of a line at the states' z.
    #[inline(always)]
    fn before(&self, [x, _, tx, _]: [f32; 4]) -> f32 {
        (MAGNET_Z - self.state_z).mul_add(tx, x) / MAGNET_Z
    }

    /// How charge over momentum of a change of slope is another in the magnet that there is than in the nominal one: by the
    /// formulas for tracks whose slope before it is measured, too, which are known of both.
    #[inline(always)]
    fn by_magnet(&self, line: [f32; 4]) -> f32 {
        let [_, _, tx, ty] = line;
        let before = [self.before(line), ty];
        let factor = self.bending.qop(before, tx) / self.nominal.qop(before, tx);
        let [least, most] = OTHER_MAGNET;
        let factor = if factor > least { factor } else { least };
        if factor < most { factor } else { most }
    }

    /// Charge over momentum, c/GeV, of the line (x, y, tx, ty) at the states' z, and the same over x0, c/GeV/mm.
    #[inline(always)]
    pub(super) fn qop(&self, line: [f32; 4]) -> [f32; 2] {
        let ([x, _, tx, ty], [c0, c1, c2, c3, c4]) = (line, COEFFICIENTS);
        let x0 = self.state_z.mul_add(-tx, x);
        let field = c4.mul_add(x0 * x0, c3.mul_add(ty * ty, c2.mul_add(tx * tx, c1)));
        let field = if field > LEAST { field } else { LEAST };
        let per_x0 = self.per_mev / c0.mul_add(x0.abs(), SCALE * field) * self.by_magnet(line);
        [x0 * per_x0, per_x0]
    }

    /// Variance of charge over momentum, of variances of x0, mm^2: by hits, and by scattering at 1 GeV/c.
    #[inline(always)]
    pub(super) fn variance(&self, line: [f32; 4], [qop, per_x0]: [f32; 2], x0: [f32; 2]) -> f32 {
        // A particle that begins at another z with this slope begins so far from the line from the origin.
        let origin = self.origin_z * self.before(line);
        let of_x0 = origin.mul_add(origin, x0[1].mul_add(qop * qop, ALL_HITS * x0[0]));
        let of_formula = self.error * qop;
        of_formula.mul_add(of_formula, per_x0 * per_x0 * of_x0)
    }
}
