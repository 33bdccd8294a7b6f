//! Constants of the search by triplets, computed once: windows, parabolas and fits for each combination of x layers.

use crate::scifi::config::SeedPass;
use crate::scifi::layers::{CUBIC, X_LAYERS, Z, Z_REFERENCE, bend};

/// 1/p = x0 (LINEAR + SQUARE x0) for a particle whose line through the x layers meets z = 0 at x0; 1/(MeV mm), and 1/(MeV
/// mm^2).
const LINEAR: f64 = 1.6322e-7;
const SQUARE: f64 = -5.0217e-12;
/// Position of the last hit of a particle, given the first hit: mm MeV, and MeV.
const DEFLECTION: f64 = 2.18e6;
const DEFLECTION_MOMENTUM: f64 = 1_073.0;
/// Bend allowed for a particle of infinite momentum, 1/mm, and the further bend times its momentum, MeV/mm.
const SAGITTA: f64 = 1.82e-6;
const SAGITTA_MOMENTUM: f64 = 2.49e-2;
/// Penalty of a candidate of the second kind of triplets, so that two equal candidates are not both the best for their hits.
const LATER: f64 = 0.01;

/// Number of combinations of hits in the three layers outside the triplet.
const PATTERNS: usize = 8;

/// A kind of triplets: three layers, and the constants that follow from their positions.
#[derive(Debug, Clone)]
pub(in crate::scifi) struct Kind {
    /// Layers of the first, middle and last hit.
    pub(super) layers: [usize; 3],
    /// The other layers.
    pub(super) others: [usize; 3],
    /// The window of the last hit: `scale` times x of the first hit, plus or minus `window`, mm.
    pub(super) scale: f32,
    pub(super) window: f32,
    /// 1 / (z of the last layer - z of the first layer), 1/mm.
    pub(super) per_length: f32,
    /// z of the first layer, and z of the first and middle layers from the reference, mm.
    pub(super) first_z: f32,
    pub(super) first_d: f32,
    pub(super) middle_d: f32,
    /// Half width of the window of the middle hit: the constant part, and the factor of 1/p.
    pub(super) sagitta: f32,
    pub(super) sagitta_momentum: f32,
    pub(super) linear: f32,
    pub(super) square: f32,
    /// Factors from the middle hit's distance to the chord to the three parameters.
    pub(super) bend_of_sagitta: f32,
    pub(super) slope_of_bend: f32,
    pub(super) x_of_bend: f32,
    /// Factors of the second and third parameter of a track, in each layer.
    pub(super) d: [f32; X_LAYERS],
    pub(super) bend: [f32; X_LAYERS],
    /// Change of the parameters per mm of a hit's distance, by the other layers that have hits (bit i: `others[i]`) and by
    /// layer.
    pub(super) fit: [[f32; 4]; 3 * PATTERNS],
    pub(super) offset: f32,
}

/// Returns the inverse of a symmetric matrix.
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
    /// Computes kind number `number` of a pass.
    pub(in crate::scifi) fn new(pass: &SeedPass, number: usize) -> Self {
        let layers = pass.triplets[number];
        let mut rest = (0..X_LAYERS).filter(|layer| !layers.contains(layer));
        let others = std::array::from_fn(|_| rest.next().expect("three other layers"));
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

/// Returns one step of least squares with equal weights. The triplet's own hits lie on its parabola, so that only the
/// distances of the other hits change the parameters.
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
