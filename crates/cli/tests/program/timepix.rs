//! The command line on streams of pixel hits.

use crate::output;
use serde_json::Value;
use std::io::Write;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Runs and gives the JSON on standard output.
fn json(arguments: &[&str]) -> Value {
    let output = output(&[arguments, &["--json", "-"]].concat());
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
        assert!(output(&["simulate", "--detector", detector, "--output", file, "--quiet"]).status.success());
        let format = if name.ends_with("bin") { "hits16" } else { "auto" };
        same(&run(&[file, "--format", format, "--layout", "single"]));
        std::fs::remove_file(path).unwrap();
    }
    let passes = json(&["throughput", "--sequence", "timepix", SIM, "--repetitions", "2", "--threads", "1"]);
    same(&passes);
    assert!(passes["hits_per_second"].as_f64() > Some(0.0));
}

/// Frames from the simulation and from files, on any number of threads, by any algorithm and definition.
#[test]
fn frames_are_clustered_one_by_one() {
    const FRAMES: &str = "sim:timepix,preset=pion45,hits=20000,seed=5,frame=50";
    let run = |more: &[&str]| json(&[&["run", "--sequence", "timepix", "--quiet"], more].concat());
    let expected = run(&[FRAMES, "--threads", "1"]);
    // The same hits in a stream make other clusters: of these some lie in two frames, and some are one in a frame.
    assert!(expected["clusters"].as_u64() > Some(500));
    assert_ne!(expected["clusters"], run(&[FRAMES.strip_suffix(",frame=50").unwrap()])["clusters"]);
    assert_eq!((&expected["hits"], &expected["dropped"]), (&expected["hits_out"], &serde_json::json!({})));
    let same = |found: &Value| {
        for key in ["hash_int", "output_hash", "clusters", "hits"] {
            assert_eq!(found[key], expected[key], "{key}");
        }
    };
    for more in [
        &["--threads", "3"][..],
        &["--isa", "scalar"],
        &["--algorithm", "plain"],
        &["--definition", "global"],
        &["--definition", "static", "--delta-ns", "500"],
    ] {
        same(&run(&[&[FRAMES], more].concat()));
    }
    let path = temporary("made.frames");
    let file = path.to_str().unwrap();
    let detector = FRAMES.strip_prefix("sim:").unwrap();
    assert!(output(&["simulate", "--detector", detector, "--output", file, "--quiet"]).status.success());
    same(&run(&[file, "--format", "frames"]));
    // The same frames as matrices.
    let text = std::fs::read_to_string(&path).unwrap();
    let mut frames: Vec<Vec<u64>> = Vec::new();
    for line in text.lines() {
        let [frame, x, y, value] = *line.split(' ').map(|word| word.parse().unwrap()).collect::<Vec<u64>>()
        else {
            panic!("{line}")
        };
        frames.resize(frames.len().max(frame as usize + 1), vec![0; 1 << 16]);
        frames[frame as usize][(y * 256 + x) as usize] = value;
    }
    let row = |row: &[u64]| row.iter().map(|value| format!("{value} ")).collect::<String>();
    let rows: Vec<String> = frames.iter().flat_map(|frame| frame.chunks(256).map(row)).collect();
    std::fs::write(&path, rows.join("\n")).unwrap();
    same(&run(&[file, "--format", "pmf"]));
    std::fs::remove_file(&path).unwrap();
    for (detector, output) in [(detector, "f.txt"), ("timepix,hits=10", "f.frames")] {
        let output = temporary(output);
        let refused =
            crate::output(&["simulate", "--detector", detector, "--output", output.to_str().unwrap()]);
        assert!(String::from_utf8_lossy(&refused.stderr).contains("frames"));
        assert!(!refused.status.success() && !output.exists());
    }
    let report = json(&["check", "--sequence", "timepix", "sim:timepix,hits=8000,frame=100", "--quiet"]);
    assert_eq!((&report["all_accounted"], &report["late"]), (&true.into(), &0.into()));
    let definitions = report["definitions"].as_array().unwrap();
    assert!(definitions.iter().all(|row| row["differ"] == serde_json::json!([])));
    assert!(definitions.iter().all(|row| row["clusters"] == definitions[0]["clusters"]));
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
        let output = output(&[&arguments[..], more].concat());
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, text) =
        compare("threads=3,block=5000", "isa=scalar,gang=1,threads=1,algorithm=open,block=70000", &[]);
    assert!(code == Some(0) && text.contains("\nequal: ") && text.contains(" clusters, "), "{text}");
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
fn a_page_of_pictures_is_drawn() {
    let path = temporary("display.html");
    let file = path.to_str().unwrap();
    let found = json(&["display", "--sequence", "timepix", SIM, "--event", "2", "--quiet", "--output", file]);
    let page = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert!(found["frame_hits"].as_u64() > Some(1000), "{found}");
    // Without a calibration there is no distribution of energies.
    assert!(!page.contains("data-name=\"energy\"") && page.matches("data-name=").count() == 6);
    let grouped = |key: &str| peloton_plot::text::grouped(found[key].as_u64().unwrap());
    assert!(page.contains(&format!(
        "{} hits, {} clusters",
        grouped("frame_hits"),
        grouped("frame_clusters")
    )));
}

