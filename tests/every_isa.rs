//! The same bits on every instruction set level and gang size.

mod common;

use common::{at, hashes, hostile, samples};
use peloton::event::VeloBatch;
use peloton::pipeline::Config;
use peloton::simd::{Isa, Level};
use peloton::velo::Preset;
use proptest::test_runner::{Config as ProptestConfig, TestRunner};
use std::cell::Cell;

/// Panics when a level gives other bits than scalar code; says how many tracks there are.
fn compare_levels(preset: Preset, batch: &VeloBatch, levels: &[Level]) -> usize {
    let config = Config::preset(preset);
    let scalar = Level::new(Isa::Scalar, 1).unwrap();
    let (expected, tracks) = hashes(&at(scalar, &config), batch, 1);
    for &level in levels {
        let (found, _) = hashes(&at(level, &config), batch, 1);
        assert_eq!(found.int, expected.int, "{preset:?} on {level}: hit lists, offsets or status");
        assert_eq!(found.output, expected.output, "{preset:?} on {level}: a float");
    }
    tracks
}

/// Panics when two threads, or slices of other sizes, give other bits than one thread.
fn compare_slices(preset: Preset, batch: &VeloBatch) {
    let config = Config::preset(preset);
    let (expected, _) = hashes(&config, batch, 1);
    for slice_events in [1, 7, 64] {
        let config = Config { slice_events, ..config.clone() };
        assert!(hashes(&config, batch, 2).0 == expected, "{preset:?}, slices of {slice_events}");
    }
}

#[test]
fn real_and_simulated_events() {
    for (name, batch) in samples() {
        for preset in Preset::ALL {
            let tracks = compare_levels(preset, &batch, &Level::supported());
            assert!(tracks > 50 * batch.len(), "{preset}, {name}: {tracks} tracks in {} events", batch.len());
        }
    }
}

#[test]
fn hostile_events() {
    // 200 batches of ten events each in the mean; PROPTEST_CASES sets another number.
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) };
    let cases = config.cases;
    let (events, tracks) = (Cell::new(0), Cell::new(0));
    let result = TestRunner::new(config).run(&hostile::batch(), |batch| {
        for preset in Preset::ALL {
            tracks.set(tracks.get() + compare_levels(preset, &batch, &Level::supported()));
            compare_slices(preset, &batch);
        }
        events.set(events.get() + batch.len());
        Ok(())
    });
    result.unwrap();
    println!("{} events", events.get());
    assert!(cases < 200 || events.get() > 1_900, "{} events", events.get());
    assert!(tracks.get() > 3 * events.get(), "{} tracks in {} events", tracks.get(), events.get());
}

#[cfg(feature = "all-gangs")]
#[test]
fn every_size_is_there_on_every_level_of_this_cpu() {
    for isa in Isa::supported() {
        let gangs: Vec<_> =
            Level::supported().into_iter().filter(|level| level.isa() == isa).map(Level::gang).collect();
        assert_eq!(gangs, peloton::simd::GANGS, "{isa}");
    }
}
