//! The filter of x, y, z, charge / pT, phi and theta in f64, written as in a textbook: dense matrices in one frame for all
//! tracks, and hits that measure x, y and z.

use super::{Point, Square, State, inverse, linearised, multiply, point, step_to_radius, transpose};

/// A state at a point.
#[derive(Debug, Clone, Copy)]
pub struct GlobalState {
    /// Parameters.
    pub p: Point,
    /// Covariance of the parameters.
    pub c: Square<6>,
}

/// A hit of three coordinates.
#[derive(Debug, Clone, Copy)]
pub struct GlobalHit {
    /// Measured x, y and z, cm.
    pub position: [f64; 3],
    /// Variances along the radius of the hit, along r-phi and z, cm^2; the errors are independent.
    pub variance: [f64; 3],
}

/// Steps of the parameters for numerical derivatives.
const STEPS: Point = [1e-6, 1e-6, 1e-4, 1e-5, 1e-6, 1e-6];

/// Transports the state to the cylinder of radius `radius`.
pub fn global_to_radius(state: &GlobalState, field: f64, radius: f64, iterations: usize) -> GlobalState {
    let (p, f) = linearised(state.p, STEPS, |p| step_to_radius(p, field, radius, iterations));
    GlobalState { p, c: multiply(&multiply(&f, &state.c), &transpose(&f)) }
}

/// Returns the rotation of x and y to the axes along the radius of (`x`, `y`) and across; the other axes are unchanged.
fn to_axes<const N: usize>(x: f64, y: f64) -> Square<N> {
    let (cosine, sine) = (x / x.hypot(y), y / x.hypot(y));
    std::array::from_fn(|i| {
        std::array::from_fn(|j| match (i, j) {
            (0, 0) | (1, 1) => cosine,
            (0, 1) => sine,
            (1, 0) => -sine,
            _ => f64::from(u8::from(i == j)),
        })
    })
}

fn turned<const N: usize>(axes: &Square<N>, c: &Square<N>) -> Square<N> {
    multiply(&multiply(axes, c), &transpose(axes))
}

/// Returns the state with a hit added, and chi2 of the hit. The axes are along and across the radius of the state: in x
/// and y, even f64 loses the hit's small error along the radius when the covariance is wide.
pub fn global_update(state: &GlobalState, hit: &GlobalHit) -> (GlobalState, f64) {
    let [x, y, ..] = state.p;
    let axes = to_axes::<3>(x, y);
    let own = std::array::from_fn(|i| std::array::from_fn(|j| if i == j { hit.variance[i] } else { 0.0 }));
    let v = turned(&axes, &turned(&transpose(&to_axes::<3>(hit.position[0], hit.position[1])), &own));
    let all = to_axes::<6>(x, y);
    let c = &turned(&all, &state.c);
    let s: Square<3> = std::array::from_fn(|i| std::array::from_fn(|j| c[i][j] + v[i][j]));
    let weight = inverse(&s);
    let apart: [[f64; 1]; 3] = std::array::from_fn(|i| [hit.position[i] - state.p[i]]);
    let residual = multiply(&axes, &apart).map(|[value]| value);
    let with: [[f64; 3]; 6] = std::array::from_fn(|i| [c[i][0], c[i][1], c[i][2]]);
    let gain = multiply(&with, &weight);
    let taken = multiply(&gain, &transpose(&with));
    let change = multiply(&transpose(&all), &multiply(&gain, &residual.map(|value| [value])));
    let left = std::array::from_fn(|i| std::array::from_fn(|j| c[i][j] - taken[i][j]));
    let p = std::array::from_fn(|i| state.p[i] + change[i][0]);
    let out = GlobalState { p, c: turned(&transpose(&all), &left) };
    let chi2 = (0..3).flat_map(|i| (0..3).map(move |j| (i, j)));
    (out, chi2.map(|(i, j)| residual[i] * weight[i][j] * residual[j]).sum())
}

/// Converts a state on a cylinder.
pub fn to_global(state: &State) -> GlobalState {
    let (p, f) = linearised(state.p, [1e-6; 5], |p| point(p, state.radius));
    GlobalState { p, c: multiply(&multiply(&f, &state.c), &transpose(&f)) }
}

/// Returns the state in its output form: azimuth, z, charge / pT, phi and theta, and the covariance of r-phi in place of
/// the azimuth.
pub fn written_global(state: &GlobalState) -> State {
    let [x, y, ..] = state.p;
    let (radius, near) = (x.hypot(y), y.atan2(x));
    let (_, f) = linearised(state.p, [1e-6; 6], |[x, y, z, charge_over_pt, phi, theta]| {
        [radius * super::turn(y.atan2(x) - near), z, charge_over_pt, phi, theta]
    });
    let [_, _, z, charge_over_pt, phi, theta] = state.p;
    let c = multiply(&multiply(&f, &state.c), &transpose(&f));
    State { radius, p: [near, z, charge_over_pt, phi, theta], c }
}
