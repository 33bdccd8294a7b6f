//! Velo decoding: every real cluster, and the same bits as the naive reference on every level.

use crate::common::geometry::Detector;
use crate::common::{data, read_raw};
use peloton::Status;
use peloton::event::{BankKind, Outcome, RawBatch, RawEvents, VELO_MODULES, VeloBatch};
use peloton::simd::Level;
use peloton::velo::{
    DecodeScratch, VeloBanks, VeloDecoder, VeloSensors, decode, decode_reference, decode_reference_with,
};
use peloton_truth::{HitsOf, decode_mc};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn decode_at(level: Level, sensors: &VeloSensors, banks: VeloBanks, events: RawEvents<'_>) -> VeloBatch {
    let (mut scratch, mut out) = (DecodeScratch::default(), Outcome::<VeloBatch>::default());
    let decoder = VeloDecoder { sensors, banks };
    // In two pieces that share memory.
    let half = events.len() / 2;
    for range in [0..half, half..events.len()] {
        decode(level, decoder, events, range, &mut scratch, &mut out);
    }
    assert_eq!(out.counters.stages[0].items_out, out.results.x.len() as u64);
    out.results
}

fn expected(sensors: &VeloSensors, banks: VeloBanks, events: RawEvents<'_>) -> VeloBatch {
    let mut out = VeloBatch::default();
    for event in 0..events.len() {
        decode_reference(sensors, banks, &events.event(event), event as u64, &mut out);
    }
    out
}

/// Fails when two batches differ in any bit.
fn assert_same(found: &VeloBatch, expected: &VeloBatch, what: &str) {
    assert_eq!(found.status, expected.status, "{what}");
    assert!(found.module_start == expected.module_start, "{what}: modules");
    assert!(found.id == expected.id, "{what}: ids");
    let bits = |batch: &VeloBatch| {
        [&batch.x, &batch.y, &batch.z].map(|column| column.iter().map(|v| v.to_bits()).collect::<Vec<_>>())
    };
    assert!(bits(found) == bits(expected), "{what}: positions");
    assert_eq!(found.event_id, expected.event_id, "{what}");
}

fn every_level(sensors: &VeloSensors, banks: VeloBanks, events: RawEvents<'_>) -> VeloBatch {
    let expected = expected(sensors, banks, events);
    for level in Level::supported() {
        assert_same(&decode_at(level, sensors, banks, events), &expected, &format!("{level}"));
    }
    expected
}

/// Sensors with the shape of the ideal geometry, for tests without data; the numbers are arbitrary.
fn some_sensors() -> VeloSensors {
    let mut bytes = Vec::new();
    let mut list = |len: usize, of: &dyn Fn(usize) -> f32| {
        bytes.extend((len as u64).to_le_bytes());
        (0..len).for_each(|i| bytes.extend(of(i).to_le_bytes()));
    };
    list(52, &|i| i as f32 * 12.5);
    list(768, &|i| 0.055 * i as f32 + 0.0275);
    list(768, &|_| 0.055);
    bytes.extend(208u64.to_le_bytes());
    bytes.extend(12u64.to_le_bytes());
    for i in 0..208 * 12 {
        bytes.extend((i as f32 * 0.37).sin().to_le_bytes());
    }
    VeloSensors::parse("test", &bytes).unwrap()
}

