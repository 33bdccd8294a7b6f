//! The fit of given tracks of the cylinder detector: against its naive twin bit by bit, against f64, against the truth.

use crate::common::best_level;
use crate::common::cylinder::{Sample, simulated};
use peloton::Status;
use peloton::cylinder::reference::{self, Fault, FittedTrack};
use peloton::cylinder::{CylinderConfig, CylinderFitWorkspace, CylinderInput, fit_tracks};
use peloton::event::{CylinderFits, NO_HIT, Outcome};
use peloton::kalman::{CURVATURE_PER_TESLA, FitStatus, reference as filter};
use peloton::simd::Level;
use peloton_truth::CylinderFitPulls;
use proptest::prelude::*;
use proptest::test_runner::{Config as ProptestConfig, TestRunner};

fn found(level: Level, config: &CylinderConfig, (hits, truth): &Sample) -> CylinderFits {
    let (input, mut out) = (CylinderInput { hits, seeds: &truth.particles }, Outcome::default());
    // In two ranges, with one workspace.
    let (mut workspace, middle) = (CylinderFitWorkspace::default(), hits.len() / 2);
    for range in [0..middle, middle..hits.len()] {
        fit_tracks(level, config, input, range, &mut workspace, &mut out);
    }
    assert_eq!(out.counters.stages[1].items_out, out.results.tracks() as u64);
    out.results
}

fn expected(fault: Fault, config: &CylinderConfig, (hits, truth): &Sample) -> Vec<FittedTrack> {
    let tracks = &truth.particles;
    let of_event = |event: usize| {
        let range = tracks.start[event] as usize..tracks.start[event + 1] as usize;
        reference::fit_tracks(fault, config, &hits.event(event), tracks, range)
    };
    (0..hits.len()).flat_map(of_event).collect()
}

/// Bits of a float; all NaNs are one.
fn bits(value: f32) -> u32 {
    if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() }
}

/// The first value that differs from the twin's.
fn departure(found: &CylinderFits, expected: &[FittedTrack]) -> Option<String> {
    if found.tracks() != expected.len() {
        return Some(format!("{} tracks, not {}", found.tracks(), expected.len()));
    }
    for (track, wanted) in expected.iter().enumerate() {
        if found.hits_of(track) != wanted.hits {
            return Some(format!("track {track}: hits {:?}, not {:?}", found.hits_of(track), wanted.hits));
        }
        if found.fit[track] != wanted.fit as u8 || bits(found.chi2[track]) != bits(wanted.sum) {
            return Some(format!(
                "track {track}: {} {}, not {wanted:?}",
                found.fit[track], found.chi2[track]
            ));
        }
        let first = found.hit_start[track] as usize;
        for (number, (state, chi2)) in wanted.states.iter().zip(&wanted.chi2).enumerate() {
            let at = first + number;
            let packed = (0..5).flat_map(|i| state.c[i][..=i].to_vec());
            let values = std::iter::once(state.radius).chain(state.p).chain(packed).chain(*chi2);
            let columns = found.state.iter().chain([&found.chi2_filtered, &found.chi2_smoothed]);
            for (value, (column, wanted)) in columns.zip(values).enumerate() {
                if bits(column[at]) != bits(wanted) {
                    let text = format!("hit {number}, value {value}: {:e}, not {wanted:e}", column[at]);
                    return Some(format!("track {track}, {text}"));
                }
            }
        }
    }
    None
}

#[test]
fn every_level_gives_what_the_twin_gives() {
    for (text, material) in [
        ("sim:cylinder,events=3,tracks=150,seed=31", 0.0),
        ("sim:cylinder,events=2,tracks=150,seed=32,inefficiency=0.2,noise=100,material=0.01", 0.01),
    ] {
        let (sample, config) = (simulated(text), CylinderConfig { material, ..CylinderConfig::best() });
        let wanted = expected(Fault::None, &config, &sample);
        for level in Level::usual() {
            let found = found(level, &config, &sample);
            assert_eq!(departure(&found, &wanted), None, "{level}");
        }
        let wrong = expected(Fault::FilteredOnly, &config, &sample);
        assert!(
            departure(&found(best_level(), &config, &sample), &wrong).is_some(),
            "the fault went unnoticed"
        );
    }
}

/// Coordinates and variances that are far from usual.
fn strange() -> impl Strategy<Value = f32> {
    prop_oneof![
        Just(0.0f32),
        Just(1e-30),
        Just(1e30),
        Just(f32::MAX),
        Just(f32::NAN),
        Just(f32::INFINITY),
        -50.0f32..50.0,
        -1e-3f32..1e-3,
    ]
}

