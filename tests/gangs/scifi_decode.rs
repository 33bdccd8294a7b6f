//! SciFi decoding: every true hit, and the same bits as the naive reference on every level.

use crate::common::data;
use crate::common::decoding::{self, assert_true_hits};
use crate::common::geometry::Detector;
use peloton::Status;
use peloton::event::{BankKind, Outcome, RawBatch, RawEvent, RawEvents, SCIFI_ZONES, SciFiBatch};
use peloton::scifi::{SciFiGeometry, SciFiScratch, decode, decode_reference, decode_reference_with};
use peloton_truth::HitsOf;
use proptest::prelude::*;
use std::sync::OnceLock;

/// Decodes on every level and by the reference; fails when any bit differs, or hits are out of order.
fn every_level(geometry: &SciFiGeometry, events: RawEvents<'_>) -> SciFiBatch {
    let reference = |event: &RawEvent<'_>, out: &mut SciFiBatch| decode_reference(geometry, event, out);
    let (found, _) = decoding::every_level(events, reference, |level| {
        let mut scratch = SciFiScratch::default();
        move |range, out: &mut Outcome<SciFiBatch>| decode(level, geometry, events, range, &mut scratch, out)
    });
    for zone in found.zone_start.windows(2) {
        assert!(found.x[zone[0] as usize..zone[1] as usize].is_sorted());
    }
    found
}

#[test]
fn every_true_hit_is_found() {
    let Some(data) = data() else { return };
    for (name, folder, raw, notes) in decoding::seven_events(&data) {
        let geometry = Detector::open(&folder);
        let found = every_level(&geometry.scifi, raw.view());
        let counts: Vec<_> = (0..7).map(|event| found.of_event(event).len()).collect();
        assert_eq!(counts, [6488, 2226, 2494, 3112, 3731, 2210, 4297], "{name}");
        for (event, note) in notes.iter().enumerate() {
            assert_true_hits(note, HitsOf::SciFi, &found.id[found.of_event(event)], 0.79..=0.95);
        }
        // Layers are at their z, and halves on their sides.
        let z =
            [7826.1, 7895.9, 7966.1, 8035.9, 8508.1, 8577.9, 8648.2, 8717.9, 9193.1, 9263.0, 9333.0, 9402.9];
        for zone in 0..SCIFI_ZONES {
            for hit in (0..7).flat_map(|event| found.of_zone(event, zone)) {
                assert!((found.z[hit] - z[zone / 2]).abs() < 1.0, "zone {zone}: z {}", found.z[hit]);
                let (x, y) = (found.x[hit], found.y_end[hit]);
                assert!(x.abs() < 3190.0 && y.abs() < 127.7, "x {x}, y {y}");
                let [dxdy, dzdy] = geometry.scifi.slopes(found.id[hit]);
                assert_eq!(dxdy == 0.0, matches!(zone / 2 % 4, 0 | 3));
                assert!((dzdy - 0.0036).abs() < 1e-5);
            }
        }
    }
}

/// A made-up geometry of the real shape; with `map`, of the generation that maps links.
fn made_up(map: bool) -> SciFiGeometry {
    let mut words = vec![3u32, 4, 12, 4, 48];
    words.extend([5; 48]);
    words.extend([4, 1024, 240]);
    let first = |board: u32| (16 + board / 5) << 14 | (board % 5) << 11;
    if map {
        words.push(1);
        words.extend((0..240).map(|board| 7000 - 2 * board));
        // Links are in another order than their SiPMs; the last eight are not connected.
        let sipm = |board: u32, link: u32| (first(board) >> 7) + (link * 7) % 16;
        let unused = u32::MAX;
        words.extend((0..240).flat_map(|b| (0..24).map(move |l| if l < 16 { sipm(b, l) } else { unused })));
    } else {
        words.extend((0..240).map(first));
    }
    words.push(1536);
    let mut column = |of: &dyn Fn(u32) -> f32| words.extend((0..1536).map(|mat| of(mat).to_bits()));
    let exists = |mat: u32| mat >> 2 & 7 < 5;
    let only = |mat: u32, value: f32| if exists(mat) { value } else { 0.0 };
    let (module, quarter) = (|mat: u32| (mat >> 2 & 7) as f32, |mat: u32| mat >> 5 & 3);
    // Even quarters at x > 0. Mats overlap by half a millimetre.
    let side = |mat: u32| if quarter(mat) % 2 == 0 { 1.0 } else { -1.0 };
    column(&|mat| only(mat, side(mat) * (130.0 * (4.0 * module(mat) + (mat & 3) as f32) + 65.0)));
    column(&|mat| only(mat, 20.0 * module(mat) - 40.0));
    column(&|mat| only(mat, 7826.0 + 70.0 * (mat >> 7) as f32));
    column(&|mat| only(mat, side(mat)));
    column(&|mat| only(mat, 0.087 * (mat >> 7 & 1) as f32));
    column(&|_| 0.0003);
    column(&|mat| only(mat, -65.16));
    column(&|mat| only(mat, 0.125));
    column(&|mat| only(mat, 0.22));
    column(&|mat| only(mat, 32.7));
    column(&|mat| only(mat, 0.0875 * ((mat >> 7 & 3) % 3) as f32));
    column(&|mat| only(mat, 0.0036));
    column(&|_| 0.0);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    SciFiGeometry::parse("made up", &bytes).unwrap()
}

