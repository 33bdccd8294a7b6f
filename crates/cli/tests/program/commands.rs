//! The command line as a contract: exit codes, JSON keys, messages.

use crate::{empty_folder, output, path, peloton, stderr};
use peloton::simd::{Isa, Level};
use serde_json::Value;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SUBCOMMANDS: [&str; 9] =
    ["run", "check", "throughput", "tune", "compare", "simulate", "plan", "manifest", "isa"];
/// Few simulated events: enough to have tracks.
const SIM: &str = "sim:velo,events=6,seed=4";
/// Keys of `run` and `throughput`, in order; events that are reconstructed over and over have no hash of their own.
const RUN_KEYS: [&str; 18] = [
    "sequence",
    "preset",
    "events",
    "isa",
    "gang",
    "threads",
    "hash_int",
    "output_hash",
    "hash_events",
    "tracks",
    "hits",
    "dropped",
    "events_per_second",
    "hits_per_second",
    "wall_seconds",
    "input_seconds",
    "busy",
    "stages",
];

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Standard output of a run that must succeed without a word on standard error.
fn text(arguments: &[&str]) -> String {
    let output = output(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    assert_eq!(stderr(&output), "", "{arguments:?}");
    stdout(&output)
}

/// What `--json -` says.
fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(&[arguments, &["--json", "-"]].concat())).expect("JSON")
}

/// A failure: its exit code, and the one line on standard error.
fn failure(arguments: &[&str]) -> (i32, String) {
    let output = output(arguments);
    let message = stderr(&output);
    assert_eq!(message.lines().count(), 1, "{arguments:?}: {message}");
    assert!(message.starts_with("error: "), "{arguments:?}: {message}");
    assert_eq!(stdout(&output), "", "{arguments:?}");
    (output.status.code().expect("an exit code"), message)
}

/// The gang sizes that this program has for a level.
fn gangs(isa: Isa) -> Vec<usize> {
    let is_of = |level: &Level| level.isa() == isa || level.gathers() == Some(isa);
    Level::supported().into_iter().filter(is_of).map(Level::gang).collect()
}

/// A folder of one test's own.
fn folder(name: &str) -> PathBuf {
    empty_folder(&format!("cli-{name}"))
}

/// Simulated events in a file.
fn simulate(folder: &Path, name: &str) -> String {
    let file = path(folder, name);
    text(&["simulate", "--detector", "velo", "--events", "6", "--seed", "4", "--output", &file]);
    file
}

#[test]
fn help_and_version() {
    let help = text(&["--help"]);
    for subcommand in SUBCOMMANDS {
        assert!(help.contains(subcommand), "{subcommand}");
        let help = text(&[subcommand, "--help"]);
        assert!(help.contains("Examples:\n  ") && help.contains("--json"), "{subcommand}: {help}");
    }
    let version = text(&["--version"]);
    assert!(version.starts_with(concat!("peloton ", env!("CARGO_PKG_VERSION"))), "{version}");
    for isa in Isa::supported() {
        assert!(version.contains(isa.name()), "{version}");
    }
    assert_eq!(output(&[]).status.code(), Some(2));
}

#[test]
fn bad_usage_is_2_and_says_what_to_do() {
    let folder = folder("usage");
    let config = path(&folder, "config.toml");
    std::fs::write(&config, "[velo]\nno_such_key = 1\n").unwrap();
    let foreign = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
    let cases: [(&[&str], &str); 17] = [
        (&["fly"], "fly"),
        (&["run", "--bogus"], "--bogus"),
        (&["run", "--isa", "fast", SIM], "avx2"),
        (&["run", "--isa", foreign, SIM], "scalar"),
        (&["run", "--gang", "3", SIM], "64"),
        (&["run", "--threads", "0", SIM], "threads"),
        (&["run", "--slice", "0", SIM], "slice"),
        (&["run", "--events", "7", SIM], "FIRST:COUNT"),
        (&["run", "--sequence", "muon", SIM], "velo"),
        (&["run", "--preset", "worst", SIM], "worst"),
        (&["run", "--config", &config, SIM], "no_such_key"),
        (&["run", "--config", "no-such.toml", SIM], "no-such.toml"),
        (&["run", "--output", "tracks.csv", SIM], ".parquet"),
        (&["run", "sim:muon,events=1"], "muon"),
        (&["run", SIM, "other.json"], "must be the only input"),
        (&["check", "--rules", "mild", SIM], "lhcb"),
        (
            &["compare", "--right", "gpu", SIM],
            if cfg!(feature = "cuda") { "GPU" } else { "--features peloton-cli/cuda" },
        ),
    ];
    for (arguments, word) in cases {
        let (code, message) = failure(arguments);
        assert_eq!(code, 2, "{arguments:?}: {message}");
        assert!(message.contains(word), "{arguments:?}: {message}");
    }
}

