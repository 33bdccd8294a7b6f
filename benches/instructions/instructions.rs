//! Instructions that the kernels execute, counted by valgrind's callgrind, which gungraun runs: unlike times they are the same
//! in every run, on a busy machine too, so that a slower kernel is seen before it is merged.
//!
//! `cargo bench --workspace --bench instructions` counts simulated events and compares with `stored.json` next to this file: a rise
//! of more than 2 % is an error, with a table. `-- --renew` stores the counts, `-- --all` prints every row, `-- --test`
//! runs each kernel once and counts nothing.
//!
//! `-- --stages` prints the cost of each stage of the sequences per event (AVX2): instructions, and bytes moved between
//! caches. Callgrind simulates the caches of a Zen 5 core (48 KiB and 1 MiB).
//!
//! Valgrind has no AVX-512: scalar and AVX2 code is counted. Counts depend on the compiler: another compiler may
//! need new stored counts.

mod cases;
mod counted;
mod stages;
#[path = "../common/steps.rs"]
mod steps;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// Rise that is an error, as a factor.
const LIMIT: f64 = 1.02;

/// Instructions by kernel and level.
type Counts = BTreeMap<String, u64>;

fn stored_path() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("stored.json")
}

fn stored() -> Result<Counts, String> {
    let path = stored_path();
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Returns rows of the table, for all kernels or for kernels that changed by more than the limit, and the number of rises.
fn compare(stored: &Counts, found: &Counts, all: bool) -> (Vec<String>, usize) {
    let (mut rows, mut rises) = (Vec::new(), 0);
    for (name, &count) in found {
        let change = stored.get(name).map(|before| count as f64 / *before as f64);
        let rose = change.is_none_or(|change| change > LIMIT);
        rises += usize::from(rose);
        if all || rose || change.is_some_and(|change| change < 1.0 / LIMIT) {
            let before = stored.get(name).map_or("not stored".into(), u64::to_string);
            let percent = change.map_or(String::new(), |change| format!("{:+.2} %", 100.0 * (change - 1.0)));
            let verdict = if rose { "ERROR" } else { "" };
            rows.push(format!("| {name:<38} | {before:>12} | {count:>12} | {percent:>10} | {verdict:<5} |"));
        }
    }
    (rows, rises)
}

fn print_table(rows: &[String]) {
    if !rows.is_empty() {
        println!("| {:<38} | {:>12} | {:>12} | {:>10} | {:<5} |", "kernel", "stored", "now", "change", "");
        println!("|{0:-<40}|{0:->14}|{0:->14}|{0:->12}|{0:-<7}|", "");
        rows.iter().for_each(|row| println!("{row}"));
    }
}

fn count_and_compare(renew: bool, all: bool) -> Result<(), String> {
    let found = counted::count("compared", &cases::all())?;
    let found: Counts = found.into_iter().map(|(name, cost)| (name, cost.instructions)).collect();
    if renew {
        let text = serde_json::to_string_pretty(&found).expect("names and numbers");
        let path = stored_path();
        std::fs::write(&path, text + "\n").map_err(|e| format!("{}: {e}", path.display()))?;
        println!("{} counts stored in {}", found.len(), path.display());
        return Ok(());
    }
    let stored = stored()?;
    let (rows, rises) = compare(&stored, &found, all);
    print_table(&rows);
    let gone: Vec<_> = stored.keys().filter(|name| !found.contains_key(*name)).collect();
    if !gone.is_empty() {
        println!("stored, but not counted here: {gone:?}");
    }
    println!("{} counts, {rises} of them more than 2 % above the stored ones", found.len());
    if rises > 0 {
        return Err("if the rise is meant, store the new counts with \
                    `cargo bench --workspace --bench instructions -- --renew` and say why in the commit"
            .into());
    }
    Ok(())
}

fn main() -> ExitCode {
    if counted::run_for_gungraun() {
        return ExitCode::SUCCESS;
    }
    let has = |word: &str| std::env::args().any(|argument| argument == word);
    if has("--test") {
        cases::all().into_iter().chain(stages::all()).for_each(|case| drop(counted::prepared(case)));
        return ExitCode::SUCCESS;
    }
    if let Some(what) = counted::missing() {
        println!("skipped: nothing here to count instructions with: no {what}");
        return ExitCode::SUCCESS;
    }
    let done = match has("--stages") {
        true => stages::print(),
        false => count_and_compare(has("--renew"), has("--all")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("instructions: {message}");
            ExitCode::FAILURE
        }
    }
}
