//! Reading and writing Velo JSON.
use peloton::event::{Particle, TrueStates, TruthEvent, VELO_MODULES, VeloBatch};
use peloton::{Error, Status};
use peloton_io::input::{Format, ReadOptions, Source, VeloReader, write_velo_json};
use proptest::prelude::*;
use std::io::{Cursor, Read};

fn read(text: impl Into<Vec<u8>>, options: ReadOptions) -> peloton::Result<(VeloBatch, Vec<TruthEvent>)> {
    let mut reader = VeloReader::from_stream("test", Cursor::new(text.into()), options);
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    while reader.read(2, &mut batch, &mut truth)? > 0 {}
    Ok((batch, truth))
}

/// An event whose module m has `m % 3` hits.
fn small_event(shift: f32) -> (VeloBatch, TruthEvent) {
    let mut starts = vec![0u32];
    for module in 0..VELO_MODULES as u32 {
        starts.push(starts[module as usize] + module % 3);
    }
    let hits = starts[VELO_MODULES];
    let column = |scale: f32| (0..hits).map(|i| shift + scale * i as f32).collect::<Vec<_>>();
    let mut batch = VeloBatch::default();
    batch.push_event(0, &column(0.125), &column(-0.055), &column(7.001), &starts);
    let particle = Particle {
        key: 12,
        pid: -211,
        p: 12.345_67,
        pt: 0.1 + 0.2,
        eta: 3.25,
        phi: -1.5,
        charge: -0.999,
        is_long: true,
        has_velo: true,
        from_strange: true,
        hits: vec![4, 1, 0],
        ..Particle::default()
    };
    let electron = Particle { pid: 11, p: 5e-3, hits: vec![0], ..Particle::default() };
    (batch, TruthEvent { particles: vec![particle, electron] })
}

