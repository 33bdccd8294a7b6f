//! `peloton check --losses` and `--against`: every lost particle is lost at one step, and a cut that loses particles loses them
//! at its own step; two lists of tracks are compared particle by particle.

use crate::common::data;
use crate::output;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Few events with tracks of all kinds.
const SIM: &str = "sim:lhcb,events=12,seed=5";
const STEPS_OF_SEEDS: usize = 2;

fn check(sequence: &str, arguments: &[&str]) -> Value {
    let arguments = [&["check", "--sequence", sequence, "--json", "-"], arguments].concat();
    let output = output(&arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn failure(arguments: &[&str]) -> String {
    let output = output(arguments);
    let message = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(!output.status.success() && message.lines().count() == 1, "{arguments:?}: {message}");
    message
}

/// A file of this test's own.
fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lost_and_paired");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder.join(name)
}

fn words(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn category<'a>(report: &'a Value, name: &str) -> &'a Value {
    let all = report["categories"].as_array().expect("categories");
    all.iter().find(|one| one["name"] == name).expect("the category")
}

/// Numbers of lost particles by step, once it is clear that they add up to those that the check missed.
fn lost(report: &Value, name: &str) -> Vec<u64> {
    let tables = report["lost"].as_array().expect("tables");
    let table = tables.iter().find(|table| table["category"] == name).expect("the category");
    let steps = table["stages"].as_array().expect("steps");
    let counts: Vec<_> = steps.iter().map(|step| step["lost"].as_u64().expect("a count")).collect();
    let of = category(report, name);
    let [all, found] = ["reconstructible", "reconstructed"].map(|key| of[key].as_u64().expect("a count"));
    assert_eq!(table["particles"], all);
    assert_eq!((table["lost"].as_u64(), counts.iter().sum::<u64>()), (Some(all - found), all - found));
    assert_eq!(steps[0]["entered"], all);
    counts
}

#[test]
fn every_lost_particle_has_one_step_on_any_level_and_number_of_threads() {
    for (sequence, names) in [
        ("velo-ut", ["07_long", "08_long_P>5GeV"]),
        ("scifi", ["02_long_P>5GeV", "10_UT+SciFi_P>3GeV"]),
        ("long", ["01_long", "02_long_P>5GeV"]),
        ("long-ut", ["01_long", "02_long_P>5GeV"]),
    ] {
        for preset in ["best", "hlt1"] {
            let of =
                |flags: &[&str]| check(sequence, &[&[SIM, "--losses", "--preset", preset], flags].concat());
            let report = of(&["--threads", "1"]);
            let counts = names.map(|name| lost(&report, name));
            assert!(counts[0].iter().sum::<u64>() > 0, "{sequence} {preset}");
            let other = of(&["--threads", "3", "--isa", "scalar", "--slice", "2"]);
            assert_eq!(report["lost"], other["lost"], "{sequence} {preset}");
        }
    }
}

/// What is lost at one step more is lost there.
#[test]
fn a_cut_loses_particles_at_its_own_step() {
    let lost_by = |sequence: &str, name: &str, cut: &str| {
        let path = file(&format!("{}.toml", cut.replace(['.', ' ', '[', ']', '='], "_")));
        std::fs::write(&path, cut.replace("; ", "\n")).expect("a file");
        lost(&check(sequence, &[SIM, "--losses", "--config", words(&path)]), name)
    };
    // A track with foreign hits may be lost that was never to be had of the particle's own.
    let is_alike = |before: &[u64], after: &[u64]| before.iter().zip(after).all(|(a, b)| a.abs_diff(*b) <= 3);
    let fast = "08_long_P>5GeV";
    let before = lost_by("velo-ut", fast, "");
    // Steps: failed, few hits, no Velo track, windows, cuts, hits of others, other tracks.
    let after = lost_by("velo-ut", fast, "[ut]; final_momentum = 20000.0");
    assert!(after[4] > before[4] + 20 && is_alike(&before[..4], &after[..4]), "{before:?} {after:?}");
    let after = lost_by("velo-ut", fast, "[ut]; hit_tolerance = 0.02");
    assert!(after[3] > before[3] + 20 && is_alike(&before[..3], &after[..3]), "{before:?} {after:?}");
    let fast = "02_long_P>5GeV";
    let before = lost_by("long", fast, "");
    // Steps: failed, no Velo track, five of the SciFi, windows, refused alone, beaten to the seed and to the Velo track, left over.
    let after = lost_by("long", fast, "[long]; max_chi2 = 0.001");
    assert!(after[7] > before[7] + 50 && is_alike(&before[..7], &after[..7]), "{before:?} {after:?}");
    let after = lost_by("long", fast, "[long]; min_response = 0.9999");
    assert!(after[8] > before[8] + 50 && is_alike(&before[..8], &after[..8]), "{before:?} {after:?}");
    // A seed that the SciFi loses is lost to the long tracks at the same step.
    let seeds = lost_by("scifi", fast, "");
    assert_eq!(before[2..7], seeds[1..], "{before:?} {seeds:?}");
    let seeds = |pass: &str| lost_by("scifi", fast, &format!("preset = 'hlt1'; [scifi.hlt1]; {pass}"));
    let hlt1 = seeds("min_momentum = 3000.0");
    // Steps: failed, few hits, windows, classifier, hits of others, other tracks.
    let slow = seeds("min_momentum = 40000.0");
    assert!(
        slow[STEPS_OF_SEEDS] > hlt1[STEPS_OF_SEEDS] + 50 && is_alike(&hlt1[..2], &slow[..2]),
        "{hlt1:?} {slow:?}"
    );
    let twelve = seeds("min_hits = 12; min_uv_hits = 6; min_x_hits = 6");
    assert!(twelve[1] > hlt1[1] && hlt1[3] == 0, "{hlt1:?} {twelve:?}");
}

