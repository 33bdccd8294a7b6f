//! What batch systems do to parts: many processes at once, ends by signals, full disks, the same part again.

use super::{folder, json, json_of, names, path, peloton, plan, results, said, simulated};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Three files in twelve parts.
fn twelve_parts(folder: &Path) -> String {
    let files = ["a.mdf", "b.mdf", "c.mdf"].map(|name| simulated(folder, name, "lhcb", 8));
    plan(folder, &files.each_ref().map(|file| &file[..]), 2).0
}

#[test]
fn a_job_array_makes_the_same_bytes() {
    let folder = folder("array");
    let plan = twelve_parts(&folder);
    let to = path(&folder, "parts");
    let start = |part: usize| {
        let part = part.to_string();
        let how = ["--geometry", "nominal", "--threads", "1", "--quiet"];
        let arguments = [&["run", "--plan", &plan, "--part", &part, "--output", &to], &how[..]].concat();
        peloton(&arguments).spawn().expect("the program starts")
    };
    // Two at a time, and one part twice at the same time.
    for pair in [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 10], [11, 11]] {
        let jobs = pair.map(start);
        jobs.into_iter().for_each(|mut job| assert!(job.wait().unwrap().success()));
    }
    let one = path(&folder, "one");
    json(&["run", "--plan", &plan, "--part", ":", "--output", &one, "--geometry", "nominal"]);
    assert!(results(&to) == results(&one), "some part has other bytes");
    let [array, one] = [&to, &one].map(|to| json(&["manifest", to, "--plan", &plan]));
    let sums = |of: &serde_json::Value| {
        (of["hash_events"].clone(), of["parts_done"].clone(), of["is_complete"].clone())
    };
    assert_eq!(sums(&array), sums(&one));
    assert_eq!(array["parts_done"], 12);
}

#[test]
fn a_part_that_is_done_is_left_alone() {
    let folder = folder("again");
    let (plan, _) = plan(&folder, &["sim:velo,events=6"], 2);
    let to = path(&folder, "parts");
    let run = |part: &str, more: &[&str]| {
        json(&[&["run", "--plan", &plan, "--part", part, "--output", &to], more].concat())
    };
    let first = run("1", &[]);
    let modified =
        || std::fs::metadata(Path::new(&to).join("part-00001.parquet")).unwrap().modified().unwrap();
    let then = modified();
    // Nothing that changes the speed alone is a reason to run it again.
    assert_eq!(run("1", &["--threads", "1", "--isa", "scalar", "--slice", "3"]), first);
    assert_eq!(modified(), then);
    assert_eq!(run("1", &["--force"])["runs"], 2);
    assert_ne!(modified(), then);
    let other = run("1", &["--preset", "paper", "--force"]);
    assert_ne!(other["config_hash"], first["config_hash"]);
    assert_eq!(other["runs"], 3);
    // Results without their JSON, and JSON without its results, are not done.
    std::fs::remove_file(Path::new(&to).join("part-00001.json")).unwrap();
    assert_eq!(run("1", &["--preset", "paper"])["runs"], 4);
    std::fs::write(Path::new(&to).join("part-00001.parquet"), "half").unwrap();
    assert_eq!(run("1", &["--preset", "paper"])["runs"], 5);
    let sum = json_of(&["manifest", &to, "--plan", &plan], 1);
    assert_eq!((&sum["repeated"]["1"], &sum["parts_done"]), (&5.into(), &1.into()));
}

/// A part that takes long, as it simulates its events itself.
fn long_part(folder: &Path) -> (String, String) {
    (plan(folder, &["sim:lhcb,events=20000"], 10_000).0, path(folder, "parts"))
}

/// How many temporary files there are.
fn temporaries(to: &str) -> usize {
    let entries = std::fs::read_dir(to).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".peloton-") && name.ends_with(".part")).count()
}

/// Starts the long part and waits until it is writing.
fn begun(plan: &str, to: &str) -> std::process::Child {
    // A process that was killed left its own.
    let (before, begin) = (temporaries(to), Instant::now());
    let job = peloton(&["run", "--plan", plan, "--part", "0", "--output", to, "--threads", "1", "--quiet"])
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    while temporaries(to) == before {
        assert!(begin.elapsed() < Duration::from_secs(60), "it never began");
        sleep(Duration::from_millis(20));
    }
    job
}

fn signal(job: &std::process::Child, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), job.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_part_that_is_killed_leaves_nothing_that_looks_done() {
    let folder = folder("killed");
    let (plan, to) = long_part(&folder);
    for (name, code) in [("KILL", None), ("TERM", Some(143))] {
        let mut job = begun(&plan, &to);
        signal(&job, name);
        assert_eq!(job.wait().unwrap().code(), code, "{name}");
        assert!(results(&to).is_empty(), "{name}: {:?}", names(&to));
        // What a killed process leaves is hidden, and taken for nothing.
        std::fs::read_dir(&to).unwrap().flatten().for_each(|entry| {
            let name = entry.file_name().into_string().unwrap();
            assert!(
                name.starts_with('.') || ["part-00000.failed.json", "_owner.json"].contains(&&name[..]),
                "{name}"
            );
        });
    }
    let sum = json_of(&["manifest", &to, "--plan", &plan], 1);
    assert_eq!((&sum["parts_done"], &sum["repeated"]["0"]), (&0.into(), &2.into()));
    let reason = sum["failed"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("interrupted; the incomplete part was discarded"), "{reason}");
    assert_eq!(sum["failed"][1]["reason"], "not run");
}

#[test]
fn a_full_disk_is_told_and_the_part_is_made_later() {
    let folder = folder("full");
    let (plan, _) = plan(&folder, &["sim:velo,events=40"], 20);
    let to = path(&folder, "parts");
    let arguments = ["run", "--plan", &plan, "--part", ":", "--output", &to, "--quiet"];
    // Files of 8 KiB at most, in blocks of 512 bytes.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 16; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_peloton")]).args(arguments);
    let done = limited.output().unwrap();
    let error = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{error}");
    let lines: Vec<_> = error.lines().collect();
    for part in ["part-00000.parquet", "part-00001.parquet"] {
        let told = lines.iter().filter(|line| line.contains(part) && line.contains("File too large"));
        assert_eq!(told.count(), 1, "{error}");
    }
    assert_eq!(names(&to), ["_owner.json", "part-00000.failed.json", "part-00001.failed.json"]);
    assert_eq!(temporaries(&to), 0);
    let sum = json_of(&["manifest", &to, "--plan", &plan], 1);
    assert!(sum["failed"][1]["reason"].as_str().unwrap().contains("File too large"), "{sum}");
    let (code, _, error) = said(&arguments);
    assert_eq!(code, Some(0), "{error}");
    let sum = json(&["manifest", &to, "--plan", &plan]);
    assert_eq!((&sum["events"], &sum["runs"]), (&40.into(), &4.into()));
    assert_eq!(names(&to).len(), 6);
}
