//! Nothing is invented, and nothing is lost silently: a job without input is an error, losses of pixel hits are reported, a
//! sequence has its own presets alone, and numbers count what their names say.

use crate::{empty_folder, json, path, said};
use serde_json::Value;
use std::path::Path;

/// Standard error of a job that must end with this code.
fn stderr_of(arguments: &[&str], code: i32) -> String {
    let (found, _, error) = said(arguments);
    assert_eq!(found, Some(code), "{arguments:?}: {error}");
    error
}

/// Lines of burda: pixel, time of arrival in clocks of 25 ns, fine time, time over threshold.
fn burda(folder: &Path, name: &str, hits: &[(u32, u64)]) -> String {
    let lines = hits.iter().map(|(pixel, clocks)| format!("{pixel} {clocks} 0 9\n"));
    let file = path(folder, name);
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    file
}

/// A chunk of Timepix3 words of chip 0.
fn tpx3(words: &[u64]) -> Vec<u8> {
    let mut bytes = b"TPX3".to_vec();
    bytes.extend([0, 0]);
    bytes.extend((8 * words.len() as u16).to_le_bytes());
    words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes
}

/// A hit on a pixel near the corner at so many clocks of 25 ns.
fn hit_word(clocks: u64) -> u64 {
    0xB << 60 | (clocks & 0x3FFF) << 30 | 9 << 20 | (clocks >> 14)
}

