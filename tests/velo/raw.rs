//! Raw banks through the whole Velo sequence: the same bits for every way of running, and physics not below the peer program's.

use crate::common::geometry::Detector;
use crate::common::{Sharing, best_level, data, hashes, hashes_on, read_raw, velo};
use peloton::Error;
use peloton::engine::{Engine, Pool, Sliced};
use peloton::event::{Counters, Hasher, Outcome, RawBatch, VeloBatch, VeloTracks};
use peloton::simd::Level;
use peloton::velo::{DecodeScratch, Preset, Velo, VeloBanks, VeloConfig, VeloDecoder, VeloSensors, decode};
use peloton_io::input::EventNote;
use peloton_truth::{CheckReport, Checker, HitsOf, Rules, decode_mc};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The seven events in both encodings: name, banks, their truth, geometry.
fn samples() -> Vec<(&'static str, RawBatch, Vec<EventNote>, Detector)> {
    let Some(data) = data() else { return Vec::new() };
    let one = |name: &'static str, folder: &str| {
        let (raw, notes) = read_raw(&data.join("lhcb").join(name));
        (name, raw, notes, Detector::open(&data.join("lhcb").join(folder)))
    };
    vec![one("minbias_retina_truth.mdf", "geometry"), one("minbias_superpixel.mdf", "geometry_2018")]
}

fn engine(geometry: &Detector) -> Engine {
    geometry.velo_engine(best_level(), Preset::default())
}

#[test]
fn the_same_bits_on_every_level_thread_count_and_slice() {
    for (name, raw, _, geometry) in samples() {
        let (expected, tracks) = hashes(&engine(&geometry), raw.view());
        assert!(tracks > 1000, "{tracks}");
        for level in Level::supported() {
            let (found, _) = hashes(&geometry.velo_engine(level, Preset::default()), raw.view());
            assert_eq!(found, expected, "{name} on {level}");
        }
        for (threads, slice_events) in [(2, 1), (3, 2), (1, 7), (2, 100)] {
            let sharing = Sharing { threads, slice_events };
            let (found, _) = hashes_on(sharing, &engine(&geometry), raw.view());
            assert_eq!(found, expected, "{name} on {threads} threads, slices of {slice_events}");
        }
    }
}

#[test]
fn banks_give_the_tracks_of_their_hits() {
    for (name, raw, _, geometry) in samples() {
        let engine = engine(&geometry);
        let mut hits = Outcome::<VeloBatch>::default();
        let decoder = VeloDecoder { sensors: &geometry.velo, banks: VeloBanks::Auto };
        let scratch = &mut DecodeScratch::default();
        decode(engine.level(), decoder, raw.view(), 0..raw.len(), scratch, &mut hits);
        let (from_hits, _) = hashes(&engine, hits.results.view());
        assert_eq!(hashes(&engine, raw.view()).0, from_hits, "{name}");
    }
}

/// The sensors of a geometry file, all of them moved by this much in x and in y, mm.
fn moved_sensors(bytes: &[u8], by: [f32; 2]) -> VeloSensors {
    let mut bytes = bytes.to_vec();
    // After the numbers, z of the modules, x and pitch of the columns, each sensor has twelve numbers: the last three are its
    // translation.
    let first = 8 + 4 * 52 + 2 * (8 + 4 * 768) + 16;
    for sensor in 0..208 {
        for (axis, by) in by.into_iter().enumerate() {
            let at = first + 4 * (12 * sensor + 9 + axis);
            let value = f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) + by;
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
    }
    VeloSensors::parse("moved", &bytes).unwrap()
}

