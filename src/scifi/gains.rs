//! Effects of measurement errors, scattering and the magnetic field on the states of tracks. A least-squares fit is a
//! linear map from hits to the state; the map for each combination of layers is computed once, in f64.

use super::layers::{CUBIC, SLOPE, TILT, UV_LAYERS, X_LAYERS, Z, Z_REFERENCE, Z_STATE, bend};
use crate::lhcb::magnet::MidPlane;
use crate::lhcb::material::Scattering;

/// Combinations of layers with hits.
pub(super) const PATTERNS: usize = 1 << X_LAYERS;
/// Unit of length in the fits, mm: in mm the matrices would be ill-conditioned.
const METRE: f64 = 1000.0;
/// Steps of integrals along z, mm.
const STEP: f64 = 2.0;
/// Number of shapes along z: the field b0 + b1 x^2 - y^2 / 2 (2 b1 + b0'') is a sum of b0, b1 and b0''.
pub(super) const SHAPES: usize = 3;

/// Value and slope at z of the states.
type Two = [f64; 2];

/// Returns the variance of the value, its covariance with the slope, and the variance of the slope, for independent errors.
fn covariance(errors: impl IntoIterator<Item = Two>) -> [f32; 3] {
    let mut sum = [0.0; 3];
    for [value, slope] in errors {
        sum = [sum[0] + value * value, sum[1] + value * slope, sum[2] + slope * slope];
    }
    sum.map(|value| value as f32)
}

/// Covariances of the state of a track in x: by hits, and by scattering at 1 GeV/c.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InX {
    pub(super) hits: [f32; 3],
    pub(super) scattering: [f32; 3],
    /// Fitted curvature of a particle that one unit of each shape of the field bends.
    pub(super) bend: [f32; SHAPES],
    /// True x minus fitted x of the same particle, and true slope minus fitted slope, at z of the states.
    pub(super) value: [f32; SHAPES],
    pub(super) slope: [f32; SHAPES],
    /// Variances of the slope relative to a track without scattering: by hits, and by scattering at 1 GeV/c.
    pub(super) turn: [f32; 2],
    /// Same variances of x where the line meets z = 0, mm^2, including scattering before the SciFi.
    pub(super) origin: [f32; 2],
}

/// Covariances of a track in y, which follows from its hits in tilted layers and its fit in x.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InY {
    pub(super) hits: [f32; 3],
    pub(super) scattering: [f32; 3],
    /// True y minus fitted y of a particle that one unit of the field's first shape bends, and true slope minus fitted
    /// slope, at z of the states.
    pub(super) left: [f32; 2],
}

/// Tables by the layers with hits.
#[derive(Debug, Clone)]
pub(super) struct Gains {
    /// Table by the pattern of x layers.
    pub(super) x: Vec<InX>,
    /// Table by the pattern of x layers and the pattern of u and v layers.
    pub(super) y: Vec<InY>,
}

/// A least-squares fit of N parameters as a linear map: the change of the parameters, and of value and slope at z of the
/// states, per mm of each layer's hit.
struct Fit<const N: usize> {
    parameters: [[f64; N]; X_LAYERS],
    state: [Two; X_LAYERS],
}

impl<const N: usize> Fit<N> {
    /// Computes the fit of the layers in a pattern; none when the layers are too few.
    fn new(pattern: usize, basis: impl Fn(usize) -> [f64; N], at: [[f64; N]; 2]) -> Option<Self> {
        let has = |layer: &usize| pattern >> layer & 1 == 1;
        let mut normal = [[0.0; N]; N];
        for b in (0..X_LAYERS).filter(has).map(&basis) {
            (0..N * N).for_each(|place| normal[place / N][place % N] += b[place / N] * b[place % N]);
        }
        let inverse = inverse(normal).filter(|_| pattern.count_ones() as usize >= N)?;
        let (mut parameters, mut state) = ([[0.0; N]; X_LAYERS], [[0.0; 2]; X_LAYERS]);
        for layer in (0..X_LAYERS).filter(has) {
            let b = basis(layer);
            parameters[layer] = inverse.map(|row| dot(row, b));
            state[layer] = at.map(|at| dot(at, parameters[layer]));
        }
        Some(Self { parameters, state })
    }

