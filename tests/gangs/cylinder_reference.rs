//! The cylinder detector against its naive twin, bit by bit: on every level, on random events and settings.

use crate::common::cylinder::{Sample, simulated};
use peloton::cylinder::reference::{self, Fault, Track};
use peloton::cylinder::{
    Builder, CylinderConfig, CylinderInput, CylinderWorkspace, FitConfig, FitForm, StartCovariance,
    fit_particles, reconstruct,
};
use peloton::event::{CylinderTracks, NO_HIT, Outcome};
use peloton::kalman::FitStatus;
use peloton::simd::Level;
use proptest::prelude::*;
use proptest::test_runner::{Config as ProptestConfig, TestRunner};

/// Bits of a float; all NaNs are one.
fn bits(value: f32) -> u32 {
    if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() }
}

/// The tracks of the twin, event by event.
fn expected(fault: Fault, config: &CylinderConfig, (hits, truth): &Sample) -> Vec<Track> {
    let seeds = &truth.particles;
    let of_event = |event: usize| {
        let range = seeds.start[event] as usize..seeds.start[event + 1] as usize;
        reference::reconstruct(fault, config, &hits.event(event), seeds, range)
    };
    (0..hits.len()).flat_map(of_event).collect()
}

fn found(level: Level, config: &CylinderConfig, (hits, truth): &Sample) -> CylinderTracks {
    let (input, mut out) = (CylinderInput { hits, seeds: &truth.particles }, Outcome::default());
    reconstruct(level, config, input, 0..hits.len(), &mut CylinderWorkspace::default(), &mut out);
    out.results
}

/// The first track that differs from the twin's.
fn departure(found: &CylinderTracks, expected: &[Track], with_hits: bool) -> Option<String> {
    if found.fit.len() != expected.len() {
        return Some(format!("{} tracks, not {}", found.fit.len(), expected.len()));
    }
    for (at, track) in expected.iter().enumerate() {
        let hits: Vec<u32> = track.hits.iter().copied().filter(|hit| *hit != NO_HIT).collect();
        if with_hits && found.hits_of(at) != hits {
            return Some(format!("track {at}: hits {:?}, not {hits:?}", found.hits_of(at)));
        }
        if found.fit[at] != track.fit as u8 {
            return Some(format!("track {at}: status {}, not {:?}", found.fit[at], track.fit));
        }
        let packed = (0..5).flat_map(|i| track.state.c[i][..=i].to_vec());
        let values = std::iter::once(track.state.radius).chain(track.state.p).chain(packed);
        let columns = found.state.iter().map(|column| column[at]);
        let pairs = columns.zip(values).chain([(found.chi2[at], track.chi2)]);
        for (value, (found, expected)) in pairs.enumerate() {
            if bits(found) != bits(expected) {
                return Some(format!("track {at}, value {value}: {found:e}, not {expected:e}"));
            }
        }
    }
    None
}

/// Compares every level with the twin, for all builders and fits.
fn compare(config: &CylinderConfig, sample: &Sample) {
    let tracks = expected(Fault::None, config, sample);
    let (hits, truth) = sample;
    let fits: Vec<Track> = (0..hits.len())
        .flat_map(|event| {
            let range = truth.particles.start[event]..truth.particles.start[event + 1];
            range.map(move |particle| (event, particle as usize))
        })
        .map(|(event, particle)| {
            reference::fit_particle(config, &hits.event(event), &truth.particles, particle)
        })
        .collect();
    for level in Level::supported() {
        if let Some(text) = departure(&found(level, config, sample), &tracks, true) {
            panic!("{level}, {}: {text}", config.builder);
        }
        let mut out = CylinderTracks::default();
        let input = CylinderInput { hits, seeds: &truth.particles };
        fit_particles(level, config, input, 0..hits.len(), &mut out);
        if let Some(text) = departure(&out, &fits, false) {
            panic!("{level}, fit: {text}");
        }
    }
}

const FORMS: [FitForm; 2] = [FitForm::Cylinder, FitForm::Global];
const BUILDERS: [Builder; 3] = [Builder::BestHit, Builder::Standard, Builder::CloneEngine];

