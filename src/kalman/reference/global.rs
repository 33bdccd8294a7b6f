//! The filter of x, y, z, charge / pT, phi and theta by the textbook, in f64: dense matrices in one frame for all tracks, and
//! hits that measure x, y and z.

use super::{Point, Square, State, inverse, linearised, multiply, point, step_to_radius, transpose};

/// A state at a point.
#[derive(Debug, Clone, Copy)]
pub struct GlobalState {
    /// Parameters.
    pub p: Point,
    /// Their covariance.
    pub c: Square<6>,
}

/// A hit of three coordinates.
#[derive(Debug, Clone, Copy)]
pub struct GlobalHit {
    /// x, y, z, cm
    pub position: [f64; 3],
    /// Along the radius of the hit, along r-phi and z, cm^2; the errors are independent.
    pub variance: [f64; 3],
}

/// How far parameters are moved for derivatives.
const STEPS: Point = [1e-6, 1e-6, 1e-4, 1e-5, 1e-6, 1e-6];

/// The state on the cylinder of radius `radius`.
pub fn global_to_radius(state: &GlobalState, field: f64, radius: f64, iterations: usize) -> GlobalState {
    let (p, f) = linearised(state.p, STEPS, |p| step_to_radius(p, field, radius, iterations));
    GlobalState { p, c: multiply(&multiply(&f, &state.c), &transpose(&f)) }
}

/// Takes in a hit; gives the chi2, too.
pub fn global_update(state: &GlobalState, hit: &GlobalHit) -> (GlobalState, f64) {
    let [x, y, _] = hit.position;
    let radius = x.hypot(y);
    // From axes along the radius, r-phi and z to x, y and z.
    let turn = [[x / radius, -y / radius, 0.0], [y / radius, x / radius, 0.0], [0.0, 0.0, 1.0]];
    let own = std::array::from_fn(|i| std::array::from_fn(|j| if i == j { hit.variance[i] } else { 0.0 }));
    let v: Square<3> = multiply(&multiply(&turn, &own), &transpose(&turn));
    let c = &state.c;
    let s: Square<3> = std::array::from_fn(|i| std::array::from_fn(|j| c[i][j] + v[i][j]));
    let weight = inverse(&s);
    let residual: [f64; 3] = std::array::from_fn(|i| hit.position[i] - state.p[i]);
    let with: [[f64; 3]; 6] = std::array::from_fn(|i| [c[i][0], c[i][1], c[i][2]]);
    let gain = multiply(&with, &weight);
    let taken = multiply(&gain, &transpose(&with));
    let mut out = *state;
    for i in 0..6 {
        out.p[i] += (0..3).map(|k| gain[i][k] * residual[k]).sum::<f64>();
        (0..6).for_each(|j| out.c[i][j] -= taken[i][j]);
    }
    let chi2 = (0..3).flat_map(|i| (0..3).map(move |j| (i, j)));
    (out, chi2.map(|(i, j)| residual[i] * weight[i][j] * residual[j]).sum())
}

/// The same state in other parameters.
pub fn to_global(state: &State) -> GlobalState {
    let (p, f) = linearised(state.p, [1e-6; 5], |p| point(p, state.radius));
    GlobalState { p, c: multiply(&multiply(&f, &state.c), &transpose(&f)) }
}

/// The state as it is written out: azimuth, z, charge / pT, phi and theta, the covariance of r-phi in place of the azimuth's.
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
