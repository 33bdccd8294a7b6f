//! Callers that do everything wrong, under AddressSanitizer and valgrind; allocations; changing engines in mid-run.

mod common;
#[path = "common/samples.rs"]
mod samples;

use common::{Library, missing, printed, tool};
use std::process::Command;

const SANITIZED: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// Says whether the compiler's sanitizers are installed.
fn has_sanitizers() -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("a.cpp");
    std::fs::write(&source, "int main() {}\n").expect("a file");
    let built =
        Command::new("c++").args(SANITIZED).arg(&source).arg("-o").arg(folder.path().join("a")).output();
    built.is_ok_and(|output| output.status.success())
}

#[test]
fn hostile_callers_get_codes() {
    let library = Library::new();
    let program = library.compile("hostile.cpp", &[]);
    assert_eq!(printed(&mut library.command(&program)), "all answers are codes");
    if has_sanitizers() {
        let program = library.compile("hostile.cpp", &SANITIZED);
        assert_eq!(printed(&mut library.command(&program)), "all answers are codes");
    } else {
        missing("AddressSanitizer");
    }
    if tool("valgrind", "--version").is_none() {
        return missing("valgrind");
    }
    let mut command = library.command("valgrind");
    // Threads of a pool end on their own time: what they hold until then is only possibly lost.
    command.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite"]);
    command.arg("--errors-for-leak-kinds=definite").arg(&program);
    // valgrind knows no AVX-512.
    assert_eq!(printed(command.env("PELOTON_ISA", "avx2")), "all answers are codes");
}

/// Of so many calls of a group one works at least: calls that are all refused would find no fault behind the checks.
const LEAST_SHARE: usize = 10;

#[test]
fn random_calls_get_codes() {
    let library = Library::new();
    let flags = if has_sanitizers() { &SANITIZED[..] } else { &[] };
    let program = library.compile("random_calls.cpp", flags);
    let mdf = library.folder().join("lhcb.mdf");
    samples::simulate("lhcb", 3, &mdf);
    // More by hand: PELOTON_SECONDS=600, for each seed.
    let seconds = std::env::var("PELOTON_SECONDS").ok();
    let calls = if seconds.is_some() { "1000000000" } else { "20000" };
    for seed in ["1", "2", "3"] {
        let mut command = library.command(&program);
        let text = printed(command.args([seed, calls]).arg(&mdf).args(&seconds));
        println!("seed {seed}: {text}");
        let (all, groups) = text.split_once('\n').expect("calls, and groups of them");
        assert!(seconds.is_some() || all == format!("{calls} calls"), "seed {seed}: {text}");
        assert_eq!(groups.lines().count(), 16, "{text}");
        for line in groups.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let [calls, worked] = [1, 2].map(|at| words[at].parse::<usize>().expect("a number"));
            assert!(
                calls > 0 && worked * LEAST_SHARE >= calls,
                "seed {seed}: hardly any call of {line} worked"
            );
        }
    }
}

#[test]
fn nothing_is_allocated_once_memory_has_grown() {
    let library = Library::new();
    let text = printed(&mut library.command(library.compile("no_alloc.cpp", &[])));
    assert!(text.starts_with("0 allocations, "), "{text}");
}

/// Pools and streams with threads in a child of fork, which has none of them.
#[test]
fn children_of_fork_are_told_and_do_not_hang() {
    let library = Library::new();
    let program = library.compile("fork.cpp", &[]);
    assert_eq!(printed(&mut library.command(program)), "parent and child are well");
}

/// Readout, two workers and the exchange of engines, each in a thread; one bank in 10,000 is damaged.
#[test]
fn engines_change_while_threads_run() {
    let library = Library::new();
    let mdf = library.folder().join("lhcb.mdf");
    samples::simulate("lhcb", 7, &mdf);
    for (flags, slices) in [(&[][..], "1000"), (&SANITIZED[..], "200")] {
        if !flags.is_empty() && !has_sanitizers() {
            continue;
        }
        let program = library.compile("../../examples/farm.cpp", flags);
        let text = printed(library.command(program).arg(&mdf).args(["nominal", slices, "1000"]));
        assert!(text.contains(", 0 wrong"), "{text}");
    }
}
