//! The fit of found tracks in six parameters of one frame and hits of three coordinates, the published form: against f64,
//! against the fit in five parameters, against the truth. `tests/gangs/cylinder_reference.rs` has its naive twin.
#![allow(clippy::needless_range_loop, reason = "matrices")]

use crate::common::cylinder::{Sample, simulated};
use peloton::cylinder::{
    Builder, CylinderConfig, CylinderInput, CylinderWorkspace, FitConfig, FitForm, reconstruct,
};
use peloton::event::{CylinderBatch, CylinderTracks, Outcome};
use peloton::kalman::reference::global::{
    GlobalHit, GlobalState, global_to_radius, global_update, to_global, written_global,
};
use peloton::kalman::reference::{self, State, single};
use peloton::kalman::{CURVATURE_PER_TESLA, FitStatus};
use peloton::simd::Level;
use peloton_truth::CylinderPulls;

const FIELD: f64 = CURVATURE_PER_TESLA as f64 * 3.8112f32 as f64;

fn with(form: FitForm) -> CylinderConfig {
    CylinderConfig { fit: FitConfig { form, ..FitConfig::default() }, ..CylinderConfig::default() }
}

fn tracks(config: &CylinderConfig, (hits, truth): &Sample) -> CylinderTracks {
    let (mut workspace, mut out) = (CylinderWorkspace::default(), Outcome::default());
    let input = CylinderInput { hits, seeds: &truth.particles };
    let level = Level::choose(None, None).unwrap();
    reconstruct(level, config, input, 0..hits.len(), &mut workspace, &mut out);
    out.results
}

/// The start of the fit of a track, in f64. It is the kernel's start, since the fit linearises there; another test compares
/// it with its twin.
fn start(config: &CylinderConfig, hits: &CylinderBatch, list: &[u32]) -> State {
    let last = list.len() - 1;
    let ends = [0, last / 2, last].map(|at| {
        let hit = list[at] as usize;
        let (x, y) = (hits.x[hit], hits.y[hit]);
        [single::atan2(y, x), hits.z[hit], x.mul_add(x, y * y).sqrt()]
    });
    let prior = config.fit.prior.map(|sigma| sigma * sigma);
    let start = single::from_three_hits(ends, FIELD as f32, prior);
    let outer = single::to_radius(&start, FIELD as f32, ends[2][2]).0;
    let c = start.c.map(|row| row.map(f64::from));
    State { radius: f64::from(outer.radius), p: outer.p.map(f64::from), c }
}

/// Fits a track in f64 in five parameters, by the textbook's formulas.
fn naive_five(config: &CylinderConfig, hits: &CylinderBatch, list: &[u32]) -> State {
    let measured = |hit: &u32| {
        let hit = *hit as usize;
        let [x, y, z] = [hits.x[hit], hits.y[hit], hits.z[hit]].map(f64::from);
        let variance = [f64::from(hits.var_rphi[hit]) / (x * x + y * y), f64::from(hits.var_z[hit])];
        reference::Measured { radius: x.hypot(y), position: [y.atan2(x), z], variance }
    };
    let inwards: Vec<_> = list.iter().rev().map(measured).collect();
    let first = reference::update(&start(config, hits, list), &inwards[0]).0;
    reference::written(&reference::filter(&first, FIELD, &inwards[1..], 10).0)
}

/// Fits a track in f64 in six parameters, by the textbook's formulas.
fn naive(config: &CylinderConfig, hits: &CylinderBatch, list: &[u32]) -> (State, f64) {
    let mut state: GlobalState = to_global(&start(config, hits, list));
    let mut sum = 0.0;
    for hit in list.iter().rev().map(|hit| *hit as usize) {
        let position = [hits.x[hit], hits.y[hit], hits.z[hit]].map(f64::from);
        let sigma = f64::from(config.fit.radial_error);
        let variance = [sigma * sigma, f64::from(hits.var_rphi[hit]), f64::from(hits.var_z[hit])];
        state = global_to_radius(&state, FIELD, position[0].hypot(position[1]), 10);
        let chi2;
        (state, chi2) = global_update(&state, &GlobalHit { position, variance });
        sum += chi2;
    }
    (written_global(&state), sum)
}

/// The covariance of a written state.
fn covariance(tracks: &CylinderTracks, track: usize, i: usize, j: usize) -> f64 {
    let (i, j) = (i.max(j), i.min(j));
    f64::from(tracks.state[6 + i * (i + 1) / 2 + j][track])
}

/// The parameters of a written state.
fn parameters(tracks: &CylinderTracks, track: usize) -> [f64; 5] {
    std::array::from_fn(|i| f64::from(tracks.state[1 + i][track]))
}

/// Largest difference of two written states, in standard deviations of the second state.
fn distance(p: [f64; 5], expected: &State) -> f64 {
    let of = |i: usize| {
        let difference = p[i] - expected.p[i];
        let sigma = expected.c[i][i].sqrt();
        match i {
            0 => expected.radius * reference::turn(difference).abs() / sigma,
            3 => reference::turn(difference).abs() / sigma,
            _ => difference.abs() / sigma,
        }
    };
    (0..5).map(of).fold(0.0, f64::max)
}