#[test]
fn levels_are_tuned() {
    let path = temporary("profile.toml");
    let file = path.to_str().unwrap();
    let found =
        json(&["tune", "--sequence", "timepix", SIM, "--repetitions", "1", "--quiet", "--output", file]);
    assert!(found["measured"].as_array().unwrap().len() >= 2);
    let with = json(&["run", "--sequence", "timepix", SIM, "--profile", file, "--quiet", "--threads", "1"]);
    std::fs::remove_file(path).unwrap();
    assert_eq!(with["isa"], found["isa"]);
}

/// Two chips' worth of words: a trigger each 1000 clocks, and a hit 10 clocks after each.
fn triggered(count: u64) -> Vec<u8> {
    let mut words = vec![0x3358_5054 | (8 * (2 + 2 * count)) << 48, 0x44 << 56, 0x45 << 56];
    for i in 0..count {
        let clock = 1000 * (i + 1);
        // Eight steps of 3.125 ns a clock; 1 is the first twelfth.
        words.push(0x6F << 56 | (i & 0xFFF) << 44 | (8 * clock) << 9 | 1 << 5);
        words
            .push(0xB << 60 | (i % 128) << 53 | ((clock + 10) & 0x3FFF) << 30 | 5 << 20 | (clock + 10) >> 14);
    }
    words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect()
}

#[test]
fn hits_are_paired_with_triggers() {
    let (input, output) = (temporary("triggers.tpx3"), temporary("triggers.ndjson"));
    std::fs::write(&input, triggered(100)).unwrap();
    let files = [&input, &output].map(|path| path.to_str().unwrap());
    let arguments = ["run", "--sequence", "timepix", files[0], "--output", files[1], "--quiet"];
    let found = json(&[&arguments[..], &["--trigger", "rise1"]].concat());
    assert_eq!((&found["triggers"], &found["paired_hits"]), (&100.into(), &100.into()));
    let text = std::fs::read_to_string(&output).unwrap();
    for (i, line) in text.lines().enumerate() {
        let cluster: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&cluster["trigger"], &cluster["since_trigger_ns"][0]), (&i.into(), &250.0.into()));
    }
    assert_eq!(text.lines().count(), 100);
    let none = json(&[&arguments[..], &["--trigger", "fall2"]].concat());
    assert_eq!(none["paired_hits"], 0);
    [input, output].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

#[test]
fn what_comes_before_an_error_is_written() {
    let paths = ["whole.tpx3", "cut.tpx3.zst", "cut.ndjson"].map(temporary);
    let [whole, cut, output] = paths.each_ref().map(|path| path.to_str().unwrap());
    let detector = SIM.strip_prefix("sim:").unwrap();
    assert!(
        crate::output(&["simulate", "--detector", detector, "--output", whole, "--quiet"]).status.success()
    );
    let all = json(&["run", "--sequence", "timepix", whole, "--quiet"])["clusters"].as_u64().unwrap();
    let packed = zstd::encode_all(&std::fs::read(whole).unwrap()[..], 1).unwrap();
    std::fs::write(cut, &packed[..packed.len() - 10]).unwrap();
    let ran = crate::output(&["run", "--sequence", "timepix", cut, "--output", output, "--quiet"]);
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && error.contains("incomplete frame"), "{error}");
    let text = std::fs::read_to_string(output).unwrap();
    let found = text.lines().count() as u64;
    assert!(all / 2 < found && found < all, "{found} clusters of {all}");
    assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    paths.iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

#[test]
fn hits_come_over_a_socket() {
    let path = temporary("live.tpx3");
    let file = path.to_str().unwrap();
    let detector = SIM.strip_prefix("sim:").unwrap();
    assert!(output(&["simulate", "--detector", detector, "--output", file, "--quiet"]).status.success());
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
        let rounds = rounds["rounds"].as_array().unwrap().clone();
        assert_eq!(rounds.len(), 3);
        for round in rounds {
            assert_eq!(round["lost"], 0);
            assert!(round["sent"].as_u64() > Some(1000));
        }
    }
}

#[test]
fn datagrams_that_the_system_drops_are_counted() {
    let arguments = ["soak", "--transport", "udp", "--seconds", "0.5", "--warm-up", "0.5", "--share", "0.3"];
    let rounds = json(&[&arguments[..], &["--input", "sim:timepix,hits=100000", "--quiet"]].concat());
    for round in rounds["rounds"].as_array().unwrap() {
        assert_eq!(round["lost"], 0, "{round}");
        assert!(round["sent"].as_u64() > Some(1000));
    }
}

#[test]
fn mistakes_are_named() {
    for (arguments, words) in [
        (&["run", "--sequence", "timepix", SIM, "--layout", "ring"][..], "not a layout"),
        (&["run", "--sequence", "timepix", SIM, "--filter", "size"], "filter"),
        (
            &["run", "--sequence", "timepix", SIM, "--format", "velo-json", "-"],
            "--format velo-json is not for",
        ),
        (&["run", "--sequence", "timepix", "no-such-file.tpx3"], "no-such-file.tpx3"),
        (&["run", "--sequence", "timepix", SIM, "--delta-ns", "0", "--strict-delta"], "delta"),
        (
            &["run", "--sequence", "timepix", SIM, "--definition", "static", "--threads", "2"],
            "local definition",
        ),
        (&["run", "--sequence", "timepix", SIM, "--output", "a.docx"], "must end in"),
        (&["simulate", "--detector", "timepix,preset=iron", "--output", "-"], "am241"),
    ] {
        let output = output(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(words), "{arguments:?}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    }
}
