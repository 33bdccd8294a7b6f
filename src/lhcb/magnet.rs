//! The magnet of the nominal detector: a dipole field with all three components.
//!
//! In the plane y = 0 the field is vertical by symmetry, with the value B(x, z). No currents flow where particles fly,
//! so that B also determines the field outside this plane (to third order in y, [`MidPlane::at`]):
//!
//! ```text
//! Bx = y dB/dx    By = B - y^2/2 (d2B/dx2 + d2B/dz2)    Bz = y dB/dz    B = b0(z) + b1(z) x^2
//! ```
//! b0 and b1 are cubic splines, fitted to public data on the real field; the fit weakly favours smooth curves. The data
//! are the transport of particles from behind the UT to the first and the last layer of the SciFi
//! (`data/lhcb/field/test_UT_T1.tab`, `test_UT_T3.tab`, every third node, 5 to 30 GeV/c), tables of the field before
//! the UT, and the decrease of the field from layer to layer of the SciFi (`params_predictT.txt`).
//! `tests/lhcb/magnet.rs` measures the agreement.

/// z of the first knot of the splines, and distance of the knots, mm.
const FIRST: f64 = -600.0;
const STEP: f64 = 300.0;
/// Number of pieces of the splines, with a cubic each.
const PIECES: usize = 36;
/// Largest |x| and |y|, mm. Beyond, where no particle is measured, the field is taken from the nearest point within.
const MAX_X: f64 = 4500.0;
const MAX_Y: f64 = 2500.0;

/// Weights of the basis splines of b0, T, and of b1, T/m^2.
#[rustfmt::skip]
const WEIGHTS: [[f64; 2]; PIECES + 3] = [
    [0.001968, -0.012338], [0.000297, -0.121553], [0.001245, -0.144000], [0.005030, -0.081080],
    [0.012342, 0.049192], [0.024070, 0.193720], [0.036835, 0.119188], [0.042453, 0.044262],
    [0.038695, -0.018313], [0.036631, -0.060153], [0.057908, -0.077047], [0.123885, -0.070356],
    [0.238634, -0.048206], [0.376542, -0.025984], [0.520425, -0.011320], [0.663969, -0.004763],
    [0.801812, -0.004197], [0.926135, -0.006707], [1.025265, -0.009862], [1.086637, -0.012031],
    [1.100837, -0.012441], [1.065410, -0.011033], [0.986359, -0.008313], [0.876745, -0.005174],
    [0.755488, -0.002417], [0.639489, -0.000797], [0.537554, -0.000941], [0.451952, -0.002800],
    [0.375595, -0.005908], [0.299799, -0.009247], [0.233874, -0.011295], [0.181223, -0.010214],
    [0.138394, -0.006707], [0.105426, -0.003169], [0.079365, -0.002085], [0.061667, -0.003679],
    [0.044542, -0.005061], [0.024651, -0.004800], [0.001796, -0.002601],
];

/// A cubic: coefficients in the order of rising powers.
type Cubic = [f64; 4];

/// b0, T, and b1, T/mm^2, in each piece, as functions of the distance from its beginning, mm.
static SPLINES: [[Cubic; 2]; PIECES] = splines();

const fn splines() -> [[Cubic; 2]; PIECES] {
    let mut all = [[[0.0; 4]; 2]; PIECES];
    let mut at = 0;
    while at < 2 * PIECES {
        let (piece, term) = (at / 2, at % 2);
        let unit = if term == 0 { 1.0 } else { 1e-6 };
        let [a, b, c, d] = [
            WEIGHTS[piece][term],
            WEIGHTS[piece + 1][term],
            WEIGHTS[piece + 2][term],
            WEIGHTS[piece + 3][term],
        ];
        all[piece][term] = [
            unit * (a + 4.0 * b + c) / 6.0,
            unit * (c - a) / (2.0 * STEP),
            unit * (a - 2.0 * b + c) / (2.0 * STEP * STEP),
            unit * (d - 3.0 * c + 3.0 * b - a) / (6.0 * STEP * STEP * STEP),
        ];
        at += 1;
    }
    all
}

/// The field in the plane y = 0 at one z: b0 and b1 with their first and second z derivatives, in T and mm.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MidPlane {
    value: [f64; 2],
    slope: [f64; 2],
    bend: [f64; 2],
}

