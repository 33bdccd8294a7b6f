//! Jobs in parts: `plan`, `run --plan`, `manifest`.

mod batch;
mod faults;
mod owner;
mod same_bytes;
mod sums;

use crate::{empty_folder, json, json_of, path, peloton, said};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A folder of one test's own.
fn folder(name: &str) -> PathBuf {
    empty_folder(&format!("plan-{name}"))
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
