//! Windows, parabolas and fits of the layers of a pass, computed once.

use crate::scifi::config::SeedPass;
use crate::scifi::layers::{CUBIC, X_LAYERS, Z, Z_REFERENCE, bend};

/// p^-1 = x0 (CHARGE + SQUARE x0) of a particle whose line through the x layers meets z = 0 at x0: 1/(MeV mm), and
/// per mm more.
const LINEAR: f64 = 1.6322e-7;
const SQUARE: f64 = -5.0217e-12;
/// Where the last hit of a particle is, given the first: mm MeV, and MeV.
const DEFLECTION: f64 = 2.18e6;
const DEFLECTION_MOMENTUM: f64 = 1_073.0;
/// How far a particle of infinite momentum may leave the chord between first and last hit, times mm^2, and what 1/p adds.
const SAGITTA: f64 = 1.82e-6;
const SAGITTA_MOMENTUM: f64 = 2.49e-2;
/// What a candidate of the second kind of triplets pays, lest two that are equal are both the best of their hits.
const LATER: f64 = 0.01;

/// Hits that a fit may lack: the combinations of the three layers that are not the triplet's.
const PATTERNS: usize = 8;

/// A kind of triplets: three layers, and what follows from where they are.
#[derive(Debug, Clone)]
pub(in crate::scifi) struct Kind {
    /// Layers of the first, middle and last hit.
    pub(super) layers: [usize; 3],
    /// The other layers.
    pub(super) others: [usize; 3],
    /// x of the last hit is near `scale` times that of the first, within `window` mm.
    pub(super) scale: f32,
    pub(super) window: f32,
    /// 1 / (z of the last - z of the first).
    pub(super) per_length: f32,
    /// z of the first layer, and z of first and middle from the reference.
    pub(super) first_z: f32,
    pub(super) first_d: f32,
    pub(super) middle_d: f32,
    /// The window for the middle hit: its constant part, and that of 1/p.
    pub(super) sagitta: f32,
    pub(super) sagitta_momentum: f32,
    pub(super) linear: f32,
    pub(super) square: f32,
    /// From the middle hit's distance to the chord to the three parameters.
    pub(super) bend_of_sagitta: f32,
    pub(super) slope_of_bend: f32,
    pub(super) x_of_bend: f32,
    /// What the second and third parameter of a track are multiplied with, in each layer.
    pub(super) d: [f32; X_LAYERS],
    pub(super) bend: [f32; X_LAYERS],
    /// By which of the other layers have hits (bit i: `others[i]`), and layer: how the parameters change per mm of the
    /// hit's distance.
    pub(super) fit: [[f32; 4]; 3 * PATTERNS],
    pub(super) offset: f32,
}

/// The inverse of a symmetric matrix.
fn inverse(m: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let minor = |a: usize, b: usize, c: usize, d: usize| m[a][c] * m[b][d] - m[a][d] * m[b][c];
    let determinant = m[0][0] * minor(1, 2, 1, 2) - m[0][1] * minor(1, 2, 0, 2) + m[0][2] * minor(1, 2, 0, 1);
    let entry = |row: usize, column: usize| {
        let (a, b) = ((column + 1) % 3, (column + 2) % 3);
        let (c, d) = ((row + 1) % 3, (row + 2) % 3);
        (m[a][c] * m[b][d] - m[a][d] * m[b][c]) / determinant
    };
    std::array::from_fn(|row| std::array::from_fn(|column| entry(row, column)))
}

impl Kind {
    /// Kind number `number` of a pass.
    pub(in crate::scifi) fn new(pass: &SeedPass, number: usize) -> Self {
        let layers = pass.triplets[number];
        let mut rest = (0..X_LAYERS).filter(|layer| !layers.contains(layer));
        let others = std::array::from_fn(|_| rest.next().expect("six layers less three"));
        let [z1, z2, z3] = layers.map(|layer| Z[layer]);
        let [d1, d2, d3] = layers.map(|layer| Z[layer] - Z_REFERENCE);
        let [b1, b2, b3] = [d1, d2, d3].map(bend);
        let lever = z1 / (z3 - z1);
        let deflection = (DEFLECTION / lever) / (pass.min_momentum + DEFLECTION_MOMENTUM);
        let root = (LINEAR * LINEAR + 4.0 * SQUARE / pass.min_momentum).max(0.0).sqrt();
        let window = (root - LINEAR) / (2.0 * SQUARE) / lever;
        let bend_of_sagitta = 1.0 / ((z2 - z1) / (z3 - z1) * (b3 - b1) + b1 - b2);
        let slope_of_bend = d1 + d3 + CUBIC * (d3 * d3 + d1 * d1 + d1 * d3);
        Self {
            layers,
            others,
            scale: ((z3 + deflection) / z1) as f32,
            window: window as f32,
            per_length: (1.0 / (z3 - z1)) as f32,
            first_z: z1 as f32,
            first_d: d1 as f32,
            middle_d: d2 as f32,
            sagitta: (SAGITTA / bend_of_sagitta) as f32,
            sagitta_momentum: (SAGITTA_MOMENTUM / bend_of_sagitta) as f32,
            linear: LINEAR as f32,
            square: SQUARE as f32,
            bend_of_sagitta: bend_of_sagitta as f32,
            slope_of_bend: slope_of_bend as f32,
            x_of_bend: (d1 * (d1 - slope_of_bend + CUBIC * d1 * d1)) as f32,
            d: std::array::from_fn(|layer| (Z[layer] - Z_REFERENCE) as f32),
            bend: std::array::from_fn(|layer| bend(Z[layer] - Z_REFERENCE) as f32),
            fit: fits(layers, others),
            offset: (LATER * number as f64) as f32,
        }
    }
}

/// One step of least squares with equal weights. A triplet's own hits lie on its parabola, so that the distances of
/// the other hits alone change the parameters.
fn fits(layers: [usize; 3], others: [usize; 3]) -> [[f32; 4]; 3 * PATTERNS] {
    let mut table = [[0.0; 4]; 3 * PATTERNS];
    let basis = |layer: usize| {
        let d = Z[layer] - Z_REFERENCE;
        [1.0, d, bend(d)]
    };
    for pattern in 1..PATTERNS {
        let there = (0..3).filter(|other| pattern >> other & 1 == 1);
        let mut normal = [[0.0; 3]; 3];
        for layer in layers.into_iter().chain(there.clone().map(|other| others[other])) {
            let b = basis(layer);
            (0..9).for_each(|at| normal[at / 3][at % 3] += b[at / 3] * b[at % 3]);
        }
        let inverse = inverse(normal);
        for other in there {
            let b = basis(others[other]);
            for parameter in 0..3 {
                let row = inverse[parameter];
                table[3 * pattern + other][parameter] =
                    (row[0] * b[0] + row[1] * b[1] + row[2] * b[2]) as f32;
            }
        }
    }
    table
}
