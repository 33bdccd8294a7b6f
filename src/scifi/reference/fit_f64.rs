//! Fits of a SciFi track in f64, by textbook methods: least squares by Gram-Schmidt orthogonalisation. For the errors,
//! hits are moved as each source of errors moves them, and the fit is repeated.

use super::layers::{bend, distance};
use crate::lhcb::magnet::field;
use std::sync::LazyLock;

/// z of all layers, of states and of the reference, mm.
const Z: [f64; 12] = [
    7826.106, 7895.9189, 7966.1035, 8035.9048, 8508.1064, 8577.8691, 8648.1543, 8717.9043, 9193.1064,
    9262.9824, 9333.041, 9402.9043,
];
const STATE_Z: f64 = 9410.0;
const REFERENCE_Z: f64 = 8520.0;
/// Returns the root mean square of the scattering angle in a layer at 1 GeV/c (Highland), for 0.0125 radiation lengths.
fn angle() -> f64 {
    0.0136 * 0.0125f64.sqrt() * (1.0 + 0.038 * libm::log(0.0125))
}

/// Material between Velo and SciFi except the UT: z, mm, and radiation lengths.
const BEFORE: [[f64; 2]; 4] = [[800.0, 0.094], [1680.0, 0.094], [3736.0, 0.024], [6733.0, 0.024]];

/// A least-squares fit by orthonormal functions of z.
struct LeastSquares {
    zs: Vec<f64>,
    /// Functions that are orthonormal on the hits: their values at the hits, and their coefficients in the basis.
    functions: Vec<(Vec<f64>, Vec<f64>)>,
}

impl LeastSquares {
    fn new(zs: &[f64], basis: impl Fn(f64) -> Vec<f64>) -> Self {
        let rows: Vec<Vec<f64>> = zs.iter().map(|z| basis(*z)).collect();
        let size = basis(0.0).len();
        let mut functions: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
        for number in 0..size {
            let mut values: Vec<f64> = rows.iter().map(|row| row[number]).collect();
            let mut made_of = vec![0.0; size];
            made_of[number] = 1.0;
            for (other, other_of) in &functions {
                let share: f64 = values.iter().zip(other).map(|(a, b)| a * b).sum();
                values.iter_mut().zip(other).for_each(|(value, other)| *value -= share * other);
                made_of.iter_mut().zip(other_of).for_each(|(value, other)| *value -= share * other);
            }
            let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
            let scaled = |values: Vec<f64>| values.into_iter().map(|value| value / norm).collect();
            functions.push((scaled(values), scaled(made_of)));
        }
        Self { zs: zs.to_vec(), functions }
    }

    /// Returns the parameters of the fit in terms of the basis.
    fn solve(&self, measured: &[f64]) -> Vec<f64> {
        let mut parameters = vec![0.0; self.functions.len()];
        for (values, made_of) in &self.functions {
            let share: f64 = values.iter().zip(measured).map(|(a, b)| a * b).sum();
            parameters.iter_mut().zip(made_of).for_each(|(parameter, of)| *parameter += share * of);
        }
        parameters
    }