#[test]
fn every_true_cluster_is_found_and_no_other() {
    let Some(data) = data() else { return };
    let cases = [
        ("minbias_retina_truth.mdf", "geometry", VeloBanks::Auto, 11_859),
        ("minbias_superpixel.mdf", "geometry_2018", VeloBanks::Auto, 11_573),
        ("banks", "geometry_2018", VeloBanks::Superpixel, 11_573),
    ];
    for (name, geometry, banks, clusters) in cases {
        let geometry = Detector::open(&data.join("lhcb").join(geometry));
        let (raw, notes) = read_raw(&data.join("lhcb").join(name));
        let found = every_level(&geometry.velo, banks, raw.view());
        assert_eq!((found.x.len(), &found.status[..]), (clusters, &[Status::Ok; 7][..]), "{name}");
        for (event, note) in notes.iter().enumerate() {
            let truth = decode_mc(note.truth.as_ref().unwrap(), HitsOf::Velo).unwrap();
            let truth: BTreeSet<u32> = truth.particles.iter().flat_map(|p| p.hits.iter().copied()).collect();
            let view = found.view();
            let ids: BTreeSet<u32> = view.event(event).id.iter().copied().collect();
            assert_eq!(ids.len(), view.event(event).len(), "{name}: no id twice");
            assert!(ids == truth, "{name} event {event}: {} ids, {} true ones", ids.len(), truth.len());
        }
        // Hits are at the z of their module.
        for event in 0..7 {
            let event = found.view().event(event);
            for module in 0..VELO_MODULES {
                let z = geometry.velo.module_z[module];
                assert!(event.module(module).all(|hit| (event.z[hit] - z).abs() < 0.7));
            }
        }
    }
}

#[test]
fn superpixels_of_the_other_file_are_the_same_in_any_order() {
    let Some(data) = data() else { return };
    let geometry = Detector::open(&data.join("lhcb/geometry"));
    // Unsorted within a bank there, sorted here.
    let (unsorted, _) = read_raw(&data.join("lhcb/minbias_retina_truth.mdf"));
    let (sorted, _) = read_raw(&data.join("lhcb/minbias_superpixel.mdf"));
    let of = |raw: &RawBatch| every_level(&geometry.velo, VeloBanks::Superpixel, raw.view());
    let ids = |batch: &VeloBatch| batch.id.iter().copied().collect::<BTreeSet<_>>();
    assert!(ids(&of(&unsorted)) == ids(&of(&sorted)));
}

#[test]
fn a_flood_fill_that_believes_no_flag_finds_the_same() {
    let Some(data) = data() else { return };
    let geometry = Detector::open(&data.join("lhcb/geometry_2018"));
    let (raw, _) = read_raw(&data.join("lhcb/minbias_superpixel.mdf"));
    let mut unflagged = RawBatch::default();
    for number in 0..7 {
        let event = raw.view().event(number);
        for bank in event.banks(BankKind::VeloSuperpixel) {
            let words = event.words(bank).iter().enumerate();
            let words: Vec<u8> =
                words.flat_map(|(i, w)| if i == 0 { *w } else { w & !(1 << 31) }.to_le_bytes()).collect();
            unflagged.push_bank(BankKind::VeloSuperpixel, bank.source, 2, &words).unwrap();
        }
        unflagged.close_event(number as u64, Status::Ok);
    }
    let ids = |raw: &RawBatch| -> Vec<u32> {
        let found = every_level(&geometry.velo, VeloBanks::Auto, raw.view());
        let mut ids = found.id.to_vec();
        ids.sort_unstable();
        ids
    };
    assert!(ids(&raw) == ids(&unflagged));
}

/// A batch of one event from (source, version, words after the count).
fn one_event(kind: BankKind, banks: &[(u16, u8, Vec<u32>)]) -> RawBatch {
    let mut raw = RawBatch::default();
    for (source, version, words) in banks {
        let count = (*version != 4).then_some(words.len() as u32);
        let bytes: Vec<u8> = count.iter().chain(words).flat_map(|word| word.to_le_bytes()).collect();
        raw.push_bank(kind, *source, *version, &bytes).unwrap();
    }
    raw.close_event(0, Status::Ok);
    raw
}

