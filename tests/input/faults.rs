//! Bad input: a clear error or a status for the event, never a panic, a hang or a silent loss.
use peloton::event::{TruthEvent, VELO_MODULES, VeloBatch};
use peloton::{Error, Status};
use peloton_io::input::{Format, ReadOptions, Source, VeloReader};
use proptest::prelude::*;
use std::io::Cursor;

/// A correct event of two hits, with truth.
const GOOD: &str = r#"{"description":"Upgrade 1","module_prefix_sum":[0,1,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2],"montecarlo":{"description":["key","pid","p","pt","eta","phi","isLong","isDown","hasVelo","hasUT","hasScifi","fromBeautyDecay","fromCharmDecay","fromStrangeDecay","charge","hits"],"particles":[[1,211,5000.5,300.25,3.1,0.5,1,1,1,1,1,0,0,0,1.0,[0,1]]]},"x":[1.5,2.5],"y":[3.5,4.5],"z":[-288.081,-275.581]}"#;

fn with(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    GOOD.replacen(from, to, 1)
}

fn options(strict: bool) -> ReadOptions {
    ReadOptions { strict, truth: true, ..ReadOptions::default() }
}

fn reader(text: impl Into<Vec<u8>>, options: ReadOptions) -> VeloReader {
    VeloReader::from_stream("test.json", Cursor::new(text.into()), options)
}

/// Statuses of all events, and the problems, when reading continues after errors.
fn statuses(text: impl Into<Vec<u8>>) -> (Vec<Status>, Vec<String>) {
    let mut reader = reader(text, options(false));
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    while reader.read(3, &mut batch, &mut truth).unwrap() > 0 {}
    assert_eq!(batch.len(), truth.len(), "truth runs beside the events");
    batch.view();
    (batch.status, reader.problems().kept())
}

fn strict_error(text: impl Into<Vec<u8>>) -> Error {
    let mut reader = reader(text, options(true));
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    loop {
        match reader.read(9, &mut batch, &mut truth) {
            Ok(count) => assert!(count > 0, "no error at all"),
            Err(error) => return error,
        }
    }
}

#[test]
fn each_fault_has_its_status_and_its_words() {
    use Status::{BadOffsets, Corrupt, NoTruth};
    let sums = "\"module_prefix_sum\":[0,1,2,2";
    let faults = [
        (GOOD[..GOOD.len() - 40].to_string(), Corrupt, "EOF"),
        (with(sums, "\"module_prefix_sum\":[0,2,1,2"), BadOffsets, "falls from 2 to 1"),
        (with(sums, "\"module_prefix_sum\":[0,1,2,3"), BadOffsets, "falls from 3 to 2"),
        (with(sums, "\"module_prefix_sum\":[0,1,2"), BadOffsets, "52 values, not 53"),
        (with(sums, "\"module_prefix_sum\":[-1,1,2,2"), BadOffsets, "from -1"),
        (with("2,2],", "2,3],"), BadOffsets, "not from 0 to the 2 hits"),
        (with("2,2],", "2,99999999999],"), BadOffsets, "99999999999"),
        (with("\"x\":[1.5,2.5]", "\"x\":[1.5]"), BadOffsets, "y has 2 values, x has 1"),
        (with("\"y\":[3.5,4.5],", ""), Corrupt, "column `y` is missing"),
        (with("module_prefix_sum", "offsets"), Corrupt, "column `module_prefix_sum` is missing"),
        (with("\"x\":[1.5,2.5]", "\"x\":null"), Corrupt, "column `x` is missing"),
        (with("\"x\":[1.5,2.5]", "\"x\":\"1.5\""), Corrupt, "expected a sequence"),
        (with("1.5,2.5", "1e999,2.5"), Corrupt, "out of range"),
        (with("1.5,2.5", "NaN,2.5"), Corrupt, "expected value"),
        (with("1.5,2.5", "1.5,2.5,"), Corrupt, "trailing"),
        (with("1.5,2.5", "[1.5],2.5"), Corrupt, "expected f32"),
        (with("\"y\":", "\"x\":[1,2],\"y\":"), Corrupt, "duplicate field"),
        (with("\"hasVelo\"", "\"has_velo\""), Corrupt, "column `hasVelo` is missing"),
        (with("\"pt\"", "\"p\""), Corrupt, "`p` is named twice"),
        (with("[1,211,", "[211,"), Corrupt, "particle 0 has 15 values for 16 columns"),
        (with("[1,211,", "[1,\"pi\","), Corrupt, "`pid` of particle 0 is not a number"),
        (with("[1,211,", "[1,4294967085,"), Corrupt, "`pid` of particle 0 is not an integer in range"),
        (with("1.0,[0,1]", "1.0,7"), Corrupt, "`hits` of particle 0 is not a list"),
        (with("montecarlo", "truth"), NoTruth, "`montecarlo` is missing"),
        ("{\"event\":{\"number_of_hits\":0}}".into(), Corrupt, "old Velo JSON schema"),
        (format!("{{\"q\":{}", "[".repeat(100_000)), Corrupt, "EOF"),
        (with("[0,1]]", &"[".repeat(100_000)), Corrupt, "expected i64"),
        ("{}".into(), Corrupt, "`module_prefix_sum` is missing"),
        ("{\u{0}\u{1}\u{2}}".into(), Corrupt, "key must be a string"),
    ];
    for (bad, status, words) in faults {
        let (found, problems) = statuses(format!("{GOOD}\n{bad}\n{GOOD}\n"));
        let start = &bad[..bad.len().min(60)];
        assert_eq!(found, [Status::Ok, status, Status::Ok], "{words}: {start}");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(words) && problems[0].contains("line 2"), "{words}: {problems:?}");
        let error = strict_error(format!("{GOOD}\n{bad}\n"));
        let text = error.to_string();
        assert!(matches!(error, Error::Format { .. }), "{text}");
        assert!(text.starts_with("test.json line 2 (event 1): ") && text.contains(words), "{text}");
    }
}

