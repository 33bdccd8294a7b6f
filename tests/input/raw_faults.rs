//! Damaged files of real raw events: never a panic, the same results on every level, every loss counted.

use crate::common::geometry::Detector;
use crate::common::{best_level, data};
use peloton::Status;
use peloton::bytes::File;
use peloton::event::{Outcome, RawBatch, SciFiBatch, UtBatch, VeloBatch, VeloTracks};
use peloton::scifi::{self, SciFiScratch};
use peloton::simd::{Isa, Level};
use peloton::ut::{self, UtScratch};
use peloton::velo::{self, DecodeScratch, Preset, VeloBanks, VeloDecoder};
use peloton_io::input::mdf::{Bank, Banks, RecordHeader, put_bank, write_record};
use peloton_io::input::{RawReader, ReadOptions, read_container};
use peloton_truth::{HitsOf, decode_mc, decode_vertices};
use proptest::prelude::*;
use std::io::Cursor;
use std::sync::{Arc, OnceLock};

/// A file of the two smallest real events and its geometry.
struct Real {
    file: Vec<u8>,
    geometry: Detector,
}

fn real() -> Option<&'static Real> {
    static REAL: OnceLock<Option<Real>> = OnceLock::new();
    let read = || {
        let folder = data()?.join("lhcb");
        let all = std::fs::read(folder.join("minbias_retina_truth.mdf")).unwrap();
        let mut records = Vec::new();
        let mut rest = &all[..];
        while !rest.is_empty() {
            let size = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
            records.push(&rest[..size]);
            rest = &rest[size..];
        }
        let geometry = Detector::open(&folder.join("geometry"));
        Some(Real { file: [records[1], records[5]].concat(), geometry })
    };
    REAL.get_or_init(read).as_ref()
}

/// A file with the same bodies and right checksums, so that damage to them reaches the decoders.
fn rewrap(file: &[u8], change: impl Fn(usize, &mut Vec<u8>)) -> Vec<u8> {
    let (mut out, mut rest, mut number) = (Vec::new(), file, 0);
    while !rest.is_empty() {
        let size = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
        let mut body = rest[48..size].to_vec();
        change(number, &mut body);
        write_record(&mut out, &RecordHeader::default(), &body, None).unwrap();
        (rest, number) = (&rest[size..], number + 1);
    }
    out
}

fn read(file: Vec<u8>, truth: bool) -> RawBatch {
    let options = ReadOptions { truth, ..ReadOptions::default() };
    let mut reader = RawReader::from_stream("damaged", Cursor::new(file), options)
        .judging_truth(|mc| decode_mc(mc, HitsOf::All).map(drop));
    let (mut batch, mut notes) = (RawBatch::default(), Vec::new());
    let end = loop {
        match reader.read(2, &mut batch, &mut notes) {
            Ok(1..) => (),
            end => break end,
        }
    };
    assert!(!batch.is_empty() || end.is_err(), "something is told of whatever there is");
    assert_eq!(notes.len(), batch.len());
    let failed = batch.statuses().iter().filter(|status| **status != Status::Ok).count();
    assert_eq!(failed as u64, reader.problems().count(), "{:?}", reader.problems().kept());
    for truth in notes.iter().filter_map(|note| note.truth.as_ref()) {
        // A truth that cannot be decoded makes the event corrupt; a particle needs 84 bytes.
        let event = decode_mc(truth, HitsOf::All).expect("the reader has looked at it");
        assert!(4 + 84 * event.particles.len() <= truth.tracks.len());
        let _ = decode_vertices(truth);
    }
    batch
}