#[test]
fn retina_words_of_every_version() {
    // Written from the format's description: no file here has versions 2 and 4.
    let sensors = some_sensors();
    let v2 = |row: u32, fy: u32, column: u32, fx: u32| fy | row << 3 | fx << 11 | column << 14;
    let v3 = |row: u32, fy: u32, column: u32, fx: u32| fy | row << 2 | fx << 10 | column << 12;
    let id = |sensor: u32, row: u32, column: u32| 2 << 28 | row | column << 8 | sensor << 18;
    let raw = one_event(BankKind::VeloRetina, &[(207, 2, vec![v2(255, 7, 767, 5), 0, v2(1, 0, 300, 0)])]);
    let found = every_level(&sensors, VeloBanks::Auto, raw.view());
    assert_eq!(found.id[..], [id(207, 255, 767), id(207, 1, 300)]);
    let raw = one_event(
        BankKind::VeloRetina,
        &[(3, 3, vec![0, v3(9, 1, 767, 0), v3(0, 0, 1, 3), v3(5, 2, 256, 1)])],
    );
    let found = every_level(&sensors, VeloBanks::Auto, raw.view());
    let told = [id(3, 9, 767) | 1 << 26, id(3, 0, 1) | 1 << 27, id(3, 5, 256) | 3 << 26];
    assert_eq!(found.id[..], told);
    // The upper bits of the source are the side; bit 22 is the sensor of the pair. Banks are sorted by pair, not by source.
    let words = vec![v3(7, 0, 8, 0) | 1 << 22, v3(7, 0, 9, 0)];
    let raw =
        one_event(BankKind::VeloRetina, &[(0x1000 | 5, 4, words), (0x1800 | 2, 4, vec![v3(1, 0, 1, 0)])]);
    let found = every_level(&sensors, VeloBanks::Auto, raw.view());
    assert_eq!(found.id[..], [id(4, 1, 1), id(11, 7, 8), id(10, 7, 9)]);
    assert_eq!(found.module_start[..4], [0, 0, 1, 3]);
}

#[test]
fn a_planted_fault_is_seen() {
    let sensors = some_sensors();
    for (kind, version) in [(BankKind::VeloRetina, 3), (BankKind::VeloSuperpixel, 2)] {
        let raw = one_event(kind, &[(1, version, vec![1]), (9, version, vec![1])]);
        let found = every_level(&sensors, VeloBanks::Auto, raw.view());
        let mut wrong = VeloBatch::default();
        decode_reference_with(true, &sensors, VeloBanks::Auto, &raw.view().event(0), 0, &mut wrong);
        assert!(found.status == wrong.status && found.id != wrong.id);
    }
}

#[test]
fn banks_that_cannot_be_have_their_status() {
    let sensors = some_sensors();
    let retina = BankKind::VeloRetina;
    let superpixel = BankKind::VeloSuperpixel;
    let cases = [
        (one_event(retina, &[(208, 3, vec![1])]), Status::BadBank),
        (one_event(retina, &[(104, 4, vec![1])]), Status::BadBank),
        (one_event(retina, &[(1, 7, vec![1])]), Status::BadBank),
        (one_event(retina, &[(1, 3, vec![768 << 12])]), Status::BadBank),
        (one_event(superpixel, &[(208, 2, vec![1])]), Status::BadBank),
        (one_event(superpixel, &[(1, 3, vec![1])]), Status::BadBank),
        (one_event(superpixel, &[(1, 2, vec![384 << 14 | 1])]), Status::BadBank),
        (one_event(superpixel, &[(1, 2, vec![5 << 8 | 1, 7, 5 << 8 | 2])]), Status::BadBank),
        // Sources of version 4 are pairs: banks of two versions have no common order.
        (one_event(retina, &[(1, 4, vec![1]), (3, 3, vec![1])]), Status::BadBank),
        (one_event(retina, &[(1, 2, vec![1]), (3, 3, vec![1])]), Status::BadBank),
        (one_event(BankKind::Ut, &[(1, 3, vec![])]), Status::MissingBanks),
    ];
    for (raw, status) in &cases {
        assert_eq!(every_level(&sensors, VeloBanks::Auto, raw.view()).status, [*status]);
    }
    for (kind, version) in [(retina, 3), (superpixel, 2)] {
        for payload in [&[][..], &[1, 0, 0], &[2, 0, 0, 0, 9, 9, 9, 9], &[255; 8], &[1, 0, 0, 0, 9, 9, 9]] {
            let mut raw = RawBatch::default();
            raw.push_bank(kind, 0, version, payload).unwrap();
            raw.close_event(0, Status::Ok);
            let found = every_level(&sensors, VeloBanks::Auto, raw.view());
            assert_eq!(found.status, [Status::TruncatedBank], "{payload:?}");
        }
    }
    // A count that is too small loses hits; only padding may follow a right count.
    for (kind, version) in [(retina, 2), (retina, 3), (superpixel, 2)] {
        for (last, status) in [(0u8, Status::Ok), (9, Status::BadBank)] {
            let mut raw = RawBatch::default();
            raw.push_bank(kind, 0, version, &[1, 0, 0, 0, 1, 0, 0, 0, last, 0, 0, 0]).unwrap();
            raw.close_event(0, Status::Ok);
            assert_eq!(every_level(&sensors, VeloBanks::Auto, raw.view()).status, [status]);
        }
    }
    let full: Vec<_> = (0..5).map(|source| (source, 2, vec![1; 16_000])).collect();
    let raw = one_event(superpixel, &full);
    assert_eq!(every_level(&sensors, VeloBanks::Auto, raw.view()).status, [Status::OversizedBank]);
}

