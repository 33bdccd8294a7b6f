//! The naive twin of the filter, in f64: helices by stepping (`docs/algorithms.md`, "Cylinder: transport"), derivatives
//! by differences, dense matrices. The naive twin shares only textbook formulas with the kernels.

pub mod global;
mod linear;
pub mod single;

pub use linear::{inverse, multiply, transpose};

/// A square matrix, row by row.
pub type Square<const N: usize> = [[f64; N]; N];

/// A helix at a point: x, y, z (cm), charge / pT (c/GeV), phi and theta of the momentum (rad).
pub type Point = [f64; 6];

/// A helix on a cylinder in the parameters of the kernels, see [`axis`](super::axis): a filter of other parameters,
/// such as phi instead of the moment, gives other results where the covariance is large, since it linearises
/// differently.
pub type OnCylinder = [f64; 5];

/// A state on a cylinder.
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// Radius, cm.
    pub radius: f64,
    /// Parameters.
    pub p: OnCylinder,
    /// Covariance of the parameters.
    pub c: Square<5>,
}

/// A hit in the coordinates of its cylinder.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// Radius, cm.
    pub radius: f64,
    /// Azimuth (rad) and z (cm).
    pub position: [f64; 2],
    /// Variances of azimuth and z, rad^2 and cm^2; the errors are independent.
    pub variance: [f64; 2],
}

/// Transports the helix to the cylinder of radius `radius` in `iterations` steps, each as long as the remaining
/// distance in radius. `field` is the curvature (1/cm) of a track with charge / pT = 1.
pub fn step_to_radius(point: Point, field: f64, radius: f64, iterations: usize) -> Point {
    let [mut x, mut y, z, charge_over_pt, phi, theta] = point;
    let curvature = field * charge_over_pt;
    let (mut ux, mut uy) = (phi.cos(), phi.sin());
    let mut length = 0.0;
    for _ in 0..iterations {
        let step = radius - x.hypot(y);
        length += step;
        let turn = curvature * step;
        let (sine, cosine) = turn.sin_cos();
        let (along, across) = match turn.abs() < 1e-9 {
            true => (step, step * turn / 2.0),
            false => (sine / curvature, (1.0 - cosine) / curvature),
        };
        (x, y) = (x + along * ux - across * uy, y + along * uy + across * ux);
        (ux, uy) = (ux * cosine - uy * sine, uy * cosine + ux * sine);
    }
    [x, y, z + length / theta.tan(), charge_over_pt, phi + curvature * length, theta]
}

/// Returns the point of the helix `p` on the cylinder of radius `radius`, for an outward direction.
pub fn point(p: OnCylinder, radius: f64) -> Point {
    let phi = p[0] + (p[3] / radius).asin();
    [radius * p[0].cos(), radius * p[0].sin(), p[1], p[2], phi, 1f64.atan2(p[4])]
}

fn on_cylinder(point: Point, near: f64) -> OnCylinder {
    let [x, y, z, charge_over_pt, phi, theta] = point;
    let azimuth = y.atan2(x);
    let moment = x * phi.sin() - y * phi.cos();
    [near + turn(azimuth - near), z, charge_over_pt, moment, 1.0 / theta.tan()]
}

/// Returns `angle` minus whole turns, within -pi..pi.
pub fn turn(angle: f64) -> f64 {
    angle - std::f64::consts::TAU * (angle / std::f64::consts::TAU).round()
}

/// Returns `f` at `at` and its derivatives, by differences of `steps`.
fn linearised<const R: usize, const N: usize>(
    at: [f64; N],
    steps: [f64; N],
    f: impl Fn([f64; N]) -> [f64; R],
) -> ([f64; R], [[f64; N]; R]) {
    let value = f(at);
    let mut jacobian = [[0.0; N]; R];
    for j in 0..N {
        let (mut above, mut below) = (at, at);
        above[j] += steps[j];
        below[j] -= steps[j];
        let (above, below) = (f(above), f(below));
        for i in 0..R {
            jacobian[i][j] = (above[i] - below[i]) / (2.0 * steps[j]);
        }
    }
    (value, jacobian)
}

/// Returns the state where a helix from a vertex crosses the cylinder of radius `radius`.
pub fn from_vertex(p: Point, c: &Square<6>, field: f64, radius: f64, iterations: usize) -> State {
    let near = p[4];
    let (p, f) = linearised(p, [1e-6, 1e-6, 1e-4, 1e-5, 1e-6, 1e-6], |p| {
        on_cylinder(step_to_radius(p, field, radius, iterations), near)
    });
    let c = multiply(&multiply(&f, c), &transpose(&f));
    State { radius, p, c }
}