    /// Returns the parameters of the fit to these values at z of the hits.
    fn of(&self, value: impl Fn(f64) -> f64) -> Vec<f64> {
        self.solve(&self.zs.iter().map(|z| value(*z)).collect::<Vec<_>>())
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Lengths are in m, so that the functions are of comparable size.
fn basis_x(z: f64) -> Vec<f64> {
    vec![1.0, distance(z) / 1e3, bend(z) / 1e6]
}

fn basis_y(z: f64) -> Vec<f64> {
    vec![1.0, distance(z) / 1e3]
}

/// Returns x and its slope at z of the states.
fn state_x(parameters: &[f64]) -> [f64; 2] {
    let d = distance(STATE_Z);
    [
        dot(parameters, &basis_x(STATE_Z)),
        parameters[1] / 1e3 + parameters[2] * (2.0 * d - 0.00084 * d * d) / 1e6,
    ]
}

fn state_y(parameters: &[f64]) -> [f64; 2] {
    [dot(parameters, &basis_y(STATE_Z)), parameters[1] / 1e3]
}

/// Results of the fits for each shape of the field: the fitted bend, the errors of x and its slope, and of y and its slope.
pub(super) struct Shapes {
    pub(super) bend: [f64; 3],
    pub(super) value: [f64; 3],
    pub(super) slope: [f64; 3],
    pub(super) in_y: [f64; 2],
}

/// Least-squares fits, in x and in y, of a track with hits at given z, and given dx/dy of fibres in u and v layers.
pub struct Fit {
    x: LeastSquares,
    y: LeastSquares,
    slopes: Vec<f64>,
}

/// A fitted track: three parameters in x, two parameters in y, and the sums of squared distances of its hits.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedTrack {
    /// Parameters in x: x at z = 8,520 mm, mm; slope, mm per m; coefficient of the parabola, mm per m^2.
    pub x: Vec<f64>,
    /// Parameters in y: y at z = 8,520 mm, mm; slope, mm per m.
    pub y: Vec<f64>,
    /// Sums of the squared distances of hits from the track in x and in y, mm^2.
    pub chi2: [f64; 2],
}

impl Fit {
    /// Prepares fits: `upright` has z of the hits in x layers; `tilted` has z and dx/dy of the hits in u and v layers.
    pub fn new(upright: &[f64], tilted: &[[f64; 2]]) -> Self {
        let (zs, slopes): (Vec<f64>, Vec<f64>) = tilted.iter().map(|[z, slope]| (*z, *slope)).unzip();
        Self { x: LeastSquares::new(upright, basis_x), y: LeastSquares::new(&zs, basis_y), slopes }
    }

    /// Fits a track to the measured x of its hits in x layers (`upright`) and in u and v layers (`tilted`).
    pub fn track(&self, upright: &[f64], tilted: &[f64]) -> FittedTrack {
        let x = self.x.solve(upright);
        let in_y = |(at, hit): (usize, &f64)| (dot(&x, &basis_x(self.y.zs[at])) - hit) / self.slopes[at];
        let measured: Vec<f64> = tilted.iter().enumerate().map(in_y).collect();
        let y = self.y.solve(&measured);
        let chi2 = |fit: &LeastSquares, basis: fn(f64) -> Vec<f64>, parameters: &[f64], hits: &[f64]| {
            let left = |(z, hit): (&f64, &f64)| (hit - dot(parameters, &basis(*z))).powi(2);
            fit.zs.iter().zip(hits).map(left).sum()
        };
        let chi2 = [chi2(&self.x, basis_x, &x, upright), chi2(&self.y, basis_y, &y, &measured)];
        FittedTrack { x, y, chi2 }
    }

    /// Returns the errors of x, tx, y and ty at z of the states, for particles that fly along `x` and `y` and have the
    /// state `end`.
    fn errors(&self, x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64, end: [[f64; 2]; 2]) -> [[f64; 2]; 2] {
        let upright: Vec<f64> = self.x.zs.iter().map(|z| x(*z)).collect();
        let tilted = self.y.zs.iter().zip(&self.slopes).map(|(z, slope)| x(*z) - slope * y(*z));
        let track = self.track(&upright, &tilted.collect::<Vec<_>>());
        let found = [state_x(&track.x), state_y(&track.y)];
        [0, 1].map(|axis| [0, 1].map(|of| found[axis][of] - end[axis][of]))
    }

