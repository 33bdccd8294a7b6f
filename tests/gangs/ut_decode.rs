//! UT decoding: every true hit, and the same bits as the naive reference on every level.

use crate::common::data;
use crate::common::decoding::{self, assert_true_hits};
use crate::common::geometry::Detector;
use peloton::Status;
use peloton::bytes::File;
use peloton::event::{
    BankKind, Counters, Outcome, RawBatch, RawEvent, RawEvents, UT_GROUPS, UtBatch, UtCellHits,
};
use peloton::ut::{
    UtGeometry, UtLayout, UtScratch, UtTables, decode, decode_by_cell, decode_reference,
    decode_reference_by_cell, decode_reference_with,
};
use peloton_truth::HitsOf;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Decodes into both orders on every level and by the references; fails when any bit differs, or the orders differ in hits.
fn every_level(geometry: &UtGeometry, events: RawEvents<'_>) -> (UtBatch, Counters) {
    let (found, counters) = by_group(geometry, events);
    let layout = UtLayout::new(geometry, UtTables::nominal(), -1.0, 770.0).unwrap();
    let reference = |event: &RawEvent<'_>, out: &mut UtCellHits| {
        decode_reference_by_cell(geometry, &layout, event, out);
    };
    let (by_cell, of_cells) = decoding::every_level(events, reference, |level| {
        let mut scratch = UtScratch::default();
        let detector = (geometry, &layout);
        move |range, out: &mut Outcome<UtCellHits>| {
            decode_by_cell(level, detector, events, range, &mut scratch, out);
        }
    });
    assert_eq!(of_cells, counters);
    for event in 0..events.len() {
        let sorted = |ids: &[u32]| {
            let mut ids = ids.to_vec();
            ids.sort_unstable();
            ids
        };
        let ids = [&found.id[found.of_event(event)], &by_cell.id[by_cell.of_event(event)]].map(sorted);
        assert_eq!(ids[0], ids[1], "event {event}");
    }
    (found, counters)
}

fn by_group(geometry: &UtGeometry, events: RawEvents<'_>) -> (UtBatch, Counters) {
    let reference = |event: &RawEvent<'_>, out: &mut UtBatch| decode_reference(geometry, event, out);
    decoding::every_level(events, reference, |level| {
        let mut scratch = UtScratch::default();
        move |range, out: &mut Outcome<UtBatch>| decode(level, geometry, events, range, &mut scratch, out)
    })
}

/// Ids and places of an event's hits.
fn places(batch: &UtBatch, event: usize) -> BTreeSet<[u32; 4]> {
    let hits = batch.of_event(event);
    hits.map(|hit| [batch.x[hit], batch.z[hit], batch.y_begin[hit], batch.y_end[hit]].map(f32::to_bits))
        .collect()
}

#[test]
fn every_true_hit_is_found() {
    let Some(data) = data() else { return };
    let mut all = Vec::new();
    for (name, folder, raw, notes) in decoding::seven_events(&data) {
        let geometry = Detector::open(&folder);
        let (found, counters) = every_level(&geometry.ut, raw.view());
        let counts: Vec<_> = (0..7).map(|event| found.of_event(event).len()).collect();
        assert_eq!(counts, [2108, 780, 835, 969, 1170, 433, 1707], "{name}");
        assert_eq!(counters.dropped().count(), 0);
        for (event, note) in notes.iter().enumerate() {
            assert_true_hits(note, HitsOf::Ut, &found.id[found.of_event(event)], 0.85..=0.98);
        }
        // Hits are in the planes, and in their group's columns.
        for (plane, z) in [2327.5, 2372.5, 2597.5, 2642.5].into_iter().enumerate() {
            for group in geometry.ut.plane_groups[plane]..geometry.ut.plane_groups[plane + 1] {
                let left = geometry.ut.group_x[group];
                for hit in (0..7).flat_map(|event| found.of_group(event, group)) {
                    assert!((found.z[hit] - z).abs() < 7.3, "{}", found.z[hit]);
                    assert!((left - 0.1..left + 100.0).contains(&found.x[hit]));
                    assert!(found.y_begin[hit] < found.y_end[hit]);
                }
            }
        }
        all.push((0..7).map(|event| places(&found, event)).collect::<Vec<_>>());
    }
    // Two generations of board numbers, two containers: the same places.
    assert!(all[1] == all[2]);
    for (one, other) in all[0].iter().zip(&all[1]) {
        assert_eq!(one.len(), other.len());
        for a in one {
            let near =
                |b: &&[u32; 4]| (0..4).all(|i| (f32::from_bits(a[i]) - f32::from_bits(b[i])).abs() < 2e-3);
            assert_eq!(other.iter().filter(near).count(), 1, "{:?}", a.map(f32::from_bits));
        }
    }
}