/// The halves of the SciFi are searched apart: nearly every particle has its hits in one of them.
#[test]
fn halves_of_the_scifi_have_tables_of_their_own() {
    let report = check("scifi", &[SIM, "--losses"]);
    let tables = report["lost"].as_array().expect("tables");
    let counts = |part: Option<&str>| {
        let is_it = |table: &&Value| table["category"] == "02_long_P>5GeV" && table["part"].as_str() == part;
        let table = tables.iter().find(is_it).expect("a table");
        ["particles", "lost"].map(|count| table[count].as_u64().expect("a count"))
    };
    let [all, lower, upper] = [None, Some("lower half"), Some("upper half")].map(counts);
    let in_halves = [lower[0] + upper[0], lower[1] + upper[1]];
    assert!(in_halves[0] <= all[0] && in_halves[1] <= all[1], "{lower:?} and {upper:?} of {all:?}");
    assert!(in_halves[0] * 50 > all[0] * 49, "{lower:?} and {upper:?} of {all:?}");
    // As many are in the one as in the other, but for chance.
    assert!(lower[0] > all[0] / 3 && upper[0] > all[0] / 3, "{lower:?} and {upper:?} of {all:?}");
}

#[test]
fn losses_go_by_the_rules_of_the_sequence() {
    let message = failure(&["check", "--sequence", "long", SIM, "--losses", "--rules", "lhcb-seed"]);
    assert!(message.contains("--losses uses the rules lhcb-long"), "{message}");
    let message = failure(&["check", "--sequence", "ut", SIM, "--losses"]);
    assert!(
        message.contains("--losses is for the sequences velo, velo-ut, scifi, long, long-ut, cylinder"),
        "{message}"
    );
}

fn pairs<'a>(report: &'a Value, name: &str) -> &'a Value {
    let all = report["paired"]["categories"].as_array().expect("pairs");
    all.iter().find(|one| one["name"] == name).expect("the category")
}

/// Found by both, by the first alone, by the second alone, by neither.
fn counts(report: &Value, name: &str) -> [u64; 4] {
    let pair = pairs(report, name);
    ["both", "first_only", "second_only", "neither"].map(|key| pair[key].as_u64().expect("a count"))
}

#[test]
fn tracks_are_paired_with_those_of_another_preset() {
    let tracks = file("hlt1.ndjson");
    let run = ["run", "--sequence", "long", SIM, "--preset", "hlt1", "--output", words(&tracks), "--quiet"];
    assert!(output(&run).status.success());
    let [hlt1, best] =
        ["hlt1", "best"].map(|preset| check("long", &[SIM, "--preset", preset, "--against", words(&tracks)]));
    for name in ["01_long", "02_long_P>5GeV"] {
        let [of_hlt1, of_best] = [&hlt1, &best].map(|report| {
            let of = category(report, name);
            ["reconstructible", "reconstructed"].map(|key| of[key].as_u64().expect("a count"))
        });
        assert_eq!(counts(&hlt1, name), [of_hlt1[1], 0, 0, of_hlt1[0] - of_hlt1[1]]);
        let [both, first, second, neither] = counts(&best, name);
        assert_eq!([both + first, both + second], [of_best[1], of_hlt1[1]]);
        assert!(first > 0 && second > 0 && neither > 0 && both > first, "{name}");
        assert_eq!(both + first + second + neither, of_best[0]);
        let interval = &pairs(&best, name)["first_interval"];
        assert_eq!((&interval[0], &interval[1]), {
            let of = category(&best, name);
            (&of["efficiency_low"], &of["efficiency_high"])
        });
    }
    // The same from two files, and the other way round.
    let own = file("best.ndjson");
    assert!(output(&["run", "--sequence", "long", SIM, "--output", words(&own), "--quiet"]).status.success());
    let files = check("long", &[SIM, "--tracks", words(&own), "--against", words(&tracks)]);
    assert_eq!(files["paired"], best["paired"]);
    let text = output(&["check", "--sequence", "long", SIM, "--against", words(&tracks)]);
    let text = String::from_utf8_lossy(&text.stdout);
    assert!(text.contains("compared with") && text.contains("here alone  there alone  by neither"), "{text}");
}

