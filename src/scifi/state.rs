//! States of tracks: parameters to position and slopes, momentum, covariances.

use super::find::track::Track;
use super::index::NO_HIT;
use super::layers::{CUBIC, SLOPE, UV_LAYERS, X_LAYERS, Z, Z_REFERENCE, Z_STATE, bend};
use crate::event::SciFiState;
use crate::units::MEV_PER_GEV;

/// Momentum of a track that comes from the origin: MeV mm 1e-6 = C0 + C1 tx^2 + C2 ty^2 + C3 x0^2, x0 being where its
/// line meets z = 0.
const MOMENTUM: [f64; 4] = [-6.34025, -4.85287, -12.4491, 4.25461e-8];
const MOMENTUM_SCALE: f64 = 1e6;

/// Combinations of layers with hits.
const PATTERNS: usize = 1 << X_LAYERS;

/// What states need to know of the layers.
#[derive(Debug, Clone)]
pub(super) struct States {
    /// The parameters in x give the state: x = a + distance b + bend c, tx = b + turn c.
    distance: f32,
    bend: f32,
    turn: f32,
    d: [f32; X_LAYERS],
    bends: [f32; X_LAYERS],
    /// Covariances of x and y by the layers that have hits.
    cov_x: Vec<[f32; 3]>,
    cov_y: Vec<[f32; 3]>,
    /// e / p of a particle of unit x0 and factor one, c/GeV.
    per_momentum: f32,
    state_z: f32,
}

/// The inverse of a symmetric 2 x 2 or 3 x 3 matrix by Gauss and Jordan; nothing when there is none.
fn inverse<const N: usize>(mut m: [[f64; N]; N]) -> Option<[[f64; N]; N]> {
    let mut out: [[f64; N]; N] =
        std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    for pivot in 0..N {
        // Positive definite, as all of ours are, it needs no other order of pivots.
        let scale = 1.0 / m[pivot][pivot];
        if !(scale.is_finite() && m[pivot][pivot] > 1e-9) {
            return None;
        }
        (0..N).for_each(|column| {
            (m[pivot][column], out[pivot][column]) = (m[pivot][column] * scale, out[pivot][column] * scale)
        });
        for row in (0..N).filter(|row| *row != pivot) {
            let factor = m[row][pivot];
            for column in 0..N {
                m[row][column] -= factor * m[pivot][column];
                out[row][column] -= factor * out[pivot][column];
            }
        }
    }
    Some(out)
}

/// v C w.
fn between<const N: usize>(v: [f64; N], c: &[[f64; N]; N], w: [f64; N]) -> f64 {
    (0..N * N).map(|at| v[at / N] * c[at / N][at % N] * w[at % N]).sum()
}

/// The covariance of value and slope at the state's z, of fits to the layers of a pattern; zero where too few have hits.
fn covariance<const N: usize>(
    pattern: usize,
    basis: impl Fn(usize) -> [f64; N],
    value: [f64; N],
    slope: [f64; N],
    variance: f64,
) -> [f32; 3] {
    let mut normal = [[0.0; N]; N];
    for b in (0..X_LAYERS).filter(|layer| pattern >> layer & 1 == 1).map(basis) {
        (0..N * N).for_each(|at| normal[at / N][at % N] += b[at / N] * b[at % N]);
    }
    let enough = pattern.count_ones() as usize >= N;
    let Some(inverse) = inverse(normal).filter(|_| enough) else { return [0.0; 3] };
    [(value, value), (value, slope), (slope, slope)].map(|(v, w)| (variance * between(v, &inverse, w)) as f32)
}

/// Lengths are of this size, m: with them in mm the matrices were ill-conditioned.
const METRE: f64 = 1000.0;

impl States {
    /// For a resolution of hits across their fibres, mm, and a polarity.
    pub(super) fn new(resolution: f64, polarity: f32) -> Self {
        let at = Z_STATE - Z_REFERENCE;
        let turn = 2.0 * at + 3.0 * CUBIC * at * at;
        let x_basis = |d: f64| [1.0, d / METRE, bend(d) / (METRE * METRE)];
        let x_turn = [0.0, 1.0 / METRE, turn / (METRE * METRE)];
        let y_basis = |d: f64| [1.0, d / METRE];
        let of_x = |layer: usize| x_basis(Z[layer] - Z_REFERENCE);
        let of_y = |layer: usize| y_basis(Z[X_LAYERS + layer] - Z_REFERENCE);
        let variance = resolution * resolution;
        let variance_y = variance / (SLOPE[0] * SLOPE[0]);
        let x = |pattern| covariance(pattern, of_x, x_basis(at), x_turn, variance);
        let y = |pattern| covariance(pattern, of_y, y_basis(at), [0.0, 1.0 / METRE], variance_y);
        Self {
            distance: at as f32,
            bend: bend(at) as f32,
            turn: turn as f32,
            d: std::array::from_fn(|layer| (Z[layer] - Z_REFERENCE) as f32),
            bends: std::array::from_fn(|layer| bend(Z[layer] - Z_REFERENCE) as f32),
            cov_x: (0..PATTERNS).map(x).collect(),
            cov_y: (0..PATTERNS).map(y).collect(),
            per_momentum: (-MEV_PER_GEV / (MOMENTUM_SCALE * f64::from(polarity))) as f32,
            state_z: Z_STATE as f32,
        }
    }

    /// The state of a track.
    #[inline(always)]
    pub(super) fn of(&self, track: &Track) -> SciFiState {
        let [a, b, c] = track.x;
        let [y, ty] = track.y;
        let x = c.mul_add(self.bend, b.mul_add(self.distance, a));
        let tx = c.mul_add(self.turn, b);
        let x0 = (-tx).mul_add(self.state_z, x);
        let [c0, c1, c2, c3] = MOMENTUM.map(|c| c as f32);
        let momentum = c3.mul_add(x0 * x0, c2.mul_add(ty * ty, c1.mul_add(tx * tx, c0)));
        let pattern = |layers: std::ops::Range<usize>| {
            let first = layers.start;
            layers.fold(0, |bits, layer| bits | usize::from(track.hits[layer] != NO_HIT) << (layer - first))
        };
        SciFiState {
            position: [x, ty.mul_add(self.distance, y)],
            slope: [tx, ty],
            qop: x0 / momentum * self.per_momentum,
            cov_x: self.cov_x[pattern(0..X_LAYERS)],
            cov_y: self.cov_y[pattern(X_LAYERS..X_LAYERS + UV_LAYERS)],
        }
    }

    /// Sum of the squared distances of the x hits to a track; `x` has the x of all places.
    #[inline(always)]
    pub(super) fn chi2_x(&self, track: &Track, x: &[f32]) -> f32 {
        let [a, b, c] = track.x;
        let mut sum = 0.0f32;
        for layer in 0..X_LAYERS {
            let hit = track.hits[layer];
            if hit != NO_HIT {
                let left = x[hit as usize] - c.mul_add(self.bends[layer], b.mul_add(self.d[layer], a));
                sum = left.mul_add(left, sum);
            }
        }
        sum
    }
}