/// A geometry of the real shape: the real one where the data exist, else made up.
fn some_geometry() -> &'static UtGeometry {
    static GEOMETRY: OnceLock<UtGeometry> = OnceLock::new();
    GEOMETRY.get_or_init(|| {
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        // Old generation: each board reads six sectors in the order of their numbers.
        let (boards, lanes) = (175u32, 6 * 175usize);
        let region = [84, 80, 84, 84, 80, 84, 98, 80, 98, 98, 80, 98];
        let mut records = Vec::new();
        for (at, &sectors) in region.iter().enumerate() {
            let at = at as u32;
            records.extend((0..sectors).map(|s| [at / 6 + 1, at % 6 / 3 + 1, at % 3 + 1, s + 1]));
        }
        records.resize(lanes, [0; 4]);
        let mut file = vec![boards];
        file.extend(vec![512; boards as usize]);
        (0..4).for_each(|column| file.extend(records.iter().map(|record| record[column])));
        file.extend((0..lanes as u32).map(|i| if i < 1048 { 0x10000 + 1024 * i } else { 0 }));
        let plane = |s: usize| [248, 496, 772, 1048].iter().position(|end| s < *end).unwrap();
        let groups = |s: usize| [20, 20, 22, 22][plane(s)];
        let mut geometry = vec![1048u32];
        geometry.extend([1; 1048]);
        let mut column = |of: &dyn Fn(usize) -> f32| geometry.extend((0..1048).map(|s| of(s).to_bits()));
        column(&|_| 0.19);
        column(&|_| 97.0);
        // Rising and falling strips, tilted or not; sectors that overlap in y.
        column(&|s| if s % 5 == 0 { -0.19 } else { 0.19 });
        column(&|s| [0.0, -0.0165, 0.0165, 0.0][plane(s)]);
        column(&|_| 0.0);
        column(&|s| 90.0 * (s % groups(s)) as f32 - 900.0 + (s % 2) as f32);
        column(&|s| 5.0 * (s / groups(s)) as f32 - 100.0);
        column(&|s| if s % 3 == 0 { -2500.0 } else { 2500.0 });
        column(&|_| 1.0);
        let (boards, sectors) = (bytes(&file), bytes(&geometry));
        UtGeometry::parse(File::new("boards", &boards), File::new("geometry", &sectors)).unwrap()
    })
}

/// A bank of version 3.
fn version_3(hits: &[u16]) -> Vec<u8> {
    let mut bytes = (hits.len() as u32).to_le_bytes().to_vec();
    bytes.extend(hits.iter().flat_map(|hit| hit.to_le_bytes()));
    bytes
}

/// A bank of version 4: strips of each lane, all with the same charge.
fn version_4(lanes: &[Vec<u16>; 6]) -> Vec<u8> {
    version_4_with(21, lanes)
}

/// A bank of version 4: strips of each lane, all with this charge.
fn version_4_with(adc: u16, lanes: &[Vec<u16>; 6]) -> Vec<u8> {
    let counts = lanes.each_ref().map(|lane| lane.len() as u8);
    let mut bytes = vec![counts[4], counts[5], 0, 0, counts[0], counts[1], counts[2], counts[3]];
    let rows = lanes.iter().map(|lane| lane.len().div_ceil(2)).max().unwrap();
    let mut data = vec![0u16; 16 * rows];
    for (lane, strips) in lanes.iter().enumerate() {
        for (i, strip) in strips.iter().enumerate() {
            data[16 * (i / 2) + 2 * (5 - lane) + i % 2] = strip << 5 | adc;
        }
    }
    bytes.extend(data.iter().flat_map(|hit| hit.to_le_bytes()));
    bytes
}

