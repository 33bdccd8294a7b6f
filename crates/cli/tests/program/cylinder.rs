//! The command line on events of the cylinder detector.

use crate::{json, output};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

const SIM: &str = "sim:cylinder,events=3,tracks=500,seed=3";

#[test]
fn files_threads_and_levels_give_the_same_hashes() {
    let run = |more: &[&str]| json(&[&["run", "--sequence", "cylinder"], more].concat());
    let expected = run(&[SIM, "--threads", "1"]);
    assert_eq!((expected["sequence"].as_str(), expected["tracks"].as_u64()), (Some("cylinder"), Some(1500)));
    assert_eq!(expected["stages"][2]["name"], "build");
    let same = |found: &Value| {
        for key in ["hash_int", "output_hash", "tracks", "hits"] {
            assert_eq!(found[key], expected[key], "{key}");
        }
    };
    same(&run(&[SIM, "--threads", "3"]));
    same(&run(&[SIM, "--isa", "scalar"]));
    same(&run(&[SIM, "--builder", "standard"]));
    let folder = std::env::temp_dir().join(format!("peloton-cylinder-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let names = ["toy.bin.zst", "tracks.ndjson", "tracks.parquet"].map(|name| folder.join(name));
    let [toy, tracks, columns] = names.each_ref().map(|path| path.to_str().unwrap());
    let detector = "cylinder,tracks=500";
    let written =
        ["simulate", "--detector", detector, "--events", "3", "--seed", "3", "--output", toy, "--quiet"];
    assert!(output(&written).status.success());
    let from_file = run(&[toy, "--output", tracks]);
    assert_eq!(from_file["hash_int"], expected["hash_int"]);
    let lines = std::fs::read_to_string(tracks).unwrap();
    let lists = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["tracks"].as_array().unwrap().len()
    });
    assert_eq!(lists.collect::<Vec<_>>(), [500, 500, 500]);
    run(&[toy, "--output", columns, "--events", "1:2"]);
    let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(columns).unwrap()).unwrap();
    let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    let ids = batches.iter().flat_map(|batch| {
        let ids = batch.column_by_name("event_id").unwrap();
        ids.as_primitive::<UInt64Type>().values().to_vec()
    });
    assert_eq!(ids.collect::<Vec<_>>(), [1, 2]);
    std::fs::remove_dir_all(folder).unwrap();
    assert!(
        output(&["compare", "--sequence", "cylinder", SIM, "--right", "builder=standard"]).status.success()
    );
    let differ = ["compare", "--sequence", "cylinder", SIM, "--right", "builder=best-hit"];
    assert_eq!(output(&differ).status.code(), Some(1));
    let passes = json(&["throughput", "--sequence", "cylinder", SIM, "--repetitions", "2", "--threads", "1"]);
    assert!(passes["us_per_track_best"][4][1].as_f64() > Some(0.0));

    // Threads that share an event change nothing but the time.
    let shared = ["compare", "--sequence", "cylinder", SIM, "--right", "event_threads=3"];
    assert!(output(&shared).status.success());
    let mut command =
        vec!["throughput", "--sequence", "cylinder", SIM, "--repetitions", "2", "--threads", "1"];
    command.extend(["--event-threads", "2"]);
    let within = json(&command);
    assert_eq!((&within["output_hash"], &within["preset"]), (&passes["output_hash"], &passes["preset"]));
}

#[test]
fn check_tells_efficiency_and_pulls() {
    let check = json(&["check", "--sequence", "cylinder", SIM, "--preset", "paper", "--tables"]);
    assert_eq!(check["categories"][1]["name"], "n_found>=7");
    assert_eq!(check["categories"][0]["reconstructible"], 1500);
    assert!(check["categories"][0]["efficiency"].as_f64() > Some(0.99));
    assert_eq!(check["pulls"][2]["parameter"], "1/pT");
    assert!(check["pulls"][2]["width"].as_f64() > Some(0.9));
    let named = json(&["check", "--sequence", "cylinder", SIM, "--preset", "paper", "--rules", "cylinder"]);
    assert_eq!((&named["rules"], &named["tracks"]), (&check["rules"], &check["tracks"]));
}

#[test]
fn tune_writes_a_profile_that_run_obeys() {
    let folder = std::env::temp_dir().join(format!("peloton-cylinder-tune-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let profile = folder.join("profile.toml");
    let profile = profile.to_str().unwrap();
    let tune = ["tune", "--sequence", "cylinder", SIM, "--repetitions", "1", "--output", profile];
    let tuned = json(&tune);
    let fastest = tuned["isa"].as_str().unwrap();
    assert!(tuned["measured"][0]["stages"]["build"].as_f64() > Some(0.0));
    let run = json(&["run", "--sequence", "cylinder", SIM, "--profile", profile]);
    assert_eq!(run["isa"].as_str(), Some(fastest));
    assert_eq!(run["gang"], tuned["gangs"][fastest]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn wrong_flags_are_usage_errors() {
    for wrong in [
        &["run", "--sequence", "cylinder", "sim:cylinder,colour=1"][..],
        &["run", "--sequence", "cylinder", SIM, "--builder", "magic"],
        &["run", "--sequence", "cylinder", SIM, "--candidates", "1000"],
        &["run", "--sequence", "cylinder", SIM, "--format", "mdf"],
        &["run", "--sequence", "cylinder", SIM, "--output", "tracks.csv"],
        &["check", "--sequence", "cylinder", SIM, "--rules", "json"],
        &["check", "--sequence", "cylinder", SIM, "--tracks", "tracks.ndjson"],
        &["check", "sim:velo,events=1", "--rules", "cylinder"],
        &["tune", "--sequence", "cylinder", SIM, "--gang", "3"],
    ] {
        assert_eq!(output(wrong).status.code(), Some(2), "{wrong:?}");
    }
}
