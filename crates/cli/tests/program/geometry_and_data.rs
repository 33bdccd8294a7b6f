//! Geometry and events belong together: the nominal detector, and the beam line.

use crate::common::data;
use crate::{json, json_of, said};
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("geometry-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Simulated events in a file.
fn simulated(folder: &Path, more: &[&str]) -> String {
    let file = folder.join("a.mdf").to_str().unwrap().to_string();
    let what = ["simulate", "--detector", "lhcb", "--events", "3", "--seed", "4", "--output", &file];
    json(&[&what[..], more].concat());
    file
}

/// Removes the raw bank of type 51 of each event, so that no event says whose geometry it has.
fn without_mark(file: &str) {
    let bytes = std::fs::read(file).unwrap();
    let mark = bytes.windows(24).enumerate().filter(|(_, bytes)| *bytes == b"peloton nominal detector");
    let places: Vec<_> = mark.map(|(at, _)| at).collect();
    assert_eq!(places.len(), 3);
    let mut bytes = bytes;
    // A bank of another type, in a record without checksum.
    places.iter().for_each(|at| bytes[at - 4] = 52);
    let mut at = 0;
    while at < bytes.len() {
        let size = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        bytes[at + 12..at + 16].fill(0);
        at += size;
    }
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn the_nominal_geometry_is_for_events_that_are_simulated_with_it() {
    let folder = folder("nominal");
    let file = simulated(&folder, &[]);
    let nominal = json(&["run", &file, "--geometry", "nominal", "--sequence", "long"]);
    let simulated = json(&["run", "sim:lhcb,events=3,seed=4", "--sequence", "long"]);
    assert_eq!(nominal["output_hash"], simulated["output_hash"]);
    without_mark(&file);
    let output = folder.join("tracks.ndjson");
    for sequence in ["velo", "velo-ut", "ut", "scifi-hits", "scifi", "long", "long-ut"] {
        let job = ["run", &file, "--sequence", sequence, "--output", output.to_str().unwrap()];
        let (code, _, error) = said(&[&job[..], &["--geometry", "nominal"]].concat());
        assert_eq!(code, Some(2), "{sequence}: {error}");
        assert!(!output.exists(), "{sequence}");
        for words in ["(event 0)", "--geometry nominal-forced", "geometry files"] {
            assert!(error.contains(words), "{sequence}: {error}");
        }
    }
    let forced = json(&["run", &file, "--geometry", "nominal-forced", "--sequence", "long"]);
    assert_eq!(forced["output_hash"], nominal["output_hash"]);
    assert_eq!((&forced["events_not_nominal"], nominal.get("events_not_nominal")), (&3.into(), None));
    // Beside events that are of it, too: what came before is written.
    let second = folder.join("b.mdf").to_str().unwrap().to_string();
    std::fs::rename(&file, &second).unwrap();
    let first = self::simulated(&folder, &[]);
    let (code, _, error) = said(&["run", &first, &second, "--geometry", "nominal"]);
    assert!(code == Some(2) && error.contains("b.mdf (event 3)"), "{error}");
}

#[test]
fn real_events_are_refused_with_the_nominal_geometry() {
    let Some(data) = data() else { return };
    let real = data.join("lhcb/minbias_retina_truth.mdf").to_str().unwrap().to_string();
    let geometry = data.join("lhcb/geometry").to_str().unwrap().to_string();
    for command in ["run", "check", "throughput", "compare"] {
        let (code, _, error) = said(&[command, &real, "--geometry", "nominal"]);
        assert!(code == Some(2) && error.contains("nominal-forced"), "{command}: {error}");
    }
    let (code, _, error) = said(&["run", data.join("lhcb/banks").to_str().unwrap(), "--geometry", "nominal"]);
    assert!(code == Some(2) && error.contains("nominal-forced"), "{error}");
    // Hits of its truth on channels that this UT does not have are counted.
    let job = ["check", &real, "--sequence", "long-ut", "--geometry"];
    let (_, text, error) = said(&[&job[..], &["nominal-forced", "--json", "-"]].concat());
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(summary["dropped"]["hits_not_in_geometry"].as_u64() > Some(0), "{summary}");
    assert!(error.contains("does not have"), "{error}");
    assert_eq!(json(&[&job[..], &[&geometry]].concat())["dropped"], serde_json::json!({}));
    // What was simulated with files is of these, and of no other detector.
    let file = simulated(&folder("of-files"), &["--geometry", &geometry]);
    let (code, _, error) = said(&["run", &file, "--geometry", "nominal"]);
    assert!(code == Some(2) && error.contains("nominal-forced"), "{error}");
    assert_eq!(json(&["run", &file, "--geometry", &geometry])["events"], 3);
}

#[test]
fn the_beam_line_is_where_states_are() {
    let Some(data) = data() else { return };
    let real = data.join("lhcb/minbias_retina_truth.mdf").to_str().unwrap().to_string();
    let folder = folder("beam");
    for entry in std::fs::read_dir(data.join("lhcb/geometry")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    let geometry = folder.to_str().unwrap();
    let beam = |bytes: &[u8]| std::fs::write(folder.join("beamline.bin"), bytes).unwrap();
    let at = |x: f32, y: f32| beam(&[x.to_le_bytes(), y.to_le_bytes()].concat());
    let velo = ["velo", "long", "long-ut"];
    let hashes = |sequence: &str| {
        let summary = json(&["run", &real, "--sequence", sequence, "--geometry", geometry]);
        summary["output_hash"].clone()
    };
    at(0.0, 0.0);
    let at_zero = velo.map(hashes);
    let original = data.join("lhcb/geometry").to_str().unwrap().to_string();
    let summary = json(&["run", &real, "--geometry", &original]);
    assert_eq!(summary["output_hash"], at_zero[0]);
    at(5.0, 5.0);
    for (sequence, before) in velo.iter().zip(&at_zero) {
        assert_ne!(&hashes(sequence), before, "{sequence}");
    }
    // A micrometre is seen, too.
    at(0.001, 0.0);
    assert_ne!(hashes("velo"), at_zero[0]);
    for (bytes, word) in [(&[0_u8; 7][..], "x and y"), (&[0; 9], "beamline.bin"), (&[0xFF; 8], "x and y")] {
        beam(bytes);
        let (code, _, error) = said(&["run", &real, "--geometry", geometry]);
        assert!(code == Some(1) && error.contains(word) && error.contains("beamline.bin"), "{error}");
    }
    at(500.0, 0.0);
    json_of(&["run", &real, "--sequence", "scifi", "--geometry", geometry], 0);
    let (code, _, error) = said(&["run", &real, "--geometry", geometry]);
    assert!(code == Some(1) && error.contains("500"), "{error}");
    std::fs::remove_file(folder.join("beamline.bin")).unwrap();
    let (code, _, error) = said(&["run", &real, "--geometry", geometry]);
    assert!(code == Some(1) && error.contains("beamline.bin"), "{error}");
}