fn geometries() -> &'static [SciFiGeometry; 2] {
    static BOTH: OnceLock<[SciFiGeometry; 2]> = OnceLock::new();
    BOTH.get_or_init(|| [made_up(false), made_up(true)])
}

/// A word: link, cell, half, large.
fn word(link: u16, cell: u16, half: u16, large: u16) -> u16 {
    link << 9 | cell << 2 | half << 1 | large
}

fn bank(words: &[u16]) -> Vec<u8> {
    let header = [0x12u8, 0x34, 0x56, 0x78];
    header.into_iter().chain(words.iter().flat_map(|word| word.to_le_bytes())).collect()
}

fn one_event(banks: &[(u16, u8, Vec<u8>)]) -> RawBatch {
    decoding::one_event(BankKind::SciFi, banks)
}

/// (channel within the board, half, width) of the hits of one bank, by channel.
fn clusters(version: u8, source: u16, words: &[u16]) -> Vec<(u32, u32, u32)> {
    let geometry = &geometries()[usize::from(version > 6)];
    let found = every_level(geometry, one_event(&[(source, version, bank(words))]).view());
    assert_eq!(found.status, [Status::Ok]);
    let first = 16 << 14;
    let mut hits: Vec<_> = found
        .id
        .iter()
        .zip(&found.width[..])
        .map(|(id, w)| ((id & 0xF_FFFF) - first, w & 1, w >> 1))
        .collect();
    hits.sort_unstable();
    hits
}

#[test]
fn each_version_is_read_as_it_is_written_down() {
    // Written from the format's description: no file here has versions 4, 6, 7 and 8.
    let at = |link: u32, cell: u32| 128 * link + cell;
    let words = [word(0, 3, 1, 0), word(0, 9, 0, 1), word(2, 4, 1, 1), 0];
    assert_eq!(clusters(4, 0, &words), [(3, 1, 4), (9, 0, 0), (at(2, 4), 1, 0)]);

    // Version 5. A large word alone, before a small word, or on another link: each word is a hit.
    let words = [word(0, 9, 1, 1), word(0, 20, 0, 0), word(1, 5, 1, 1), word(2, 5, 0, 1)];
    assert_eq!(clusters(5, 0, &words), [(9, 1, 4), (20, 0, 4), (at(1, 5), 1, 4), (at(2, 5), 0, 4)]);
    // Edges 3 and 4 apart: one hit in the middle. 7 and 8 apart: parts.
    let words = [word(0, 10, 0, 1), word(0, 13, 0, 1), word(0, 20, 1, 1), word(0, 24, 1, 1)];
    assert_eq!(clusters(5, 0, &words), [(11, 0, 5), (22, 1, 8)]);
    let words =
        [word(3, 10, 1, 1), word(3, 17, 0, 1), word(3, 30, 0, 1), word(3, 38, 1, 1), word(3, 50, 0, 1)];
    let expected = [(14, 1, 0), (17, 0, 0), (34, 0, 0), (38, 1, 0), (50, 0, 4)];
    assert_eq!(clusters(5, 0, &words), expected.map(|(cell, half, width)| (at(3, cell), half, width)));

    // Versions 6 and 8: half 1 begins a cluster, half 0 ends it; version 7: the reverse.
    for (version, start) in [(6, 1), (8, 1), (7, 0)] {
        // SiPMs are in another order where links are mapped.
        let sipm = |link: u32| if version == 6 { link } else { link * 7 % 16 };
        let end = 1 - start;
        let words = [
            word(1, 2, 1, 0),
            word(1, 10, start, 1),
            word(1, 13, end, 1),
            word(1, 20, start, 1),
            word(1, 26, end, 1),
            word(1, 40, start, 1),
            word(1, 51, end, 1),
            word(1, 90, start, 1),
        ];
        let s = u32::from(start);
        // Widths 5 and 8 give one hit. Width 13 gives three parts of four, and the end. The last edge is alone.
        let expected =
            [(2, 1, 4), (11, 0, 5), (22, 1, 8), (40, 1, 0), (44, 1, 0), (48, 1, 0), (51, 0, 0), (90, s, 0)];
        let expected = expected.map(|(cell, half, width)| (at(sipm(1), cell), half, width));
        let source = if version == 6 { 0 } else { 7000 };
        assert_eq!(clusters(version, source, &words), expected, "version {version}");
    }
}

