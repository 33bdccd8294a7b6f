//! States of tracks, with covariances in f64.

use super::choice::features;
use super::layers::{UV_SLOPE, UV_Z, X_Z, bend, distance};
use super::track::{Found, ReferenceTrack};

/// Where states are given, mm.
const STATE_Z: f64 = 9410.0;

/// The state of a track; `x_of` knows the x of a hit.
pub(super) fn state(
    found: &Found,
    resolution: f64,
    polarity: f32,
    x_of: impl Fn(usize) -> f32,
) -> ReferenceTrack {
    let ([a, b, c], [y, ty]) = (found.x, found.y);
    let d = distance(STATE_Z);
    let turn = 2.0 * d - 3.0 * 0.00028 * d * d;
    let x = c.mul_add(bend(STATE_Z) as f32, b.mul_add(d as f32, a));
    let tx = c.mul_add(turn as f32, b);
    let x0 = (-tx).mul_add(STATE_Z as f32, x);
    let momentum = 4.25461e-8f32
        .mul_add(x0 * x0, (-12.4491f32).mul_add(ty * ty, (-4.85287f32).mul_add(tx * tx, -6.34025)));
    let there = |hits: [Option<usize>; 6], z: [f64; 6]| -> Vec<f64> {
        hits.into_iter().zip(z).filter_map(|(hit, z)| hit.map(|_| z)).collect()
    };
    let basis_x = |z: f64| vec![1.0, distance(z) / 1000.0, bend(z) / 1e6];
    let basis_y = |z: f64| vec![1.0, distance(z) / 1000.0];
    let slope_x = vec![0.0, 1.0 / 1000.0, turn / 1e6];
    let variance = resolution * resolution;
    let x_zs = there(found.x_hits, X_Z);
    let y_zs = there(found.uv_hits, UV_Z);
    ReferenceTrack {
        hits: Vec::new(),
        position: [x, ty.mul_add(d as f32, y)],
        slope: [tx, ty],
        qop: x0 / momentum * (-1000.0 / (1e6 * f64::from(polarity))) as f32,
        chi2: [found.chi2_x(&x_of), found.chi2],
        features: features(found, x_of),
        covariance: [
            covariance(&x_zs, basis_x, slope_x).map(|value| value * variance),
            covariance(&y_zs, basis_y, vec![0.0, 1.0 / 1000.0])
                .map(|value| value * variance / (UV_SLOPE[0] * UV_SLOPE[0])),
        ],
    }
}

/// Of the value at the state's z and the slope there: the fit is a sum over the hits with weights that reproduce each basis
/// function, so that variances are sums of the weights' squares.
fn covariance(zs: &[f64], basis: impl Fn(f64) -> Vec<f64>, slope: Vec<f64>) -> [f64; 3] {
    let rows: Vec<Vec<f64>> = zs.iter().map(|z| basis(*z)).collect();
    // Orthonormal functions on the hits, by Gram and Schmidt, with what they are of the basis.
    let size = slope.len();
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
    let at = basis(STATE_Z);
    let of = |wanted: &[f64]| -> Vec<f64> {
        functions.iter().map(|(_, made_of)| made_of.iter().zip(wanted).map(|(a, b)| a * b).sum()).collect()
    };
    let (value, slope) = (of(&at), of(&slope));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    [product(&value, &value), product(&value, &slope), product(&slope, &slope)]
}
