//! `peloton report`, and `--report` of the commands whose results it shows.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn peloton(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_peloton"));
    command.args(arguments).current_dir(folder).env_remove("PELOTON_ISA");
    command.output().expect("the program starts")
}

/// Runs what must succeed without a word.
fn done(folder: &Path, arguments: &[&str]) {
    let output = peloton(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{arguments:?}: {said}");
}

/// What an error says, with its exit code.
fn refused(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = peloton(folder, arguments);
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).expect(name)
}

const SIM: &str = "sim:velo,events=6,seed=4";

#[test]
fn every_command_writes_the_page_of_its_own_results() {
    let folder = folder();
    let folder = folder.path();
    let quick = ["--repetitions", "1", "--quiet"];
    for (arguments, words) in [
        (&["check", SIM, "--losses", "--quiet"][..], "Efficiency against p: 01_velo"),
        (&["throughput", SIM, quick[0], quick[1], quick[2]], "Time of the stages"),
        (&["tune", SIM, quick[0], quick[1], quick[2], "--output", "cpu.toml"], "Whole sequence"),
        (&["compare", SIM, "--quiet"], "Equal"),
        (
            &[
                "soak",
                "--input",
                "sim:timepix,hits=50000",
                "--seconds",
                "0.5",
                "--warm-up",
                "0.3",
                "--share",
                "0.3",
                "--quiet",
            ],
            "Latency",
        ),
    ] {
        let written = ["--json", "results.json", "--report", "page.html"];
        done(folder, &[arguments, &written].concat());
        let page = read(folder, "page.html");
        assert!(page.starts_with("<!DOCTYPE html>") && page.contains(words), "{arguments:?}");
        let results: Value = serde_json::from_str(&read(folder, "results.json")).expect("JSON");
        let about = &results["about"];
        assert_eq!(
            (&about["command"], &about["version"]),
            (&arguments[0].into(), &env!("CARGO_PKG_VERSION").into())
        );
        assert!(about["cpu"].is_string() && about["changed"].is_array(), "{about}");
        // The same results as a file give the same page but for the name.
        done(folder, &["report", "results.json", "--output", "again.html"]);
        let figures = |page: &str| page.matches("<figure").count();
        assert_eq!(figures(&page), figures(&read(folder, "again.html")));
    }
    done(folder, &["report", "cpu.toml", "--output", "profile.html"]);
    assert!(read(folder, "profile.html").contains("Whole sequence"));
}

#[test]
fn presets_and_changes_of_them_are_told() {
    let folder = folder();
    let folder = folder.path();
    std::fs::write(folder.join("my.toml"), "[velo.fit]\nbeam_x = 0.25\n").expect("a file");
    done(folder, &["check", SIM, "--quiet", "--json", "best.json"]);
    done(
        folder,
        &["check", SIM, "--quiet", "--json", "mine.json", "--config", "my.toml", "--preset", "paper"],
    );
    done(folder, &["report", "best.json", "mine.json", "--output", "both.html"]);
    let page = read(folder, "both.html");
    for words in [
        "velo.fit.beam_x = 0.25 (preset: 0.0)",
        "01_velo, mine",
        "class=\"ratio\"",
        "sim:velo,events=6,seed=4",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let printed = peloton(folder, &["report", "best.json", "--output", "-"]);
    assert!(printed.stdout.starts_with(b"<!DOCTYPE html>"));
}

#[test]
fn mistakes_are_named() {
    let folder = folder();
    let folder = folder.path();
    std::fs::write(folder.join("events.json"), "{\"tracks\": []}").expect("a file");
    for (arguments, code, words) in [
        (&["report", "events.json", "--output", "a.html"][..], 1, "events.json: these are not results"),
        (&["report", "nothing.json", "--output", "a.html"], 1, "nothing.json: "),
        (&["report", "--output", "a.html"], 2, "required"),
        (&["report", "events.json", "--output", "a.txt"], 2, "the name must end in .html"),
        (&["report", "events.json", "--output", "events.json"], 2, "the name must end in .html"),
        (&["check", SIM, "--report", "a.pdf"], 2, "the name must end in .html"),
        (&["run", SIM, "--report", "a.html"], 2, "--report"),
    ] {
        let (found, said) = refused(folder, arguments);
        assert!(found == Some(code) && said.contains(words), "{arguments:?}: {found:?} {said}");
    }
    assert!(!folder.join("a.html").exists());
}
