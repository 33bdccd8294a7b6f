//! Fits the weights of the field model `peloton::lhcb::magnet` to public data on LHCb's real magnetic field:
//!
//! ```text
//! cargo run --release --example fit_magnet -- ../shared/data/lhcb
//! ```
//! The fit is a least-squares fit by Levenberg and Marquardt in f64. A fixed order of sums makes weights reproducible.

mod model;
mod public;

use model::{CHANGE, Model};
use peloton::{Error, Result};
use public::{Public, Ray};

/// What a difference of one unit in a residual means: x and y, mm, and slopes, after the tables.
const SIGMA: [f64; 4] = [1.0, 0.5, 2e-4, 1e-4];
/// The same of the UT's integrals, T m, of its plane factors, and of ratios of the field between layers of the SciFi.
const INTEGRAL_SIGMA: f64 = 4e-4;
const FACTOR_SIGMA: f64 = 2e-3;
const RATIO_SIGMA: f64 = 1e-3;
/// Residuals of transport beyond this count by their size, not by its square: the tables' edges are not to be relied on.
const LARGE: f64 = 2.0;
/// Pull towards smooth curves.
const SMOOTH: f64 = 10.0;
const ROUNDS: usize = 5;

/// How far the model is from everything that is known.
fn residuals(model: &Model, public: &Public) -> Vec<f64> {
    let mut all = Vec::new();
    for Ray { start, qop, ends } in &public.rays {
        let first = model.fly(*start, [public.z[0], public.z[1]], *qop);
        let second = model.fly(first, [public.z[1], public.z[2]], *qop);
        for i in 0..4 {
            all.push((first[i] - ends[0][i]) / SIGMA[i]);
            all.push((second[i] - ends[1][i]) / SIGMA[i]);
        }
    }
    for integral in &public.integrals {
        let found =
            model.sideways(integral.ty, integral.origin, [integral.z, public::UT_MIDDLE], |_| 1.0) / 1000.0;
        all.push((found - integral.value) / INTEGRAL_SIGMA);
    }
    for factor in &public.factors {
        let deflection = |to: f64| model.sideways(factor.ty, 0.0, [0.0, to], |z| to - z);
        all.push((deflection(public::UT_MIDDLE) / deflection(factor.z) - factor.value) / FACTOR_SIGMA);
    }
    let layer = |z: f64| [0.0, 600.0, 1200.0].map(|x| model.at([x, 0.0, z])[1]).iter().sum::<f64>();
    let (reference_z, reference) = public.layers[public::REFERENCE_LAYER];
    for &(z, value) in &public.layers {
        all.push((layer(z) / layer(reference_z) - value / reference) / RATIO_SIGMA);
    }
    model.roughness(SMOOTH, &mut all);
    all
}

/// The square root of the weight of each residual.
fn weights(residuals: &[f64], rays: usize) -> Vec<f64> {
    let weight = |(at, residual): (usize, &f64)| {
        if at < 8 * rays && residual.abs() > LARGE { (LARGE / residual.abs()).sqrt() } else { 1.0 }
    };
    residuals.iter().enumerate().map(weight).collect()
}

/// One step: the model that is better than `model`, and the damping to go on with.
fn step(model: &Model, public: &Public, mut damping: f64) -> (Model, f64) {
    let now = residuals(model, public);
    let weight = weights(&now, public.rays.len());
    let now: Vec<f64> = now.iter().zip(&weight).map(|(r, w)| r * w).collect();
    let count = model.weights.len();
    let slope = |at: usize| {
        let mut moved = model.clone();
        moved.weights[at] += CHANGE;
        let there = residuals(&moved, public);
        (0..now.len()).map(|i| (there[i] * weight[i] - now[i]) / CHANGE).collect::<Vec<f64>>()
    };
    let slopes: Vec<Vec<f64>> = (0..count).map(slope).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let scale: Vec<f64> = slopes.iter().map(|slope| 1.0 / dot(slope, slope).sqrt()).collect();
    let size = dot(&now, &now);
    loop {
        let mut matrix: Vec<Vec<f64>> = (0..count)
            .map(|i| (0..=i).map(|j| dot(&slopes[i], &slopes[j]) * scale[i] * scale[j]).collect())
            .collect();
        (0..count).for_each(|i| matrix[i][i] += damping);
        let mut change: Vec<f64> = (0..count).map(|i| -dot(&slopes[i], &now) * scale[i]).collect();
        solve(&mut matrix, &mut change);
        let mut moved = model.clone();
        (0..count).for_each(|i| moved.weights[i] += change[i] * scale[i]);
        let there = residuals(&moved, public);
        let there: Vec<f64> = there.iter().zip(&weight).map(|(r, w)| r * w).collect();
        eprintln!(
            "damping {damping:.0e}: {:.3} -> {:.3}",
            size / now.len() as f64,
            dot(&there, &there) / now.len() as f64
        );
        if dot(&there, &there) < size {
            return (moved, 0.02 * damping);
        }
        damping *= 10.0;
        if damping > 1e4 {
            return (model.clone(), damping);
        }
    }
}

/// Solves a symmetric positive definite system, given the lower half of its matrix, by Cholesky's method.
fn solve(a: &mut [Vec<f64>], b: &mut [f64]) {
    let count = b.len();
    for i in 0..count {
        for j in 0..=i {
            let sum = (0..j).fold(a[i][j], |sum, k| sum - a[i][k] * a[j][k]);
            a[i][j] = if i == j { sum.sqrt() } else { sum / a[j][j] };
        }
    }
    for i in 0..count {
        b[i] = (0..i).fold(b[i], |sum, k| sum - a[i][k] * b[k]) / a[i][i];
    }
    for i in (0..count).rev() {
        b[i] = (i + 1..count).fold(b[i], |sum, k| sum - a[k][i] * b[k]) / a[i][i];
    }
}

fn main() -> Result<()> {
    let folder = std::env::args().nth(1);
    let folder = folder.ok_or_else(|| Error::Config("usage: fit_magnet DATA/lhcb".into()))?;
    let public = Public::read(folder.as_ref())?;
    let (mut model, mut damping) = (Model::start(), 1e-3);
    for _ in 0..ROUNDS {
        (model, damping) = step(&model, &public, damping);
    }
    for four in model.weights.chunks(8) {
        let pairs: Vec<_> = four.chunks(2).map(|pair| format!("[{:.6}, {:.6}]", pair[0], pair[1])).collect();
        println!("    {},", pairs.join(", "));
    }
    Ok(())
}