#[test]
fn no_input_is_an_error_everywhere() {
    let folder = empty_folder("no-input");
    let output = |name: &str| path(&folder, name);
    let (page, plan, empty) = (output("page.html"), output("plan.json"), output("empty"));
    std::fs::create_dir(&empty).unwrap();
    let pattern = output("*.mdf");
    let jobs: [&[&str]; 7] = [
        &["run"],
        &["check"],
        &["throughput"],
        &["tune", "--json", "-"],
        &["compare"],
        &["display", "--output", &page],
        &["plan", "--output", &plan],
    ];
    for job in jobs {
        let error = stderr_of(job, 2);
        // The parser itself asks for the inputs of a plan.
        let words = if job[0] == "plan" { "<INPUT>..." } else { "no input: give files, a folder, `-`" };
        assert!(error.lines().count() == 1 && error.contains(words), "{error}");
        let error = stderr_of(&[job, &[&pattern]].concat(), 1);
        assert!(error.contains("*.mdf: no file matches this pattern"), "{error}");
        let error = stderr_of(&[job, &[&empty]].concat(), 1);
        assert!(error.contains("holds no files") || error.contains("no input"), "{error}");
    }
    for sequence in ["velo", "ut", "long", "timepix", "cylinder", "cylinder-fit"] {
        assert!(
            stderr_of(&["run", "--sequence", sequence], 2).contains("sim:velo,events=1000,seed=1"),
            "{sequence}"
        );
    }
    // Flags of another sequence are not what is wrong.
    assert!(stderr_of(&["run", "--trigger", "rise1"], 2).contains("no input"));
    assert!(stderr_of(&["check", "--tracks", "none.ndjson"], 2).contains("no input"));
    assert!(said(&["run", "--print-config"]).1.contains("sequence = "));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn empty_inputs_are_valid_and_reported() {
    let folder = empty_folder("empty-inputs");
    let file = |name: &str, bytes: &[u8]| {
        let file = path(&folder, name);
        std::fs::write(&file, bytes).unwrap();
        file
    };
    let head = "Index\tMatrix Index\tToA\tToT\tFToA\tOverflow\n";
    let header = file("a.t3pa", head.as_bytes());
    // A heartbeat, and no hit.
    let quiet = file("a.tpx3", &tpx3(&[0x44 << 56 | 7 << 16]));
    let (lines, records) = (file("a.ndjson", b""), file("a.mdf", b""));
    for (job, words) in [
        (&[&header[..]][..], "there is no hit in it"),
        (&[&quiet], "there is no hit in it"),
        (&["sim:timepix,hits=0"], "there is no hit in it"),
        (&["sim:velo,events=0"], "there is no event in it"),
        (&["--sequence", "ut", "sim:lhcb,events=0"], "there is no event in it"),
        (&["sim:cylinder,events=0"], "there is no event in it"),
        (&["--sequence", "velo", &lines], "there is no event in it"),
        (&[&records, "--geometry", "nominal"], "there is no event in it"),
    ] {
        let error = stderr_of(&[&["run", "--quiet"], job].concat(), 0);
        assert!(error.lines().count() == 1 && error.contains(words), "{job:?}: {error}");
    }
}

#[test]
fn words_of_which_none_is_known_are_a_failure() {
    let folder = empty_folder("unknown-words");
    let file = path(&folder, "a.tpx3");
    std::fs::write(&file, tpx3(&[0x1 << 60, 0x2 << 60, 0x3 << 60])).unwrap();
    for more in [&[][..], &["--max-bad", "100%"]] {
        let error = stderr_of(&[&["run", &file, "--quiet"], more].concat(), 1);
        assert!(error.contains("error: there is no hit in the input, and"), "{error}");
    }
}

#[test]
fn losses_are_reported_once_and_may_be_limited() {
    let folder = empty_folder("losses");
    // 90 hits in order, and 10 between them that come 50 ms too late.
    let hits: Vec<_> = (0..100u64)
        .map(|n| (1000 + n as u32, if n % 10 == 5 { 2_000_000 } else { 4_000_000 + 1000 * n }))
        .collect();
    let file = burda(&folder, "late.txt", &hits);
    let words = "warning: 10 of 100 hits (10.0 %) have times that contradict their neighbours: see --disorder-us, --toa-bits";
    for command in ["run", "check", "throughput", "compare", "display"] {
        let page = path(&folder, "page.html");
        let more: &[&str] = match command {
            "throughput" => &["--repetitions", "1"],
            "display" => &["--output", &page],
            _ => &[],
        };
        let error = stderr_of(&[&[command, &file, "--quiet"], more].concat(), 0);
        assert_eq!(error.trim_end(), words, "{command}");
    }
    for (max, code) in [("10", 0), ("9", 1), ("10%", 0), ("9.5%", 1), ("100%", 0)] {
        let error = stderr_of(&["run", &file, "--quiet", "--max-bad", max], code);
        let limit = format!("error: 10 of 100 hits are lost, more than --max-bad {max}");
        assert_eq!((error.starts_with(words), error.contains(&limit)), (true, code == 1), "{error}");
    }
    for wrong in ["-1", "nan%", "-1%", "101%", "1.5"] {
        let error = stderr_of(&["run", &file, "--max-bad", wrong], 2);
        assert!(error.contains("--max-bad") && error.contains(&format!("`{wrong}` is not a ")), "{error}");
    }
    // The same words for the parts of a plan.
    let (plan, to) = (path(&folder, "plan.json"), path(&folder, "parts"));
    json(&["plan", &file, "--output", &plan]);
    json(&["run", "--plan", &plan, "--part", ":", "--output", &to]);
    for (max, code) in [("10%", 0), ("9%", 1)] {
        let error = stderr_of(&["manifest", &to, "--plan", &plan, "--max-bad", max, "--quiet"], code);
        assert!(error.starts_with(words), "{error}");
    }
}

#[test]
fn nothing_left_is_a_failure_unless_it_is_allowed() {
    let folder = empty_folder("nothing-left");
    let file = burda(&folder, "a.txt", &[(1000, 10), (3000, 20)]);
    let job = ["run", &file, "--quiet", "--filter", "size=5:"];
    let error = stderr_of(&job, 1);
    let words = "no hit is left in the results: 2 of 2 hits (100.0 %) are in clusters that the filter removed: see --filter";
    assert_eq!(error.trim_end(), format!("error: {words}"));
    let allowed = stderr_of(&[&job[..], &["--max-bad", "100%"]].concat(), 0);
    assert!(allowed.starts_with("warning: 2 of 2 hits"), "{allowed}");
    // Nor is it for events.
    let bad = path(&folder, "bad.ndjson");
    std::fs::write(&bad, "{\"event\": 1\n").unwrap();
    let job = ["run", "--format", "velo-ndjson", &bad, "--quiet"];
    stderr_of(&job, 1);
    stderr_of(&[&job[..], &["--max-bad", "100%"]].concat(), 0);
    stderr_of(&[&job[..], &["--max-bad", "5"]].concat(), 1);
}

#[test]
fn filters_that_can_keep_nothing_are_refused() {
    let folder = empty_folder("filters");
    let file = burda(&folder, "a.txt", &[(1000, 10)]);
    for filter in ["energy=10:", "size=5:2", "size=3:,size=:2"] {
        let error = stderr_of(&["run", &file, "--filter", filter], 2);
        assert!(error.contains("keeps nothing"), "{filter}: {error}");
    }
    let error = stderr_of(&["run", &file, "--filter", "energy=10:"], 2);
    assert!(error.contains("without a calibration the energy of every cluster is 0"), "{error}");
    let toml = path(&folder, "a.toml");
    std::fs::write(&toml, "[[timepix.filter]]\nfeature = 'size'\nmin = 5.0\nmax = 2.0\n").unwrap();
    assert!(stderr_of(&["run", &file, "--config", &toml], 2).contains("the filter on size keeps nothing"));
}

#[test]
fn edges_that_the_input_does_not_have_are_reported() {
    let folder = empty_folder("edges");
    let file = path(&folder, "a.tpx3");
    // Two rising edges of input 1 (0x6F), and a hit behind them.
    let edge = |count: u64, clocks: u64| 0x6F << 56 | count << 44 | (clocks << 3) << 9 | 1 << 5;
    std::fs::write(&file, tpx3(&[edge(1, 5), edge(2, 9), hit_word(20)])).unwrap();
    let run = |edge: &str| stderr_of(&["run", &file, "--quiet", "--trigger", edge], 0);
    assert_eq!(run("rise1"), "");
    let error = run("fall1");
    assert!(
        error.contains("--trigger fall1: the input has no such edge") && error.contains("it has rise1 (2)"),
        "{error}"
    );
}

#[test]
fn presets_are_those_of_the_sequence() {
    for (sequence, input, preset, has) in [
        (
            "velo",
            "sim:velo,events=1",
            "hlt1",
            "velo has best, fast, two-pass, paper, paper-literal, forwarding",
        ),
        (
            "velo-ut",
            "sim:lhcb,events=1",
            "forwarding",
            "velo-ut has best, fast, two-pass, hlt1, hlt1-unrestricted, paper",
        ),
        ("scifi", "sim:lhcb,events=1", "paper", "scifi has best, fast, hlt1"),
        ("long", "sim:lhcb,events=1", "hlt1-unrestricted", "long has best, fast, two-pass, hlt1"),
        ("cylinder", "sim:cylinder,events=1,tracks=10", "hlt1", "cylinder has best, paper"),
    ] {
        let folder = empty_folder("presets");
        let toml = path(&folder, "a.toml");
        std::fs::write(&toml, format!("preset = '{preset}'\n")).unwrap();
        let right = format!("preset={preset}");
        for job in [
            &["run", "--sequence", sequence, input, "--preset", preset][..],
            &["check", "--sequence", sequence, input, "--config", &toml],
            &["compare", "--sequence", sequence, input, "--right", &right],
        ] {
            let error = stderr_of(job, 2);
            assert!(error.contains(has), "{job:?}: {error}");
        }
    }
    // Without losses no losses are printed.
    for (sequence, input) in [
        ("timepix", "sim:timepix,hits=100"),
        ("scifi-hits", "sim:lhcb,events=1"),
        ("ut", "sim:lhcb,events=1"),
    ] {
        let job = ["run", "--sequence", sequence, input];
        assert!(!said(&job).1.contains("preset"), "{sequence}");
        assert_eq!(json(&job)["preset"], Value::Null, "{sequence}");
        let page = path(&empty_folder("presets"), "a.html");
        let compare = ["compare", "--sequence", sequence, input, "--report", &page];
        assert!(!said(&compare).1.contains("preset"), "{sequence}");
        assert!(!std::fs::read_to_string(&page).unwrap().contains(">preset<"), "{sequence}");
    }
}

#[test]
fn hits_per_cluster_are_those_in_clusters() {
    let folder = empty_folder("per-cluster");
    // Eight clusters of one hit, and one of two that the filter removes.
    let mut hits: Vec<_> = (0..8u64).map(|n| (1000 + 5 * n as u32, 4_000_000 + 1000 * n)).collect();
    hits.extend([(3000, 4_100_000), (3001, 4_100_000)]);
    let file = burda(&folder, "a.txt", &hits);
    let text = said(&["run", &file, "--filter", "size=1:1"]).1;
    let row = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).expect("a row");
        line.split_whitespace().map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(row("hits in clusters"), ["hits", "in", "clusters", "8", "1.0"]);
    assert_eq!(row("hits "), ["hits", "10"]);
    let page = path(&folder, "a.html");
    json(&["display", &file, "--filter", "size=1:1", "--output", &page]);
    let page = std::fs::read_to_string(&page).unwrap();
    let fact = page.split("hits per cluster").nth(1).expect("the fact");
    assert!(fact[..40].contains(">1.00<"), "{}", &fact[..40]);
}