fn one_event(banks: &[(u16, u8, Vec<u8>)]) -> RawBatch {
    decoding::one_event(BankKind::Ut, banks)
}

#[test]
fn version_4_is_read_as_it_is_written_down() {
    // Written from the format's description: no file here has this version.
    let geometry = some_geometry();
    let lanes = [vec![5, 400, 511], vec![], vec![0], vec![7, 7], vec![1, 2, 3, 4], vec![9]];
    let raw = one_event(&[(20, 4, version_4(&lanes))]);
    let (found, _) = every_level(geometry, raw.view());
    let mut ids = found.id.to_vec();
    ids.sort_unstable();
    let id = |lane: u32, strip: u32| 0xB << 28 | (0x10000 + 1024 * (6 * 20 + lane) + strip);
    let expected =
        [[0, 5], [0, 400], [0, 511], [2, 0], [3, 7], [3, 7], [4, 1], [4, 2], [4, 3], [4, 4], [5, 9]];
    assert_eq!(ids, expected.map(|[lane, strip]| id(lane, strip)));
    // Version 3 counts strips from 1 there, and has quarters of strips.
    let raw = one_event(&[(20, 3, version_3(&[5 << 2, 400 << 2 | 3]))]);
    let (three, _) = every_level(geometry, raw.view());
    assert_eq!(three.id.iter().copied().collect::<BTreeSet<_>>(), [id(0, 6), id(0, 401)].into());
    // New sources: pair 11, second board.
    let raw = one_event(&[(0x1000 | 1 << 10 | 11, 4, version_4(&lanes))]);
    let (mapped, _) = every_level(geometry, raw.view());
    assert_eq!(mapped.hits(), 11);
    assert_eq!(mapped.id.iter().min(), Some(&(id(0, 5) + 1024 * 6)));
    // A lane that is marked bad makes the decoder drop its bank and count it.
    let mut bad = version_4(&lanes);
    bad[5] = 255;
    let (found, counters) =
        every_level(geometry, one_event(&[(20, 4, bad), (21, 4, version_4(&lanes))]).view());
    assert_eq!(found.hits(), 11);
    assert_eq!(counters.dropped().collect::<Vec<_>>(), [("banks_marked_bad", 1)]);
}

#[test]
fn strips_of_version_4_without_charge_are_no_hits() {
    let lanes = [vec![5, 400], vec![3], vec![], vec![], vec![], vec![]];
    let banks = [(20, 4, version_4_with(0, &lanes)), (21, 4, version_4_with(1, &lanes))];
    let (found, _) = every_level(some_geometry(), one_event(&banks).view());
    assert_eq!((found.hits(), &found.status[..]), (3, &[Status::Ok][..]));
    // A strip that does not exist makes its bank bad, even without charge.
    let wrong = [vec![512], vec![], vec![], vec![], vec![], vec![]];
    let (found, _) = every_level(some_geometry(), one_event(&[(20, 4, version_4_with(0, &wrong))]).view());
    assert_eq!(found.status, [Status::BadBank]);
}

#[test]
fn a_planted_fault_is_seen() {
    let raw = one_event(&[(20, 3, version_3(&[4, 8]))]);
    let (found, _) = every_level(some_geometry(), raw.view());
    let mut wrong = UtBatch::default();
    decode_reference_with(true, some_geometry(), &raw.view().event(0), &mut wrong);
    assert!(found.status == wrong.status && found.id != wrong.id);
}

