//! What users and files do wrong.

use super::{folder, json, json_of, path, plan, said, simulated};
use serde_json::Value;
use std::path::Path;

/// The one line of an error with this exit code.
fn error(arguments: &[&str], expected: i32) -> String {
    let (code, _, error) = said(&[arguments, &["--quiet"]].concat());
    assert_eq!((code, error.lines().count()), (Some(expected), 1), "{arguments:?}: {error}");
    error
}

#[test]
fn wrong_flags_are_told() {
    let folder = folder("flags");
    let (plan, _) = plan(&folder, &["sim:velo,events=4"], 2);
    let (to, config) = (path(&folder, "parts"), path(&folder, "config.toml"));
    std::fs::write(&config, "threads = 1").unwrap();
    let run = |more: &[&str]| error(&[&["run", "--plan", &plan, "--output", &to], more].concat(), 2);
    for (more, words) in [
        (&["--part", "2"][..], "the plan has the parts 0 to 1"),
        (&["--part", "0:3"], "the plan has the parts 0 to 1"),
        (&["--part", "-1"], "--part"),
        (&["--part", "all"], "neither a number from 0 nor FIRST:COUNT"),
        (&[], "--part"),
        (&["--part", "0", "sim:velo,events=4"], "--plan"),
        (&["--part", "0", "--events", "0:1"], "--events cannot be combined with --plan"),
        (&["--part", "0", "--max-bad", "1"], "peloton manifest"),
    ] {
        let found = run(more);
        assert!(found.contains(words), "{more:?}: {found}");
    }
    assert!(error(&["run", "--part", "0", "sim:velo"], 2).contains("--plan"));
    assert!(error(&["run", "--plan", &config, "--part", "0", "--output", &to], 2).contains("no plan"));
    assert!(!Path::new(&to).exists());
    for (inputs, words) in [
        (&["-"][..], "can be read only once"),
        (&["tcp://127.0.0.1:1"], "cannot be planned"),
        (&["sim:velo", "sim:velo"], "must be the only input"),
        (&["sim:velo", "--part-events", "0"], "--part-events"),
    ] {
        let found = error(&[&["plan"], inputs, &["--output", &path(&folder, "no.json")]].concat(), 2);
        assert!(found.contains(words), "{inputs:?}: {found}");
    }
}

#[test]
fn files_that_cannot_be_planned_are_named() {
    let folder = folder("unplannable");
    let (raw, toy) = (simulated(&folder, "a.mdf", "lhcb", 2), simulated(&folder, "b.bin", "cylinder", 1));
    let [pixels, other_pixels] = ["e.txt", "f.tpx3"].map(|name| simulated(&folder, name, "timepix", 100));
    let [text, empty] = [("c.txt", "no events"), ("d.mdf", "")].map(|(name, content)| {
        std::fs::write(folder.join(name), content).unwrap();
        path(&folder, name)
    });
    let output = path(&folder, "plan.json");
    for (inputs, words) in [
        (&[&raw[..], &toy][..], "contain different kinds of data"),
        (&[&pixels, &other_pixels], "contain different kinds of data"),
        (&[&raw, "absent.mdf"], "absent.mdf"),
        (&[&raw, &text], "c.txt: unknown format"),
        (&[&raw, &empty], "d.mdf: there is no event in it"),
    ] {
        let (code, _, found) = said(&[&["plan"], inputs, &["--output", &output, "--quiet"]].concat());
        assert!(
            code != Some(0) && found.contains(words) && found.lines().count() == 1,
            "{inputs:?}: {found}"
        );
        assert!(!Path::new(&output).exists());
    }
}

#[test]
fn an_input_that_changed_is_not_run() {
    let folder = folder("changed");
    let file = simulated(&folder, "a.mdf", "lhcb", 4);
    let (plan, made) = plan(&folder, &[&file], 2);
    let to = path(&folder, "parts");
    let whole = std::fs::read(&file).unwrap();
    let mut other = whole.clone();
    other[made["parts"][1]["byte"].as_u64().unwrap() as usize + 100] ^= 1;
    let how = ["--output", &to, "--geometry", "nominal"];
    for bytes in [&whole[..whole.len() - 1], &other] {
        std::fs::write(&file, bytes).unwrap();
        let found = error(&[&["run", "--plan", &plan, "--part", "0"], &how[..]].concat(), 1);
        assert!(found.contains("a.mdf") && found.contains("has changed since it was planned"), "{found}");
    }
    let sum = json_of(&["manifest", &to, "--plan", &plan], 1);
    assert!(sum["failed"][0]["reason"].as_str().unwrap().contains("has changed"), "{sum}");
    std::fs::write(&file, &whole).unwrap();
    json(&[&["run", "--plan", &plan, "--part", ":"], &how[..]].concat());
    json(&["manifest", &to, "--plan", &plan]);
}

