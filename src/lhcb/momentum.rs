//! Measures the momentum of a track by the change of its slope in the magnet.

use crate::simd::varying::F32;
use crate::simd::{Gang, inlined};
use serde::{Deserialize, Serialize};

/// Bending by a magnet: p = p0 + (p1 + p2 T^2 + p3 T^4 + p4 T V + p5 y^2 + p6 y^4 + p7 V^2) / |T - V| in MeV. T and V
/// are the slopes in x behind and before the magnet, y is the slope in y before the magnet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bending {
    /// The coefficients p0 to p7, MeV.
    pub coefficients: [f32; 8],
    /// Polarity of the magnet: -1 (down) or 1 (up).
    pub polarity: f32,
}

/// Coefficients of the nominal magnet, from `cargo run --release --example fit_momentum`.
const NOMINAL: [f32; 8] =
    [20.687378, 1237.1155, 529.07025, -118.59891, 531.11957, 2292.5933, -923.6004, 109.931046];

/// Smallest change of the slope; smaller changes give the same momentum.
const SMALLEST: f32 = 1e-6;

impl Bending {
    /// Returns the bending by the nominal magnet with this polarity, fitted to simulated particles
    /// (`crates/sim/examples/fit_momentum.rs`).
    pub fn nominal(polarity: f32) -> Self {
        Self { coefficients: NOMINAL, polarity }
    }

    /// Returns the bending by the LHCb magnet with this polarity (coefficients of Allen: 2023 for down, 2025 for up).
    pub fn lhcb(polarity: f32) -> Self {
        let coefficients = match polarity > 0.0 {
            false => {
                [42.0486, 1_239.407_4, 486.056_64, 6.715_87, 632.728_4, 2_358.575_8, -9_256.279, 241.460_1]
            }
            true => [34.27448, 1239.076, 565.017, -76.83592, 614.8917, 2071.115, -6795.68, 457.7582],
        };
        Self { coefficients, polarity }
    }

    /// Returns charge over momentum, c/GeV, from the slopes in x and y before the magnet and in x behind the magnet.
    #[inline(always)]
    pub fn qop(&self, [velo_tx, velo_ty]: [f32; 2], scifi_tx: f32) -> f32 {
        let [p0, p1, p2, p3, p4, p5, p6, p7] = self.coefficients;
        let (t2, y2) = (scifi_tx * scifi_tx, velo_ty * velo_ty);
        let of_scifi = t2.mul_add(t2.mul_add(p3, p2), p1);
        let of_both = scifi_tx.mul_add(velo_tx * p4, of_scifi);
        let of_y = y2.mul_add(y2.mul_add(p6, p5), of_both);
        let all = (velo_tx * velo_tx).mul_add(p7, of_y);
        let change = scifi_tx - velo_tx;
        let size = change.abs();
        let size = if size > SMALLEST { size } else { SMALLEST };
        let momentum = p0 + all / size;
        let sign = if change < 0.0 { self.polarity } else { -self.polarity };
        sign * 1000.0 / momentum
    }

    /// Returns charge over momentum of one track per lane, c/GeV.
    #[inline(always)]
    pub(crate) fn qop_of_lanes<G: Gang>(
        &self,
        g: G,
        [velo_tx, velo_ty]: [F32<G>; 2],
        scifi_tx: F32<G>,
    ) -> F32<G> {
        let real = inlined!(|value: f32| F32::splat(g, value));
        let [p0, p1, p2, p3, p4, p5, p6, p7] = self.coefficients;
        let (t2, y2) = (scifi_tx * scifi_tx, velo_ty * velo_ty);
        let of_scifi = t2.mul_add(t2.mul_add(real(p3), real(p2)), real(p1));
        let of_both = scifi_tx.mul_add(velo_tx * real(p4), of_scifi);
        let of_y = y2.mul_add(y2.mul_add(real(p6), real(p5)), of_both);
        let all = (velo_tx * velo_tx).mul_add(real(p7), of_y);
        let change = scifi_tx - velo_tx;
        let size = change.abs();
        let size = real(SMALLEST).lt(size).select_f(size, real(SMALLEST));
        let momentum = real(p0) + all / size;
        let sign = change.lt(real(0.0)).select_f(real(self.polarity), real(-self.polarity));
        sign * real(1000.0) / momentum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn momenta_have_the_sign_of_the_charge_in_both_polarities() {
        for polarity in [-1.0, 1.0] {
            let bending = Bending::lhcb(polarity);
            // A positive particle bends to positive x when the magnet points down.
            let change = -polarity * 0.1;
            let qop = bending.qop([0.01, 0.02], 0.01 + change);
            assert!((1.0 / qop - 12.4).abs() < 0.3, "{polarity}: {qop}");
            assert!((bending.qop([0.01, 0.02], 0.01 - change) + qop).abs() < 0.02 * qop);
            assert!(bending.qop([0.01, 0.02], 0.01).abs() < 1e-5);
        }
    }
}