#[test]
fn banks_that_cannot_be_have_their_status() {
    let geometry = some_geometry();
    let four = |lanes: [Vec<u16>; 6]| version_4(&lanes);
    let none = || [const { Vec::new() }; 6];
    let mut first = none();
    first[0] = vec![1, 2, 3];
    let short = four(first.clone())[..20].to_vec();
    let mut beyond = none();
    beyond[1] = vec![512];
    let cases = [
        (one_event(&[(20, 2, version_3(&[]))]), Status::BadBank),
        (one_event(&[(175, 3, version_3(&[]))]), Status::BadBank),
        (one_event(&[(0x1000, 4, four(none()))]), Status::BadBank),
        (one_event(&[(20, 3, version_3(&[6 << 11]))]), Status::BadBank),
        (one_event(&[(20, 4, four(beyond))]), Status::BadBank),
        (one_event(&[(20, 3, vec![1, 0, 0, 0])]), Status::TruncatedBank),
        (one_event(&[(20, 3, vec![])]), Status::TruncatedBank),
        (one_event(&[(20, 4, vec![0; 7])]), Status::TruncatedBank),
        // Found by fuzzing: half a header that says its bank is bad.
        (one_event(&[(20, 4, vec![13, 244, 35, 250, 255])]), Status::TruncatedBank),
        (one_event(&[(20, 4, short)]), Status::TruncatedBank),
        (one_event(&[]), Status::MissingBanks),
        // One board under two numbers, and under the numbers of both versions.
        (one_event(&[(0x0801, 4, four(none())), (0x0901, 4, four(none()))]), Status::DuplicateBank),
        (one_event(&[(0x0802, 4, four(none())), (2, 3, version_3(&[]))]), Status::DuplicateBank),
        (one_event(&[(20, 3, version_3(&[]))]), Status::Ok),
    ];
    for (raw, status) in &cases {
        assert_eq!(every_level(geometry, raw.view()).0.status, [*status]);
    }
    let many: Vec<_> = (0..3).map(|source| (source, 3, version_3(&[1; 32_000]))).collect();
    assert_eq!(every_level(geometry, one_event(&many).view()).0.status, [Status::OversizedBank]);
    // A failed event has no hits, and the others keep their hits.
    let mut raw = one_event(&[(20, 3, version_3(&[4, 8]))]);
    raw.close_event(1, Status::DaqError);
    raw.push_bank(BankKind::Ut, 3, 3, &version_3(&[4, 8, 12])).unwrap();
    raw.close_event(2, Status::Ok);
    let (found, counters) = every_level(geometry, raw.view());
    assert_eq!([0, 1, 2].map(|event| found.of_event(event).len()), [2, 0, 3]);
    assert_eq!(found.group_start.len(), 3 * UT_GROUPS + 1);
    assert_eq!(counters.dropped().collect::<Vec<_>>(), [("daq_error", 1)]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]
    /// Any strips in any order, both versions: the hits of the reference, in order.
    #[test]
    fn any_strips(
        banks in prop::collection::btree_map(0u16..174, (
            any::<bool>(), prop::collection::vec((0u16..6, 0u16..512, 0u16..4), 0..40),
        ), 1..40),
    ) {
        let banks: Vec<_> = banks.into_iter().map(|(source, (four, hits))| {
            if four {
                let mut lanes = [const { Vec::new() }; 6];
                hits.iter().for_each(|&(lane, strip, _)| lanes[lane as usize].push(strip));
                return (source, 4, version_4_with(source % 3, &lanes));
            }
            let words: Vec<_> =
                hits.iter().map(|&(lane, strip, quarter)| quarter | strip << 2 | lane << 11 | 1 << 15).collect();
            (source, 3, version_3(&words))
        }).collect();
        let (found, _) = every_level(some_geometry(), one_event(&banks).view());
        prop_assert_eq!(&found.status[..], &[Status::Ok]);
        for group in 0..UT_GROUPS {
            let hits: Vec<_> = found.of_group(0, group).map(|hit| (found.y_begin[hit], found.x[hit])).collect();
            prop_assert!(hits.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }

    /// Any bytes: the same status or the same hits.
    #[test]
    fn any_bytes(banks in prop::collection::btree_map(any::<u16>(), (
        prop::sample::select(vec![3u8, 3, 4, 4, 5]), prop::collection::vec(any::<u8>(), 0..80),
        prop::option::weighted(0.9, 0u8..5), 0u16..180,
    ), 1..4)) {
        let banks: Vec<_> = banks.into_iter().map(|(any, (version, mut bytes, count, source))| {
            if let Some(count) = count {
                // Counts that may fit.
                let few = bytes.len().min(8);
                bytes[..few].iter_mut().for_each(|byte| *byte = if version == 3 { 0 } else { count });
                if version == 3 && few > 0 {
                    bytes[0] = count;
                }
            }
            (if any % 4 == 0 { any } else { source }, version, bytes)
        }).collect();
        every_level(some_geometry(), one_event(&banks).view());
    }
}
