//! Runs this program again under callgrind and reads its dumps.
//!
//! Callgrind collects only within [`super::counted_region`]. It writes a dump before each `StageClock::lap`, which ends a
//! stage of a sequence, and before [`super::end_of_case`]; each dump counts from the previous dump.

use std::collections::BTreeMap;
use std::path::Path;
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

/// Which cases are counted, and how.
#[derive(Clone, Copy)]
pub struct What {
    /// Argument of the program that is counted.
    pub child: &'static str,
    /// Sizes of the simulated caches, as arguments of callgrind.
    pub caches: &'static [&'static str],
}

/// Name of a stage that is too short to be compared.
pub const NOT_STORED: &str = "-";

const REGION: &str = "*counted_region*";
const END: &str = "end_of_case";
const LAP: &str = "*StageClock*lap*";

/// On CPUs with fast string instructions, the C library copies and clears much memory by one instruction, and callgrind counts
/// a step for each few bytes: without these settings counts depend on the kind of CPU.
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

/// One dump: whether it ends a case, and its counts.
struct Dump {
    ends_case: bool,
    cost: Cost,
}

fn dump(path: &Path) -> Result<Dump, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let after = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    let events = after("events:").unwrap_or("").split_whitespace();
    // Zeros at the end are omitted in the file.
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
/// which repeat with each batch of events. A case without stages has one number.
fn assign(cases: &str, dumps: &[Dump]) -> Result<Costs, String> {
    let mut costs = Costs::new();
    let mut dumps = dumps.iter();
    for line in cases.lines() {
        let (name, stages) = line.split_once(": ").ok_or_else(|| format!("not a case: {line}"))?;
        let stages: Vec<&str> = stages.split(", ").filter(|stage| !stage.is_empty()).collect();
        // Laps before the region, in the first run of the case, have no counts.
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
        // Counts after the last lap belong to the last stage.
        let all = laps.iter().zip(stages.iter().cycle()).chain([(rest, &stages[stages.len() - 1])]);
        for (cost, stage) in all.filter(|(_, stage)| **stage != NOT_STORED) {
            costs.entry(format!("{name}, {stage}")).or_default().add(cost);
        }
    }
    Ok(costs)
}
