//! Runs this program again under callgrind and reads its dumps.
//!
//! Callgrind collects within [`super::counted_region`] alone. It writes a dump before each `StageClock::lap`, which ends a
//! stage of a sequence, and before [`super::end_of_case`]; each dump counts from the one before.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// What is counted of a kernel or a stage of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    pub instructions: u64,
    /// Lines that came into the first-level cache, and of these, lines from beyond the second level: with caches alone.
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

/// Which cases are counted, and how.
#[derive(Clone, Copy)]
pub struct What {
    /// Argument of the program that is counted.
    pub child: &'static str,
    /// Sizes of the caches that are simulated, in callgrind's words.
    pub caches: &'static [&'static str],
}

/// Name of a stage that is too short to be compared.
pub const NOT_STORED: &str = "-";

const REGION: &str = "*counted_region*";
const END: &str = "end_of_case";
const LAP: &str = "*StageClock*lap*";

/// The C library copies and clears much memory by one instruction for all of it where the CPU is said to be fast at that, and callgrind counts a step
/// for each few bytes: without these settings counts belong to a kind of CPU.
const NO_STRING_INSTRUCTIONS: &str = "glibc.cpu.x86_rep_movsb_threshold=0x40000000:\
                                      glibc.cpu.x86_rep_stosb_threshold=0x40000000:\
                                      glibc.cpu.x86_non_temporal_threshold=0x40000000";

pub fn is_installed() -> bool {
    let valgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    valgrind.is_ok_and(|status| status.success())
}

/// Counts all cases.
pub fn count(what: What) -> Result<Costs, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("a folder for callgrind: {e}"))?;
    let out = folder.path().join("dump");
    let program = std::env::current_exe().map_err(|e| format!("this program: {e}"))?;
    let child = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(format!("--toggle-collect={REGION}"))
        .arg(format!("--dump-before=*{END}*"))
        .arg(format!("--dump-before={LAP}"))
        .args(what.caches)
        .args([program.as_os_str(), what.child.as_ref()])
        .env("GLIBC_TUNABLES", NO_STRING_INSTRUCTIONS)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("valgrind: {e}"))?;
    if !child.status.success() {
        return Err(format!("valgrind ended with {}", child.status));
    }
    let cases = String::from_utf8_lossy(&child.stdout);
    let dumps = (1..).map(|part| out.with_extension(part.to_string())).take_while(|path| path.exists());
    let dumps = dumps.map(|path| dump(&path)).collect::<Result<Vec<_>, _>>()?;
    assign(&cases, &dumps)
}

/// What one dump says: whether it ends a case, and what was counted in it.
struct Dump {
    ends_case: bool,
    cost: Cost,
}

fn dump(path: &Path) -> Result<Dump, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let after = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    let events = after("events:").unwrap_or("").split_whitespace();
    // Numbers at the end that are zero are left out.
    let totals = after("totals:").ok_or_else(|| format!("{}: no totals", path.display()))?;
    let totals = totals.split_whitespace().map(str::parse).chain(std::iter::repeat(Ok(0_u64)));
    let mut cost = Cost::default();
    for (event, total) in events.zip(totals) {
        let total = total.map_err(|e| format!("{}: {e}", path.display()))?;
        match event {
            "Ir" => cost.instructions = total,
            "D1mr" | "D1mw" => cost.lines[0] += total,
            "DLmr" | "DLmw" => cost.lines[1] += total,
            _ => {}
        }
    }
    let trigger = after("desc: Trigger:").unwrap_or("");
    Ok(Dump { ends_case: trigger.contains(END), cost })
}

/// Sums the dumps by case and stage. `cases` has a line for each case: its name, and the stages between the clock's laps,
/// which come again with each batch of events; without them the case is one number.
fn assign(cases: &str, dumps: &[Dump]) -> Result<Costs, String> {
    let mut costs = Costs::new();
    let mut dumps = dumps.iter();
    for line in cases.lines() {
        let (name, stages) = line.split_once(": ").ok_or_else(|| format!("not a case: {line}"))?;
        let stages: Vec<&str> = stages.split(", ").filter(|stage| !stage.is_empty()).collect();
        // Laps before the region, when everything runs for the first time, have nothing in them.
        let counted: Vec<Cost> = {
            let mut of_case = Vec::new();
            for dump in dumps.by_ref() {
                of_case.push(dump.cost);
                if dump.ends_case {
                    break;
                }
            }
            of_case.into_iter().filter(|cost| cost.instructions > 0).collect()
        };
        let Some((rest, laps)) = counted.split_last() else {
            return Err(format!("{name}: nothing was counted"));
        };
        if stages.is_empty() {
            counted.iter().for_each(|cost| costs.entry(name.into()).or_default().add(cost));
            continue;
        }
        if laps.len() % stages.len() != 0 || laps.is_empty() {
            return Err(format!("{name}: {} laps of {} stages", laps.len(), stages.len()));
        }
        // What comes after the last lap belongs to the last stage.
        let all = laps.iter().zip(stages.iter().cycle()).chain([(rest, &stages[stages.len() - 1])]);
        for (cost, stage) in all.filter(|(_, stage)| **stage != NOT_STORED) {
            costs.entry(format!("{name}, {stage}")).or_default().add(cost);
        }
    }
    Ok(costs)
}
