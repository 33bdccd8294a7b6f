//! The files of the command line: configurations are read once.
#![cfg(all(feature = "cli", unix))]

use peloton::simd::Isa;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Few simulated events of each sequence: enough to have tracks.
const VELO: &str = "sim:velo,events=6,seed=4";
const CYLINDER: &str = "sim:cylinder,events=1,tracks=200,seed=2";
const PIXELS: &str = "sim:timepix,hits=3000,seed=2";

fn peloton(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_peloton"));
    command.args(arguments).env_remove(Isa::VARIABLE);
    command
}

fn output(arguments: &[&str]) -> Output {
    peloton(arguments).stdin(Stdio::null()).output().expect("the program starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// What a run that must succeed says.
fn succeed(arguments: &[&str]) -> Vec<u8> {
    let output = output(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    output.stdout
}

/// What a run says to whom standard input brings `input`.
fn fed(arguments: &[&str], input: &str) -> Output {
    let mut command = peloton(arguments);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("a reader");
    child.wait_with_output().expect("an end")
}

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("files-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("UTF-8").into()
}

#[test]
fn configurations_may_come_through_pipes() {
    let folder = folder("config");
    let file = path(&folder, "config.toml");
    for (sequence, input, config) in [
        ("velo", VELO, "preset = 'paper'"),
        ("cylinder", CYLINDER, "preset = 'paper'"),
        ("timepix", PIXELS, "[timepix]\ndisorder_us = 700.0"),
    ] {
        let config = format!("sequence = '{sequence}'\n{config}\n");
        std::fs::write(&file, &config).unwrap();
        // The checks of pixel hits name no preset.
        let commands =
            if sequence == "timepix" { &["run", "throughput"][..] } else { &["run", "throughput", "check"] };
        for command in commands {
            let arguments = |config: &'static str| [*command, input, "--json", "-", "--config", config];
            let said = fed(&arguments("/dev/stdin"), &config);
            assert!(said.status.success(), "{command} {sequence}: {}", stderr(&said));
            let piped: Value = serde_json::from_slice(&said.stdout).expect("JSON");
            let named = [*command, input, "--json", "-", "--config", &file];
            let named: Value = serde_json::from_slice(&succeed(&named)).expect("JSON");
            for key in ["sequence", "preset", "output_hash", "tracks"] {
                assert_eq!(piped[key], named[key], "{command} {sequence}: {key}");
            }
            // What the file says of the preset arrived.
            assert_ne!(piped["preset"], "best", "{command} {sequence}: {piped}");
        }
    }
}

#[test]
fn profiles_may_come_through_pipes() {
    let folder = folder("profile");
    let profile = path(&folder, "profile.toml");
    for (sequence, input) in [("velo", VELO), ("cylinder", CYLINDER), ("timepix", PIXELS)] {
        let tune =
            ["tune", input, "--sequence", sequence, "--isa", "scalar", "--gang", "1", "--repetitions", "1"];
        succeed(&[&tune[..], &["--output", &profile, "--quiet"]].concat());
        let profile = std::fs::read_to_string(&profile).unwrap();
        let run = ["run", input, "--sequence", sequence, "--json", "-", "--profile", "/dev/stdin"];
        let said = fed(&run, &profile);
        assert!(said.status.success(), "{sequence}: {}", stderr(&said));
        let summary: Value = serde_json::from_slice(&said.stdout).expect("JSON");
        assert_eq!((&summary["isa"], &summary["gang"]), (&"scalar".into(), &1.into()), "{sequence}");
    }
}