#[test]
fn failed_work_is_1() {
    let folder = folder("work");
    let words = path(&folder, "words.txt");
    std::fs::write(&words, "these are no events\n").unwrap();
    for arguments in
        [["run", "no-such.json"], ["check", "no-such.json"], ["throughput", &words], ["run", &words]]
    {
        let (code, message) = failure(&arguments);
        assert_eq!(code, 1, "{message}");
        assert!(message.contains(arguments[1]), "{message}");
    }
    let (code, message) = failure(&["run", SIM, "--quiet", "--output", "no-such-folder/tracks.ndjson"]);
    assert_eq!(code, 1, "{message}");
}

#[test]
fn a_corrupt_event_is_counted_and_with_strict_fatal() {
    let folder = folder("corrupt");
    let file = simulate(&folder, "events.ndjson");
    let mut lines: Vec<_> = std::fs::read_to_string(&file).unwrap().lines().map(String::from).collect();
    let half = lines[2].len() / 2;
    lines[2].truncate(half);
    std::fs::write(&file, lines.join("\n")).unwrap();

    let told = output(&["run", &file, "--json", "-", "--quiet"]);
    assert!(told.status.success() && stderr(&told).contains("warning: "), "{}", stderr(&told));
    let summary: Value = serde_json::from_str(&stdout(&told)).unwrap();
    assert_eq!(summary["events"], 6);
    assert_eq!(summary["dropped"], serde_json::json!({ "corrupt": 1 }));
    let told = output(&["run", &file]);
    assert!(told.status.success());
    assert!(stderr(&told).contains("warning: ") && stdout(&told).contains("dropped 1: corrupt"));
    assert_eq!(failure(&["run", &file, "--strict"]).0, 1);
}