#[test]
fn what_cannot_be_paired_is_refused() {
    let message = failure(&["check", "--sequence", "long", SIM, "--against", "none.ndjson"]);
    assert!(message.contains("none.ndjson"), "{message}");
    let tracks = file("short.ndjson");
    std::fs::write(&tracks, "[[1, 2, 3]]\n").expect("a file");
    let message = failure(&["check", "--sequence", "long", SIM, "--against", words(&tracks)]);
    assert!(message.contains("the file has fewer lines than there are events"), "{message}");
    let job = ["check", "--sequence", "cylinder", "sim:cylinder,tracks=10", "--against", words(&tracks)];
    let message = failure(&job);
    assert!(message.contains("--against is for the sequences"), "{message}");
}

/// The seven public events, and what LHCb's program of 2023 found in them.
#[test]
fn the_tracks_of_2023_are_paired_with_ours() {
    let Some(data) = data() else { return };
    let data = data.join("lhcb");
    let of = |name: &str| data.join(name);
    let (events, geometry) = (of("minbias_retina_truth.mdf"), of("geometry"));
    for (sequence, peer, name, theirs) in [
        ("velo-ut", "velout", "08_long_P>5GeV", 167),
        ("velo-ut", "velout_unrestricted", "08_long_P>5GeV", 204),
        ("scifi", "seeds", "02_long_P>5GeV", 201),
        ("long", "long", "02_long_P>5GeV", 187),
    ] {
        let peer = of(&format!("peer_2023/{peer}.ndjson"));
        let files = [&events, &geometry, &peer].map(|path| words(path));
        let [events, geometry, peer] = files;
        let report = check(sequence, &[events, "--geometry", geometry, "--against", peer]);
        let [both, first, second, neither] = counts(&report, name);
        println!("{sequence} {peer} {name}: both {both}, here {first}, there {second}, neither {neither}");
        assert_eq!((both + second, both + first + second + neither), (theirs, 244), "{sequence}");
        assert!(first > second, "{sequence}: here alone {first}, there alone {second}");
    }
}

/// Forward tracks of LHCb's trigger of 2019 in these events: 32-bit words, the number of tracks, and of each eta, p, pT, the
/// number of hits and their ids, which are those of the geometry of 2018.
fn tracks_of_2019(folder: &Path) -> String {
    let mut lines = String::new();
    for event in 6001..=6007 {
        let bytes =
            std::fs::read(folder.join(format!("6718861_{event}.bin"))).expect("the tracks of an event");
        let words: Vec<_> =
            bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        let (count, mut words) = (words[0], &words[1..]);
        let mut tracks = Vec::new();
        for _ in 0..count {
            let hits = words[3] as usize;
            tracks.push(words[4..4 + hits].to_vec());
            words = &words[4 + hits..];
        }
        assert!(words.is_empty());
        let line = serde_json::json!({
            "event_id": event - 6001, "run_number": 6718861, "event_number": event, "tracks": tracks,
        });
        lines.push_str(&format!("{line}\n"));
    }
    lines
}

#[test]
fn the_tracks_of_2019_are_paired_with_ours() {
    let Some(data) = data() else { return };
    let data = data.join("lhcb");
    let peer = file("forward_2019.ndjson");
    std::fs::write(&peer, tracks_of_2019(&data.join("forward_2019"))).expect("a file");
    let [events, geometry] = ["minbias_superpixel.mdf", "geometry_2018"].map(|name| data.join(name));
    for (sequence, rules, fast) in [("scifi", "lhcb-seed", 110), ("long", "lhcb-long", 110)] {
        let (events, geometry) = (words(&events), words(&geometry));
        let other =
            check(sequence, &[events, "--geometry", geometry, "--tracks", words(&peer), "--rules", rules]);
        assert_eq!(other["tracks"], 133);
        let report = check(sequence, &[events, "--geometry", geometry, "--against", words(&peer)]);
        for name in ["01_long", "02_long_P>5GeV"] {
            let [both, first, second, neither] = counts(&report, name);
            println!("{sequence} {name}: both {both}, here {first}, there {second}, neither {neither}");
        }
        let [both, first, second, neither] = counts(&report, "02_long_P>5GeV");
        assert_eq!((both + second, both + first + second + neither), (fast, 244), "{sequence}");
        assert!(first > second, "{sequence}: here alone {first}, there alone {second}");
    }
}
