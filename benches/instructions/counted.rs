//! What gungraun counts, and how its summaries are read: each case is a run of its own under callgrind.
//!
//! Callgrind collects within [`kernel`] and nowhere else. It writes a dump before each `StageClock::lap`, which ends a stage of
//! a sequence; each dump counts from the previous dump and is a part of gungraun's summary.

use crate::cases::{self, Case, NOT_STORED, Work};
use crate::stages;
use gungraun::{Callgrind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main};
use serde_json::{Deserializer, Value};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// Counts of a kernel or of a stage of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    pub instructions: u64,
    /// Lines that came into the first-level cache, and lines of these from beyond the second level; only with simulated caches.
    pub lines: [u64; 2],
}

impl Cost {
    fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.lines.iter_mut().zip(other.lines).for_each(|(sum, lines)| *sum += lines);
    }
}

/// Costs by kernel, level and stage.
pub type Costs = BTreeMap<String, Cost>;

/// On CPUs with fast string instructions, the C library copies and clears much memory by one instruction, and callgrind counts
/// a step for each few bytes: without these settings counts depend on the kind of CPU.
const NO_STRING_INSTRUCTIONS: &str = "glibc.cpu.x86_rep_movsb_threshold=0x40000000:\
                                      glibc.cpu.x86_rep_stosb_threshold=0x40000000:\
                                      glibc.cpu.x86_non_temporal_threshold=0x40000000";

/// First argument of this program when it hands its cases to gungraun's runner, which prints a summary for each.
const SUMMARIES: &str = "--output-format=json";
/// First argument of this program when the runner has it run one case.
const ONE_CASE: &str = "--gungraun-run";

/// The runner as gungraun looks for it: where this variable said when the bench was compiled, else in the folders of `PATH`.
const RUNNER: Option<&str> = option_env!("GUNGRAUN_RUNNER");

fn config(caches: &[&str]) -> LibraryBenchmarkConfig {
    let parts = ["--dump-before=*StageClock*lap*", "--separate-threads=no", "--dump-line=no"];
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(Callgrind::with_args(parts.iter().chain(caches)));
    config.env("GLIBC_TUNABLES", NO_STRING_INSTRUCTIONS);
    config
}

/// Runs a case once, to allocate and to warm up.
pub fn prepared(case: Case) -> Work {
    let mut work = (case.prepare)();
    work();
    work
}

#[library_benchmark]
#[benches::compared(iter = cases::all(), setup = prepared, config = config(&["--cache-sim=no"]))]
#[benches::stages(iter = stages::all(), setup = prepared, config = config(&stages::CACHES))]
fn kernel(mut work: Work) -> Work {
    work();
    work
}

library_benchmark_group!(name = kernels, benchmarks = kernel);
main!(library_benchmark_groups = kernels);

/// Does what gungraun started this program for, if it did.
pub fn run_for_gungraun() -> bool {
    let ours = std::env::args().nth(1).is_some_and(|first| first == SUMMARIES || first == ONE_CASE);
    if ours {
        main();
    }
    ours
}

/// Returns what is missing here to count with.
pub fn missing() -> Option<&'static str> {
    let starts = |program| {
        let mut command = Command::new(program);
        let status = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    if !starts("valgrind") {
        return Some("valgrind (Debian: apt-get install valgrind)");
    }
    // A runner that is named and does not start is gungraun's error.
    let found = RUNNER.is_some() || starts("gungraun-runner");
    (!found).then_some(
        "gungraun-runner (cargo install gungraun-runner, with the version of gungraun in Cargo.lock)",
    )
}

/// Counts the cases under `id` of [`kernel`], which are `cases`.
pub fn count(id: &str, cases: &[Case]) -> Result<Costs, String> {
    let program = std::env::current_exe().map_err(|e| format!("this program: {e}"))?;
    let child = Command::new(program)
        // Without `--bench` it tests.
        .args([SUMMARIES, "--bench", "--parallel=auto", &format!("*::{id}_*")])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("gungraun: {e}"))?;
    if !child.status.success() {
        return Err(format!("gungraun ended with {}", child.status));
    }
    let mut costs = Costs::new();
    let mut counted = 0;
    for summary in Deserializer::from_slice(&child.stdout).into_iter::<Value>() {
        let summary = summary.map_err(|e| format!("gungraun's summaries: {e}"))?;
        let number = summary["id"].as_str().and_then(|id| id.rsplit('_').next()?.parse::<usize>().ok());
        let case = number.and_then(|number| cases.get(number));
        let case = case.ok_or_else(|| format!("gungraun's summaries: no case {}", summary["id"]))?;
        let parts = summary["profiles"][0]["data"]["parts"].as_array().map_or(&[][..], Vec::as_slice);
        assign(case, parts.iter().map(cost), &mut costs)?;
        counted += 1;
    }
    if counted != cases.len() {
        return Err(format!("gungraun's summaries: {counted} of {} cases", cases.len()));
    }
    Ok(costs)
}

/// Returns the cost of a part of a summary.
fn cost(part: &Value) -> Cost {
    let events = |names: &[&str]| {
        let new = |name: &&str| part["metrics"][*name]["values"]["new"].as_u64().unwrap_or(0);
        names.iter().map(new).sum()
    };
    Cost { instructions: events(&["Ir"]), lines: [events(&["D1mr", "D1mw"]), events(&["DLmr", "DLmw"])] }
}

/// Adds the parts of a case to the costs of its stages. A case without stages has one number.
fn assign(case: &Case, parts: impl Iterator<Item = Cost>, costs: &mut Costs) -> Result<(), String> {
    let Case { name, stages, .. } = case;
    // Laps before the kernel, in the first run of the case, have no counts.
    let counted: Vec<Cost> = parts.filter(|cost| cost.instructions > 0).collect();
    let Some((rest, laps)) = counted.split_last() else {
        return Err(format!("{name}: nothing was counted"));
    };
    if stages.is_empty() {
        counted.iter().for_each(|cost| costs.entry(name.clone()).or_default().add(cost));
        return Ok(());
    }
    if laps.len() != stages.len() {
        return Err(format!(
            "{name}: the clock has {} laps and the case {} stages: correct its stages",
            laps.len(),
            stages.len()
        ));
    }
    // Counts after the last lap belong to the last stage.
    let all = laps.iter().zip(stages).chain([(rest, &stages[stages.len() - 1])]);
    for (cost, stage) in all.filter(|(_, stage)| **stage != NOT_STORED) {
        costs.entry(format!("{name}, {stage}")).or_default().add(cost);
    }
    Ok(())
}