#[test]
fn run_tells_the_same_about_every_kind_of_input() {
    let folder = folder("run");
    let [plain, packed] = ["events.ndjson", "events.ndjson.zst"].map(|name| simulate(&folder, name));
    let simulated = json(&["run", SIM]);
    let keys: Vec<_> = simulated.as_object().unwrap().keys().cloned().collect();
    let mut expected = RUN_KEYS.map(String::from);
    expected.sort();
    assert_eq!(keys, expected);
    assert_eq!(simulated["sequence"], "velo");
    assert_eq!(simulated["preset"], "best");
    assert_eq!(simulated["events"], 6);
    assert!(simulated["tracks"].as_u64() > Some(100), "{simulated}");
    assert!(simulated["hits"].as_u64() > Some(1000), "{simulated}");
    let names: Vec<_> = simulated["stages"].as_array().unwrap().iter().map(|stage| &stage["name"]).collect();
    assert_eq!(names, ["decode", "sort", "find", "fit"]);
    assert!(simulated["stages"][2]["ns_per_event"].as_f64() > Some(0.0));
    assert_eq!(
        simulated["stages"][2]["parts"],
        serde_json::Value::Null,
        "best does not time its parts apart"
    );
    for preset in ["paper", "paper-literal"] {
        let find = &json(&["run", SIM, "--preset", preset])["stages"][2];
        let parts = find["parts"].as_array().expect("parts");
        let names: Vec<_> = parts.iter().map(|part| &part["name"]).collect();
        assert_eq!(names, ["windows", "seeding", "forwarding", "filter"]);
        let sum: f64 = parts.iter().map(|part| part["ns_per_event"].as_f64().unwrap()).sum();
        let whole = find["ns_per_event"].as_f64().unwrap();
        assert!(0.5 * whole < sum && sum <= whole, "{find}");
    }
    assert_eq!(simulated["hash_int"].as_str().map(str::len), Some(16));

    for file in [&plain, &packed] {
        let read = json(&["run", file]);
        for key in ["events", "tracks", "hits", "hash_int", "output_hash", "dropped"] {
            assert_eq!(read[key], simulated[key], "{key} of {file}");
        }
    }
    let mut piped = peloton(&["run", "-", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    piped.stdin.take().unwrap().write_all(&std::fs::read(&plain).unwrap()).unwrap();
    let piped: Value = serde_json::from_slice(&piped.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(piped["output_hash"], simulated["output_hash"]);

    let part = json(&["run", &plain, "--events", "1:2"]);
    assert_eq!(part["events"], 2);
    assert_eq!(part["output_hash"], json(&["run", SIM, "--events", "1:2"])["output_hash"]);
    assert_ne!(part["output_hash"], simulated["output_hash"]);
}

#[test]
fn keys_come_in_the_order_of_the_contract() {
    let text = text(&["run", SIM, "--json", "-"]);
    let places = RUN_KEYS.map(|key| text.find(&format!("\n  \"{key}\":")).expect(key));
    assert!(places.is_sorted(), "{text}");
}

/// The tracks of each line, as lists of hit ids.
fn bare_tracks(text: &str) -> Vec<Vec<Vec<u32>>> {
    let tracks = |line| -> Value { serde_json::from_str::<Value>(line).expect("JSON")["tracks"].take() };
    text.lines().map(|line| serde_json::from_value(tracks(line)).expect("lists of hit ids")).collect()
}

#[test]
fn tracks_are_written() {
    let folder = folder("output");
    let names = ["tracks.ndjson", "tracks.ndjson.zst", "tracks.parquet"];
    let [plain, packed, parquet] = names.map(|name| {
        let file = path(&folder, name);
        assert_eq!(text(&["run", SIM, "--quiet", "--output", &file]), "");
        std::fs::read(file).expect("written")
    });
    let lines = bare_tracks(std::str::from_utf8(&plain).unwrap());
    assert_eq!(lines.len(), 6);
    let tracks: usize = lines.iter().map(Vec::len).sum();
    assert_eq!(json(&["run", SIM])["tracks"], tracks);
    assert_eq!(zstd::decode_all(&packed[..]).unwrap(), plain);
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    assert_eq!(text(&["run", SIM, "--output", "-"]).into_bytes(), plain);
}

#[test]
fn check_has_the_keys_of_the_contract_and_scores_tracks_made_elsewhere() {
    let folder = folder("check");
    let (events, tracks) = (simulate(&folder, "events.ndjson"), path(&folder, "tracks.ndjson"));
    let own = json(&["check", &events]);
    for key in RUN_KEYS.into_iter().chain(["ghosts", "ghost_rate", "categories"]) {
        assert!(own.get(key).is_some(), "{key}");
    }
    let names: Vec<_> =
        own["categories"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    let json_names =
        ["velo", "long", "long>5GeV", "long_strange", "long_strange>5GeV", "long_fromb", "long_fromb>5GeV"];
    assert_eq!(names, json_names);
    for key in [
        "reconstructible",
        "reconstructed",
        "efficiency",
        "efficiency_low",
        "efficiency_high",
        "clones",
        "clone_rate",
        "purity",
        "hit_efficiency",
    ] {
        assert!(own["categories"][0].get(key).is_some(), "{key}");
    }
    let rate = own["ghost_rate"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&rate));

    text(&["run", &events, "--output", &tracks]);
    let elsewhere = json(&["check", &events, "--tracks", &tracks]);
    for key in ["tracks", "ghosts", "categories", "events"] {
        assert_eq!(elsewhere[key], own[key], "{key}");
    }
    let part = json(&["check", &events, "--tracks", &tracks, "--events", "2:3"]);
    assert_eq!(part["categories"], json(&["check", &events, "--events", "2:3"])["categories"]);
    assert_eq!(json(&["check", &events, "--rules", "lhcb"])["rules"], "lhcb");
    let tables = text(&["check", &events, "--tables"]);
    assert!(tables.contains("velo against p (GeV/c)") && tables.contains("ghosts against"), "{tables}");
    assert!(text(&["check", &events, "--losses"]).contains("missed Velo particles"));
    let losses = &json(&["check", &events, "--losses"])["losses"];
    let sum = |kind: &str| -> u64 {
        losses[kind].as_array().unwrap().iter().map(|loss| loss["count"].as_u64().unwrap()).sum()
    };
    let velo = |key: &str| own["categories"][0][key].as_u64().unwrap();
    assert_eq!(sum("missed"), velo("reconstructible") - velo("reconstructed"));
    assert_eq!(sum("ghosts"), own["ghosts"]);

    // Other programs write bare lists: line i is event i.
    let all = std::fs::read_to_string(&tracks).unwrap();
    let all: String = bare_tracks(&all).iter().map(|tracks| format!("{tracks:?}\n")).collect();
    std::fs::write(&tracks, &all).unwrap();
    for events_flag in ["0:", "2:3"] {
        let check = |more: &[&str]| json(&[&["check", &events, "--events", events_flag], more].concat());
        assert_eq!(check(&["--tracks", &tracks])["categories"], check(&[])["categories"]);
    }
    let (_, tail) = all.split_once('\n').unwrap();
    std::fs::write(&tracks, tail).unwrap();
    assert!(
        failure(&["check", &events, "--tracks", &tracks]).1.contains("fewer lines than there are events")
    );
    std::fs::write(&tracks, all.clone() + &all).unwrap();
    assert!(failure(&["check", &events, "--tracks", &tracks]).1.contains("more lines"));
    std::fs::write(&tracks, "[[1, -2]]\n").unwrap();
    assert_eq!(failure(&["check", &events, "--tracks", &tracks]).0, 1);
}

#[test]
fn what_is_forced_is_what_runs() {
    let ways = Isa::WAYS.into_iter().filter(|isa| isa.is_supported());
    for isa in Isa::supported().into_iter().chain(ways) {
        for gang in gangs(isa) {
            let ran =
                json(&["run", SIM, "--events", "0:1", "--isa", isa.name(), "--gang", &gang.to_string()]);
            assert_eq!((&ran["isa"], &ran["gang"]), (&isa.name().into(), &gang.into()));
        }
        let forced = peloton(&["isa", "--json", "-"]).env(Isa::VARIABLE, isa.name()).output().unwrap();
        let forced: Value = serde_json::from_slice(&forced.stdout).unwrap();
        assert_eq!((&forced["runs"]["isa"], &forced["forced"]), (&isa.name().into(), &isa.name().into()));
        let flag =
            peloton(&["run", SIM, "--isa", "scalar", "--json", "-"]).env(Isa::VARIABLE, isa.name()).output();
        let flag: Value = serde_json::from_slice(&flag.unwrap().stdout).unwrap();
        assert_eq!(flag["isa"], "scalar", "the flag goes before the variable");
    }
    let wrong = peloton(&["run", SIM]).env(Isa::VARIABLE, "fast").output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains(Isa::VARIABLE));
}

#[test]
fn throughput_measures_what_run_computes() {
    let run = json(&["run", SIM]);
    let fast = json(&["throughput", SIM, "--repetitions", "5", "--threads", "2"]);
    for key in RUN_KEYS {
        assert_eq!(fast.get(key).is_some(), !["hash_events", "busy"].contains(&key), "{key}");
    }
    for key in ["events", "tracks", "hits", "hash_int", "output_hash", "dropped"] {
        assert_eq!(fast[key], run[key], "{key}");
    }
    assert_eq!((&fast["repetitions"], &fast["threads"]), (&5.into(), &2.into()));
    assert!(fast["events_per_second"].as_f64() > Some(0.0));
    let lanes = text(&["throughput", SIM, "--seconds", "0.01"]);
    assert!(lanes.contains("lanes busy") && lanes.contains("ns/event"), "{lanes}");
}

#[test]
fn throughput_of_jobs_goes_from_file_to_file() {
    let folder = empty_folder("throughput-of-jobs");
    let name = |name: &str| folder.join(name).display().to_string();
    let (events, tracks) = (name("events.ndjson"), name("tracks.parquet"));
    text(&["simulate", "--events", "6", "--output", &events]);
    let jobs = json(&["throughput", &events, "--job", &tracks, "--repetitions", "3"]);
    let run = json(&["run", &events]);
    for key in ["events", "tracks", "hits", "hash_int", "output_hash", "hash_events"] {
        assert_eq!(jobs[key], run[key], "{key}");
    }
    assert_eq!((&jobs["repetitions"], jobs["seconds"].as_array().map(Vec::len)), (&3.into(), Some(3)));
    let size = |path: &str| std::fs::metadata(path).expect("a file").len();
    assert_eq!(
        (&jobs["bytes"]["read"], &jobs["bytes"]["written"]),
        (&size(&events).into(), &size(&tracks).into())
    );
    assert_eq!((&run["bytes"]["read"], &run["bytes"]["written"]), (&size(&events).into(), &Value::Null));
    let words = text(&["throughput", &events, "--job", "none", "--seconds", "0"]);
    assert!(words.contains(" read at ") && words.contains("the fastest of 1 job took"), "{words}");
    assert!(failure(&["throughput", "-", "--job", "none"]).1.contains("--job needs files"));
}

#[test]
fn throughput_scans_slices_and_threads() {
    let scan = |sequence: &str, input: &str| {
        let flags = ["--threads", "2", "--repetitions", "1", "--scan"];
        let report = json(&[&["throughput", "--sequence", sequence, input], &flags[..]].concat());
        let points = report["scan"].as_array().expect("points").clone();
        points
            .iter()
            .map(|point| ["slice", "streams"].map(|key| point[key].as_u64().unwrap()))
            .collect::<Vec<_>>()
    };
    // Slices on threads that have nothing to do are left out, but not of the smallest.
    assert_eq!(scan("velo", SIM), [[1, 1], [1, 2], [4, 1]]);
    assert_eq!(scan("cylinder", "sim:cylinder,events=1,tracks=50,seed=4"), [[1, 1], [1, 2]]);
    let of_pixels = scan("timepix", "sim:timepix,preset=am241,hits=9000,seed=2");
    assert_eq!(of_pixels, [[1024, 1], [1024, 2], [4096, 1], [4096, 2]]);
    let text = stdout(&output(&["throughput", SIM, "--threads", "1", "--repetitions", "1", "--scan"]));
    assert!(text.contains("slice  threads  events/s"), "{text}");
}

#[test]
fn compare_says_equal_or_where_not() {
    let equal = json(&["compare", SIM, "--left", "threads=2,slice=1", "--right", "isa=scalar,gang=1"]);
    assert_eq!((&equal["equal"], &equal["first_difference"]), (&true.into(), &Value::Null));
    assert_eq!(equal["left"]["output_hash"], equal["right"]["output_hash"]);
    assert_eq!(equal["right"]["isa"], "scalar");

    let other = output(&["compare", SIM, "--right", "preset=forwarding"]);
    assert_eq!(other.status.code(), Some(1));
    let told = String::from_utf8_lossy(&other.stdout);
    assert!(told.contains("right  preset forwarding") && told.contains("differ"), "{told}");
}

#[test]
fn tune_writes_a_profile_that_run_obeys() {
    let profile = path(&folder("tune"), "profile.toml");
    let scan = json(&["tune", SIM, "--isa", "scalar", "--repetitions", "1", "--output", &profile]);
    assert_eq!(scan["measured"].as_array().map(Vec::len), Some(gangs(Isa::Scalar).len()));
    let ran = json(&["run", SIM, "--profile", &profile]);
    assert_eq!(ran["isa"], "scalar");
    assert_eq!(ran["gang"], scan["gangs"]["scalar"]);
    let other = gangs(Isa::Scalar)[0];
    let flag = json(&["run", SIM, "--profile", &profile, "--gang", &other.to_string()]);
    assert_eq!(flag["gang"], other);
}

#[test]
fn the_configuration_that_is_printed_is_the_one_that_is_read() {
    let config = path(&folder("config"), "config.toml");
    let gang = gangs(Isa::Scalar)[0];
    let size = gang.to_string();
    let arguments =
        ["--preset", "best", "--isa", "scalar", "--gang", &size, "--threads", "2", "--slice", "3"];
    let printed = text(&[&["run", "--print-config"], &arguments[..]].concat());
    std::fs::write(&config, &printed).unwrap();
    assert_eq!(text(&["run", "--print-config", "--config", &config]), printed);
    let ran = json(&["run", SIM, "--config", &config]);
    assert_eq!(ran["preset"], "best");
    assert_eq!((&ran["isa"], &ran["gang"], &ran["threads"]), (&"scalar".into(), &gang.into(), &2.into()));
    assert_eq!(json(&["run", SIM, "--config", &config, "--gang", "auto"])["isa"], "scalar");
}

#[test]
fn quiet_is_quiet() {
    for subcommand in ["run", "check", "throughput", "compare"] {
        assert_eq!(text(&[subcommand, SIM, "--quiet"]), "", "{subcommand}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = peloton(&["run", "sim:velo,events=100000000,seed=1", "--output", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).expect("a line");
    assert!(line.starts_with("{\"event_id\":0,"), "{line}");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_with_the_statistics_so_far() {
    let child = peloton(&["run", "sim:velo,events=100000000,seed=1", "--json", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(summary["events"].as_u64() > Some(0), "{summary}");
    assert_eq!(summary["interrupted"], true);
}
