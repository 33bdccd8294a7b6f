//! The command line on streams of pixel hits.

use serde_json::Value;
use std::io::Write;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn peloton(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_peloton")).args(arguments).env_remove("PELOTON_ISA").output().unwrap()
}

/// Runs and gives the JSON on standard output.
fn json(arguments: &[&str]) -> Value {
    let output = peloton(&[arguments, &["--json", "-"]].concat());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A file name of this test alone.
fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("peloton-timepix-{}-{name}", std::process::id()))
}

const SIM: &str = "sim:timepix,preset=pion45,hits=60000,seed=3";

#[test]
fn formats_threads_and_levels_give_the_same_hashes() {
    let run = |more: &[&str]| json(&[&["run", "--sequence", "timepix", "--quiet"], more].concat());
    let expected = run(&[SIM, "--threads", "1"]);
    assert_eq!(expected["sequence"], "timepix");
    assert!(expected["clusters"].as_u64() > Some(2000));
    assert_eq!(expected["hits"], expected["hits_out"]);
    assert_eq!(expected["stages"][2]["name"], "find");
    let same = |found: &Value| {
        for key in ["hash_int", "output_hash", "clusters", "hits"] {
            assert_eq!(found[key], expected[key], "{key}");
        }
    };
    same(&run(&[SIM, "--threads", "3"]));
    same(&run(&[SIM, "--isa", "scalar", "--algorithm", "open"]));
    same(&run(&[SIM, "--algorithm", "plain"]));
    for name in ["hits.tpx3", "hits.txt", "hits.bin"] {
        let path = temporary(name);
        let file = path.to_str().unwrap();
        let detector = SIM.strip_prefix("sim:").unwrap();
        assert!(peloton(&["simulate", "--detector", detector, "--output", file, "--quiet"]).status.success());
        let format = if name.ends_with("bin") { "hits16" } else { "auto" };
        same(&run(&[file, "--format", format, "--layout", "single"]));
        std::fs::remove_file(path).unwrap();
    }
    let passes = json(&["throughput", "--sequence", "timepix", SIM, "--repetitions", "2", "--threads", "1"]);
    same(&passes);
    assert!(passes["hits_per_second"].as_f64() > Some(0.0));
}

#[test]
fn all_programs_agree() {
    let report = json(&["check", "--sequence", "timepix", "sim:timepix,hits=10000", "--quiet"]);
    assert_eq!((&report["all_accounted"], &report["late"]), (&true.into(), &0.into()));
    for definition in report["definitions"].as_array().unwrap() {
        assert_eq!(definition["differ"], serde_json::json!([]));
        assert!(definition["agree"].as_array().unwrap().len() >= 3);
    }
}

#[test]
fn two_ways_are_compared() {
    let compare = |left: &str, right: &str, more: &[&str]| {
        let arguments = ["compare", "--sequence", "timepix", SIM, "--left", left, "--right", right];
        let output = peloton(&[&arguments[..], more].concat());
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, text) =
        compare("threads=3,block=5000", "isa=scalar,gang=1,threads=1,algorithm=open,block=70000", &[]);
    assert!(code == Some(0) && text.starts_with("equal: 60"), "{text}");
    assert_eq!(compare("threads=0", "", &[]).0, Some(2));
    assert_eq!(compare("colour=1", "", &[]).0, Some(2));
}

#[test]
fn clusters_are_written_and_filtered() {
    let path = temporary("clusters.ndjson");
    let file = path.to_str().unwrap();
    let arguments =
        ["run", "--sequence", "timepix", SIM, "--quiet", "--output", file, "--filter", "size=10:50"];
    let report = json(&arguments);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!(text.lines().count() as u64, report["clusters"].as_u64().unwrap());
    let mut hits = 0;
    for line in text.lines() {
        let cluster: Value = serde_json::from_str(line).unwrap();
        let size = cluster["size"].as_u64().unwrap();
        assert!((10..=50).contains(&size));
        assert_eq!(cluster["hits"].as_array().unwrap().len() as u64, size);
        hits += size;
    }
    let all = report["hits"].as_u64().unwrap();
    assert_eq!(report["dropped"]["filtered_hits"].as_u64().unwrap() + hits, all);
}

#[test]
fn hits_come_over_a_socket() {
    let path = temporary("live.tpx3");
    let file = path.to_str().unwrap();
    let detector = SIM.strip_prefix("sim:").unwrap();
    assert!(peloton(&["simulate", "--detector", detector, "--output", file, "--quiet"]).status.success());
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let child = Command::new(env!("CARGO_BIN_EXE_peloton"))
        .args(["run", "--sequence", "timepix", &format!("tcp://{address}"), "--layout", "single"])
        .args(["--threads", "1", "--quiet", "--json", "-"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stream = (0..200)
        .find_map(|_| {
            std::thread::sleep(Duration::from_millis(25));
            TcpStream::connect(&address).ok()
        })
        .expect("it listens");
    for piece in bytes.chunks(30_001) {
        stream.write_all(piece).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(stream);
    let output = child.wait_with_output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = json(&["run", "--sequence", "timepix", SIM, "--quiet", "--threads", "1"]);
    assert_eq!(found["output_hash"], expected["output_hash"]);
}

#[test]
fn a_short_soak_loses_nothing() {
    for when_full in ["wait", "drop"] {
        let arguments =
            ["soak", "--seconds", "0.5", "--warm-up", "0.3", "--share", "0.5,2", "--when-full", when_full];
        let rounds = json(&[&arguments[..], &["--input", "sim:timepix,hits=100000", "--quiet"]].concat());
        let rounds = rounds.as_array().unwrap().clone();
        assert_eq!(rounds.len(), 3);
        for round in rounds {
            assert_eq!(round["lost"], 0);
            assert!(round["sent"].as_u64() > Some(1000));
        }
    }
}

#[test]
fn mistakes_are_named() {
    for (arguments, words) in [
        (&["run", "--sequence", "timepix", SIM, "--layout", "ring"][..], "no layout"),
        (&["run", "--sequence", "timepix", SIM, "--filter", "size"], "filter"),
        (&["run", "--sequence", "timepix", SIM, "--format", "velo-json", "-"], "cannot stand beside"),
        (&["run", "--sequence", "timepix", "no-such-file.tpx3"], "no-such-file.tpx3"),
        (&["run", "--sequence", "timepix", SIM, "--delta-ns", "0", "--strict-delta"], "delta"),
        (
            &["run", "--sequence", "timepix", SIM, "--definition", "static", "--threads", "2"],
            "local definition",
        ),
        (&["run", "--sequence", "timepix", SIM, "--output", "a.docx"], "must end in"),
        (&["simulate", "--detector", "timepix,preset=iron", "--output", "-"], "am241"),
    ] {
        let output = peloton(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(words), "{arguments:?}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    }
}
