//! Fits `src/scifi/momentum.rs`, the formula for the momentum of a track that has only SciFi hits, to simulated tracks.

use super::linear::solve;
use super::sample::{EVENTS, MOMENTUM_SEEDS, Owners, Sample};
use peloton::engine::Engine;
use peloton::event::{Outcome, SciFiTracks};
use peloton::scifi::{SciFi, SciFiConfig, SciFiPreset};
use peloton::simd::Level;
use peloton::{Error, Result};
use std::sync::Arc;

/// Terms of the formula.
const N: usize = 5;
/// z of the states, mm.
const STATE_Z: f64 = 9_410.0;
/// Unit of the terms, MeV mm.
const SCALE: f64 = 1e6;
/// Smallest momentum of particles in the fit, GeV/c: only some slower particles are found, more often if they look faster.
const LEAST_P: f64 = 3.0;
/// Steps of the fit: more steps do not change the printed digits.
const STEPS: usize = 60;
/// Smaller relative deviations count as this, so that no single track dominates the fit.
const SMALLEST: f64 = 1e-4;

/// The coefficients of Allen, 2023.
const PUBLISHED: [f64; N] = [0.0, 6.34025, 4.85287, 12.4491, -4.25461e-8];

/// A track in the SciFi and the momentum of its particle, GeV/c.
struct Seed {
    /// Slopes in x and y, and x at z = 0, mm, of the line from the search.
    tx: f64,
    ty: f64,
    x0: f64,
    p: f64,
}

impl Seed {
    /// Returns the terms of the formula over the true momentum: multiplied by the coefficients, their sum should be 1.
    fn terms(&self) -> [f64; N] {
        let Self { tx, ty, x0, p } = self;
        let each = SCALE / (1000.0 * p * x0.abs());
        let (tx2, ty2, x02) = (tx * tx, ty * ty, x0 * x0);
        let of_field = [1.0, tx2, ty2, x02].map(|term| term * each);
        let mut all = [1.0 / (1000.0 * p); N];
        all[1..].copy_from_slice(&of_field);
        all
    }
}

/// Returns the tracks of particles in the acceptance that are no electrons.
fn seeds(level: Level) -> Result<Vec<Seed>> {
    let sample = Sample::new(MOMENTUM_SEEDS)?;
    let (geometry, config) = (Arc::new(sample.geometry.scifi()?), SciFiConfig::preset(SciFiPreset::Best));
    let engine = Engine::new(SciFi::new(level, config, geometry, sample.polarity)?);
    let mut out = Outcome::<SciFiTracks>::default();
    engine.try_run(sample.raw.view(), &mut engine.workspace(), &mut out)?;
    let (tracks, mut seeds) = (out.results, Vec::new());
    for (event, truth) in sample.truth.iter().enumerate() {
        let owners = Owners::of(truth);
        for track in tracks.of_event(event) {
            for owner in owners.of_most(tracks.hits_of(track)) {
                let particle = &truth.particles[owner as usize];
                let inside = particle.eta > 2.0 && particle.eta < 5.0 && !particle.is_electron();
                if inside && particle.p > LEAST_P {
                    let line = &tracks.searched;
                    let [x, tx, ty] = [&line.x, &line.tx, &line.ty].map(|column| f64::from(column[track]));

                    seeds.push(Seed { tx, ty, x0: x - tx * STATE_Z, p: particle.p });
                }
            }
        }
    }
    Ok(seeds)
}

/// Returns the coefficients with the smallest sum of |true p / p - 1|: for any tails, half of the tracks come out too fast and
/// half too slow, and tracks that seem not to bend count no more than others. The fit begins at the published formula and
/// repeats least squares, weighted by the deviations of the step before.
fn fit(seeds: &[Seed]) -> Result<[f64; N]> {
    let mut coefficients = PUBLISHED;
    for _ in 0..STEPS {
        let (mut matrix, mut values) = ([[0.0; N]; N], [0.0; N]);
        for seed in seeds {
            let terms = seed.terms();
            let off = deviation(&terms, &coefficients);
            let weight = 1.0 / (off.abs().max(SMALLEST) * (1.0 + off).max(SMALLEST));
            for i in 0..N {
                values[i] += weight * terms[i];
                (0..N).for_each(|j| matrix[i][j] += weight * terms[i] * terms[j]);
            }
        }
        coefficients =
            solve_scaled(matrix, values).ok_or_else(|| Error::Config("too few tracks for a fit".into()))?;
    }
    Ok(coefficients)
}

/// Returns p / true p - 1.
fn deviation(terms: &[f64; N], coefficients: &[f64; N]) -> f64 {
    terms.iter().zip(coefficients).map(|(term, coefficient)| term * coefficient).sum::<f64>() - 1.0
}

/// Solves a symmetric positive definite system, scaled to a diagonal of ones; none if it has no unique solution.
fn solve_scaled(mut matrix: [[f64; N]; N], mut values: [f64; N]) -> Option<[f64; N]> {
    let scale: [f64; N] = std::array::from_fn(|i| 1.0 / matrix[i][i].sqrt());
    for i in 0..N {
        values[i] *= scale[i];
        (0..N).for_each(|j| matrix[i][j] *= scale[i] * scale[j]);
    }
    let least = solve(&mut matrix, &mut values);
    (0..N).for_each(|i| values[i] *= scale[i]);
    (least > 1e-12).then_some(values)
}

/// Returns the median and half of the central 68 % of p / true p - 1, in %, of the tracks in a range of momentum.
fn summary(seeds: &[Seed], coefficients: &[f64; N], [low, high]: [f64; 2]) -> String {
    let inside = seeds.iter().filter(|seed| (low..high).contains(&seed.p));
    let mut off: Vec<f64> = inside.map(|seed| deviation(&seed.terms(), coefficients)).collect();
    off.sort_by(f64::total_cmp);
    let at = |share: f64| 100.0 * off.get((share * off.len() as f64) as usize).copied().unwrap_or(f64::NAN);
    let half = 0.5 * (at(0.8413) - at(0.1587));
    format!(
        "{low} to {high} GeV/c: {} tracks, median {:+.2} %, half of the central 68 % {half:.2} %",
        off.len(),
        at(0.5)
    )
}

/// Prints the coefficients, and the errors of momenta that are computed with these coefficients.
pub fn write(level: Level) -> Result<()> {
    let seeds = seeds(level)?;
    let coefficients = fit(&seeds)?;
    println!(
        "{} tracks of sim:lhcb,events={EVENTS}, seeds {MOMENTUM_SEEDS:?}: {:?}",
        seeds.len(),
        coefficients.map(|c| c as f32)
    );
    for range in [[3.0, 5.0], [5.0, 10.0], [10.0, 20.0], [20.0, 50.0], [50.0, 500.0], [3.0, 500.0]] {
        println!("{}", summary(&seeds, &coefficients, range));
    }
    println!("published: {}", summary(&seeds, &PUBLISHED, [3.0, 500.0]));
    Ok(())
}
