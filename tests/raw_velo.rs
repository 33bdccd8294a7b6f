//! Raw banks through the whole Velo sequence: the same bits however it runs, and physics not below the peer's.

mod common;

use common::{at, data, hashes_of, read_raw};
use peloton::event::{Counters, RawBatch, VeloBatch, VeloTracks};
use peloton::pipeline::{Config, Engine, Geometry};
use peloton::simd::Level;
use peloton::velo::{DecodeScratch, VeloBanks, decode};
use peloton_io::input::EventNote;
use peloton_truth::{CheckReport, Checker, HitsOf, Rules, decode_mc};
use std::sync::Arc;

/// The seven events in both encodings: name, banks, their truth, geometry.
fn samples() -> Vec<(&'static str, RawBatch, Vec<EventNote>, Arc<Geometry>)> {
    let Some(data) = data() else { return Vec::new() };
    let one = |name: &'static str, folder: &str| {
        let (raw, notes) = read_raw(&data.join("lhcb").join(name));
        (name, raw, notes, Arc::new(Geometry::open(&data.join("lhcb").join(folder)).unwrap()))
    };
    vec![one("minbias_retina_truth.mdf", "geometry"), one("minbias_superpixel.mdf", "geometry_2018")]
}

fn engine(config: &Config, geometry: &Arc<Geometry>) -> Engine {
    Engine::new(config).unwrap().with_geometry(geometry.clone(), VeloBanks::Auto)
}

#[test]
fn the_same_bits_on_every_level_thread_count_and_slice() {
    for (name, raw, _, geometry) in samples() {
        let config = Config::default();
        let (expected, tracks) = hashes_of(&engine(&config, &geometry), raw.view(), 1);
        assert!(tracks > 1000, "{tracks}");
        for level in Level::supported() {
            let (found, _) = hashes_of(&engine(&at(level, &config), &geometry), raw.view(), 1);
            assert_eq!(found, expected, "{name} on {level}");
        }
        for (threads, slice_events) in [(2, 1), (3, 2), (1, 7), (2, 100)] {
            let config = Config { slice_events, ..Config::default() };
            let (found, _) = hashes_of(&engine(&config, &geometry), raw.view(), threads);
            assert_eq!(found, expected, "{name} on {threads} threads, slices of {slice_events}");
        }
    }
}

#[test]
fn banks_give_the_tracks_of_their_hits() {
    for (name, raw, _, geometry) in samples() {
        let engine = engine(&Config::default(), &geometry);
        let (mut scratch, mut hits) = (DecodeScratch::default(), VeloBatch::default());
        let (events, all, mut counters) = (raw.view(), 0..raw.len(), Counters::default());
        let (sensors, banks) = (&geometry.velo, VeloBanks::Auto);
        decode(engine.level(), sensors, banks, events, all, &mut scratch, &mut hits, &mut counters);
        let (from_hits, _) = hashes_of(&engine, hits.view(), 1);
        assert_eq!(hashes_of(&engine, raw.view(), 1).0, from_hits, "{name}");
    }
}

fn check(raw: &RawBatch, notes: &[EventNote], geometry: &Arc<Geometry>) -> CheckReport {
    let engine = engine(&Config::default(), geometry);
    let (mut workspace, mut tracks) = (engine.workspace(), VeloTracks::default());
    engine.run(raw.view(), &mut workspace, &mut tracks);
    let mut checker = Checker::new(Rules::Lhcb);
    for (event, note) in notes.iter().enumerate() {
        let truth = decode_mc(note.truth.as_ref().unwrap(), HitsOf::Velo).unwrap();
        checker.event(&truth, tracks.hit_lists(event));
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
#[should_panic(expected = "a geometry for raw banks")]
fn raw_banks_need_a_geometry() {
    let engine = Engine::new(&Config::default()).unwrap();
    let mut raw = RawBatch::default();
    raw.close_event(0, peloton::Status::Ok);
    engine.run(raw.view(), &mut engine.workspace(), &mut VeloTracks::default());
}
