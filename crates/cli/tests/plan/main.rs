//! Jobs in parts: `plan`, `run --plan`, `manifest`.
#![cfg(unix)]

#[path = "../../../../tests/common/data.rs"]
mod common;

mod batch;
mod faults;
mod same_bytes;
mod sums;

use peloton::simd::Isa;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn peloton(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_peloton"));
    command.args(arguments).env_remove(Isa::VARIABLE).stdin(Stdio::null());
    command
}

/// Exit code, standard output, standard error.
fn said(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = peloton(arguments).output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code(), text(stdout), text(stderr))
}

/// What `--json -` says of a job that must end with this code.
fn json_of(arguments: &[&str], code: i32) -> Value {
    let (found, text, error) = said(&[arguments, &["--json", "-", "--quiet"]].concat());
    assert_eq!(found, Some(code), "{arguments:?}: {error}");
    serde_json::from_str(&text).expect("JSON")
}

/// The same of a job that must succeed.
fn json(arguments: &[&str]) -> Value {
    json_of(arguments, 0)
}

/// A folder of one test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("plan-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("UTF-8").into()
}

/// A file of simulated events of a detector; other names have other seeds.
fn simulated(folder: &Path, name: &str, detector: &str, events: u64) -> String {
    let (file, events) = (path(folder, name), events.to_string());
    let seed: u64 = name.bytes().map(u64::from).sum();
    json(&[
        "simulate",
        "--detector",
        detector,
        "--events",
        &events,
        "--seed",
        &seed.to_string(),
        "-o",
        &file,
    ]);
    file
}

/// A plan of these inputs.
fn plan(folder: &Path, inputs: &[&str], part_events: u64) -> (String, Value) {
    let file = path(folder, &format!("plan-{part_events}.json"));
    let size = part_events.to_string();
    let plan = json(&[&["plan"], inputs, &["--part-events", &size, "--output", &file]].concat());
    let written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(plan, written);
    (file, plan)
}

/// Names of what a folder holds, hidden files left out.
fn names(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

/// The files of results of a folder with their bytes.
fn results(folder: &str) -> Vec<(String, Vec<u8>)> {
    let parts = names(folder).into_iter().filter(|name| name.ends_with(".parquet"));
    parts.map(|name| (name.clone(), std::fs::read(Path::new(folder).join(name)).unwrap())).collect()
}