#[test]
fn a_manifest_names_what_lacks_or_does_not_belong() {
    let folder = folder("manifest");
    let (plan, _) = plan(&folder, &["sim:velo,events=6"], 1);
    let to = path(&folder, "parts");
    let run = |part: &str, more: &[&str]| {
        json(&[&["run", "--plan", &plan, "--part", part, "--output", &to], more].concat())
    };
    let manifest = |code: i32| json_of(&["manifest", &to, "--plan", &plan], code);
    let reason = |sum: &Value, part: u64| {
        let failed = sum["failed"].as_array().unwrap();
        let found = failed.iter().find(|failed| failed["part"] == part);
        found.map_or(String::new(), |failed| failed["reason"].as_str().unwrap().into())
    };
    run(":", &[]);
    let whole = manifest(0);
    // Other parameters, another file, another byte, one part too many.
    run("1", &["--preset", "paper", "--force"]);
    std::fs::write(Path::new(&to).join("part-00002.parquet"), "x").unwrap();
    let third = Path::new(&to).join("part-00003.parquet");
    let mut bytes = std::fs::read(&third).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&third, bytes).unwrap();
    std::fs::remove_file(Path::new(&to).join("part-00004.json")).unwrap();
    std::fs::write(Path::new(&to).join("part-00006.parquet"), "x").unwrap();
    let sum = manifest(1);
    for (part, words) in [
        (1, "made by another version, configuration or geometry"),
        (2, "part-00002.parquet has 1 bytes"),
        (3, "part-00003.parquet: it has changed since it was written"),
        (4, "begun and not ended"),
    ] {
        assert!(reason(&sum, part).contains(words), "{part}: {sum}");
    }
    assert_eq!((&sum["parts_done"], &sum["unplanned"][0]), (&2.into(), &"part-00006.parquet".into()));
    let on_disk: Value =
        serde_json::from_slice(&std::fs::read(Path::new(&to).join("_manifest.json")).unwrap()).unwrap();
    assert_eq!(on_disk, sum);
    // The folder belongs to the other parameters now, and is taken back.
    run("1", &["--force"]);
    // What is done is found by its size; the byte that differs by its hash.
    run(":", &[]);
    let changed = "part-00003.parquet: it has changed since it was written: remove it and run the part again";
    assert_eq!(reason(&manifest(1), 3), changed);
    let by_size = json_of(&["manifest", &to, "--plan", &plan, "--verify=size"], 1);
    assert_eq!((reason(&by_size, 3), &by_size["parts_done"]), (String::new(), &6.into()));
    std::fs::remove_file(Path::new(&to).join("part-00003.parquet")).unwrap();
    run(":", &[]);
    let (_, _, found) = said(&["manifest", &to, "--plan", &plan]);
    assert!(found.contains("part-00006.parquet is not part of the plan"), "{found}");
    std::fs::remove_file(Path::new(&to).join("part-00006.parquet")).unwrap();
    assert_eq!(manifest(0)["hash_events"], whole["hash_events"]);
}

#[test]
fn nothing_reconstructed_at_all_is_a_failure_of_the_whole() {
    let folder = folder("all-bad");
    let file = path(&folder, "bad.ndjson");
    std::fs::write(&file, "{\"event\": 1\n{\"event\": 2\n").unwrap();
    let (plan, made) = plan(&folder, &[&file, "--format", "velo-ndjson"], 5);
    assert_eq!(made["events"], 2);
    let to = path(&folder, "parts");
    json(&["run", "--plan", &plan, "--part", "0", "--output", &to]);
    let sum = json_of(&["manifest", &to, "--plan", &plan], 1);
    assert_eq!(
        (&sum["failure"], &sum["is_complete"]),
        (&"no event could be reconstructed".into(), &true.into())
    );
}