#[test]
fn the_page_of_a_folder_shows_the_hits_of_every_file() {
    let folder = empty_folder("clocks");
    let late: Vec<_> = (0..20).map(|n| (1000 + n, 40_000_000 + 4000 * u64::from(n))).collect();
    let early: Vec<_> = (0..30).map(|n| (1000 + n, 4000 * u64::from(n))).collect();
    burda(&folder, "1.txt", &late);
    burda(&folder, "2.txt", &early);
    let page = path(&empty_folder("clocks-page"), "a.html");
    json(&["display", "--sequence", "timepix", folder.to_str().unwrap(), "--output", &page]);
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("Time of arrival: 50 hits<"), "the time of arrival");
    assert!(page.contains("the clocks of 2 inputs are joined one after another"));
}

#[test]
fn the_run_number_is_the_seed() {
    let folder = empty_folder("run-numbers");
    for seed in ["7", "8"] {
        let file = path(&folder, &format!("{seed}.mdf"));
        json(&["simulate", "--detector", "lhcb", "--events", "2", "--seed", seed, "--output", &file]);
        for input in [&file[..], &format!("sim:lhcb,events=2,seed={seed}")] {
            let tracks = path(&folder, "a.ndjson");
            json(&["run", input, "--geometry", "nominal", "--output", &tracks]);
            let text = std::fs::read_to_string(&tracks).unwrap();
            let runs = text
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap()["run_number"].to_string());
            assert_eq!(runs.collect::<Vec<_>>(), [seed, seed], "{input}");
        }
    }
}
