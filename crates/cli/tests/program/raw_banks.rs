//! The command line on raw banks: files, geometry, kinds of Velo banks, messages.

use crate::common::data;
use crate::{output, peloton, stderr};
use arrow_array::cast::AsArray;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What `--json -` says of a run that must succeed without a word on standard error.
fn json(arguments: &[&str]) -> Value {
    let output = output(&[arguments, &["--json", "-"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    assert_eq!(stderr(&output), "", "{arguments:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Exit code and the one line on standard error.
fn failure(arguments: &[&str]) -> (Option<i32>, String) {
    let output = output(arguments);
    let message = stderr(&output);
    assert_eq!(message.lines().count(), 1, "{arguments:?}: {message}");
    (output.status.code(), message)
}

/// Files below the data folder, as arguments.
struct Files(PathBuf);

impl Files {
    fn path(&self, name: &str) -> String {
        self.0.join("lhcb").join(name).to_str().expect("UTF-8").into()
    }
}

fn files() -> Option<Files> {
    data().map(Files)
}

#[test]
fn the_containers_and_the_kinds_of_banks() {
    let Some(files) = files() else { return };
    let (new, old) = (files.path("geometry"), files.path("geometry_2018"));
    let retina = files.path("minbias_retina_truth.mdf");
    let hits = |arguments: &[&str]| {
        let summary = json(&[&["run"], arguments].concat());
        assert_eq!((summary["events"].as_u64(), &summary["dropped"]), (Some(7), &serde_json::json!({})));
        assert!(summary["stages"][0]["ns_per_event"].as_f64().unwrap() > 0.0, "decoding takes time");
        (summary["hits"].as_u64().unwrap(), summary["output_hash"].clone())
    };
    let (from_retina, _) = hits(&[&retina, "--geometry", &new]);
    assert_eq!(hits(&[&retina, "--geometry", &new, "--velo-banks", "retina"]).0, from_retina);
    let (from_pixels, hash) = hits(&[&files.path("minbias_superpixel.mdf"), "--geometry", &old]);
    assert_eq!((from_retina, from_pixels), (11_859, 11_573));
    assert_eq!(hits(&[&retina, "--geometry", &new, "--velo-banks", "superpixel"]).0, from_pixels);
    // Bank containers hold the same events: the same bits.
    assert_eq!(hits(&[&files.path("banks"), "--geometry", &old]), (from_pixels, hash));
    let some = json(&["run", &retina, "--geometry", &new, "--events", "2:3"]);
    assert_eq!(some["events"], 3);
}

#[test]
fn check_compares_with_the_truth_of_the_file() {
    let Some(files) = files() else { return };
    for (name, geometry) in [
        ("minbias_retina_truth.mdf", "geometry"),
        ("minbias_superpixel.mdf", "geometry_2018"),
        ("banks", "geometry_2018"),
    ] {
        let report = json(&["check", &files.path(name), "--geometry", &files.path(geometry)]);
        assert_eq!(report["rules"], "lhcb");
        let velo = &report["categories"][0];
        assert_eq!((&velo["name"], &velo["reconstructible"]), (&"01_velo".into(), &651.into()), "{name}");
        assert!(velo["reconstructed"].as_u64().unwrap() >= 642, "{velo}");
    }
}

/// Of a third of the long particles the truth says that they are their own mothers.
#[test]
fn a_particle_is_no_relative_of_its_own() {
    let Some(files) = files() else { return };
    let (events, geometry) = (files.path("minbias_retina_truth.mdf"), files.path("geometry"));
    let check = |name: &str| {
        let tracks = files.path(&format!("peer_2023/{name}"));
        json(&["check", &events, "--geometry", &geometry, "--tracks", &tracks, "--rules", "lhcb-long"])
    };
    // 5 of 12 SciFi hits of each track are the particle's: no 70 %, unless they count twice.
    let made_up = check("made_up_own_mother.ndjson");
    assert_eq!((&made_up["ghosts"], &made_up["tracks"]), (&88.into(), &88.into()));
    for (name, found, purity, efficiency) in [
        ("long.ndjson", 219, "99.62", "99.31"),
        ("forward_ut.ndjson", 181, "99.31", "98.55"),
        ("forward_noUT.ndjson", 57, "99.54", "98.82"),
    ] {
        let long = &check(name)["categories"][0];
        let percent = |key: &str| format!("{:.2}", 100.0 * long[key].as_f64().expect("a number"));
        assert_eq!((&long["name"], &long["reconstructed"]), (&"01_long".into(), &found.into()), "{name}");
        assert_eq!([percent("purity"), percent("hit_efficiency")], [purity, efficiency], "{name}");
    }
}

#[test]
fn throughput_and_compare_take_raw_banks() {
    let Some(files) = files() else { return };
    let (file, geometry) = (files.path("minbias_retina_truth.mdf"), files.path("geometry"));
    let measured =
        json(&["throughput", &file, "--geometry", &geometry, "--repetitions", "3", "--threads", "2"]);
    let once = json(&["run", &file, "--geometry", &geometry]);
    for key in ["hits", "tracks", "hash_int", "output_hash", "events"] {
        assert_eq!(measured[key], once[key], "{key}");
    }
    let same = json(&[
        "compare",
        &file,
        "--geometry",
        &geometry,
        "--left",
        "threads=1",
        "--right",
        "isa=scalar,gang=1",
    ]);
    assert_eq!(same["equal"], true);
}

#[test]
fn standard_input_is_known_by_its_content() {
    let Some(files) = files() else { return };
    let bytes = std::fs::read(files.path("minbias_superpixel.mdf")).unwrap();
    let geometry = files.path("geometry_2018");
    for format in ["auto", "mdf"] {
        let mut child = peloton(&["run", "-", "--geometry", &geometry, "--format", format, "--json", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        child.stdin.take().expect("a pipe").write_all(&bytes).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(summary["hits"], 11_573);
    }
}

#[test]
fn simulated_raw_events_are_run_and_written() {
    let Some(files) = files() else { return };
    let geometry = files.path("geometry");
    let sample = "sim:lhcb,events=5,seed=4";
    let run = json(&["run", sample, "--geometry", &geometry]);
    assert_eq!((&run["events"], &run["dropped"]), (&5.into(), &serde_json::json!({})));
    let report = json(&["check", sample, "--geometry", &geometry, "--events", "1:3"]);
    assert_eq!((&report["events"], &report["rules"]), (&3.into(), &"lhcb".into()));
    assert!(report["categories"][0]["efficiency"].as_f64().unwrap() > 0.95);
    // The file that `simulate` writes holds the same events.
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("simulated.mdf");
    let file = file.to_str().unwrap();
    let written = [
        "simulate",
        "--detector",
        "lhcb",
        "--geometry",
        &geometry,
        "--events",
        "5",
        "--seed",
        "4",
        "--output",
        file,
    ];
    let written = json(&written);
    assert_eq!(written["events"], 5);
    let again = json(&["run", file, "--geometry", &geometry]);
    assert_eq!((&again["output_hash"], &again["hits"]), (&run["output_hash"], &run["hits"]));
    let superpixels = json(&["run", "sim:lhcb,events=5,seed=4,velo=superpixel", "--geometry", &geometry]);
    assert_eq!(superpixels["hits"], run["hits"]);

    let (code, message) = failure(&["run", "sim:lhcb,velo=both"]);
    assert!(code == Some(2) && message.contains("retina"), "{message}");
}

#[test]
fn simulated_raw_events_need_no_files() {
    let sample = "sim:lhcb,events=4,seed=8";
    let report = json(&["check", sample]);
    assert_eq!((&report["events"], &report["dropped"]), (&4.into(), &serde_json::json!({})));
    assert!(report["categories"][0]["efficiency"].as_f64().unwrap() > 0.95);
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("nominal.mdf");
    let file = file.to_str().unwrap();
    json(&["simulate", "--detector", "lhcb", "--events", "4", "--seed", "8", "--output", file]);
    let again = json(&["check", file, "--geometry", "nominal"]);
    assert_eq!(
        (&again["output_hash"], &again["categories"]),
        (&report["output_hash"], &report["categories"])
    );
    let (code, message) = failure(&["run", file]);
    assert!(code == Some(2) && message.contains("--geometry DIR"), "{message}");
}

#[test]
fn hits_of_ut_and_scifi_are_sequences_of_their_own() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let sample = "sim:lhcb,events=6,seed=2";
    for (sequence, columns) in [
        ("ut", &["id", "start", "weight", "x", "y_begin", "y_end", "z"][..]),
        ("scifi-hits", &["id", "start", "width", "x", "y_end", "z"]),
    ] {
        let file = folder.join(format!("{sequence}.ndjson"));
        let file = file.to_str().unwrap();
        let run = json(&["run", sample, "--sequence", sequence, "--output", file]);
        assert_eq!(
            (&run["sequence"], &run["events"], &run["tracks"]),
            (&sequence.into(), &6.into(), &0.into())
        );
        assert_eq!(run["stages"][0]["name"], "decode");
        let text = std::fs::read_to_string(file).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ids = |line: &Value| line["id"].as_array().unwrap().len() as u64;
        assert_eq!((lines.len(), Some(lines.iter().map(ids).sum())), (6, run["hits"].as_u64()));
        for line in &lines {
            let names: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
            let own = |name: &&str| !["event_id", "run_number", "event_number", "status"].contains(name);
            let mut names: Vec<_> = names.into_iter().filter(own).collect();
            names.sort_unstable();
            assert_eq!(names, columns);
            assert_eq!(line["start"].as_array().unwrap().last().unwrap(), ids(line));
        }

        let report =
            json(&["throughput", sample, "--sequence", sequence, "--repetitions", "2", "--threads", "2"]);
        assert_eq!((&report["output_hash"], &report["hits"]), (&run["output_hash"], &run["hits"]));
        assert!(report["bytes_per_second"].as_f64().unwrap() > 0.0);
        let equal = json(&["compare", sample, "--sequence", sequence, "--left", "threads=2,slice=1"]);
        assert_eq!((&equal["equal"], &equal["left"]["hash_int"]), (&true.into(), &run["hash_int"]));
        let profile = folder.join(format!("{sequence}.toml"));
        let profile = profile.to_str().unwrap();
        let tuned =
            json(&["tune", sample, "--sequence", sequence, "--repetitions", "1", "--output", profile]);
        assert!(tuned["measured"].as_array().unwrap().len() > 1);
        json(&["run", sample, "--sequence", sequence, "--profile", profile]);

        let file = folder.join(format!("{sequence}.parquet"));
        json(&["run", sample, "--sequence", sequence, "--output", file.to_str().unwrap()]);
        let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(&file).unwrap()).unwrap();
        let batch = reader.build().unwrap().next().unwrap().unwrap();
        let lists = batch["id"].as_list::<i32>();
        assert_eq!((batch.num_rows(), Some(lists.values().len() as u64)), (6, run["hits"].as_u64()));
        let (code, message) = failure(&["run", "sim:velo,events=1", "--sequence", sequence]);
        assert!(code == Some(2) && message.contains("raw banks"), "{message}");
        let (code, message) = failure(&["check", sample, "--sequence", sequence]);
        assert!(code == Some(2) && message.contains("hits"), "{message}");
    }
}

#[test]
fn what_is_missing_or_damaged_is_told() {
    let Some(files) = files() else { return };
    let file = files.path("minbias_retina_truth.mdf");
    let (code, message) = failure(&["run", &file]);
    assert!(code == Some(2) && message.contains("--geometry DIR"), "{message}");
    let (code, message) = failure(&["run", &file, "--geometry", "no-such-folder"]);
    assert!(code == Some(2) && message.contains("no-such-folder"), "{message}");
    let (code, message) = failure(&["run", &file, "--geometry", &files.path("banks")]);
    assert!(code == Some(1) && message.contains("velo_geometry.bin"), "{message}");
    let (code, message) = failure(&["run", &file, "--velo-banks", "strips"]);
    assert!(code == Some(2) && message.contains("superpixel"), "{message}");
    let (code, message) = failure(&["run", "--format", "banks", &files.path("geometry"), "--geometry", "x"]);
    assert!(code == Some(1) && message.contains("FTCluster"), "{message}");

    // A damaged event is counted and told; with --strict it is the end.
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[5000] ^= 1;
    let damaged = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("damaged.mdf");
    std::fs::write(&damaged, bytes).unwrap();
    let (damaged, geometry) = (damaged.to_str().unwrap(), files.path("geometry"));
    let output = output(&["run", damaged, "--geometry", &geometry, "--json", "-"]);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&summary["events"], &summary["dropped"]["bad_checksum"]), (&7.into(), &1.into()));
    assert!(stderr(&output).contains("damaged.mdf (event 0): wrong checksum"), "{}", stderr(&output));
    let (code, message) = failure(&["run", damaged, "--geometry", &geometry, "--strict"]);
    assert!(code == Some(1) && message.contains("wrong checksum"), "{message}");
}

fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("raw-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Simulated events in a file.
fn simulated(file: &str, detector: &str, events: &str) {
    json(&["simulate", "--detector", detector, "--events", events, "--seed", "4", "--output", file]);
}

#[cfg(unix)]
#[test]
fn named_pipes_give_all_their_events() {
    let folder = scratch("pipes");
    for (name, detector) in [("a.ndjson", "velo"), ("a.mdf", "lhcb")] {
        let file = folder.join(name).to_str().unwrap().to_string();
        simulated(&file, detector, "6");
        let geometry: &[&str] = if detector == "lhcb" { &["--geometry", "nominal"] } else { &[] };
        let expected = json(&[&["run", &file], geometry].concat());
        let pipe = format!("{file}.pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (from, to) = (file.clone(), pipe.clone());
        let feeder = std::thread::spawn(move || std::fs::copy(from, to).map(drop));
        let found = json(&[&["run", &pipe], geometry].concat());
        feeder.join().unwrap().unwrap();
        assert_eq!(
            (&found["events"], &found["output_hash"]),
            (&6.into(), &expected["output_hash"]),
            "{name}"
        );
        let (code, message) = failure(&["run", &pipe, &file]);
        assert!(code == Some(2) && message.contains("--format"), "{message}");
    }
}

#[test]
fn what_cannot_be_written_leaves_the_file_alone() {
    let file = scratch("sink").join("hits.txt");
    std::fs::write(&file, "precious").unwrap();
    for sequence in ["ut", "scifi-hits"] {
        let output = file.to_str().unwrap();
        let (code, _) = failure(&["run", "sim:lhcb,events=1", "--sequence", sequence, "--output", output]);
        assert_eq!((code, std::fs::read_to_string(&file).unwrap()), (Some(2), "precious".into()));
    }
}

#[test]
fn flags_without_effect_and_ranges_without_events_are_told() {
    let run = output(&["run", "sim:velo,events=5", "--events", "50:5"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(stderr(&run).contains("--events 50:5: the input has no event"), "{}", stderr(&run));
    let run = output(&["run", "sim:velo,events=5", "--format", "mdf"]);
    assert!(run.status.success() && stderr(&run).contains("--format has no effect"), "{}", stderr(&run));
}

#[test]
fn an_error_does_not_swallow_what_came_before() {
    let folder = scratch("errors");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let (good, empty, tracks) = (path("a.ndjson"), path("empty.ndjson"), path("tracks.parquet"));
    simulated(&good, "velo", "3");
    let text = std::fs::read_to_string(&good).unwrap();
    std::fs::write(&good, format!("{text}{{}}\n")).unwrap();
    std::fs::write(&empty, "").unwrap();
    for arguments in [&["run", &good, &empty, "--output", &tracks][..], &["check", &good, &empty]] {
        let output = output(arguments);
        let words = stderr(&output);
        // An empty file is valid.
        assert_eq!(output.status.code(), Some(0), "{words}");
        assert!(
            words.contains("warning: ")
                && words.contains("line 4")
                && words.contains("there is no event in it"),
            "{words}"
        );
    }
    assert!(std::fs::read(&tracks).unwrap().ends_with(b"PAR1"));
}
