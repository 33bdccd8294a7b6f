//! Raw events: files of the detector in two containers, their truth, and the detector's geometry.

use crate::common::data;
use peloton::Status;
use peloton::event::{BankKind, RawBatch};
use peloton_io::input::mdf::{Bank, Banks, Compression, RecordHeader, put_bank, write_record};
use peloton_io::input::{
    EventNote, Format, Geometry, RawReader, ReadOptions, Source, find_raw, read_container, write_container,
};
use peloton_truth::{HitsOf, decode_mc, decode_vertices};
use std::path::{Path, PathBuf};

fn read(path: PathBuf, truth: bool) -> (RawBatch, Vec<EventNote>) {
    let options = ReadOptions { strict: true, truth, ..ReadOptions::default() };
    let mut reader = RawReader::open(&[Source::Path(path)], options).unwrap();
    let (mut batch, mut notes) = (RawBatch::default(), Vec::new());
    while reader.read(3, &mut batch, &mut notes).unwrap() > 0 {}
    assert_eq!(batch.len(), notes.len());
    (batch, notes)
}

/// Source, version and payload of all banks of one kind and event.
fn banks(batch: &RawBatch, event: usize, kind: BankKind) -> Vec<(u16, u8, Vec<u8>)> {
    let event = batch.view().event(event);
    event.banks(kind).iter().map(|bank| (bank.source, bank.version, event.bytes(bank).to_vec())).collect()
}

#[test]
fn files_hold_the_banks_they_should() {
    let Some(data) = data() else { return };
    let cases = [
        ("lhcb/minbias_retina_truth.mdf", Format::Mdf, [(2, 208), (3, 208), (3, 180), (5, 240)]),
        ("lhcb/minbias_superpixel.mdf", Format::Mdf, [(2, 208), (0, 0), (3, 180), (5, 240)]),
        ("lhcb/banks", Format::Banks, [(2, 208), (0, 0), (3, 180), (5, 240)]),
    ];
    for (name, format, expected) in cases {
        assert_eq!(find_raw(&data.join(name)).unwrap(), Some(format));
        let (batch, notes) = read(data.join(name), false);
        assert_eq!(batch.statuses(), [Status::Ok; 7], "{name}");
        for (event, note) in notes.iter().enumerate() {
            assert_eq!((note.run, note.number), (Some(6_718_861), Some(6001 + event as u64)));
            for (kind, (version, count)) in BankKind::ALL.into_iter().zip(expected) {
                let found = banks(&batch, event, kind);
                assert_eq!(found.len(), count, "{name} {kind:?}");
                assert!(found.iter().all(|bank| bank.1 == version) && found.is_sorted());
            }
        }
    }
    assert_eq!(find_raw(&data.join("velo/reference10")).unwrap(), None);
}

#[test]
fn both_containers_hold_the_same_bytes() {
    let Some(data) = data() else { return };
    let (mdf, _) = read(data.join("lhcb/minbias_superpixel.mdf"), false);
    let (containers, _) = read(data.join("lhcb/banks"), false);
    // Banks in the containers end at a whole word: this cuts charges after the UT's hits, which no decoder reads.
    let whole = |mut bank: (u16, u8, Vec<u8>)| {
        bank.2.truncate(bank.2.len() / 4 * 4);
        bank
    };
    for event in 0..7 {
        for kind in BankKind::ALL {
            let one: Vec<_> = banks(&mdf, event, kind).into_iter().map(whole).collect();
            assert!(one == banks(&containers, event, kind), "event {event} {kind:?}");
        }
    }
}