    /// Returns the value and slope at z of the states that the fit finds for these x or y in the layers.
    fn of(&self, measured: impl Fn(usize) -> f64) -> Two {
        let mut sum = [0.0; 2];
        for (layer, state) in self.state.iter().enumerate() {
            (0..2).for_each(|i| sum[i] += state[i] * measured(layer));
        }
        sum
    }
}

fn dot<const N: usize>(a: [f64; N], b: [f64; N]) -> f64 {
    a.into_iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the inverse of a symmetric matrix by Gauss-Jordan elimination; none when it does not exist.
fn inverse<const N: usize>(mut m: [[f64; N]; N]) -> Option<[[f64; N]; N]> {
    let mut out: [[f64; N]; N] =
        std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    for pivot in 0..N {
        // The matrices are positive definite and need no search for pivots.
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

/// Returns z from the reference, mm.
fn distance(layer: usize) -> f64 {
    Z[layer] - Z_REFERENCE
}

fn basis_x(d: f64) -> [f64; 3] {
    [1.0, d / METRE, bend(d) / (METRE * METRE)]
}

fn basis_y(d: f64) -> [f64; 2] {
    [1.0, d / METRE]
}

/// Returns the displacement and change of slope, at a distance `d` behind the reference, of a track that one unit of each
/// shape of the field bends from the reference on.
fn bent(d: f64) -> [[f64; SHAPES]; 2] {
    let steps = (d.abs() / STEP).ceil().max(1.0);
    let step = d / steps;
    let mut sums = [[0.0; SHAPES]; 2];
    for number in 0..steps as usize {
        let at = (number as f64 + 0.5) * step;
        let [b0, b1, _, second, _] = MidPlane::new(Z_REFERENCE + at).terms();
        for (shape, field) in [b0, b1, second].into_iter().enumerate() {
            sums[0][shape] += field * step * (d - at);
            sums[1][shape] += field * step;
        }
    }
    sums
}

impl Gains {
    /// Computes the tables for a resolution of hits across their fibres, mm.
    pub(super) fn new(resolution: f64) -> Self {
        let end = Z_STATE - Z_REFERENCE;
        let turn = 2.0 * end + 3.0 * CUBIC * end * end;
        let at_x = [basis_x(end), [0.0, 1.0 / METRE, turn / (METRE * METRE)]];
        let at_y = [basis_y(end), [0.0, 1.0 / METRE]];
        let of_uv = |layer: usize| basis_y(distance(X_LAYERS + layer));
        let shapes: Vec<_> = (0..X_LAYERS + UV_LAYERS).map(|layer| bent(distance(layer))).collect();
        let bent = Bent { shapes, end: bent(end) };
        let angle = Scattering::new().scifi_layer.sqrt();
        let in_y: Vec<_> = (0..PATTERNS).map(|pattern| Fit::new(pattern, of_uv, at_y)).collect();
        let (mut x, mut y) = (vec![InX::default(); PATTERNS], vec![InY::default(); PATTERNS * PATTERNS]);
        for pattern in 0..PATTERNS {
            let Some(fit) = Fit::new(pattern, |layer| basis_x(distance(layer)), at_x) else { continue };
            x[pattern] = in_x(resolution, angle, &fit, &bent);
            let misplaced = Misplaced::new(resolution, angle, &fit);
            for (number, line) in in_y.iter().enumerate() {
                if let Some(line) = line {
                    y[pattern * PATTERNS + number] = of_line(resolution, angle, &misplaced, line, &bent);
                }
            }
        }
        Self { x, y }
    }
}

/// Results of [`bent`] for all layers, and for z of the states.
struct Bent {
    shapes: Vec<[[f64; SHAPES]; 2]>,
    end: [[f64; SHAPES]; 2],
}

/// Returns the distance of z behind a layer, mm, 0 in front of it: the displacement at z per radian of a turn in the layer.
fn behind(z: f64, layer: usize) -> f64 {
    (z - Z[layer]).max(0.0)
}

fn in_x(resolution: f64, angle: f64, fit: &Fit<3>, bent: &Bent) -> InX {
    let all = 0..X_LAYERS + UV_LAYERS;
    // Value and slope that the fit finds for a track that turns by one standard deviation in a layer. Their difference from
    // the true value and slope is the error.
    let scattered = |by: usize| fit.of(|layer| angle * behind(Z[layer], by));
    let errors = all.clone().map(|by| {
        let [value, slope] = scattered(by);
        [value - angle * behind(Z_STATE, by), slope - angle]
    });
    let by_hits = fit.state.map(|state| state.map(|part| resolution * part));
    let hits = covariance(by_hits);
    let mut found = InX { hits, scattering: covariance(errors), ..InX::default() };
    found.turn = [hits[2], covariance(all.clone().map(scattered))[2]];
    let origin = |[value, slope]: Two| slope.mul_add(-Z_STATE, value);
    let before = Scattering::new().before_scifi_at().map(|[z, angle2]| angle2 * z * z);
    let of_hits: f64 = by_hits.map(|state| origin(state).powi(2)).iter().sum();
    let of_layers: f64 = all.map(|by| origin(scattered(by)).powi(2)).sum();
    found.origin = [of_hits as f32, (of_layers + before.iter().sum::<f64>()) as f32];
    for shape in 0..SHAPES {
        let x = |layer: usize| bent.shapes[layer][0][shape];
        let curvature = (0..X_LAYERS).map(|layer| fit.parameters[layer][2] * x(layer)).sum::<f64>();
        let [value, slope] = fit.of(x);
        found.bend[shape] = (curvature / (METRE * METRE)) as f32;
        found.value[shape] = (bent.end[0][shape] - value) as f32;
        found.slope[shape] = (bent.end[1][shape] - slope) as f32;
    }
    found
}

/// Errors of y in the tilted layers, mm, by errors of the upright layers and by scattering. They do not depend on which
/// tilted layers have hits.
struct Misplaced {
    by_hit: [[f64; UV_LAYERS]; X_LAYERS],
    by_scattering: [[f64; UV_LAYERS]; X_LAYERS + UV_LAYERS],
}

impl Misplaced {
    /// Computes the errors for a resolution of hits, mm, and the scattering angle of a layer, rad.
    fn new(resolution: f64, angle: f64, fit: &Fit<3>) -> Self {
        // Change of x of the fit in a tilted layer per change of x in each upright layer.
        let parts: [[f64; X_LAYERS]; UV_LAYERS] = std::array::from_fn(|layer| {
            let b = basis_x(distance(X_LAYERS + layer));
            fit.parameters.map(|parameters| dot(b, parameters))
        });
        let predicted = |layer: usize, x: &dyn Fn(usize) -> f64| -> f64 {
            parts[layer].into_iter().enumerate().map(|(hit, part)| part * x(hit)).sum()
        };
        let by_hit = std::array::from_fn(|hit| {
            let x = |layer: usize| if layer == hit { resolution } else { 0.0 };
            std::array::from_fn(|layer| predicted(layer, &x) / slope(layer))
        });
        let by_scattering = std::array::from_fn(|by| {
            let x = |layer: usize| angle * behind(Z[layer], by);
            std::array::from_fn(|layer| (predicted(layer, &x) - x(X_LAYERS + layer)) / slope(layer))
        });
        Self { by_hit, by_scattering }
    }
}

/// Returns dx/dy of the fibres of a tilted layer.
fn slope(layer: usize) -> f64 {
    SLOPE[layer] * (TILT / SLOPE[0].abs())
}

fn of_line(resolution: f64, angle: f64, misplaced: &Misplaced, line: &Fit<2>, bent: &Bent) -> InY {
    let by_tilted = (0..UV_LAYERS).map(|hit| line.state[hit].map(|part| part * resolution / slope(hit)));
    let by_upright = misplaced.by_hit.iter().map(|y| line.of(|layer| y[layer]));
    let across = misplaced.by_scattering.iter().map(|y| line.of(|layer| y[layer]));
    let along = (0..X_LAYERS + UV_LAYERS).map(|by| {
        let [value, slope] = line.of(|layer| angle * behind(Z[X_LAYERS + layer], by));
        [value - angle * behind(Z_STATE, by), slope - angle]
    });
    let [value, turn] = line.of(|layer| bent.shapes[X_LAYERS + layer][0][0]);
    InY {
        hits: covariance(by_tilted.chain(by_upright)),
        scattering: covariance(across.chain(along)),
        left: [(bent.end[0][0] - value) as f32, (bent.end[1][0] - turn) as f32],
    }
}

/// Returns the field at the reference: b0 and b1, slope and second derivative of b0, slope of b1.
pub(super) fn field_at_reference() -> [f32; 5] {
    MidPlane::new(Z_REFERENCE).terms().map(|term| term as f32)
}
