//! Faults that users found, by theme: each test names what was wrong.
#![cfg(unix)]

#[path = "../../../../tests/common/data.rs"]
mod common;

mod effects;
mod flags;
mod identity;
mod inputs;
mod losses;
mod results;
mod signals;

use peloton::simd::Isa;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Few simulated events of each sequence: enough to have tracks or clusters.
const VELO: &str = "sim:velo,events=6,seed=4";
const CYLINDER: &str = "sim:cylinder,events=2,tracks=100,seed=2";
const PIXELS: &str = "sim:timepix,hits=3000,seed=2";
const RAW: &str = "sim:lhcb,events=2";

fn peloton(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_peloton"));
    command.args(arguments).env_remove(Isa::VARIABLE).stdin(Stdio::null());
    command
}

fn output(arguments: &[&str]) -> Output {
    peloton(arguments).output().expect("the program starts")
}

/// Exit code, standard output, standard error.
fn said(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = output(arguments);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code(), text(stdout), text(stderr))
}

/// What `--json -` says of a job that must succeed.
fn json(arguments: &[&str]) -> Value {
    let (code, text, error) = said(&[arguments, &["--json", "-", "--quiet"]].concat());
    assert_eq!(code, Some(0), "{arguments:?}: {error}");
    serde_json::from_str(&text).expect("JSON")
}

/// The one line on standard error of a job that must end with this code.
fn failure(arguments: &[&str], expected: i32) -> String {
    let (code, _, error) = said(arguments);
    assert_eq!((code, error.lines().count()), (Some(expected), 1), "{arguments:?}: {error}");
    error
}

/// A folder of one test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faults-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("UTF-8").into()
}

/// Writes a file into a folder.
fn file(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = path(folder, name);
    std::fs::write(&path, bytes).expect("written");
    path
}

/// Simulated events of a detector in a file.
fn simulated(folder: &Path, name: &str, detector: &str, events: &str) -> String {
    let path = path(folder, name);
    json(&["simulate", "--detector", detector, "--events", events, "--seed", "4", "--output", &path]);
    path
}