    /// Returns the covariance of x and dx/dz, and of y and dy/dz, for hits with this resolution, mm, and a particle
    /// with this q/p, c/GeV.
    pub fn covariance(&self, resolution: f64, qop: f64) -> [[f64; 3]; 2] {
        let mut sums = [[0.0; 3]; 2];
        let mut add = |errors: [[f64; 2]; 2]| {
            for (sum, [value, slope]) in sums.iter_mut().zip(errors) {
                (sum[0], sum[1], sum[2]) =
                    (sum[0] + value * value, sum[1] + value * slope, sum[2] + slope * slope);
            }
        };
        let none = [[0.0; 2]; 2];
        for hit in 0..self.x.zs.len() + self.y.zs.len() {
            let mut moved = vec![0.0; self.x.zs.len() + self.y.zs.len()];
            moved[hit] = resolution;
            let (upright, tilted) = moved.split_at(self.x.zs.len());
            let track = self.track(upright, tilted);
            add([state_x(&track.x), state_y(&track.y)]);
        }
        for from in Z {
            let angle = angle() * qop;
            let turned = |z: f64| angle * (z - from).max(0.0);
            let end = [turned(STATE_Z), angle];
            add(self.errors(turned, |_| 0.0, [end, none[1]]));
            add(self.errors(|_| 0.0, turned, [none[0], end]));
        }
        sums
    }

    /// Returns the variance of x of the track's extended line at z = 0, mm^2, relative to a track without scattering,
    /// for this resolution of hits, mm, and this q/p, c/GeV. Scattering before the SciFi is included.
    pub fn variance_of_origin(&self, resolution: f64, qop: f64) -> f64 {
        let origin = |parameters: Vec<f64>| {
            let [x, slope] = state_x(&parameters);
            x - slope * STATE_Z
        };
        let of_hits = (0..self.x.zs.len()).map(|hit| {
            let mut moved = vec![0.0; self.x.zs.len()];
            moved[hit] = resolution;
            origin(self.x.solve(&moved)).powi(2)
        });
        let scattered =
            Z.into_iter().map(|from| origin(self.x.of(|z: f64| angle() * qop * (z - from).max(0.0))).powi(2));
        let before = BEFORE.into_iter().map(|[z, x]| {
            let angle = 0.0136 * (1.0 + 0.038 * libm::log(x)) * x.sqrt();
            (angle * qop * z).powi(2)
        });
        // Each of the four planes of the UT scatters separately.
        let in_ut = 0.0136 * (1.0 + 0.038 * libm::log(0.012)) * 0.012f64.sqrt() * qop * 2484.6;
        of_hits.sum::<f64>() + scattered.sum::<f64>() + before.sum::<f64>() + 4.0 * in_ut * in_ut
    }

    /// Returns the variance of dx/dz relative to a track without scattering, for this resolution, mm, and q/p, c/GeV.
    pub fn variance_of_turn(&self, resolution: f64, qop: f64) -> f64 {
        let of_hits = (0..self.x.zs.len()).map(|hit| {
            let mut moved = vec![0.0; self.x.zs.len()];
            moved[hit] = resolution;
            state_x(&self.x.solve(&moved))[1].powi(2)
        });
        let scattered = Z.into_iter().map(|from| {
            let turned = |z: f64| angle() * qop * (z - from).max(0.0);
            state_x(&self.x.of(turned))[1].powi(2)
        });
        of_hits.sum::<f64>() + scattered.sum::<f64>()
    }

