//! The program as users start it: what it prints, writes and returns.

#[path = "../../../../tests/common/data.rs"]
mod common;

mod commands;
mod cylinder;
mod display;
#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod files;
#[cfg(unix)]
mod formats_page;
mod geometry_and_data;
mod habits;
mod hostile_displays;
mod lost_and_paired;
mod named_fields;
mod nothing_lost;
mod own_sequences;
mod pictures;
#[cfg(unix)]
mod plan;
mod raw_banks;
mod report;
mod reproduce;
mod shells;
mod timepix;
mod trouble_clock;
mod trouble_formats;
mod trouble_jobs;
mod trouble_lhcb;
mod trouble_physics;

use peloton::simd::Isa;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The program with these arguments, on the best instruction set and with nothing to read.
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

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// A folder below that of the tests' files, without what an earlier run left in it.
fn empty_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("UTF-8").into()
}
