//! Streams of pixel hits whose clock was believed too much, or not enough: `trouble` of the data.

use crate::common::data;
use crate::{empty_folder, path, said};
use serde_json::Value;
use std::fs::File;

/// A file, the flags, and what must come out.
struct Case {
    file: &'static str,
    arguments: &'static [&'static str],
    clusters: usize,
    hits: u64,
    /// Times of the first and the last cluster, s.
    between: [f64; 2],
    /// What the summary counts.
    counts: &'static [(&'static str, u64)],
}

const fn case(file: &'static str, clusters: usize, hits: u64, between: [f64; 2]) -> Case {
    Case { file, arguments: &[], clusters, hits, between, counts: &[] }
}

const TRIGGER: &[&str] = &["--trigger", "rise1"];
const ONE_SET_ASIDE: &[(&str, u64)] = &[("/dropped/implausible_times", 1)];
/// Fine times are subtracted from the clock, from its zero as well.
const ZERO: f64 = -5e-9;

const CASES: &[Case] = &[
    // Without heartbeats hits and triggers count from the first turn of the hits' counter: 40 s are one turn and 13.2 s.
    Case { arguments: TRIGGER, ..case("01_no_heartbeat_20s.tpx3", 1, 2, [20.0009, 20.0011]) },
    Case { arguments: TRIGGER, ..case("02_no_heartbeat_40s.tpx3", 1, 2, [13.1574, 13.1576]) },
    case("03_heartbeat_later_on_chip1.tpx3", 5, 6, [100.0, 100.0001]),
    case("04_heartbeat_on_chip0_only.tpx3", 100, 200, [100.0, 100.01]),
    case("05_70000_hits_before_heartbeat.tpx3.zst", 72_000, 72_000, [100.0, 100.1]),
    Case {
        counts: ONE_SET_ASIDE,
        ..case("07_heartbeat_halves_swapped_at_107s.tpx3", 400, 400, [105.0, 114.91])
    },
    Case { counts: ONE_SET_ASIDE, ..case("08_heartbeat_one_bit_wrong.tpx3", 400, 400, [105.0, 114.91]) },
    Case { counts: ONE_SET_ASIDE, ..case("09_one_hit_10s_ahead.tpx3", 199, 199, [100.0, 100.2]) },
    Case { counts: ONE_SET_ASIDE, ..case("10_one_row_far_ahead.t3pa", 99, 99, [ZERO, 0.1]) },
    Case { counts: ONE_SET_ASIDE, ..case("11_one_row_far_ahead_burda.txt", 199, 199, [ZERO, 2.0]) },
    Case { counts: &[("/clock_restarts", 1)], ..case("12_clock_restarts.tpx3", 400, 400, [300.0, 330.0]) },
    case("13_advapix_clock_of_30_bits.t3pa", 300, 600, [ZERO, 60.0]),
    Case { counts: ONE_SET_ASIDE, ..case("14_advapix_quad_clock_of_28_bits.t3pa", 1, 2, [0.0, 1e-4]) },
    Case {
        arguments: &["--toa-bits", "28"],
        ..case("14_advapix_quad_clock_of_28_bits.t3pa", 3, 3, [0.0, 6.72])
    },
    case("16_chunk_one_word_short.tpx3", 8, 11, [5.0, 5.001]),
    // A chunk has five hits; in the damaged one no word is trusted.
    case("17_three_bytes_lost.tpx3", 95, 95, [5.0, 5.01]),
    Case {
        arguments: &["--format", "katherine"],
        ..case("30_katherine_three_frames.kath", 300, 600, [0.0, 60.0])
    },
];

#[test]
fn clocks_that_failed_give_the_right_values() {
    let Some(data) = data() else { return };
    let folder = empty_folder("trouble-clock");
    for Case { file, arguments, clusters, hits, between, counts } in CASES {
        let input = path(&data.join("trouble"), file);
        let (rows, json) = (path(&folder, "rows.ndjson"), path(&folder, "summary.json"));
        let run = ["run", "--quiet", "--sequence", "timepix", &input, "--output", &rows, "--json", &json];
        let (code, _, error) = said(&[&run[..], arguments].concat());
        assert_eq!(code, Some(0), "{file}: {error}");
        let summary: Value = serde_json::from_reader(File::open(&json).unwrap()).unwrap();
        let rows = std::fs::read_to_string(&rows).unwrap();
        let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((rows.len(), summary["hits_out"].as_u64()), (*clusters, Some(*hits)), "{file}: {error}");
        for row in &rows {
            let seconds = row["time_ns"].as_f64().unwrap() * 1e-9;
            assert!((between[0]..between[1]).contains(&seconds), "{file}: a cluster at {seconds} s");
        }
        for (place, count) in *counts {
            assert_eq!(summary.pointer(place).and_then(Value::as_u64), Some(*count), "{file}: {place}");
        }
        if *arguments == TRIGGER {
            assert_eq!(rows[0]["trigger"], 1, "{file}");
            let since = rows[0]["since_trigger_ns"][0].as_f64().unwrap();
            assert!((since - 999_995.3).abs() < 0.1, "{file}: {since} ns after the trigger");
        }
    }
}

/// The files of a run, and the run as one file.
#[test]
fn numbered_files_are_one_run() {
    let Some(data) = data() else { return };
    let folder = empty_folder("trouble-run");
    let rows = |input: &str| {
        let (input, rows) = (path(&data.join("trouble"), input), path(&folder, "rows.ndjson"));
        let run = ["run", "--quiet", "--sequence", "timepix", &input, "--output", &rows];
        let (code, _, error) = said(&[&run[..], TRIGGER].concat());
        assert_eq!(code, Some(0), "{error}");
        let rows = std::fs::read_to_string(rows).unwrap();
        let row = |line: &str| {
            let mut row: Value = serde_json::from_str(line).unwrap();
            row.as_object_mut().unwrap().remove("input");
            row
        };
        rows.lines().map(row).collect::<Vec<_>>()
    };
    let whole = rows("split_run_whole.tpx3");
    assert_eq!(whole.iter().filter(|row| row["trigger"].is_u64()).count(), 240);
    assert_eq!(rows("split_run"), whole);
}