#[test]
fn a_hit_that_is_not_there_is_reported_and_left_out() {
    for hit in ["2", "-1", "4294967296"] {
        let bad = with("1.0,[0,1]", &format!("1.0,[0,{hit},1]"));
        let mut reader = reader(bad.clone(), options(false));
        let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
        assert_eq!(reader.read(9, &mut batch, &mut truth).unwrap(), 1);
        assert_eq!((batch.status[0], &truth[0].particles[0].hits), (Status::Ok, &vec![0, 1]));
        assert!(
            reader.problems().kept()[0].contains(&format!("lists hit {hit}")),
            "{:?}",
            reader.problems().kept()
        );
        assert!(strict_error(bad).to_string().contains("lists hit"));
    }
}

#[test]
fn hits_that_are_not_there_give_one_note_a_particle() {
    let bad = with("1.0,[0,1]", &format!("1.0,[0,{}1]", "7,".repeat(1000)));
    let mut reader = reader(bad, options(false));
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    assert_eq!(reader.read(9, &mut batch, &mut truth).unwrap(), 1);
    assert_eq!((truth[0].particles[0].hits.len(), reader.problems().count()), (2, 1));
    assert!(reader.problems().kept()[0].contains("1000 such hits"), "{:?}", reader.problems().kept());
}

#[test]
fn without_truth_bad_truth_does_not_matter() {
    let options = ReadOptions { strict: true, ..ReadOptions::default() };
    for text in [with("[1,211,", "[211,"), with("montecarlo", "truth")] {
        let mut batch = VeloBatch::default();
        let count = reader(text, options.clone()).read(9, &mut batch, &mut Vec::new()).unwrap();
        assert_eq!((count, batch.status[0]), (1, Status::Ok));
    }
}

#[test]
fn what_is_no_event_file_is_refused() {
    let gzip = [0x1F, 0x8B, 8, 0, 0, 0];
    let binary: Vec<u8> = (0..=255).cycle().take(5000).collect();
    let cases: [(Vec<u8>, &str); 5] = [
        (gzip.to_vec(), "gzip"),
        (b"[{}]".to_vec(), "list"),
        (binary, "unknown format"),
        (b"PAR1\0\0\0".to_vec(), "unknown format"),
        (zstd::encode_all(&b"hello"[..], 1).unwrap(), "unknown format"),
    ];
    for (bytes, words) in cases {
        for strict in [false, true] {
            let mut batch = VeloBatch::default();
            let result = reader(bytes.clone(), options(strict)).read(9, &mut batch, &mut Vec::new());
            let error = result.unwrap_err().to_string();
            assert!(error.starts_with("test.json: ") && error.contains(words), "{error}");
        }
    }
    let named = ReadOptions { format: Format::VeloNdjson, ..ReadOptions::default() };
    let mut batch = VeloBatch::default();
    assert_eq!(reader("junk\nmore\n", named).read(9, &mut batch, &mut Vec::new()).unwrap(), 2);
    assert_eq!(batch.status, [Status::Corrupt; 2], "a named format judges line by line");
}

#[test]
fn an_empty_input_is_told_and_no_error_unless_strict() {
    for bytes in [&b""[..], b"\n\n \n"] {
        let read = |strict| {
            let mut reader = reader(bytes.to_vec(), options(strict));
            let read = reader.read(9, &mut VeloBatch::default(), &mut Vec::new());
            (read, reader.problems().kept(), reader.problems().unusable())
        };
        let (count, problems, unusable) = read(false);
        assert_eq!((count.unwrap(), unusable), (0, 0));
        assert_eq!(problems, ["test.json: there is no event in it"]);
        assert_eq!(read(true).0.unwrap_err().to_string(), "test.json: there is no event in it");
    }
}

