//! The momentum of a track through Velo and SciFi, from how much the magnet bent it.
//!
//! With V and T the slopes dx/dz in the Velo and behind the magnet, y the slope dy/dz in the Velo and d = T - V:
//!
//! ```text
//! p = c0 + (c1 + c2 T^2 + c3 T^4 + c4 T V + c5 y^2 + c6 y^4 + c7 V^2) / max(|d|, 1e-6)      charge = -polarity sign(d)
//! ```
//! (Allen, Velo-SciFi matching). The coefficients are those of a field: the real ones of either polarity are Allen's, those
//! of the nominal magnet are fitted to simulated particles (`crates/sim/examples/fit_momentum.rs`).

use crate::simd::Gang;
use crate::simd::varying::F32;

/// The least |d| that is divided by.
const LEAST_BEND: f32 = 1e-6;

/// Coefficients c0 to c7 of a field, MeV.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Momentum {
    /// See the module.
    pub coefficients: [f32; 8],
    /// The magnet's polarity, -1 (down) or 1 (up).
    pub polarity: f32,
}

/// Of the real field, magnet down (Allen 2023) and up (Allen 2025).
const DOWN: [f32; 8] =
    [42.048_595, 1239.407_4, 486.056_64, 6.715_870_4, 632.728_4, 2358.575_8, -9256.279, 241.460_1];
const UP: [f32; 8] = [34.274_48, 1239.076, 565.017, -76.835_92, 614.891_7, 2071.115, -6795.68, 457.758_2];
/// Of the nominal magnet, either polarity: `cargo run --release --example fit_momentum`.
const NOMINAL: [f32; 8] = DOWN;

impl Momentum {
    /// Of the real magnet.
    pub fn real(polarity: f32) -> Self {
        Self { coefficients: if polarity > 0.0 { UP } else { DOWN }, polarity }
    }

    /// Of the nominal one.
    pub fn nominal(polarity: f32) -> Self {
        Self { coefficients: NOMINAL, polarity }
    }

    /// Charge over momentum per lane, 1/MeV, of slopes V, y and T. Where c0 and the bend cancel, it is as large as it gets.
    #[inline(always)]
    pub fn charge_over_p<G: Gang>(&self, tx_velo: F32<G>, ty_velo: F32<G>, tx_scifi: F32<G>) -> F32<G> {
        let g = tx_velo.g;
        let [c0, c1, c2, c3, c4, c5, c6, c7] = self.coefficients.map(|c| F32::splat(g, c));
        let bend = tx_scifi - tx_velo;
        let (t2, y2) = (tx_scifi * tx_scifi, ty_velo * ty_velo);
        let of_t = t2.mul_add(c3, c2);
        let of_y = y2.mul_add(c6, c5);
        let of_v = tx_velo.mul_add(c7, tx_scifi * c4);
        let sum = t2.mul_add(of_t, y2.mul_add(of_y, tx_velo.mul_add(of_v, c1)));
        let size = bend.abs().max(F32::splat(g, LEAST_BEND));
        // |d| / (c0 |d| + sum), with the sign of -polarity d.
        let inverse = size / c0.mul_add(size, sum);
        let turned = bend.lt(F32::splat(g, 0.0)).select_f(inverse, -inverse);
        turned * F32::splat(g, self.polarity)
    }

    /// The same in f64, one track.
    #[cfg(feature = "reference")]
    pub fn reference(&self, [tx_velo, ty_velo, tx_scifi]: [f64; 3]) -> f64 {
        let [c0, c1, c2, c3, c4, c5, c6, c7] = self.coefficients.map(f64::from);
        let bend = tx_scifi - tx_velo;
        let size = bend.abs().max(f64::from(LEAST_BEND));
        let sum = c1
            + c2 * tx_scifi.powi(2)
            + c3 * tx_scifi.powi(4)
            + c4 * tx_scifi * tx_velo
            + c5 * ty_velo.powi(2)
            + c6 * ty_velo.powi(4)
            + c7 * tx_velo.powi(2);
        let p = c0 + sum / size;
        let charge = if bend < 0.0 { 1.0 } else { -1.0 };
        charge * f64::from(self.polarity) / p
    }
}
