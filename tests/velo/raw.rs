//! Raw banks through the whole Velo sequence: the same bits however it runs, and physics not below the peer's.

use crate::common::geometry::Detector;
use crate::common::{Sharing, best_level, data, hashes, hashes_on, read_raw, velo};
use peloton::Error;
use peloton::engine::{Engine, Pool, Sliced};
use peloton::event::{Counters, Outcome, RawBatch, VeloBatch};
use peloton::simd::Level;
use peloton::velo::{DecodeScratch, Preset, Velo, VeloBanks, VeloDecoder, decode};
use peloton_io::input::EventNote;
use peloton_truth::{CheckReport, Checker, HitsOf, Rules, decode_mc};

/// The seven events in both encodings: name, banks, their truth, geometry.
fn samples() -> Vec<(&'static str, RawBatch, Vec<EventNote>, Detector)> {
    let Some(data) = data() else { return Vec::new() };
    let one = |name: &'static str, folder: &str| {
        let (raw, notes) = read_raw(&data.join("lhcb").join(name));
        (name, raw, notes, Detector::open(&data.join("lhcb").join(folder)))
    };
    vec![one("minbias_retina_truth.mdf", "geometry"), one("minbias_superpixel.mdf", "geometry_2018")]
}

fn engine(geometry: &Detector) -> Engine<Velo> {
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

fn check(raw: &RawBatch, notes: &[EventNote], geometry: &Detector) -> CheckReport {
    let engine = engine(geometry);
    let mut outcome = Outcome::default();
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
    let (mut workspace, mut outcome) = (engine.workspace(), Outcome::default());
    let all = engine.try_run(raw.view(), &mut workspace, &mut outcome);
    refused(all.map(|()| outcome.counters));
    let range = engine.try_run_range(raw.view().into(), 0..1, &mut workspace, &mut outcome);
    refused(range.map(|()| outcome.counters));
    let mut pool = Pool::new(engine, 2, 1).unwrap();
    refused(pool.try_run(raw.view(), &mut Sliced::default()));
    refused(pool.try_repeat(raw.view(), 2, |_, _| panic!("nothing is shown")));
}