#[test]
fn empty_directories_are_errors() {
    let folder = std::env::temp_dir().join(format!("peloton-faults-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let open_with = |strict| {
        let options = ReadOptions { strict, ..ReadOptions::default() };
        VeloReader::open(&[Source::Path(folder.clone())], options)
    };
    let open = || open_with(false);
    assert!(open().err().unwrap().to_string().contains("holds no files"));
    std::fs::write(folder.join("notes.txt"), "hello").unwrap();
    std::fs::write(folder.join("empty.json"), "").unwrap();
    // A file that cannot be used is reported, and ends only a strict job.
    let mut reader = open().unwrap();
    assert_eq!(reader.read(9, &mut VeloBatch::default(), &mut Vec::new()).unwrap(), 0);
    let last = reader.problems().kept().pop().unwrap();
    assert!(last.contains("there is no event in it; this input is left out"), "{last}");
    let error = open_with(true).unwrap().read(9, &mut VeloBatch::default(), &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("there is no event in it"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn broken_compression_costs_one_event() {
    let many: String = (0..2000).map(|i| with("1.5,2.5", &format!("{i}.5,2.5")) + "\n").collect();
    let packed = zstd::encode_all(many.as_bytes(), 3).unwrap();
    for keep in [packed.len() / 2, packed.len() - 3, 5] {
        let (found, problems) = statuses(&packed[..keep]);
        assert_eq!(found.iter().filter(|status| **status != Status::Ok).count(), 1, "{keep}");
        assert_eq!(found.last(), Some(&Status::Corrupt));
        assert!(problems[0].contains("decompressed"), "{problems:?}");
        assert!(strict_error(&packed[..keep]).to_string().contains("decompressed"));
    }
    let mut flipped = packed.clone();
    let middle = flipped.len() / 2;
    flipped[middle..middle + 50].fill(0xA5);
    let (found, _) = statuses(flipped);
    assert!(found.iter().any(|status| *status != Status::Ok));
}

#[test]
fn a_million_hits_are_read() {
    let hits = 1_000_000;
    let column = |scale: f64| {
        let values: Vec<String> =
            (0..hits).map(|i| format!("{:.3}", scale * f64::from(i % 10_007))).collect();
        values.join(",")
    };
    let sums: Vec<String> =
        (0..=VELO_MODULES).map(|m| (hits as usize * m / VELO_MODULES).to_string()).collect();
    let (sums, x, y, z) = (sums.join(","), column(0.004), column(-0.003), column(0.07));
    let text = format!("{{\"module_prefix_sum\":[{sums}],\"x\":[{x}],\"y\":[{y}],\"z\":[{z}]}}\n");
    let mut batch = VeloBatch::default();
    let plain = ReadOptions { strict: true, ..ReadOptions::default() };
    assert_eq!(reader(text.clone(), plain.clone()).read(9, &mut batch, &mut Vec::new()).unwrap(), 1);
    assert_eq!((batch.status[0], batch.x.len()), (Status::Ok, 1_000_000));
    let mut limited = reader(text + GOOD, ReadOptions::default()).with_event_limit(1 << 20);
    let mut batch = VeloBatch::default();
    limited.read(9, &mut batch, &mut Vec::new()).unwrap();
    assert_eq!(batch.status, [Status::TooManyHits, Status::Ok]);
    assert!(
        limited.problems().kept()[0].contains("longer than 1048576 bytes"),
        "{:?}",
        limited.problems().kept()
    );
}

#[test]
fn problems_are_bounded_and_counted() {
    let mut reader = reader("{\n".repeat(1000), options(false));
    let mut batch = VeloBatch::default();
    while reader.read(64, &mut batch, &mut Vec::<TruthEvent>::new()).unwrap() > 0 {}
    assert_eq!((batch.len(), reader.problems().count()), (1000, 1000));
    assert_eq!(reader.problems().kept().len(), peloton_io::input::MAX_PROBLEMS);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// After any damage to a file, reading ends, and every event is whole or has a status.
    #[test]
    fn damaged_files_do_no_harm(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        packed in any::<bool>(), strict in any::<bool>(), truth in any::<bool>(),
        format in prop::sample::select(vec![Format::Auto, Format::VeloJson, Format::VeloNdjson]),
    ) {
        let event = std::iter::repeat_n(real_event(), 3).collect::<Vec<_>>().join(&b'\n');
        let mut bytes = if packed { zstd::encode_all(&event[..], 1).unwrap() } else { event };
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let options = ReadOptions { format, strict, truth, ..ReadOptions::default() };
        let mut reader = reader(bytes, options);
        let (mut batch, mut truths) = (VeloBatch::default(), Vec::new());
        while let Ok(1..) = reader.read(1, &mut batch, &mut truths) {}
        let view = batch.view();
        for event in 0..batch.len() {
            prop_assert!(view.event(event).is_empty() || batch.status[event] == Status::Ok);
        }
        if truth {
            prop_assert!(truths.len() >= batch.len().saturating_sub(1));
            for (event, truth) in truths.iter().enumerate() {
                let hits = view.event(event).len() as u32;
                prop_assert!(truth.particles.iter().all(|p| p.hits.iter().all(|hit| *hit < hits)));
            }
        }
    }
}

/// The smallest reference event, or `GOOD` without data.
fn real_event() -> Vec<u8> {
    static EVENT: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let read = || {
        let path = crate::common::data().map(|data| data.join("velo/reference10/velo_event_2.json"));
        path.map_or_else(|| GOOD.into(), |path| std::fs::read(path).unwrap())
    };
    EVENT.get_or_init(read).clone()
}