fn text_of(batch: &VeloBatch, truth: &TruthEvent) -> String {
    let mut text = Vec::new();
    write_velo_json(batch.view().event(0), Some(truth), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn same_hits(a: &VeloBatch, b: &VeloBatch) -> bool {
    let columns = |v: &VeloBatch| (v.x.clone(), v.y.clone(), v.z.clone(), v.id.clone());
    columns(a) == columns(b) && a.module_start == b.module_start
}

fn with_truth() -> ReadOptions {
    ReadOptions { strict: true, truth: true, least: 4, ..ReadOptions::default() }
}

#[test]
fn what_is_written_is_read_back() {
    let (batch, truth) = small_event(0.0);
    let text = text_of(&batch, &truth);
    let (again, truths) = read(text.clone(), with_truth()).unwrap();
    assert!(same_hits(&batch, &again));
    assert_eq!(truths, [truth]);
    assert_eq!((text.matches("-0.999").count(), text.matches("12345.67,").count()), (1, 1), "{text}");
}

#[test]
fn the_layout_of_the_text_does_not_matter() {
    let (batch, truth) = small_event(0.0);
    let line = text_of(&batch, &truth);
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    let packed = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
    let two_frames = [packed(&line), packed(&line)].concat();
    let cases: [(&str, Vec<u8>, usize); 7] = [
        ("line", line.clone().into(), 1),
        ("lines", format!("{line}\n{line}").into(), 2),
        ("pretty", pretty.clone().into(), 1),
        ("pretty, two", format!("{pretty}{pretty}\n").into(), 2),
        ("mixed", format!("{pretty} {line}").into(), 2),
        ("zstd", packed(&pretty), 1),
        ("zstd, two frames", two_frames, 2),
    ];
    for (name, text, count) in cases {
        let (again, truths) = read(text, with_truth()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((again.len(), truths.len()), (count, count), "{name}");
        assert!(truths.iter().all(|read| *read == truth), "{name}");
        assert_eq!(again.x[..batch.x.len()], batch.x[..], "{name}");
    }
}

#[test]
fn columns_are_found_by_name() {
    let (batch, truth) = small_event(0.0);
    let mut value: serde_json::Value = serde_json::from_str(&text_of(&batch, &truth)).unwrap();
    value["t"] = serde_json::json!([1.0, 2.0]);
    let montecarlo = &mut value["montecarlo"];
    for list in ["description", "particles"] {
        let rows = montecarlo[list].as_array_mut().unwrap();
        if list == "description" {
            rows.reverse();
            rows.insert(3, "colour".into());
        } else {
            for row in rows {
                row.as_array_mut().unwrap().reverse();
                row.as_array_mut().unwrap().insert(3, "green".into());
            }
        }
    }
    let (_, truths) = read(value.to_string(), with_truth()).unwrap();
    assert_eq!(truths, [truth]);
}

#[test]
fn a_range_of_events_is_read() {
    let lines: String = (0..10).map(|i| text_of(&small_event(i as f32).0, &TruthEvent::default())).collect();
    for (first, count, expect) in
        [(0, None, 0..10), (3, Some(4), 3..7), (8, Some(9), 8..10), (20, None, 0..0), (0, Some(0), 0..0)]
    {
        let options = ReadOptions { first, count, ..ReadOptions::default() };
        let (batch, truths) = read(lines.clone(), options).unwrap();
        assert_eq!(batch.event_id, expect.clone().map(|i| i as u64).collect::<Vec<_>>());
        assert!(truths.is_empty(), "truth was not asked for");
        for (event, i) in expect.enumerate() {
            assert_eq!(batch.view().event(event).x[0], i as f32);
        }
    }
}

#[test]
fn directories_are_read_in_natural_order() {
    let folder = std::env::temp_dir().join(format!("peloton-input-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("below")).unwrap();
    for i in [10, 9, 0, 100] {
        let text = text_of(&small_event(i as f32).0, &TruthEvent::default());
        std::fs::write(folder.join(format!("velo_event_{i}.json")), text).unwrap();
    }
    std::fs::write(folder.join("expected.json"), "{\"format\": 1, \"algorithms\": {}}").unwrap();
    std::fs::write(folder.join("tracks.ndjson"), "[[1,2,3]]\n").unwrap();
    std::fs::write(folder.join(".hidden.json"), "{}").unwrap();
    let mut reader = VeloReader::open(&[Source::Path(folder.clone())], ReadOptions::default()).unwrap();
    let mut batch = VeloBatch::default();
    assert_eq!(reader.read(99, &mut batch, &mut Vec::new()).unwrap(), 4);
    let first: Vec<f32> = (0..4).map(|event| batch.view().event(event).x[0]).collect();
    assert_eq!(first, [0.0, 9.0, 10.0, 100.0]);
    assert_eq!(batch.event_id, [0, 1, 2, 3]);
    let problems = reader.problems().kept().join("\n");
    assert_eq!(reader.problems().count(), 2, "{problems}");
    assert!(problems.contains("expected.json") && problems.contains("tracks.ndjson"), "{problems}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Hands out one byte at a time, as a slow pipe may.
struct Drip(Cursor<Vec<u8>>);

impl Read for Drip {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let one = to.len().min(1);
        self.0.read(&mut to[..one])
    }
}

#[test]
fn slow_streams_are_read_whole() {
    let (batch, truth) = small_event(0.0);
    let text = text_of(&batch, &truth);
    for bytes in [text.clone().into_bytes(), zstd::encode_all(text.as_bytes(), 1).unwrap()] {
        let mut reader = VeloReader::from_stream("drip", Drip(Cursor::new(bytes)), with_truth());
        let (mut again, mut truths) = (VeloBatch::default(), Vec::new());
        assert_eq!(reader.read(9, &mut again, &mut truths).unwrap(), 1);
        assert!(same_hits(&batch, &again) && truths == [truth.clone()]);
    }
}

#[test]
fn formats_have_names() {
    for (name, format) in Format::NAMES {
        assert_eq!((name.parse::<Format>().unwrap(), format.to_string()), (format, name.to_string()));
    }
    let error = "root".parse::<Format>().unwrap_err().to_string();
    assert!(error.contains("root") && error.contains("velo-ndjson"), "{error}");
}

#[test]
fn real_events_are_what_their_list_says() {
    let Some(data) = crate::common::data() else { return };
    let (batch, truth) = crate::common::read_all(&data.join("velo/public200.ndjson.zst"));
    assert_eq!((batch.len(), truth.len()), (200, 200));
    assert!(batch.status.iter().all(|status| *status == Status::Ok));
    let index = std::fs::read_to_string(data.join("velo/public200.index.tsv")).unwrap();
    for (event, line) in index.lines().skip(1).enumerate() {
        let fields: Vec<&str> = line.split('\t').collect();
        let counts = [batch.view().event(event).len(), truth[event].particles.len()].map(|n| n.to_string());
        assert_eq!(fields[2..4], counts, "event {event}");
    }
    let mut text = Vec::new();
    write_velo_json(batch.view().event(7), Some(&truth[7]), &mut text).unwrap();
    let (again, truths) = read(text, with_truth()).unwrap();
    assert_eq!(truths, truth[7..8]);
    assert_eq!(again.x[..], *batch.view().event(7).x);
    let (reference, reference_truth) = crate::common::reference10().unwrap();
    assert_eq!(reference.view().event(2).len(), 135);
    // The directory also has JSON files that are no events.
    let (listed, listed_truth) = crate::common::read_all(&data.join("velo/reference10"));
    assert!(same_hits(&listed, &reference) && listed_truth == reference_truth);
}

#[test]
fn a_missing_path_is_named() {
    let sources = [Source::Path("no/such/file.json".into())];
    let error = VeloReader::open(&sources, ReadOptions::default()).err().unwrap();
    assert!(matches!(error, Error::Io { .. }) && error.to_string().contains("no/such/file.json"), "{error}");
    assert!(matches!(VeloReader::open(&[], ReadOptions::default()).err(), Some(Error::Config(_))));
}

prop_compose! {
    fn any_particle(hits: u32)(
        key in 0..1_000_000i64, pid in any::<i32>().prop_filter("representable", |p| *p != i32::MIN),
        mev in 0u32..200_000_000, pt in 0u32..20_000_000, eta in -6.0..6.0f64, phi in -3.2..3.2f64,
        flags in any::<[bool; 8]>(), ids in prop::collection::vec(0..hits.max(1), 0..9),
    ) -> Particle {
        Particle {
            key, pid, eta, phi,
            p: f64::from(mev) / 1e3 / 1000.0,
            pt: f64::from(pt) / 1e3 / 1000.0,
            charge: -1.0,
            origin: None,
            states: TrueStates::default(),
            mother: None,
            from_signal: false,
            is_long: flags[0], is_down: flags[1], has_velo: flags[2], has_ut: flags[3],
            has_scifi: flags[4], from_beauty: flags[5], from_charm: flags[6], from_strange: flags[7],
            hits: if hits == 0 { Vec::new() } else { ids },
        }
    }
}

proptest! {
    #[test]
    fn any_event_survives_the_round_trip(
        (sizes, xs, particles) in prop::collection::vec(0u32..4, VELO_MODULES).prop_flat_map(|sizes| {
            let hits = sizes.iter().sum::<u32>();
            let number = prop::num::f32::NORMAL | prop::num::f32::ZERO;
            let xs = prop::collection::vec(number, hits as usize);
            (Just(sizes), xs, prop::collection::vec(any_particle(hits), 0..5))
        }),
    ) {
        let starts: Vec<u32> = std::iter::once(0).chain(sizes.iter().scan(0, |sum, n| { *sum += n; Some(*sum) })).collect();
        let mut batch = VeloBatch::default();
        batch.push_event(0, &xs, &xs, &xs, &starts);
        let truth = TruthEvent { particles };
        let (again, truths) = read(text_of(&batch, &truth), with_truth()).unwrap();
        prop_assert!(same_hits(&batch, &again));
        prop_assert_eq!(truths, vec![truth]);
    }
}