/// Compares all decoders and the Velo sequence with the references' statuses and hits; returns the statuses.
fn run(geometry: &Detector, raw: &RawBatch) -> Vec<[Status; 4]> {
    let events = raw.view();
    let mut expected = ([(); 2].map(|()| VeloBatch::default()), UtBatch::default(), SciFiBatch::default());
    let kinds = [VeloBanks::Retina, VeloBanks::Superpixel];
    for number in 0..events.len() {
        let event = events.event(number);
        for (banks, out) in kinds.into_iter().zip(&mut expected.0) {
            velo::decode_reference(&geometry.velo, banks, &event, number as u64, out);
        }
        ut::decode_reference(&geometry.ut, &event, &mut expected.1);
        scifi::decode_reference(&geometry.scifi, &event, &mut expected.2);
    }
    let all = 0..events.len();
    for level in [best_level(), Level::new(Isa::Scalar, 1).unwrap()] {
        for (banks, expected) in kinds.into_iter().zip(&expected.0) {
            let mut out = Outcome::<VeloBatch>::default();
            let decoder = VeloDecoder { sensors: &geometry.velo, banks };
            velo::decode(level, decoder, events, all.clone(), &mut DecodeScratch::default(), &mut out);
            let out = out.results;
            assert_eq!(out.status, expected.status);
            assert!(
                out.id == expected.id && out.x == expected.x && out.module_start == expected.module_start
            );
            out.view();
        }
        let mut out = Outcome::default();
        ut::decode(level, &geometry.ut, events, all.clone(), &mut UtScratch::default(), &mut out);
        assert!(out.results == expected.1 && out.counters.events() == events.len() as u64);
        let mut out = Outcome::default();
        scifi::decode(level, &geometry.scifi, events, all.clone(), &mut SciFiScratch::default(), &mut out);
        assert!(out.results == expected.2 && out.counters.events() == events.len() as u64);
    }
    let engine = geometry.velo_engine(best_level(), Preset::default());
    let mut outcome = Outcome::<VeloTracks>::default();
    engine.try_run(events, &mut engine.workspace(), &mut outcome).unwrap();
    let Outcome { results: tracks, counters } = outcome;
    assert_eq!((counters.events(), tracks.events()), (events.len() as u64, events.len()));
    for status in Status::ALL.into_iter().filter(|status| *status != Status::Ok) {
        let dropped =
            counters.dropped().find(|(name, _)| *name == status.name()).map_or(0, |(_, count)| count);
        assert_eq!(dropped, tracks.status.iter().filter(|of| **of == status).count() as u64, "{status:?}");
    }
    let of = |event: usize| {
        let ([retina, superpixel], ut, scifi) = &expected;
        [retina.status[event], superpixel.status[event], ut.status[event], scifi.status[event]]
    };
    (0..events.len()).map(of).collect()
}

#[test]
fn the_undamaged_file_is_whole() {
    let Some(Real { file, geometry }) = real() else { return };
    assert_eq!(run(geometry, &read(file.clone(), true)), [[Status::Ok; 4]; 2]);
    assert_eq!(run(geometry, &read(rewrap(file, |_, _| ()), true)), [[Status::Ok; 4]; 2]);
}