#[test]
fn levels_give_what_the_reference_gives() {
    let samples = [
        simulated("sim:cylinder,events=1,tracks=400,seed=21"),
        simulated("sim:cylinder,events=1,tracks=300,seed=22,inefficiency=0.1,noise=300,material=0.01"),
    ];
    for (sample, material) in samples.iter().zip([0.0, 0.01]) {
        for builder in BUILDERS {
            for config in [CylinderConfig::default(), CylinderConfig::best()] {
                for form in FORMS {
                    let fit = FitConfig { form, ..config.fit };
                    compare(&CylinderConfig { builder, material, fit, ..config.clone() }, sample);
                }
            }
        }
    }
}

/// Each planted fault is noticed.
#[test]
fn faults_are_noticed() {
    let sample = simulated("sim:cylinder,events=1,tracks=300,seed=23,inefficiency=0.2,noise=500");
    for (builder, faults) in [
        (Builder::BestHit, &[Fault::Farthest][..]),
        (Builder::CloneEngine, &[Fault::Farthest, Fault::HoleAtLimit]),
    ] {
        let mut config = CylinderConfig { builder, ..CylinderConfig::default() };
        config.build.holes = 1;
        let tracks = found(Level::supported()[0], &config, &sample);
        assert!(departure(&tracks, &expected(Fault::None, &config, &sample), true).is_none());
        for fault in faults {
            let wrong = expected(*fault, &config, &sample);
            assert!(departure(&tracks, &wrong, true).is_some(), "{builder}: {fault:?} went unnoticed");
        }
    }
}

/// A coordinate, a variance or a vertex that is far from usual.
fn strange() -> impl Strategy<Value = f32> {
    prop_oneof![
        Just(0.0f32),
        Just(1e-30),
        Just(1e30),
        Just(f32::MAX),
        Just(f32::NAN),
        Just(f32::INFINITY),
        -50.0f32..50.0,
        -4.0f32..4.0,
        -1e-3f32..1e-3,
    ]
}

#[test]
fn random_events_and_settings() {
    let events = (0u32..60, 0u32..40, 0u32..1000, prop_oneof![Just(0.0f32), Just(0.02)]);
    let build = (1u32..9, 0u32..4, 1u32..20, prop_oneof![Just(0.0f32), 1.0f32..30.0], 0.5f32..8.0);
    let limits = (1e-3f32..0.9, 1e-2f32..60.0, 1.0f32..100.0, 3u32..10);
    let broken = prop::collection::vec((0usize..8, any::<prop::sample::Index>(), strange()), 0..6);
    let kinds = (0usize..3, 0usize..2);
    let all = (events, build, limits, kinds, 0.0f64..0.5, broken);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) };
    let seen = std::cell::Cell::new([0usize; FitStatus::ALL.len()]);
    let result = TestRunner::new(config).run(&all, |(events, build, limits, kinds, lost, broken)| {
        let (count, noise, seed, material) = events;
        let mut config = CylinderConfig { builder: BUILDERS[kinds.0], material, ..CylinderConfig::default() };
        (config.build.candidates, config.build.holes, config.build.hits_in_window, ..) =
            (build.0, build.1, build.2);
        (config.build.hole_penalty, config.build.window) = (build.3, build.4);
        (config.build.window_phi, config.build.window_z, config.build.chi2) = (limits.0, limits.1, limits.2);
        config.bins.phi = 1 << limits.3;
        config.fit.form = FORMS[kinds.1];
        config.start.covariance = [StartCovariance::Published, StartCovariance::Prior][seed as usize % 2];
        config.validate().unwrap();
        let text =
            format!("sim:cylinder,events=1,tracks={count},noise={noise},seed={seed},inefficiency={lost:.3}");
        let mut sample = simulated(&text);
        for (column, index, value) in broken {
            // Vertices may have any value; an event with hits that are not finite is refused before this step.
            let vertices = &mut sample.1.particles.vertex;
            if column < 6 && !vertices[column].is_empty() {
                let at = index.index(vertices[column].len());
                vertices[column][at] = value;
            } else if column >= 6 && value.is_finite() && !sample.0.z.is_empty() {
                let at = index.index(sample.0.z.len());
                sample.0.z[at] = value;
            }
        }
        compare(&config, &sample);
        let mut statuses = seen.get();
        expected(Fault::None, &config, &sample).iter().for_each(|track| statuses[track.fit as usize] += 1);
        seen.set(statuses);
        Ok(())
    });
    result.unwrap();
    println!("{:?}", seen.get());
    assert!(seen.get()[0] > 1000 && seen.get()[1..].iter().sum::<usize>() > 10);
}