#[test]
fn random_tracks_and_hits() {
    let broken = prop::collection::vec((0usize..6, any::<prop::sample::Index>(), strange()), 0..8);
    let mixed = prop::collection::vec((0usize..10, any::<[prop::sample::Index; 2]>()), 0..20);
    let all = (0u32..40, 0u32..1000, prop_oneof![Just(0.0f32), Just(0.02)], 0.0f64..0.9, broken, mixed);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) };
    let seen = std::cell::Cell::new([0usize; FitStatus::ALL.len()]);
    let result = TestRunner::new(config).run(&all, |(count, seed, material, lost, broken, mixed)| {
        let text = format!("sim:cylinder,events=2,tracks={count},noise=9,seed={seed},inefficiency={lost:.3}");
        let mut sample = simulated(&text);
        for (column, index, value) in broken {
            let column = &mut sample.0.columns_mut()[column];
            if !column.is_empty() {
                let at = index.index(column.len());
                column[at] = value;
            }
        }
        // Hits of other tracks.
        let seeds = &mut sample.1.particles;
        for (layer, [a, b]) in mixed {
            let range = seeds.start[0] as usize..seeds.start[1] as usize;
            if !range.is_empty() {
                let (a, b) = (a.index(range.len()), b.index(range.len()));
                seeds.hits[layer].swap(a, b);
            }
        }
        let config = CylinderConfig { material, ..CylinderConfig::default() };
        let wanted = expected(Fault::None, &config, &sample);
        for level in Level::usual() {
            prop_assert_eq!(departure(&found(level, &config, &sample), &wanted), None);
        }
        let mut statuses = seen.get();
        wanted.iter().for_each(|track| statuses[track.fit as usize] += 1);
        seen.set(statuses);
        Ok(())
    });
    result.unwrap();
    println!("{:?}", seen.get());
    assert!(seen.get()[0] > 1000 && seen.get()[1..].iter().sum::<usize>() > 100, "{:?}", seen.get());
}

#[test]
fn what_is_no_track_is_told() {
    let mut sample = simulated("sim:cylinder,events=3,tracks=20,seed=5");
    // A hit of the next layer, and an index after the last hit.
    let next = sample.1.particles.hits[4][3];
    sample.1.particles.hits[3][3] = next;
    sample.1.particles.hits[9][25] = 1_000_000;
    // Tracks without hits, and with two hits.
    for (track, kept) in [(41, 0), (42, 2)] {
        sample.1.particles.hits[kept..].iter_mut().for_each(|column| column[track] = NO_HIT);
    }
    let out = found(best_level(), &CylinderConfig::best(), &sample);
    assert_eq!(out.status, [Status::Corrupt, Status::Corrupt, Status::Ok]);
    assert_eq!((out.tracks(), out.of_event(2)), (20, 0..20));
    assert_eq!(out.track[19], 19);
    let fits: Vec<_> = (0..4).map(|track| (out.fit[track], out.hits_of(track).len())).collect();
    let failed = FitStatus::NotReached as u8;
    assert_eq!(fits, [(0, 10), (failed, 0), (failed, 2), (0, 10)]);
}

/// Pulls of the smoothed states at each layer; at the last layer of the filter, the smoothed state is the filtered state.
#[test]
fn pulls_are_normal_at_each_layer() {
    for (text, material) in [
        ("sim:cylinder,events=2,tracks=10000,seed=5001", 0.0),
        ("sim:cylinder,events=1,tracks=10000,seed=5002,inefficiency=0.05,material=0.01", 0.01),
    ] {
        let (sample, config) = (simulated(text), CylinderConfig { material, ..CylinderConfig::best() });
        let out = found(best_level(), &config, &sample);
        let fine = out.fit.iter().filter(|fit| **fit == 0).count();
        assert!(fine as f64 > 0.995 * out.tracks() as f64, "{fine} of {}", out.tracks());
        let mut pulls = CylinderFitPulls::new(f64::from(config.field));
        (0..sample.0.len()).for_each(|event| pulls.event(&out, event, &sample.0, &sample.1, event));
        let layers = pulls.report();
        assert_eq!(layers.len(), 10);
        for layer in &layers {
            // Where particles scatter, they follow the helix from the vertex only up to the first layer.
            let known = if material > 0.0 && layer.layer > 0 { 0 } else { layer.pulls.len() };
            for pull in &layer.pulls[..known] {
                let text = format!("layer {}, {}: {} {}", layer.layer, pull.parameter, pull.mean, pull.width);
                assert!(pull.tracks > 9000 && pull.mean.abs() < 0.05, "{text}");
                assert!((0.9..1.1).contains(&pull.width), "{text}");
            }
            assert!(layer.chi2_smoothed > 1.8 && layer.chi2_smoothed < 2.2, "{layer:?}");
        }
    }
}

