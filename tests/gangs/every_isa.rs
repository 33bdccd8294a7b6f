//! The same bits on every instruction set level and gang size.

use crate::common::geometry::Detector;
use crate::common::scifi::{hostile_hits, made_up};
use crate::common::{Sharing, cylinder, hashes, hashes_on, hostile, levels_in_turn, samples, velo, velo_at};
use peloton::cylinder::{
    Builder, CylinderConfig, CylinderFitWorkspace, CylinderInput, CylinderWorkspace, FitForm, SeedSource,
    fit_particles, fit_tracks, reconstruct,
};
use peloton::engine::Engine;
use peloton::event::{
    CylinderTracks, Hasher, Hashes, Outcome, Product, RawBatch, SciFiBatch, SciFiTracks, VeloBatch,
    VeloEvents,
};
use peloton::long::LongPreset;
use peloton::scifi::{SciFiPreset, SciFiWorkspace};
use peloton::simd::{Isa, Level};
use peloton::ut::UtPreset;
use peloton::velo::Preset;
use proptest::test_runner::{Config as ProptestConfig, TestRunner};
use std::cell::Cell;

/// Panics when a level gives other bits than scalar code; returns the hashes and the number of tracks.
fn compare_levels(preset: Preset, events: VeloEvents, levels: &[Level]) -> (Hashes, usize) {
    let scalar = Level::new(Isa::Scalar, 1).unwrap();
    let (expected, tracks) = hashes(&velo_at(scalar, preset), events);
    for &level in levels.iter().filter(|level| **level != scalar) {
        let (found, _) = hashes(&velo_at(level, preset), events);
        assert_eq!(found.int, expected.int, "{preset:?} on {level}: hit lists, offsets or status");
        assert_eq!(found.output, expected.output, "{preset:?} on {level}: a float");
    }
    (expected, tracks)
}

/// Panics when two threads, or slices of other sizes, give other hashes than `expected`.
fn compare_slices(preset: Preset, batch: &VeloBatch, expected: &Hashes) {
    let engine = velo(preset);
    for slice_events in [1, 7, 64] {
        let (found, _) = hashes_on(Sharing { threads: 2, slice_events }, &engine, batch.view());
        assert!(found == *expected, "{preset:?}, slices of {slice_events}");
    }
}

/// Checks all presets in parallel: under emulation each takes long.
fn for_each_preset(check: impl Fn(Preset) + Sync) {
    std::thread::scope(|threads| {
        for preset in Preset::ALL {
            let check = &check;
            threads.spawn(move || check(preset));
        }
    });
}

/// Every preset on all events; each quarter of the events on other levels: [`levels_in_turn`].
#[test]
fn real_and_simulated_events() {
    for (name, batch) in samples() {
        for_each_preset(|preset| {
            let mut tracks = 0;
            for quarter in 0..4 {
                let events = batch.view().range(quarter * batch.len() / 4..(quarter + 1) * batch.len() / 4);
                tracks += compare_levels(preset, events, &levels_in_turn(preset as usize + quarter)).1;
            }
            assert!(tracks > 50 * batch.len(), "{preset}, {name}: {tracks} tracks in {} events", batch.len());
        });
    }
}

/// The Kalman fit and all builders, seeds from truth and from hits: each level has the hash of scalar code. Few
/// tracks: emulated CPUs run this, too.
#[test]
fn cylinder_events() {
    let (hits, truth) =
        cylinder::simulated("sim:cylinder,events=2,tracks=120,seed=4,noise=60,inefficiency=0.03");
    let input = CylinderInput { hits: &hits, seeds: &truth.particles };
    for builder in [Builder::BestHit, Builder::Standard, Builder::CloneEngine] {
        for (seeds, material, form) in [
            (SeedSource::Truth, 0.0, FitForm::Cylinder),
            (SeedSource::Truth, 0.01, FitForm::Global),
            (SeedSource::Truth, 0.01, FitForm::Cylinder),
            (SeedSource::Hits, 0.0, FitForm::Global),
        ] {
            let mut config = CylinderConfig { builder, seeds, material, ..CylinderConfig::best() };
            config.fit.form = form;
            let on = |level: Level| {
                let (mut workspace, mut out) = (CylinderWorkspace::default(), Outcome::default());
                reconstruct(level, &config, input, 0..2, &mut workspace, &mut out);
                let out = out.results;
                assert!(out.tracks() > 200, "{level}, {builder}: {} tracks", out.tracks());
                let mut fits = CylinderTracks::default();
                fit_particles(level, &config, input, 0..2, &mut fits);
                let (mut given, mut memory) = (Outcome::default(), CylinderFitWorkspace::default());
                fit_tracks(level.with_usual_gang(), &config, input, 0..2, &mut memory, &mut given);
                let mut hasher = Hasher::new(CylinderTracks::SCHEMA);
                hasher.update(&out);
                let bits: Vec<u32> = fits.state.iter().flat_map(|c| c.iter().map(|x| x.to_bits())).collect();
                (hasher.finish(), bits, fits.fit, Hasher::of(&given.results))
            };
            let expected = on(Level::new(Isa::Scalar, 1).unwrap());
            for level in Level::supported() {
                assert!(on(level) == expected, "{level}, {builder}, seeds from {seeds}, fit {form}");
            }
        }
    }
}