#[test]
fn what_is_written_is_what_was_read() {
    let Some(data) = data() else { return };
    // Byte by byte: a record of the file is equal to its banks, written again.
    let file = std::fs::read(data.join("lhcb/minbias_retina_truth.mdf")).unwrap();
    let mut written = Vec::new();
    let mut rest = &file[..];
    let mut bodies = Vec::new();
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
        let size = word(0) as usize;
        let header = RecordHeader {
            trigger_mask: [20, 24, 28, 32].map(word),
            run: word(36),
            orbit: word(40),
            bunch: word(44),
        };
        let mut body = Vec::new();
        for bank in Banks::new(&rest[48..size]) {
            put_bank(&mut body, &bank.unwrap()).unwrap();
        }
        write_record(&mut written, &header, &body, None).unwrap();
        bodies.push((header, body));
        rest = &rest[size..];
    }
    assert!(written == file, "the same bytes");
    // Every compression gives the same banks.
    let (expected, _) = read(data.join("lhcb/minbias_retina_truth.mdf"), false);
    for method in [Compression::Zlib, Compression::Lzma, Compression::Lz4] {
        let mut packed = Vec::new();
        for (header, body) in &bodies {
            write_record(&mut packed, header, body, Some(method)).unwrap();
        }
        let options = ReadOptions { strict: true, ..ReadOptions::default() };
        let mut reader = RawReader::from_stream("packed", std::io::Cursor::new(packed), options);
        let (mut batch, mut notes) = (RawBatch::default(), Vec::new());
        assert_eq!(reader.read(9, &mut batch, &mut notes).unwrap(), 7);
        for (event, kind) in (0..7).flat_map(|event| BankKind::ALL.map(|kind| (event, kind))) {
            assert!(banks(&batch, event, kind) == banks(&expected, event, kind), "{method:?}");
        }
    }
    let path = data.join("lhcb/banks/UT/6718861_6001.bin");
    let container = std::fs::read(&path).unwrap();
    let mut again = Vec::new();
    write_container("again", &read_container("UT", &container).unwrap(), &mut again).unwrap();
    assert!(again == container);
}

#[test]
fn truth_is_read_from_banks_and_files() {
    let Some(data) = data() else { return };
    let particles = |name: &str| {
        let (_, notes) = read(data.join(name), true);
        let truth = notes.iter().map(|note| note.truth.as_ref().expect("truth")).collect::<Vec<_>>();
        let events = truth.iter().map(|mc| decode_mc(mc, HitsOf::All).unwrap()).collect::<Vec<_>>();
        let vertices = truth.iter().map(|mc| decode_vertices(mc).unwrap()).collect::<Vec<_>>();
        (events, vertices)
    };
    // Counts of FORMATS: particles, long particles; vertices, vertices with four tracks or more.
    let files = [[1940, 121, 9, 7], [601, 30, 4, 4], [690, 49, 6, 5], [717, 69, 5, 4]];
    let files = [&files[..], &[[896, 105, 10, 7], [458, 24, 7, 4], [1074, 38, 9, 5]]].concat();
    for name in ["lhcb/banks", "lhcb/minbias_superpixel.mdf"] {
        let (events, vertices) = particles(name);
        for ((event, vertices), expected) in events.iter().zip(&vertices).zip(&files) {
            let long = event.particles.iter().filter(|p| p.is_long).count();
            let reconstructible = vertices.iter().filter(|v| v.tracks >= 4).count();
            assert_eq!([event.particles.len(), long, vertices.len(), reconstructible], *expected, "{name}");
        }
    }
    let (events, _) = particles("lhcb/minbias_retina_truth.mdf");
    let counts: Vec<_> = events.iter().map(|event| event.particles.len()).collect();
    assert_eq!(counts[..2], [1934, 599]);
    let in_acceptance =
        |p: &&peloton_truth::Particle| p.eta > 2.0 && p.eta < 5.0 && !p.is_electron() && p.has_velo;
    let velo: usize = events.iter().map(|e| e.particles.iter().filter(in_acceptance).count()).sum();
    assert_eq!(velo, 651);
}

