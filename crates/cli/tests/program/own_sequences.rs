//! Sequences of one's own, and several products of one job.

use crate::{empty_folder, json, path, said};
use serde_json::Value;
use std::fs;

const INPUT: &str = "sim:lhcb,events=12,seed=7";

fn hashes(of: &Value) -> [&Value; 2] {
    [&of["hash_int"], &of["output_hash"]]
}

/// One job with two products gives the same tracks as two jobs and runs the Velo once.
#[test]
fn products_of_one_job_are_those_of_several() {
    let folder = empty_folder("own-sequences");
    let [both, velo, long] = ["both.ndjson", "velo.ndjson", "long.ndjson"].map(|name| path(&folder, name));
    let run = |sequence: &str, output: &str, more: &[&str]| {
        json(&[&["run", "--sequence", sequence, INPUT, "--output", output], more].concat())
    };
    let (velo_alone, long_alone) = (run("velo", &velo, &[]), run("long", &long, &[]));
    let together = run("long", &both, &["--write", "velo_tracks,long_tracks"]);
    assert_eq!(hashes(&together["products"]["velo_tracks"]), hashes(&velo_alone));
    assert_eq!(hashes(&together["products"]["long_tracks"]), hashes(&long_alone));
    assert_eq!((hashes(&together), together["events"].as_u64()), (hashes(&velo_alone), Some(12)));
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    assert_eq!(read("both.velo_tracks.ndjson"), read("velo.ndjson"));
    assert_eq!(read("both.long_tracks.ndjson"), read("long.ndjson"));
    assert!(!folder.join("both.ndjson").exists());
    let stages = |of: &Value| of["stages"].as_array().unwrap().len();
    assert_eq!((stages(&together), stages(&long_alone)), (9, 9));
    // On several threads, in other slices, the same.
    let again = run("long", &both, &["--write", "velo_tracks,long_tracks", "--threads", "2", "--slice", "5"]);
    assert_eq!(again["products"], together["products"]);
}

/// A configuration lists algorithms: `velo-ut` and `long` in one job, the search of `paper` with the fit of `best`.
#[test]
fn algorithms_of_a_configuration() {
    let folder = empty_folder("own-algorithms");
    let config = |name: &str, text: &str| {
        fs::write(folder.join(name), text).unwrap();
        path(&folder, name)
    };
    let own = config(
        "own.toml",
        "algorithms = ['velo_tracks', 'ut_cells', 'velo_ut_tracks', 'scifi_hits', 'scifi_tracks']\n\
         write = ['velo_ut_tracks', 'scifi_hits', 'scifi_tracks']\n",
    );
    let made = json(&["run", "--config", &own, INPUT]);
    assert_eq!(made["sequence"], "own");
    for (product, sequence) in
        [("velo_ut_tracks", "velo-ut"), ("scifi_hits", "scifi-hits"), ("scifi_tracks", "scifi")]
    {
        let alone = json(&["run", "--sequence", sequence, INPUT]);
        assert_eq!(hashes(&made["products"][product]), hashes(&alone), "{product}");
    }
    let names: Vec<_> = made["stages"].as_array().unwrap().iter().map(|stage| &stage["name"]).collect();
    assert_eq!(names.iter().filter(|name| **name == "velo decode").count(), 1, "{names:?}");

    let paper = config("paper.toml", "algorithms = ['velo_tracks']\n[velo]\npreset = 'paper'\n");
    let by_preset = json(&["run", "--sequence", "velo", "--preset", "paper", INPUT]);
    assert_eq!(hashes(&json(&["run", "--config", &paper, INPUT])), hashes(&by_preset));
    // One product is checked, by the rules of its tracks.
    let check = json(&["check", "--config", &own, "--write", "velo_ut_tracks", INPUT]);
    assert_eq!(check["rules"], "lhcb-ut");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let folder = empty_folder("own-wrong");
    let refused = |text: &str, more: &[&str], words: &str| {
        fs::write(folder.join("c.toml"), text).unwrap();
        let config = path(&folder, "c.toml");
        let (code, _, error) = said(&[&["run", INPUT, "--config", &config], more].concat());
        assert!(code == Some(2) && error.contains(words), "{text}: {code:?} {error}");
    };
    refused("algorithms = ['scifi_tracks']", &[], "scifi_tracks needs scifi_hits");
    refused("algorithms = ['long_tracks', 'velo_tracks']", &[], "long_tracks needs velo_tracks");
    refused(
        "algorithms = ['muon_tracks']",
        &[],
        "unknown algorithm `muon_tracks`: choose one of velo_tracks",
    );
    refused("algorithms = ['velo_tracks', 'velo_tracks']", &[], "two algorithms make velo_tracks");
    refused("sequence = 'own'", &[], "needs algorithms");
    refused("sequence = 'long'\nalgorithms = ['velo_tracks']", &[], "has its own algorithms");
    refused(
        "sequence = 'long'",
        &["--write", "ut_hits"],
        "makes velo_tracks, scifi_hits, scifi_tracks, long_tracks",
    );
    let two = ["--write", "velo_tracks,long_tracks"];
    refused("sequence = 'long'", &[&two[..], &["--output", "-"]].concat(), "are several files");
    for command in ["check", "tune", "compare", "display"] {
        let page: &[&str] = if command == "display" { &["--output", "a.html"] } else { &[] };
        let sim = ["--sequence", "long", "sim:lhcb,events=1"];
        let (code, _, error) = said(&[&[command], &sim[..], &two[..], page].concat());
        assert!(code == Some(2) && error.contains("takes one product"), "{command}: {code:?} {error}");
    }
    // A file that a product would be written to is an input.
    let (input, output) = (path(&folder, "in.velo_tracks.ndjson"), path(&folder, "in.ndjson"));
    fs::write(&input, "x").unwrap();
    let (code, _, error) =
        said(&[&["run", "--sequence", "long", &input, "--output", &output], &two[..]].concat());
    assert!(code == Some(2) && error.contains("in.velo_tracks.ndjson"), "{code:?} {error}");
    assert_eq!(fs::read(&input).unwrap(), b"x");
    let clog = path(&folder, "t.clog");
    refused("sequence = 'long'", &[&two[..], &["--output", &clog]].concat(), "are several files");
}

#[test]
fn sequences_describe_themselves() {
    let (code, text, _) = said(&["describe", "--sequence", "long"]);
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_string();
    assert_eq!(code, Some(0));
    assert!(line("scifi_hits").ends_with("scifi_tracks") && line("velo_tracks").contains("[velo]"), "{text}");
    assert!(line("long_tracks").contains("velo_tracks, scifi_tracks"), "{text}");
    let all = json(&["describe", "--algorithms"]);
    let names: Vec<_> = all.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    let expected =
        ["velo_tracks", "ut_hits", "ut_cells", "velo_ut_tracks", "scifi_hits", "scifi_tracks", "long_tracks"];
    assert_eq!(names, expected);
}