/// Panics when a level gives other bits than scalar code; returns the number of tracks.
fn compare_sequences(raw: &RawBatch, what: &str, on: impl Fn(Level) -> Engine) -> usize {
    let (expected, tracks) = hashes(&on(Level::new(Isa::Scalar, 1).unwrap()), raw.view());
    for level in Level::supported() {
        let engine = on(level);
        let name = engine.sequence().name();
        assert!(hashes(&engine, raw.view()).0 == expected, "{name} {what} on {level}");
    }
    tracks
}

/// Velo-UT, SciFi and long tracks from raw banks. Few events: emulated CPUs run this, too.
#[test]
fn events_of_trackers() {
    let detector = Detector::nominal();
    let raw = detector.simulated(2, 46).0;
    for preset in UtPreset::ALL {
        let tracks = compare_sequences(&raw, preset.name(), |level| detector.velo_ut_engine(level, preset));
        assert!(tracks > 20, "{preset}: {tracks} tracks");
    }
    for preset in LongPreset::ALL {
        let without =
            compare_sequences(&raw, preset.name(), |level| Engine::new(detector.long(level, preset)));
        let with =
            compare_sequences(&raw, preset.name(), |level| Engine::new(detector.long_ut(level, preset)));
        assert!(without > 20 && with > 20, "{preset}: {without} and {with} tracks");
    }
}

/// Crowds, holes and hits at the same place in the SciFi; levels take turns ([`levels_in_turn`]).
#[test]
fn hostile_hits_in_the_scifi() {
    let detector = Detector::nominal();
    let on = |level: Level, preset: SciFiPreset, hits: &SciFiBatch| {
        let (mut workspace, mut out) = (SciFiWorkspace::default(), Outcome::<SciFiTracks>::default());
        detector.scifi(level, preset).find(hits, 0..1, &mut workspace, &mut out);
        let dropped: Vec<_> = out.counters.dropped().collect();
        (Hasher::of(&out.results), out.results.tracks(), dropped)
    };
    let mut tracks = 0;
    for (number, (name, hits)) in hostile_hits().into_iter().enumerate() {
        let hits = made_up(&hits);
        for (turn, preset) in SciFiPreset::ALL.into_iter().enumerate() {
            let expected = on(Level::new(Isa::Scalar, 1).unwrap(), preset, &hits);
            for level in levels_in_turn(number + turn) {
                assert!(on(level, preset, &hits) == expected, "{name}, {preset} on {level}");
            }
            tracks += expected.1;
        }
    }
    assert!(tracks > 100, "{tracks} tracks");
}

#[test]
fn hostile_events() {
    // Batches have a random number of events: runs go on up to this number.
    const EVENTS: usize = 2_000;
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20) };
    for_each_preset(|preset| {
        let (events, tracks) = (Cell::new(0), Cell::new(0));
        // Proptest shrinks a failure on the levels that found it, so levels change only between runs.
        let mut runs = 0;
        while events.get() < EVENTS || runs < 4 {
            let levels = levels_in_turn(runs);
            runs += 1;
            let result = TestRunner::new(config.clone()).run(&hostile::batch(), |batch| {
                let (expected, found) = compare_levels(preset, batch.view(), &levels);
                compare_slices(preset, &batch, &expected);
                tracks.set(tracks.get() + found);
                events.set(events.get() + batch.len());
                Ok(())
            });
            result.unwrap();
        }
        println!("{preset}: {} tracks in {} events", tracks.get(), events.get());
        assert!(tracks.get() > 2 * events.get(), "{} tracks in {} events", tracks.get(), events.get());
    });
}

/// The gang sizes that are built for a level.
fn gangs(isa: Isa) -> Vec<usize> {
    Level::supported().into_iter().filter(|level| level.isa() == isa).map(Level::gang).collect()
}

/// Fails for a level without all gang sizes, where all sizes are tested.
#[cfg(feature = "all-gangs")]
#[test]
fn every_level_has_every_gang() {
    for isa in Isa::supported() {
        assert_eq!(gangs(isa), peloton::simd::GANGS, "{isa}");
    }
}

#[cfg(not(feature = "all-gangs"))]
#[test]
fn every_level_has_its_usual_gang() {
    for isa in Isa::supported() {
        let usual: &[usize] = match isa {
            Isa::Scalar => &[1],
            Isa::Portable | Isa::Avx2 | Isa::Neon => &[8],
            Isa::Avx512 | Isa::Avx512Loads | Isa::Avx512Gathers => &[16],
        };
        assert_eq!(gangs(isa), usual, "{isa}");
        let chosen = Level::choose(Some(isa), None).unwrap();
        assert!(chosen.is_usual() && usual.contains(&chosen.gang()), "{chosen}");
    }
}
