//! Fits the coefficients of `peloton::lhcb::momentum` for the nominal magnet to simulated particles:
//!
//! ```text
//! cargo run --release --example fit_momentum
//! ```
//! A least-squares fit in f64 minimises p / true p - 1. The particles come from seeds 1 to 999 of `sim:lhcb`, are
//! reconstructible in Velo and SciFi, have more than 2 GeV/c, and are no electrons. Slopes before the magnet are true.
//! Slopes behind the magnet come from the seeding's parabola through the true positions, which has a small constant
//! bias. The coefficients are the same on every machine.

use peloton::Result;
use peloton_io::input::Geometry;
use peloton_sim::{Bend, LhcbDetector, LhcbReader, SimSpec};

/// Seeds that are learnt from, and events of each.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=999;
const EVENTS: u64 = 2;
/// GeV/c; below, scattering says more than the field.
const LEAST_P: f64 = 2.0;
const TERMS: usize = 8;

/// Upright layers of the SciFi, and z of states, of the parabola, mm; its cubic term over the square one, 1/mm: as the seeding.
const X_LAYERS: [f64; 6] = [7826.106, 8035.905, 8508.106, 8717.904, 9193.106, 9402.904];
const STATE: f64 = 9410.0;
const REFERENCE: f64 = 8520.0;
const CUBIC: f64 = -0.00028;

/// Slope of the parabola through these places, where states are.
fn slope(x: [f64; 6]) -> f64 {
    // In metres from the middle, which keeps the system in order.
    let terms = |z: f64| {
        let d = (z - REFERENCE) / 1000.0;
        [1.0, d, d * d * (1.0 + 1000.0 * CUBIC * d)]
    };
    let (mut a, mut b) = ([[0.0; TERMS]; TERMS], [0.0; TERMS]);
    (3..TERMS).for_each(|i| a[i][i] = 1.0);
    for (z, x) in X_LAYERS.into_iter().zip(x) {
        let terms = terms(z);
        for i in 0..3 {
            b[i] += terms[i] * x;
            (0..3).for_each(|j| a[i][j] += terms[i] * terms[j]);
        }
    }
    let [_, first, second, ..] = solve(a, b);
    let d = (STATE - REFERENCE) / 1000.0;
    (first + second * d * (2.0 + 3.0 * 1000.0 * CUBIC * d)) / 1000.0
}

/// The terms that the coefficients multiply, over the true momentum in MeV: their sum is to be 1.
fn terms(bend: &Bend) -> [f64; TERMS] {
    let ([v, y], t) = (bend.velo, slope(bend.scifi));
    let each = 1.0 / (t - v).abs().max(1e-6);
    let of_field = [1.0, t * t, t * t * t * t, t * v, y * y, y * y * y * y, v * v].map(|term| term * each);
    let mut all = [1.0; TERMS];
    all[1..].copy_from_slice(&of_field);
    all.map(|term| term / (1000.0 * bend.p))
}

/// Solves a symmetric positive definite system by Cholesky's method.
fn solve(mut a: [[f64; TERMS]; TERMS], mut b: [f64; TERMS]) -> [f64; TERMS] {
    for i in 0..TERMS {
        for j in 0..=i {
            let sum = (0..j).fold(a[i][j], |sum, k| sum - a[i][k] * a[j][k]);
            a[i][j] = if i == j { sum.sqrt() } else { sum / a[j][j] };
        }
    }
    for i in 0..TERMS {
        b[i] = (0..i).fold(b[i], |sum, k| sum - a[i][k] * b[k]) / a[i][i];
    }
    for i in (0..TERMS).rev() {
        b[i] = (i + 1..TERMS).fold(b[i], |sum, k| sum - a[k][i] * b[k]) / a[i][i];
    }
    b
}

fn main() -> Result<()> {
    let geometry = Geometry::Nominal;
    let (ut, scifi) = (geometry.ut()?, geometry.scifi()?);
    let detector = LhcbDetector { ut: &ut, scifi: &scifi, polarity: geometry.polarity()? };
    let mut bends = Vec::new();
    for seed in SEEDS {
        let spec: SimSpec = format!("sim:lhcb,events={EVENTS},seed={seed}").parse()?;
        let mut reader = LhcbReader::new(spec, 0, None);
        while let Some(event) = reader.next(&detector) {
            bends.extend(event.bends().iter().filter(|bend| bend.p > LEAST_P).copied());
        }
    }
    let (mut a, mut b) = ([[0.0; TERMS]; TERMS], [0.0; TERMS]);
    for bend in &bends {
        let terms = terms(bend);
        for i in 0..TERMS {
            b[i] += terms[i];
            (0..TERMS).for_each(|j| a[i][j] += terms[i] * terms[j]);
        }
    }
    let coefficients = solve(a, b);
    println!("{} particles: {:?}", bends.len(), coefficients.map(|c| c as f32));
    let predicted = |bend: &Bend| terms(bend).iter().zip(coefficients).map(|(t, c)| t * c).sum::<f64>() - 1.0;
    let polarity = f64::from(detector.polarity);
    for [low, high] in
        [[2.0, 3.0], [3.0, 5.0], [5.0, 10.0], [10.0, 20.0], [20.0, 50.0], [50.0, 500.0], [3.0, 500.0]]
    {
        let inside = || bends.iter().filter(|bend| (low..high).contains(&bend.p));
        let mut off: Vec<f64> = inside().map(predicted).collect();
        off.sort_by(f64::total_cmp);
        let at = |share: f64| 100.0 * off[(share * (off.len() - 1) as f64) as usize];
        let right = inside()
            .filter(|bend| -polarity * (slope(bend.scifi) - bend.velo[0]) * bend.charge > 0.0)
            .count();
        println!(
            "{low} to {high} GeV/c: {} particles, median {:+.3} %, half of the central 68 % {:.3} %, right charge {:.3} %",
            off.len(),
            at(0.5),
            0.5 * (at(0.8413) - at(0.1587)),
            100.0 * right as f64 / off.len() as f64
        );
    }
    Ok(())
}
