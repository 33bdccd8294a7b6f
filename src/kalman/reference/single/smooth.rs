//! The smoother: improves an earlier state with later hits.

use super::maths::fma;
use super::{Derivatives, State, axis_of, similarity};

/// One hit of a filter: the state after the hit, the covariance that scattering adds, and the step to the next hit.
#[derive(Debug, Clone, Copy)]
pub struct Filtered {
    /// State after the hit was added.
    pub state: State,
    /// Covariance that scattering added; only the lower triangle is used.
    pub noise: [[f32; 5]; 5],
    /// The derivatives of the step to the next hit.
    pub f: Derivatives,
    /// The parameters predicted for the next hit.
    pub predicted: [f32; 5],
}

/// Returns the covariance that scattering in a layer of `thickness` radiation lengths adds.
pub fn noise(state: &State, thickness: f32) -> [[f32; 5]; 5] {
    let [_, _, k, moment, slope] = state.p;
    let axis = axis_of(state.radius, moment);
    let steep2 = fma(slope, slope, 1.0);
    let angle2 = noise_angle2(k, steep2, state.radius / axis, thickness);
    let mut out = [[0.0; 5]; 5];
    out[2][2] = angle2 * (k * slope * (k * slope));
    out[3][3] = angle2 * (axis * axis * steep2);
    out[4][2] = angle2 * (k * slope * steep2);
    out[4][4] = angle2 * (steep2 * steep2);
    out
}

/// Returns the variance of a scattering angle.
pub(super) fn noise_angle2(k: f32, steep2: f32, path: f32, thickness: f32) -> f32 {
    0.0136 * 0.0136 * thickness * k * k * path / steep2.sqrt()
}

/// Returns the inverse of a step.
fn inverse(f: &Derivatives) -> Derivatives {
    let at = |i: usize, j: usize| f[i][j].unwrap_or(0.0);
    let mut out = *f;
    out[0][2] = Some(fma(at(0, 3), at(3, 2), -at(0, 2)));
    out[0][3] = Some(-at(0, 3));
    out[1][2] = Some(fma(at(1, 3), at(3, 2), -at(1, 2)));
    out[1][3] = Some(-at(1, 3));
    out[1][4] = Some(-at(1, 4));
    out[3][2] = Some(-at(3, 2));
    out
}

/// Returns f x, row by row, with terms in the order of the columns.
fn times(f: &Derivatives, x: [f32; 5]) -> [f32; 5] {
    f.map(|row| row.iter().zip(x).fold(-0.0, |sum, (f, x)| f.map_or(sum, |f| fma(f, x, sum))))
}

/// Returns the lower triangle of f c f^T for any f.
fn dense(f: &[[f32; 5]; 5], c: &[[f32; 5]; 5]) -> [[f32; 5]; 5] {
    let at = |i: usize, j: usize| c[i.max(j)][i.min(j)];
    let mut out = [[0.0; 5]; 5];
    for i in 0..5 {
        let row: [f32; 5] = std::array::from_fn(|j| (0..5).fold(-0.0, |sum, m| fma(f[i][m], at(m, j), sum)));
        for l in 0..=i {
            out[i][l] = (0..5).fold(-0.0, |sum, m| fma(f[l][m], row[m], sum));
        }
    }
    out
}

/// Returns both triangles of Cholesky's inverse, and whether the matrix is positive definite.
fn cholesky(a: &[[f32; 5]; 5]) -> ([[f32; 5]; 5], bool) {
    let (mut l, mut positive) = (*a, true);
    for j in 0..5 {
        let pivot = (0..j).fold(l[j][j], |pivot, m| fma(-l[j][m], l[j][m], pivot));
        positive &= 0.0 < pivot;
        l[j][j] = 1.0 / pivot.sqrt();
        for i in j + 1..5 {
            l[i][j] = (0..j).fold(l[i][j], |sum, m| fma(-l[i][m], l[j][m], sum)) * l[j][j];
        }
    }
    let mut inverse = l;
    for j in 0..5 {
        for i in j + 1..5 {
            inverse[i][j] = (j..i).fold(0.0, |sum, m| fma(-l[i][m], inverse[m][j], sum)) * l[i][i];
        }
    }
    let mut out = [[0.0; 5]; 5];
    for i in 0..5 {
        for j in 0..=i {
            let first = inverse[i][i] * inverse[i][j];
            out[i][j] = (i + 1..5).fold(first, |sum, m| fma(inverse[m][i], inverse[m][j], sum));
            out[j][i] = out[i][j];
        }
    }
    (out, positive)
}

/// Returns the change of the parameters at the next state, transported back by the inverse of the step.
fn change(back: &Derivatives, layer: &Filtered, next: &State) -> [f32; 5] {
    let change: [f32; 5] = std::array::from_fn(|i| next.p[i] - layer.predicted[i]);
    times(back, change)
}

/// Returns the smoothed state without scattering: the next state transported back.
pub fn carry_back(layer: &Filtered, next: &State) -> State {
    let back = inverse(&layer.f);
    let change = change(&back, layer, next);
    let p = std::array::from_fn(|i| layer.state.p[i] + change[i]);
    State { p, c: similarity(&back, &next.c), ..layer.state }
}

/// Returns the smoothed state, and whether the covariance with the noise is positive definite; if not, the state is the
/// filtered one.
pub fn smooth(layer: &Filtered, next: &State) -> (State, bool) {
    let Filtered { state, noise, f, .. } = layer;
    let back = inverse(f);
    let plus = |a: &[[f32; 5]; 5], b: &[[f32; 5]; 5]| {
        std::array::from_fn(|i| std::array::from_fn(|j| a[i][j] + b[i][j]))
    };
    let (weight, sane) = cholesky(&plus(&state.c, noise));
    if !sane {
        return (*state, false);
    }
    let r: [[f32; 5]; 5] = std::array::from_fn(|i| {
        std::array::from_fn(|j| (0..5).fold(-0.0, |sum, m| fma(noise[i.max(m)][i.min(m)], weight[m][j], sum)))
    });
    let b: [[f32; 5]; 5] =
        std::array::from_fn(|i| std::array::from_fn(|j| if i == j { 1.0 - r[i][i] } else { -r[i][j] }));
    let change = times(&b.map(|row| row.map(Some)), change(&back, layer, next));
    let behind = plus(&similarity(&back, &next.c), noise);
    let c = plus(&dense(&b, &behind), &dense(&r, &state.c));
    (State { p: std::array::from_fn(|i| state.p[i] + change[i]), c, ..*state }, true)
}