#[test]
fn tracks_are_searched_around_the_beam_line() {
    let Some(data) = data() else { return };
    let bytes = std::fs::read(data.join("lhcb/geometry/velo_geometry.bin")).unwrap();
    let (raw, _) = read_raw(&data.join("lhcb/minbias_retina_truth.mdf"));
    let beam = [0.9, -0.6];
    let tracks = |engine: Engine| {
        let mut outcome = Outcome::<VeloTracks>::default();
        engine.try_run(raw.view(), &mut engine.workspace(), &mut outcome).unwrap();
        outcome.results
    };
    let sequence = |sensors, beam| {
        let velo = Velo::new(best_level(), VeloConfig::preset(Preset::Best)).unwrap();
        velo.with_sensors(Arc::new(sensors), VeloBanks::Auto).with_beam(beam)
    };
    let at_zero = tracks(Engine::new(sequence(moved_sensors(&bytes, [0.0; 2]), [0.0; 2])));
    let moved = tracks(Engine::new(sequence(moved_sensors(&bytes, beam), beam)));
    let unaware = tracks(Engine::new(sequence(moved_sensors(&bytes, beam), [0.0; 2])));
    let lists = |tracks: &VeloTracks| -> BTreeSet<(usize, Vec<u32>)> {
        let of_event = |event| tracks.hit_lists(event).map(move |hits| (event, hits.to_vec()));
        (0..7).flat_map(of_event).collect()
    };
    // A detector that has moved with its beam finds the same tracks as before, except for rounding; with an unknown beam it loses
    // some.
    let (expected, found, lost) = (lists(&at_zero), lists(&moved), lists(&unaware));
    let common = |found: &BTreeSet<_>| expected.intersection(found).count() as f64 / expected.len() as f64;
    assert!(common(&found) > 0.995, "{} of the tracks", common(&found));
    assert!(common(&lost) < common(&found) - 0.02, "{} of the tracks", common(&lost));
    // Equal bits: hits moved here so that the beam is the z axis, and states moved back.
    let sensors = moved_sensors(&bytes, beam);
    let mut hits = Outcome::<VeloBatch>::default();
    let decoder = VeloDecoder { sensors: &sensors, banks: VeloBanks::Auto };
    decode(best_level(), decoder, raw.view(), 0..7, &mut DecodeScratch::default(), &mut hits);
    let mut hits = hits.results;
    hits.x.iter_mut().for_each(|x| *x -= beam[0]);
    hits.y.iter_mut().for_each(|y| *y -= beam[1]);
    let (engine, mut by_hand) = (velo(Preset::Best), Outcome::<VeloTracks>::default());
    engine.try_run(hits.view(), &mut engine.workspace(), &mut by_hand).unwrap();
    let mut by_hand = by_hand.results;
    for states in [&mut by_hand.beam, &mut by_hand.end] {
        states.x.iter_mut().for_each(|x| *x += beam[0]);
        states.y.iter_mut().for_each(|y| *y += beam[1]);
    }
    assert_eq!(Hasher::of(&moved), Hasher::of(&by_hand));
}

fn check(raw: &RawBatch, notes: &[EventNote], geometry: &Detector) -> CheckReport {
    let engine = engine(geometry);
    let mut outcome = Outcome::<VeloTracks>::default();
    engine.try_run(raw.view(), &mut engine.workspace(), &mut outcome).unwrap();
    let mut checker = Checker::new(Rules::Lhcb);
    for (event, note) in notes.iter().enumerate() {
        let truth = decode_mc(note.truth.as_ref().unwrap(), HitsOf::Velo).unwrap();
        checker.event(&truth, outcome.results.hit_lists(event));
    }
    checker.report()
}

#[test]
fn physics_is_not_below_the_peers() {
    // Allen 2023 on the same events: found, of; ghosts, tracks; clones.
    for (name, raw, notes, geometry) in samples() {
        let report = check(&raw, &notes, &geometry);
        let category = |name: &str| report.categories.iter().find(|category| category.name == name).unwrap();
        for (category_name, found, of) in [
            ("01_velo", 642, 651),
            ("02_long", 371, 374),
            ("03_long_P>5GeV", 244, 244),
            ("08_long_electrons", 30, 30),
        ] {
            let category = category(category_name);
            assert_eq!(category.reconstructible, of, "{name} {category_name}");
            assert!(category.reconstructed >= found, "{name} {category_name}: {}", category.reconstructed);
        }
        assert!(report.ghosts * 1547 <= 10 * report.tracks, "{name}: {} of {}", report.ghosts, report.tracks);
        assert!(category("01_velo").clones <= 13, "{name}: {} clones", category("01_velo").clones);
    }
}

#[test]
fn raw_banks_without_a_geometry_are_refused() {
    let engine = velo(Preset::default());
    let mut raw = RawBatch::default();
    raw.close_event(0, peloton::Status::Ok);
    let refused = |result: peloton::Result<Counters>| {
        assert!(matches!(&result, Err(Error::Config(text)) if text.contains("geometry")), "{result:?}");
    };
    let (mut workspace, mut outcome) = (engine.workspace(), Outcome::<VeloTracks>::default());
    let all = engine.try_run(raw.view(), &mut workspace, &mut outcome);
    refused(all.map(|()| outcome.counters));
    let range = engine.try_run_range(raw.view(), 0..1, &mut workspace, &mut outcome);
    refused(range.map(|()| outcome.counters));
    let mut pool = Pool::new(engine, 2, 1).unwrap();
    refused(pool.try_run(raw.view(), &mut Sliced::default()));
    refused(pool.try_repeat(raw.view(), 2, |_, _| panic!("nothing is shown")));
}