#[test]
fn a_sensor_that_is_hit_all_over_is_one_cluster() {
    let sensors = some_sensors();
    let places = (0..250).flat_map(|column| (0..64).map(move |row| column << 14 | row << 8 | 0xFF));
    let raw = one_event(BankKind::VeloSuperpixel, &[(7, 2, places.collect())]);
    let found = every_level(&sensors, VeloBanks::Auto, raw.view());
    // Columns 0..500, rows 0..256: the mean is (249.5, 127.5).
    assert_eq!(found.id[..], [8 << 28 | 7 << 18 | 249 << 8 | 127]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]
    /// Crowded corners of a few sensors, any pattern and flag, in any order: the clusters of the flood fill.
    #[test]
    fn any_superpixels(
        sensors in prop::collection::btree_map(0u16..208, (
            prop::collection::btree_map((0u32..12, 56u32..64), (any::<u8>(), prop::bool::weighted(0.2)), 0..90),
            prop::sample::select(vec![0u32, 100, 372]),
            any::<u64>(),
        ), 1..5),
    ) {
        let banks: Vec<_> = sensors.into_iter().map(|(sensor, (pixels, shift, order))| {
            let mut words: Vec<u32> = pixels.into_iter().map(|((column, row), (pattern, alone))| {
                u32::from(alone) << 31 | (column + shift) << 14 | row << 8 | u32::from(pattern)
            }).collect();
            if order % 3 == 0 {
                words.sort_by_key(|word| (u64::from(*word)).wrapping_mul(order));
            }
            (sensor, 2, words)
        }).collect();
        let raw = one_event(BankKind::VeloSuperpixel, &banks);
        let found = every_level(&some_sensors(), VeloBanks::Auto, raw.view());
        prop_assert_eq!(&found.status[..], &[Status::Ok]);
    }

    /// Any bytes: the same status or the same hits.
    #[test]
    fn any_bytes(
        kind in prop::sample::select(vec![BankKind::VeloRetina, BankKind::VeloSuperpixel]),
        banks in prop::collection::btree_map(0u16..260, (
            0u8..6, prop::collection::vec(any::<u32>(), 0..40), prop::option::weighted(0.9, 0u32..3),
        ), 1..5),
    ) {
        let mut raw = RawBatch::default();
        for (source, (version, mut words, sane)) in banks {
            if let (Some(0..2), Some(count)) = (sane, words.len().checked_sub(1)) {
                words[0] = count as u32;
            }
            let bytes: Vec<u8> = words.iter().flat_map(|word| (word & 0x80FF_FFFF).to_le_bytes()).collect();
            let version = if sane.is_some() && kind == BankKind::VeloSuperpixel { 2 } else { version };
            raw.push_bank(kind, source, version, &bytes).unwrap();
        }
        raw.close_event(0, Status::Ok);
        every_level(&some_sensors(), VeloBanks::Auto, raw.view());
    }
}