#[test]
fn a_planted_fault_is_seen() {
    let raw = one_event(&[(0, 6, bank(&[word(3, 4, 0, 0), word(3, 40, 0, 0)]))]);
    let found = every_level(&geometries()[0], raw.view());
    let mut wrong = SciFiBatch::default();
    decode_reference_with(true, &geometries()[0], &raw.view().event(0), &mut wrong);
    assert!(found.status == wrong.status && found.id != wrong.id);
}

#[test]
fn banks_that_cannot_be_have_their_status() {
    let cases = [
        (vec![(0, 3, bank(&[]))], Status::BadBank),
        (vec![(0, 7, bank(&[]))], Status::BadBank),
        (vec![(240, 5, bank(&[]))], Status::BadBank),
        (vec![(0, 5, bank(&[word(24, 1, 0, 0)]))], Status::BadBank),
        (vec![(0, 4, bank(&[word(24, 1, 0, 0)]))], Status::BadBank),
        (vec![(4, 5, bank(&[word(20, 1, 0, 0)]))], Status::BadBank),
        (vec![(0, 5, bank(&[word(0, 9, 0, 1), word(0, 9, 0, 1)]))], Status::BadBank),
        (vec![(0, 6, bank(&[word(0, 9, 1, 1), word(0, 7, 0, 1)]))], Status::BadBank),
        (vec![(0, 5, vec![1, 2])], Status::TruncatedBank),
        (vec![], Status::MissingBanks),
        (vec![(0, 5, bank(&[]))], Status::Ok),
        ((0..4).map(|source| (source, 5, bank(&[4; 20_000]))).collect(), Status::OversizedBank),
    ];
    for (banks, status) in cases {
        assert_eq!(every_level(&geometries()[0], one_event(&banks).view()).status, [status]);
    }
    let mapped = [(7000, 5, Status::BadBank), (7001, 8, Status::BadBank), (6522, 8, Status::Ok)];
    for (source, version, status) in mapped {
        let raw = one_event(&[(source, version, bank(&[word(3, 4, 0, 0)]))]);
        assert_eq!(every_level(&geometries()[1], raw.view()).status, [status], "{source}");
    }
    let unconnected = one_event(&[(7000, 8, bank(&[word(16, 4, 0, 0)]))]);
    assert_eq!(every_level(&geometries()[1], unconnected.view()).status, [Status::BadBank]);
    // Wide clusters that give too many hits.
    let wide: Vec<u16> = (0..16_000).map(|i| word(0, 127 * (i % 2), 0, 1)).collect();
    let raw = one_event(&[(0, 5, bank(&wide)), (1, 5, bank(&wide))]);
    assert_eq!(every_level(&geometries()[0], raw.view()).status, [Status::OversizedBank]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]
    /// Rising words with many edges, all versions: the hits of the reference, in order.
    #[test]
    fn any_clusters(
        version in 4u8..9,
        banks in prop::collection::btree_map(0u16..240, prop::collection::btree_map(
            (0u16..16, 0u16..128), (0u16..2, prop::bool::weighted(0.6)), 0..60,
        ), 1..20),
        reverse in any::<bool>(),
    ) {
        let banks: Vec<_> = banks.into_iter().map(|(source, cells)| {
            let mut words: Vec<_> =
                cells.into_iter().map(|((l, c), (half, large))| word(l, c, half, large.into())).collect();
            if reverse && version == 4 {
                words.reverse();
            }
            (if version > 6 { 7000 - 2 * source } else { source }, version, bank(&words))
        }).collect();
        let geometry = &geometries()[usize::from(version > 6)];
        let found = every_level(geometry, one_event(&banks).view());
        // A cluster that begins in the first cell may have its middle before this cell, where there is no cell.
        prop_assert!(matches!(found.status[0], Status::Ok | Status::BadBank));
    }

    /// Any bytes: the same status or the same hits.
    #[test]
    fn any_bytes(banks in prop::collection::btree_map(0u16..250, (
        prop::sample::select(vec![4u8, 5, 5, 5, 6]), prop::collection::vec(any::<u16>(), 0..60), any::<bool>(),
        0usize..3,
    ), 1..4), same in any::<bool>()) {
        let banks: Vec<_> = banks.into_iter().map(|(source, (version, words, sane, cut))| {
            let mask = if sane { 0x1FFF } else { 0xFFFF };
            let mut bytes = bank(&words.iter().map(|word| word & mask).collect::<Vec<_>>());
            bytes.truncate(bytes.len() - cut);
            (source, if same { 5 } else { version }, bytes)
        }).collect();
        every_level(&geometries()[0], one_event(&banks).view());
    }
}
