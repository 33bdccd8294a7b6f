//! Converts states to their output form, and finds their faults.

use super::maths::{atan2, fma, max, min, within_turn};
use super::{State, axis_of};
use crate::kalman::FitStatus;
use std::f32::consts::PI;

/// Returns an angle within -pi..=pi.
pub(super) fn angle(angle: f32) -> f32 {
    min(max(within_turn(angle), -PI), PI)
}

/// Returns azimuth, z, charge / pT, phi and theta; the first parameter of the covariance is r-phi.
pub fn written(state: &State) -> State {
    let State { radius: r, p: [azimuth, z, k, moment, slope], c } = *state;
    let axis = axis_of(r, moment);
    let phi = azimuth + atan2(moment, axis);
    let p = [angle(azimuth), z, k, angle(phi), atan2(1.0, slope)];
    let per_moment = 1.0 / axis;
    let per_slope = -(1.0 / fma(slope, slope, 1.0));
    // Rows of phi with the other parameters: azimuth plus the effect of the moment.
    let phi_with = [
        fma(per_moment, c[3][0], c[0][0]),
        fma(per_moment, c[3][1], c[1][0]),
        fma(per_moment, c[3][2], c[2][0]),
        fma(per_moment, c[3][3], c[3][0]),
    ];
    let mut out = c;
    out[0][0] = r * r * c[0][0];
    out[1][0] = r * c[1][0];
    out[2][0] = r * c[2][0];
    out[3][0] = r * phi_with[0];
    (out[3][1], out[3][2]) = (phi_with[1], phi_with[2]);
    out[3][3] = fma(per_moment, phi_with[3], phi_with[0]);
    out[4][0] = r * (per_slope * c[4][0]);
    out[4][1] = per_slope * c[4][1];
    out[4][2] = per_slope * c[4][2];
    out[4][3] = per_slope * fma(per_moment, c[4][3], c[4][0]);
    out[4][4] = per_slope * per_slope * c[4][4];
    State { radius: r, p, c: out }
}

/// Returns the gravest fault of an output state.
pub fn judge(state: &State, reached: bool, measured: bool) -> FitStatus {
    let State { p, c, .. } = state;
    let values = || p.iter().copied().chain((0..5).flat_map(|i| c[i][..=i].to_vec()));
    // The factors L, and L D, of L D L^T of the covariance, with its diagonal increased to allow for rounding.
    let (mut l, mut scaled) = ([[0.0; 5]; 5], [[0.0; 5]; 5]);
    let mut definite = true;
    for j in 0..5 {
        for i in j..5 {
            let start = if i == j { c[i][j] * (1.0 + 1e-5) } else { c[i][j] };
            scaled[i][j] = (0..j).fold(start, |sum, m| fma(-l[j][m], scaled[i][m], sum));
        }
        definite &= 0.0 < scaled[j][j];
        let reciprocal = 1.0 / scaled[j][j];
        for i in j + 1..5 {
            l[i][j] = scaled[i][j] * reciprocal;
        }
    }
    if !reached {
        FitStatus::NotReached
    } else if !measured {
        FitStatus::Measurement
    } else if !values().all(f32::is_finite) {
        FitStatus::NotFinite
    } else if !(0..5).all(|i| 0.0 < c[i][i]) {
        FitStatus::Variance
    } else if !definite {
        FitStatus::Indefinite
    } else if p[2].abs() >= 1e6 {
        FitStatus::Momentum
    } else {
        FitStatus::Ok
    }
}