/// Single precision in closed form against ten steps of propagation in f64, in the same six parameters.
#[test]
fn the_fit_is_that_of_f64() {
    let sample = simulated("sim:cylinder,events=1,tracks=3000,seed=15");
    let config = with(FitForm::Global);
    let found = tracks(&config, &sample);
    let (mut fine, mut worst, mut forms) = (0, [0.0f64; 3], Vec::new());
    for track in 0..3000 {
        if found.fit[track] != FitStatus::Ok as u8 {
            continue;
        }
        fine += 1;
        let (expected, chi2) = naive(&config, &sample.0, found.hits_of(track));
        forms.push(distance(expected.p, &naive_five(&config, &sample.0, found.hits_of(track))));
        worst[0] = worst[0].max(distance(parameters(&found, track), &expected));
        for i in 0..5 {
            for j in 0..=i {
                let scale = (expected.c[i][i] * expected.c[j][j]).sqrt();
                let difference = covariance(&found, track, i, j) - expected.c[i][j];
                worst[1] = worst[1].max(difference.abs() / scale);
            }
        }
        worst[2] = worst[2].max((f64::from(found.chi2[track]) - chi2).abs() / chi2.max(1.0));
    }
    let [sigma, covariance, chi2] = worst;
    println!("{fine} tracks: {sigma:.4} standard deviations, covariance {covariance:.1e}, chi2 {chi2:.1e}");
    assert!(fine > 2950 && sigma < 0.005 && covariance < 0.003 && chi2 < 0.003, "{worst:?}");
    // Each choice of parameters linearises differently, in f64 too.
    let [middle, high, most] = quantiles(forms);
    println!("f64 in five parameters: {middle:.4}, {high:.4}, {most:.3} standard deviations");
    assert!((0.005..0.03).contains(&middle) && (0.05..0.2).contains(&high), "{middle} {high}");
}

/// The median, the 99 % quantile, and the largest value.
fn quantiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [0.5, 0.99, 1.0].map(|share| values[((values.len() - 1) as f64 * share) as usize])
}

/// Both forms fit the same tracks to nearly the same states, and as many.
#[test]
fn both_forms_agree() {
    for (text, material) in [
        ("sim:cylinder,events=2,tracks=5000,seed=16", 0.0),
        ("sim:cylinder,events=2,tracks=2000,seed=17,inefficiency=0.05,material=0.01", 0.01),
    ] {
        let sample = simulated(text);
        let [five, six] = [FitForm::Cylinder, FitForm::Global].map(|form| {
            let config = CylinderConfig { material, builder: Builder::CloneEngine, ..with(form) };
            tracks(&config, &sample)
        });
        assert_eq!(five.hits, six.hits, "the form of the fit does not change what is found");
        let failed = [&five, &six].map(|tracks| tracks.fit.iter().filter(|fit| **fit != 0).count());
        let mut distances = Vec::new();
        for track in (0..five.fit.len()).filter(|track| five.fit[*track] == 0 && six.fit[*track] == 0) {
            let c = std::array::from_fn(|i| std::array::from_fn(|j| covariance(&five, track, i, j)));
            let expected = State { radius: f64::from(five.state[0][track]), p: parameters(&five, track), c };
            distances.push(distance(parameters(&six, track), &expected));
        }
        let [middle, high, most] = quantiles(distances);
        let all = five.fit.len();
        println!("{text}: failed {failed:?} of {all}; {middle:.4}, {high:.4}, {most:.3} standard deviations");
        assert!(failed[0].abs_diff(failed[1]) * 1000 <= all, "{failed:?}");
        // The two filters differ by as much in f64.
        assert!(middle < 0.03 && high < 0.2, "{middle} {high}");
    }
}

#[test]
fn pulls_are_normal() {
    let [mut five, mut six] = [0, 1].map(|_| CylinderPulls::new(3.8112));
    for seed in 0..5 {
        let sample = simulated(&format!("sim:cylinder,events=100,tracks=200,seed={seed}"));
        for (form, pulls) in [(FitForm::Cylinder, &mut five), (FitForm::Global, &mut six)] {
            let found = tracks(&with(form), &sample);
            for event in 0..sample.0.len() {
                pulls.event(&found, event, &sample.0, &sample.1, event);
            }
        }
    }
    for (five, six) in five.pulls().iter().zip(six.pulls()) {
        for (parameters, pull) in [(5, five), (6, &six)] {
            println!(
                "{parameters} parameters, {}: {} {:.4} {:.4}",
                pull.parameter, pull.tracks, pull.mean, pull.width
            );
        }
        assert!(six.tracks + 100 > five.tracks && six.mean.abs() < 0.02 && (six.width - 1.0).abs() < 0.03);
    }
}

/// The configuration refuses an error along the radius that is not positive, or out of range.
#[test]
fn what_cannot_be_used_is_refused() {
    for wrong in [0.0, -1.0, 1e-9, 1e9, f32::NAN] {
        let mut config = with(FitForm::Global);
        config.fit.radial_error = wrong;
        let refused = config.validate().unwrap_err().to_string();
        assert!(refused.contains("radial_error"), "{refused}");
    }
}