/// Largest distances of parameters and of the covariance from a state in f64, in its standard deviations.
fn distance(out: &CylinderFits, at: usize, wanted: &filter::State) -> [f64; 2] {
    let wanted = filter::written(wanted);
    let value = |column: usize| f64::from(out.state[column][at]);
    let (mut worst, mut covariance) = (0.0f64, 0.0f64);
    for i in 0..5 {
        let sigma = wanted.c[i][i].sqrt();
        let scale = if i == 0 { wanted.radius } else { 1.0 };
        let change = value(1 + i) - wanted.p[i];
        let change = if i == 0 || i == 3 { filter::turn(change) } else { change };
        worst = worst.max((scale * change / sigma).abs());
        for j in 0..=i {
            let element = value(6 + i * (i + 1) / 2 + j) - wanted.c[i][j];
            covariance = covariance.max((element / (sigma * wanted.c[j][j].sqrt())).abs());
        }
    }
    [worst, covariance]
}

/// The state after scattering in a layer. The momentum keeps its size and turns by two angles: theta, and the azimuth times
/// the sine of theta. Their variance is Highland's formula without its logarithm.
fn scattered(state: &filter::State, thickness: f64) -> filter::State {
    let [_, _, charge_over_pt, moment, slope] = state.p;
    let axis = (state.radius * state.radius - moment * moment).sqrt();
    let sine = 1.0 / (1.0 + slope * slope).sqrt();
    let path = thickness * state.radius / axis / sine;
    let variance = (0.0136 * charge_over_pt * sine).powi(2) * path;
    // Derivatives of charge / pT, moment and slope by each angle.
    let by = [[-charge_over_pt * slope, 0.0, -1.0 / (sine * sine)], [0.0, axis / sine, 0.0]];
    let mut out = *state;
    for by in by {
        for i in 0..3 {
            (0..3).for_each(|j| out.c[2 + i][2 + j] += variance * by[i] * by[j]);
        }
    }
    out
}

#[test]
fn states_are_those_of_f64() {
    // Radiation lengths; then the allowed distances of parameters and covariance.
    for (material, seed, limits) in [(0.0, 5003, [0.05, 0.02]), (0.01, 5004, [0.05, 0.02])] {
        let text = format!("sim:cylinder,events=1,tracks=1000,seed={seed},material={material}");
        let config = CylinderConfig { material, ..CylinderConfig::best() };
        let (compared, worst) = distance_from_f64(&config, &simulated(&text));
        println!("material {material}: {compared} states, distance from f64: {worst:?}");
        assert!(compared > 9900 && worst[0] < limits[0] && worst[1] < limits[1], "{worst:?}");
    }
}

/// The number of compared states, and the largest distances.
fn distance_from_f64(config: &CylinderConfig, sample: &Sample) -> (usize, [f64; 2]) {
    const STEPS: usize = 10;
    let out = found(best_level(), config, sample);
    let field = f64::from(CURVATURE_PER_TESLA * config.field);
    let hits = &sample.0;
    let measured = |hit: &u32| {
        let at = *hit as usize;
        let [x, y] = [&hits.x, &hits.y].map(|column| f64::from(column[at]));
        let radius = x.hypot(y);
        let variance = [f64::from(hits.var_rphi[at]) / (radius * radius), f64::from(hits.var_z[at])];
        filter::Measured { radius, position: [y.atan2(x), f64::from(hits.z[at])], variance }
    };
    let mut worst = [0.0f64; 2];
    let mut compared = 0;
    for track in (0..out.tracks()).filter(|track| out.fit[*track] == 0) {
        let list: Vec<_> = out.hits_of(track).iter().map(measured).collect();
        let end = |at: usize| [list[at].position[0], list[at].position[1], list[at].radius];
        let last = list.len() - 1;
        let p = filter::from_three_hits([0, last / 2, last].map(end), field);
        let mut c = [[0.0; 5]; 5];
        (0..5).for_each(|i| c[i][i] = f64::from(config.fit.prior[i]).powi(2));
        let mut predicted = filter::State { radius: list[0].radius, p, c };
        let mut notes = Vec::new();
        for (number, hit) in list.iter().enumerate() {
            if number > 0 {
                let (_, before): &(filter::State, filter::State) = &notes[number - 1];
                let behind = scattered(before, f64::from(config.material));
                predicted = filter::to_radius(&behind, field, hit.radius, STEPS);
            }
            notes.push((predicted, filter::update(&predicted, hit).0));
        }
        let mut smoothed = notes[last].1;
        for at in (0..=last).rev() {
            if at < last {
                smoothed = filter::smooth(&notes[at].1, field, &notes[at + 1].0, &smoothed, STEPS);
            }
            let found = distance(&out, out.hit_start[track] as usize + at, &smoothed);
            worst = [0, 1].map(|i| worst[i].max(found[i]));
            compared += 1;
        }
    }
    (compared, worst)
}