/// Returns the state at the first of three points (azimuth, z, radius each) of an outward-going helix. The centre of
/// the circle through the points gives the curvature, and the angle at the centre the length of the path.
pub fn from_three_hits(hits: [[f64; 3]; 3], field: f64) -> OnCylinder {
    let [first, middle, last] =
        hits.map(|[azimuth, _, radius]| [radius * azimuth.cos(), radius * azimuth.sin()]);
    let from_first = |point: [f64; 2]| [point[0] - first[0], point[1] - first[1]];
    let (b, c) = (from_first(middle), from_first(last));
    let (b2, c2) = (b[0] * b[0] + b[1] * b[1], c[0] * c[0] + c[1] * c[1]);
    let twice = 2.0 * (b[0] * c[1] - b[1] * c[0]);
    // The centre relative to the first point; it is to the left of a track that turns left.
    let centre = [(c[1] * b2 - b[1] * c2) / twice, (b[0] * c2 - c[0] * b2) / twice];
    let radius = centre[0].hypot(centre[1]);
    let left = twice.signum();
    let direction = [left * centre[1] / radius, -left * centre[0] / radius];
    let end = [c[0] - centre[0], c[1] - centre[1]];
    let cross = centre[1] * end[0] - centre[0] * end[1];
    let along = -(centre[0] * end[0] + centre[1] * end[1]);
    let length = radius * left * cross.atan2(along);
    let moment = first[0] * direction[1] - first[1] * direction[0];
    [hits[0][0], hits[0][1], left / radius / field, moment, (hits[2][1] - hits[0][1]) / length]
}

/// Steps of the parameters on a cylinder for numerical derivatives.
const STEPS: OnCylinder = [1e-6, 1e-4, 1e-5, 1e-5, 1e-6];

/// Transports the state to another cylinder.
pub fn to_radius(state: &State, field: f64, radius: f64, iterations: usize) -> State {
    let near = state.p[0];
    let (p, f) = linearised(state.p, STEPS, |p| {
        on_cylinder(step_to_radius(point(p, state.radius), field, radius, iterations), near)
    });
    let c = multiply(&multiply(&f, &state.c), &transpose(&f));
    State { radius, p, c }
}

/// Returns the state with a hit on its own cylinder added, and chi2 of the hit.
pub fn update(state: &State, hit: &Measured) -> (State, f64) {
    let residual = [turn(hit.position[0] - state.p[0]), hit.position[1] - state.p[1]];
    let c = &state.c;
    let s = [[c[0][0] + hit.variance[0], c[0][1]], [c[1][0], c[1][1] + hit.variance[1]]];
    let weight = inverse(&s);
    let mut out = *state;
    let mut chi2 = 0.0;
    for i in 0..2 {
        for j in 0..2 {
            chi2 += residual[i] * weight[i][j] * residual[j];
        }
    }
    for i in 0..5 {
        for k in 0..2 {
            let gain = c[i][0] * weight[0][k] + c[i][1] * weight[1][k];
            out.p[i] += gain * residual[k];
            for j in 0..5 {
                out.c[i][j] -= gain * c[k][j];
            }
        }
    }
    (out, chi2)
}

/// Filters hits one after another, each at its own radius; returns the last state and the sum of chi2.
pub fn filter(start: &State, field: f64, hits: &[Measured], iterations: usize) -> (State, f64) {
    let mut state = *start;
    let mut sum = 0.0;
    for hit in hits {
        let (next, chi2) = update(&to_radius(&state, field, hit.radius, iterations), hit);
        state = next;
        sum += chi2;
    }
    (state, sum)
}

/// Returns the smoothed state of the first of two layers, given its prediction for the second layer and the smoothed
/// state there: the gain is C F^T P^-1.
pub fn smooth(first: &State, field: f64, predicted: &State, next: &State, iterations: usize) -> State {
    let near = first.p[0];
    let (_, f) = linearised(first.p, STEPS, |p| {
        on_cylinder(step_to_radius(point(p, first.radius), field, predicted.radius, iterations), near)
    });
    let gain = multiply(&multiply(&first.c, &transpose(&f)), &inverse(&predicted.c));
    let mut out = *first;
    let mut difference = next.c;
    for i in 0..5 {
        for j in 0..5 {
            out.p[i] += gain[i][j] * (next.p[j] - predicted.p[j]);
            difference[i][j] -= predicted.c[i][j];
        }
    }
    let change = multiply(&multiply(&gain, &difference), &transpose(&gain));
    out.c.iter_mut().flatten().zip(change.iter().flatten()).for_each(|(c, change)| *c += change);
    out
}

/// Returns the state in its output form: phi and theta in place of moment and slope, and the covariance of r-phi in place
/// of the azimuth.
pub fn written(state: &State) -> State {
    let radius = state.radius;
    let (p, f) = linearised(state.p, [1e-6; 5], |p| {
        let [_, _, _, _, phi, theta] = point(p, radius);
        [radius * p[0], p[1], p[2], phi, theta]
    });
    let c = multiply(&multiply(&f, &state.c), &transpose(&f));
    State { radius, p: [state.p[0], p[1], p[2], p[3], p[4]], c }
}