#[test]
fn banks_that_come_twice_or_not_at_all() {
    let Some(Real { file, geometry }) = real() else { return };
    let edit = |keep: &dyn Fn(&Bank<'_>) -> usize| {
        rewrap(file, |number, body| {
            let mut edited = Vec::new();
            for bank in Banks::new(body).map(Result::unwrap) {
                let times = if number == 0 { keep(&bank) } else { 1 };
                (0..times).for_each(|_| put_bank(&mut edited, &bank).unwrap());
            }
            *body = edited;
        })
    };
    let twice = edit(&|bank| if bank.kind == 66 && bank.source == 7 { 2 } else { 1 });
    assert_eq!(run(geometry, &read(twice, true)), [[Status::DuplicateBank; 4], [Status::Ok; 4]]);
    // Banks of other detectors have no effect.
    let rich = edit(&|bank| if bank.kind == 9 { 2 } else { 1 });
    assert_eq!(run(geometry, &read(rich, true)), [[Status::Ok; 4]; 2]);
    let missing = edit(&|bank| usize::from(bank.kind != 64));
    let [velo, ut, scifi] = [Status::Ok, Status::Ok, Status::MissingBanks];
    assert_eq!(run(geometry, &read(missing, true)), [[velo, velo, ut, scifi], [Status::Ok; 4]]);
    // Without some boards, the event has fewer hits but is whole.
    let silent = edit(&|bank| usize::from(bank.source % 3 != 0));
    assert_eq!(run(geometry, &read(silent, false)), [[Status::Ok; 4]; 2]);
    // The order of banks has no effect.
    let reversed = rewrap(file, |_, body| {
        let mut edited = Vec::new();
        let banks: Vec<_> = Banks::new(body).map(Result::unwrap).collect();
        banks.iter().rev().for_each(|bank| put_bank(&mut edited, bank).unwrap());
        *body = edited;
    });
    assert_eq!(run(geometry, &read(reversed, true)), [[Status::Ok; 4]; 2]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]
    /// Bytes of the file itself: flipped, cut out, repeated.
    #[test]
    fn damaged_files(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of((any::<prop::sample::Index>(), 1usize..5000)),
        repeat in prop::option::of((any::<prop::sample::Index>(), 1usize..5000)),
        truth in any::<bool>(),
    ) {
        let Some(Real { file, geometry }) = real() else { return Ok(()) };
        let mut bytes = file.clone();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some((at, len)) = cut {
            let at = at.index(bytes.len());
            bytes.drain(at..bytes.len().min(at + len));
        }
        if let Some((at, len)) = repeat {
            let at = at.index(bytes.len());
            let piece = bytes[at..bytes.len().min(at + len)].to_vec();
            bytes.splice(at..at, piece);
        }
        run(geometry, &read(bytes, truth));
    }

    /// Damaged bytes of banks with right checksums, as from a faulty detector.
    #[test]
    fn damaged_banks(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..30),
    ) {
        let Some(Real { file, geometry }) = real() else { return Ok(()) };
        let bytes = rewrap(file, |_, body| {
            for (at, value, payload) in &flips {
                let mut at = at.index(body.len());
                if *payload {
                    // Damages payloads alone, since a damaged header ends the event.
                    let (mut start, mut banks) = (0, Vec::new());
                    for bank in Banks::new(body).map_while(Result::ok) {
                        banks.push(start + 8..start + 8 + bank.payload.len());
                        start += (8 + bank.payload.len()).next_multiple_of(4);
                    }
                    let full: Vec<_> = banks.into_iter().filter(|bank| !bank.is_empty()).collect();
                    let Some(bank) = full.get(at % full.len().max(1)) else { continue };
                    at = bank.start + at % bank.len().min(16);
                }
                body[at] = *value;
            }
        });
        run(geometry, &read(bytes, false));
    }

    /// Geometry files: an error that names the file, or a geometry that decodes without harm.
    #[test]
    fn damaged_geometry(
        which in 0usize..4,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let Some(Real { file, geometry }) = real() else { return Ok(()) };
        let folder = data().unwrap().join("lhcb/geometry");
        let names = ["velo_geometry.bin", "ut_boards.bin", "ut_geometry.bin", "scifi_geometry.bin"];
        let mut bytes = std::fs::read(folder.join(names[which])).unwrap();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let mut damaged = geometry.clone();
        let boards = std::fs::read(folder.join("ut_boards.bin")).unwrap();
        let sectors = std::fs::read(folder.join("ut_geometry.bin")).unwrap();
        let named = File::new("file", &bytes);
        let result = match which {
            0 => velo::VeloSensors::parse("file", &bytes).map(|velo| damaged.velo = Arc::new(velo)),
            1 => ut::UtGeometry::parse(named, File::new("", &sectors)).map(|ut| damaged.ut = Arc::new(ut)),
            2 => ut::UtGeometry::parse(File::new("", &boards), named).map(|ut| damaged.ut = Arc::new(ut)),
            _ => scifi::SciFiGeometry::parse("file", &bytes).map(|scifi| damaged.scifi = Arc::new(scifi)),
        };
        match result {
            Ok(()) => { run(&damaged, &read(file.clone(), false)); }
            Err(error) => prop_assert!(error.to_string().starts_with("file: "), "{}", error),
        }
    }

    /// Containers: an error with its place, or banks that are all within the file.
    #[test]
    fn damaged_containers(
        flips in prop::collection::vec((0usize..900, any::<u8>()), 1..6),
        cut in prop::option::weighted(0.3, any::<prop::sample::Index>()),
    ) {
        let Some(data) = data() else { return Ok(()) };
        let mut bytes = std::fs::read(data.join("lhcb/banks/UT/6718861_6006.bin")).unwrap();
        flips.iter().for_each(|&(at, value)| bytes[at] = value);
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        match read_container("file", &bytes) {
            Ok(banks) => {
                let size: usize = banks.iter().map(|(_, payload)| payload.len() + 8).sum();
                prop_assert_eq!(size + 8, bytes.len());
            }
            Err(error) => prop_assert!(error.to_string().starts_with("file: "), "{}", error),
        }
    }
}
