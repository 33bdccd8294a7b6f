//! Runs this program again under callgrind and reads its dumps.
//!
//! Callgrind collects within [`super::counted_region`] alone. It writes a dump before each `StageClock::lap`, which ends a
//! stage of a sequence, and before [`super::end_of_case`]; each dump counts from the one before.

use super::Counts;
use std::path::Path;
use std::process::{Command, Stdio};

/// Argument of the program that is counted.
pub const CHILD: &str = "--counted";

/// Name of a stage that is too short to be compared.
pub const NOT_STORED: &str = "-";

const REGION: &str = "*counted_region*";
const END: &str = "end_of_case";
const LAP: &str = "*StageClock*lap*";

pub fn is_installed() -> bool {
    let valgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    valgrind.is_ok_and(|status| status.success())
}

/// Counts all cases.
pub fn count() -> Result<Counts, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("a folder for callgrind: {e}"))?;
    let out = folder.path().join("dump");
    let program = std::env::current_exe().map_err(|e| format!("this program: {e}"))?;
    let child = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(format!("--toggle-collect={REGION}"))
        .arg(format!("--dump-before=*{END}*"))
        .arg(format!("--dump-before={LAP}"))
        .args([program.as_os_str(), CHILD.as_ref()])
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

/// What one dump says: whether it ends a case, and the instructions in it.
struct Dump {
    ends_case: bool,
    instructions: u64,
}

fn dump(path: &Path) -> Result<Dump, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let after = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    let instructions = after("totals:").and_then(|count| count.trim().parse().ok());
    let trigger = after("desc: Trigger:").unwrap_or("");
    Ok(Dump {
        ends_case: trigger.contains(END),
        instructions: instructions.ok_or_else(|| format!("{}: no totals", path.display()))?,
    })
}

/// Sums the dumps by case and stage. `cases` has a line for each case: its name, and the stages between the clock's laps,
/// which come again with each event; without them the case is one number.
fn assign(cases: &str, dumps: &[Dump]) -> Result<Counts, String> {
    let mut counts = Counts::new();
    let mut dumps = dumps.iter();
    for line in cases.lines() {
        let (name, stages) = line.split_once(": ").ok_or_else(|| format!("not a case: {line}"))?;
        let stages: Vec<&str> = stages.split_whitespace().collect();
        // Laps before the region, when everything runs for the first time, have nothing in them.
        let counted: Vec<u64> = {
            let mut of_case = Vec::new();
            for dump in dumps.by_ref() {
                of_case.push(dump.instructions);
                if dump.ends_case {
                    break;
                }
            }
            of_case.into_iter().filter(|instructions| *instructions > 0).collect()
        };
        let Some((rest, laps)) = counted.split_last() else {
            return Err(format!("{name}: nothing was counted"));
        };
        if stages.is_empty() {
            counts.insert(name.into(), counted.iter().sum());
            continue;
        }
        if laps.len() % stages.len() != 0 || laps.is_empty() {
            return Err(format!("{name}: {} laps of {} stages", laps.len(), stages.len()));
        }
        // What comes after the last lap belongs to the last stage.
        let all = laps.iter().zip(stages.iter().cycle()).chain([(rest, &stages[stages.len() - 1])]);
        for (instructions, stage) in all.filter(|(_, stage)| **stage != NOT_STORED) {
            *counts.entry(format!("{name}, {stage}")).or_default() += instructions;
        }
    }
    Ok(counts)
}