impl MidPlane {
    /// Returns the field at z, mm. The field is zero before z = -600 mm and behind z = 10,200 mm.
    pub fn new(z: f64) -> Self {
        // A product instead of a division, since this function is called three times per step.
        let way = (z - FIRST) * (1.0 / STEP);
        if !(0.0..PIECES as f64).contains(&way) {
            return Self::default();
        }
        let piece = way as usize;
        let t = z - (FIRST + STEP * piece as f64);
        let [p, q] = &SPLINES[piece];
        let value = |c: &Cubic| ((c[3] * t + c[2]) * t + c[1]) * t + c[0];
        let slope = |c: &Cubic| (3.0 * c[3] * t + 2.0 * c[2]) * t + c[1];
        let bend = |c: &Cubic| 6.0 * c[3] * t + 2.0 * c[2];
        Self { value: [value(p), value(q)], slope: [slope(p), slope(q)], bend: [bend(p), bend(q)] }
    }

    /// Returns b0 and b1 of the field b0 + b1 x^2 in the plane y = 0, then b0's first and second and b1's first
    /// derivative along z, in T and mm.
    pub(crate) fn terms(&self) -> [f64; 5] {
        [self.value[0], self.value[1], self.slope[0], self.bend[0], self.slope[1]]
    }

    /// Returns the field components along x, y and z, T, at (x, y), mm. Multiplied by the polarity, they are the field
    /// of the magnet; polarity -1 bends positive particles towards larger x.
    pub fn at(&self, x: f64, y: f64) -> [f64; 3] {
        let (x, y) = (x.clamp(-MAX_X, MAX_X), y.clamp(-MAX_Y, MAX_Y));
        let x2 = x * x;
        let along_x = 2.0 * self.value[1] * x;
        let along_z = self.slope[0] + self.slope[1] * x2;
        let second = 2.0 * self.value[1] + self.bend[0] + self.bend[1] * x2;
        [y * along_x, self.value[0] + self.value[1] * x2 - 0.5 * (y * y) * second, y * along_z]
    }
}

/// Returns the field components along x, y and z, T, at (x, y, z), mm, with the signs of [`MidPlane::at`].
pub fn field([x, y, z]: [f64; 3]) -> [f64; 3] {
    MidPlane::new(z).at(x, y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_splines_are_smooth() {
        for knot in 1..PIECES {
            let z = FIRST + STEP * knot as f64;
            let (before, after) = (MidPlane::new(z - 1e-7), MidPlane::new(z));
            for x in [0.0, 1000.0, 2500.0] {
                for (a, b) in before.at(x, 300.0).into_iter().zip(after.at(x, 300.0)) {
                    assert!((a - b).abs() < 1e-9, "{a} {b} at {z}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_outside_and_what_is_no_number_gives_none() {
        for z in [-601.0, 10_201.0, f64::INFINITY, f64::NAN] {
            assert_eq!(field([10.0, 10.0, z]), [0.0; 3]);
        }
        assert!(field([1e300, 1e300, 5000.0]).iter().all(|b| !b.is_nan()));
    }

    /// In vacuum a field has neither sources nor curls. The test uses differences near the plane y = 0, where the
    /// omitted terms of the expansion are negligible.
    #[test]
    fn it_is_a_field_in_vacuum() {
        for z in [700.0, 2400.0, 3210.0, 4950.0, 6120.0, 8520.0] {
            for [x, y] in [[0.0, 0.0], [300.0, 20.0], [-700.0, -10.0]] {
                let derivative = |of: usize, by: usize| {
                    let mut at = [[x, y, z]; 2];
                    at[0][by] -= 0.5;
                    at[1][by] += 0.5;
                    field(at[1])[of] - field(at[0])[of]
                };
                let sources = derivative(0, 0) + derivative(1, 1) + derivative(2, 2);
                let curls = [(2, 1), (0, 2), (1, 0)].map(|(a, b)| derivative(a, b) - derivative(b, a));
                let scale = 1e-5 * (1.0 + y.abs() / 10.0);
                assert!(sources.abs() < 1e-3 * scale, "{sources} at {x} {y} {z}");
                assert!(curls.iter().all(|curl| curl.abs() < scale * 0.1), "{curls:?} at {x} {y} {z}");
            }
        }
    }
}