#[test]
fn truth_that_is_cut_or_changed_is_refused_or_read() {
    let Some(data) = data() else { return };
    let (_, notes) = read(data.join("lhcb/minbias_retina_truth.mdf"), true);
    let mc = notes[5].truth.clone().unwrap();
    let len = mc.tracks.len();
    for cut in [0, 3, 4, 100, len / 2, len - 8] {
        let mut bad = mc.clone();
        bad.tracks.truncate(cut);
        let error = decode_mc(&bad, HitsOf::All).unwrap_err().to_string();
        assert!(error.contains("` at byte "), "{error}");
    }
    let mut huge = mc.clone();
    huge.tracks[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(decode_mc(&huge, HitsOf::All).is_err());
    let options = ReadOptions { truth: true, ..ReadOptions::default() };
    let file = std::fs::read(data.join("lhcb/minbias_superpixel.mdf")).unwrap();
    let mut reader = RawReader::from_stream("no truth beside", std::io::Cursor::new(file), options);
    let (mut batch, mut notes) = (RawBatch::default(), Vec::new());
    assert_eq!(reader.read(9, &mut batch, &mut notes).unwrap(), 7);
    assert_eq!(batch.statuses(), [Status::NoTruth; 7]);
    assert!(reader.problems().kept()[0].contains("no simulated truth"));
}

#[test]
fn each_fault_has_its_status() {
    let bank = |kind, source, payload| Bank { kind, version: 3, source, payload };
    let body = |banks: &[Bank<'_>]| {
        let mut body = Vec::new();
        banks.iter().for_each(|bank| put_bank(&mut body, bank).unwrap());
        body
    };
    let good = body(&[bank(66, 5, &[1; 8]), bank(66, 4, &[2; 8])]);
    let mut file = Vec::new();
    let mut put =
        |body: &[u8], packed| write_record(&mut file, &RecordHeader::default(), body, packed).unwrap();
    put(&good, None);
    put(&body(&[bank(66, 5, &[1; 8]), bank(66, 5, &[2; 8])]), None);
    put(&body(&[bank(66, 5, &[1; 8]), bank(92, 7, &[])]), None);
    put(&good[..good.len() - 5], None);
    put(&[&good[..], &[0; 16]].concat(), None);
    put(&good, Some(Compression::Lz4));
    put(&good, None);
    // Flips a byte of the last record but one.
    let flipped = file.len() - (48 + good.len()) - 3;
    file[flipped] ^= 1;
    let mut reader =
        RawReader::from_stream("faults", std::io::Cursor::new(file.clone()), ReadOptions::default());
    let (mut batch, mut notes) = (RawBatch::default(), Vec::new());
    while reader.read(2, &mut batch, &mut notes).unwrap() > 0 {}
    use Status::*;
    let expected = [Ok, DuplicateBank, DaqError, TruncatedBank, BadBank, BadChecksum, Ok];
    assert_eq!((batch.statuses(), reader.problems().count()), (&expected[..], 5));
    assert!(
        reader.problems().kept()[1].contains("error of source 7 (bank type 92)"),
        "{:?}",
        reader.problems().kept()
    );
    let options = ReadOptions { strict: true, ..ReadOptions::default() };
    let mut strict = RawReader::from_stream("faults", std::io::Cursor::new(file), options);
    let error = strict.read(9, &mut RawBatch::default(), &mut Vec::new()).unwrap_err().to_string();
    assert!(error.starts_with("faults (event 1): "), "{error}");
}

#[test]
fn geometry_of_both_generations_is_read_and_damage_is_told() {
    let Some(data) = data() else { return };
    let new = Geometry::named(&data.join("lhcb/geometry")).unwrap();
    let old = Geometry::named(&data.join("lhcb/geometry_2018")).unwrap();
    assert_eq!((new.beam().unwrap(), new.polarity().unwrap()), ([0.0, 0.0], -1.0));
    let velo = new.velo().unwrap();
    assert!(velo == old.velo().unwrap());
    assert_eq!(velo.module_z[0], -287.5);
    let ut = new.ut().unwrap();
    assert_eq!(ut.plane_groups, [0, 20, 40, 62, 84]);
    assert_eq!(ut.group_x.len(), 84);
    assert_eq!(old.ut_tables().unwrap().field_integral.len(), 3751);
    let factors = new.ut_tables().unwrap().plane_factor;
    let (low, high) = factors.iter().fold((9f32, 0f32), |(l, h), v| (l.min(*v), h.max(*v)));
    assert!((0.8..0.83).contains(&low) && (1.2..1.22).contains(&high), "{low} {high}");

    let folder = std::env::temp_dir().join(format!("peloton-geometry-{}", std::process::id()));
    let copy = |from: &Path| {
        std::fs::create_dir_all(&folder).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
    };
    type Part = fn(&Geometry) -> peloton::Result<()>;
    let parts: [(&str, &str, Part); 6] = [
        ("velo_geometry.bin", "`module_z` at byte 0", |geometry| geometry.velo().map(drop)),
        ("ut_boards.bin", "`boards`", |geometry| geometry.ut().map(drop)),
        ("ut_geometry.bin", "`sectors` at byte 0", |geometry| geometry.ut().map(drop)),
        ("ut_tables.bin", "`dxLay` at byte 0", |geometry| geometry.ut_tables().map(drop)),
        ("scifi_geometry.bin", "`stations` at byte 0", |geometry| geometry.scifi().map(drop)),
        ("polarity.bin", "`polarity`", |geometry| geometry.polarity().map(drop)),
    ];
    copy(&data.join("lhcb/geometry"));
    let geometry = Geometry::named(&folder).unwrap();
    for (name, field, part) in parts {
        for words in [Some(field), None] {
            copy(&data.join("lhcb/geometry"));
            part(&geometry).unwrap();
            let path = folder.join(name);
            let mut file = std::fs::read(&path).unwrap();
            match words {
                Some(_) => file[..4].copy_from_slice(&[0xFF; 4]),
                None => file.truncate(file.len() - 1),
            }
            std::fs::write(&path, file).unwrap();
            let error = part(&geometry).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(words.unwrap_or("at byte")), "{error}");
            // Other parts do not read this file.
            let detector = |name: &str| if name == "ut_tables.bin" { 0 } else { name.as_bytes()[0] };
            let others = parts.iter().filter(|(other, ..)| detector(other) != detector(name));
            others.for_each(|(.., part)| part(&geometry).unwrap());
        }
        std::fs::remove_file(folder.join(name)).unwrap();
        let error = part(&geometry).unwrap_err();
        assert!(matches!(error, peloton::Error::Io { .. }) && error.to_string().contains(name), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let error = Geometry::named(&folder).unwrap_err().to_string();
    assert!(error.contains("there is no such folder"), "{error}");
}

/// Records with these bodies.
fn records(bodies: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    bodies.iter().for_each(|body| write_record(&mut file, &RecordHeader::default(), body, None).unwrap());
    file
}

/// All events of a stream: the statuses and the first problem.
fn statuses(bytes: Vec<u8>, truth: bool) -> (Vec<Status>, String) {
    let options = ReadOptions { truth, ..ReadOptions::default() };
    let mut reader = RawReader::from_stream("stream", std::io::Cursor::new(bytes), options)
        .judging_truth(|mc| decode_mc(mc, HitsOf::All).map(drop));
    let (mut batch, mut notes) = (RawBatch::default(), Vec::new());
    while reader.read(64, &mut batch, &mut notes).unwrap() > 0 {}
    assert_eq!(batch.len(), notes.len());
    (batch.statuses().to_vec(), reader.problems().kept().first().cloned().unwrap_or_default())
}

#[test]
fn a_compressed_stream_that_breaks_off_costs_one_event() {
    let mut body = Vec::new();
    let payload: Vec<u8> = (0..15_000u32).flat_map(|k| (k * k).to_le_bytes()).collect();
    put_bank(&mut body, &Bank { kind: 66, version: 3, source: 1, payload: &payload }).unwrap();
    let packed = zstd::encode_all(&records(&vec![body; 40])[..], 1).unwrap();
    let half = packed.len() / 2;
    // The second frame has a wrong signature.
    let mut twice = packed.repeat(2);
    twice[packed.len()..][..4].fill(0xFF);
    for damaged in [packed[..half].to_vec(), twice, packed[..30].to_vec()] {
        let (found, problem) = statuses(damaged, false);
        let (last, whole) = found.split_last().unwrap();
        assert!(*last == Status::Corrupt && whole.iter().all(|status| *status == Status::Ok), "{found:?}");
        assert!(problem.contains("decompressed further"), "{problem}");
    }
}

#[test]
fn what_holds_no_record_is_no_event() {
    for bytes in [b"{\"x\":[1.5,2.5]}\n".repeat(9), vec![7; 9]] {
        let mut reader = RawReader::from_stream("text", std::io::Cursor::new(bytes), ReadOptions::default());
        let error = reader.read(9, &mut RawBatch::default(), &mut Vec::new()).unwrap_err();
        assert!(
            matches!(error, peloton::Error::Format { .. }) && error.to_string().starts_with("text: "),
            "{error}"
        );
    }
}

#[test]
fn many_damaged_headers_are_passed_over_in_linear_time() {
    let event = records(&[vec![]]);
    let mut damaged = event.clone();
    damaged[0] ^= 1;
    let start = std::time::Instant::now();
    let (found, _) = statuses([event, damaged].concat().repeat(40_000), false);
    assert_eq!(found.iter().filter(|status| **status == Status::Corrupt).count(), 40_000);
    // With quadratic time, these four megabytes would take more than a minute.
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn pieces_of_truth_go_by_their_sources() {
    // A truth without particles; their number is split into two pieces.
    let body = |pieces: &[(u16, &[u8])]| {
        let mut body = Vec::new();
        for &(source, payload) in pieces {
            put_bank(&mut body, &Bank { kind: 32, version: 2, source, payload }).unwrap();
        }
        body
    };
    let (low, high): (&[u8], &[u8]) = (&[0; 2], &[0; 2]);
    let cases = [
        body(&[(0, low), (1, high)]),
        body(&[(1, high), (0, low)]),
        body(&[(0, low), (0, high)]),
        body(&[(0, low), (2, high)]),
        body(&[(0, &[9; 4])]),
    ];
    let (found, problem) = statuses(records(&cases), true);
    use Status::{Corrupt, Ok};
    assert_eq!(found, [Ok, Ok, Corrupt, Corrupt, Corrupt], "{problem}");
    assert!(problem.contains("(event 2): a piece of the simulated truth"), "{problem}");
    let vertices = |source| Bank { kind: 33, version: 1, source, payload: &[0; 4] };
    let twice = |sources: [u16; 2]| {
        let mut body = body(&[(0, &[0; 4])]);
        sources.into_iter().for_each(|source| put_bank(&mut body, &vertices(source)).unwrap());
        body
    };
    assert_eq!(statuses(records(&[twice([1, 0]), twice([0, 0])]), true).0, [Ok, Corrupt]);
}

#[test]
fn an_error_inside_an_event_leaves_no_banks_behind() {
    let folder = std::env::temp_dir().join(format!("peloton-discard-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("VP")).unwrap();
    // A folder where a file should be.
    std::fs::create_dir_all(folder.join("UT/1_1.bin")).unwrap();
    let mut container = Vec::new();
    write_container("VP", &[(3, &[1; 8])], &mut container).unwrap();
    std::fs::write(folder.join("VP/1_1.bin"), container).unwrap();
    let mut reader = RawReader::open(&[Source::Path(folder.clone())], ReadOptions::default()).unwrap();
    let mut batch = RawBatch::default();
    assert!(reader.read(9, &mut batch, &mut Vec::new()).is_err());
    assert_eq!((batch.len(), batch.words()), (0, 0));
    assert_eq!(batch.close_event(1, Status::Ok), Status::Ok);
    assert!(!batch.view().event(0).has(BankKind::VeloSuperpixel));
    std::fs::remove_dir_all(folder).unwrap();
}