    /// Returns x, y, dx/dz and dy/dz of a fitted track at z = 9,410 mm, with corrections for the shape of the field and
    /// for the inclination of the layers.
    pub fn state(&self, track: &FittedTrack) -> [f64; 4] {
        let ([x, tx], [y, ty]) = (state_x(&track.x), state_y(&track.y));
        let shapes = self.shapes();
        let (at_x, at_y) = (track.x[0].clamp(-3000.0, 3000.0), track.y[0].clamp(-2500.0, 2500.0));
        let weights = [1.0, at_x * at_x - at_y * at_y, -0.5 * at_y * at_y];
        let bend = dot(&weights, &shapes.bend).max(shapes.bend[0] / 3.0);
        let unit = if bend > 0.0 { track.x[2] / 1e6 / bend } else { 0.0 };
        let terms = [0, 1, 2].map(|shape| term(shape, REFERENCE_Z));
        let (along_x, along_y) = (2.0 * terms[1] * at_x * at_y, dot(&weights, &terms));
        let falls = |shape| (term(shape, REFERENCE_Z + 1.0) - term(shape, REFERENCE_Z - 1.0)) / 2.0;
        let along_z = at_y * (falls(0) + falls(1) * at_x * at_x);
        let (slope_x, slope_y) = (track.x[1] / 1e3, track.y[1] / 1e3);
        let force = slope_x * (slope_y * along_y + along_z) - (1.0 + slope_y * slope_y) * along_x;
        let unit_y = unit * force / terms[0];
        let (x, tx) = (x + unit * dot(&weights, &shapes.value), tx + unit * dot(&weights, &shapes.slope));
        let (y, ty) = (y + unit_y * shapes.in_y[0], ty + unit_y * shapes.in_y[1]);
        let shrink = 1.0 - 0.0036 * ty;
        [x - 0.0036 * y * tx, y - 0.0036 * y * ty, tx * shrink, ty * shrink]
    }

    /// Fits each shape of the field.
    pub(super) fn shapes(&self) -> Shapes {
        let mut shapes = Shapes { bend: [0.0; 3], value: [0.0; 3], slope: [0.0; 3], in_y: [0.0; 2] };
        for shape in 0..3 {
            let bent = |z: f64| bent(shape, z);
            let x = self.x.of(|z| bent(z)[0]);
            let ([value, slope], end) = (state_x(&x), bent(STATE_Z));
            (shapes.bend[shape], shapes.value[shape]) = (x[2] / 1e6, end[0] - value);
            shapes.slope[shape] = end[1] - slope;
            if shape == 0 {
                let [value, slope] = state_y(&self.y.of(|z| bent(z)[0]));
                shapes.in_y = [end[0] - value, end[1] - slope];
            }
        }
        shapes
    }
}

/// Returns a term of the field, from the field itself: b0 and b1 of By = b0 + b1 x^2 in the plane y = 0, and the second
/// derivative of b0.
fn term(shape: usize, z: f64) -> f64 {
    let on_axis = |z: f64| field([0.0, 0.0, z])[1];
    match shape {
        0 => on_axis(z),
        1 => (field([1000.0, 0.0, z])[1] - on_axis(z)) / 1e6,
        // By falls by y^2 / 2 times 2 b1 + b0''.
        _ => (on_axis(z) - field([0.0, 1000.0, z])[1]) / 0.5e6 - 2.0 * term(1, z),
    }
}

/// Returns the displacement and slope at z of a particle that a term of the field bends from the reference on. Results for
/// z of the layers and of the states are cached.
fn bent(shape: usize, z: f64) -> [f64; 2] {
    static KNOWN: LazyLock<Vec<(f64, [[f64; 2]; 3])>> = LazyLock::new(|| {
        let of_all = |z: f64| (z, [0, 1, 2].map(|shape| integrated(shape, z)));
        Z.into_iter().chain([STATE_Z]).map(of_all).collect()
    });
    match KNOWN.iter().find(|(known, _)| *known == z) {
        Some((_, of_all)) => of_all[shape],
        None => integrated(shape, z),
    }
}

/// Integrates [`bent`] by Simpson's rule.
fn integrated(shape: usize, z: f64) -> [f64; 2] {
    const STEPS: usize = 200;
    let step = (z - REFERENCE_Z) / STEPS as f64;
    let mut sums = [0.0; 2];
    for number in 0..=STEPS {
        let at = REFERENCE_Z + number as f64 * step;
        let weight = match number {
            0 | STEPS => 1.0,
            _ if number % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let force = weight * step / 3.0 * term(shape, at);
        sums = [sums[0] + force * (z - at), sums[1] + force];
    }
    sums
}
