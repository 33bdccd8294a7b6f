//! One page with the times of this machine: sequences and presets on each instruction set.

use crate::{Result, root};
use std::process::Command;

const PAGE: &str = "docs/performance/cpu.md";
/// Number of turns; the least time of each stage counts.
const TURNS: usize = 3;
const SEVEN: &str = "DATA/lhcb/minbias_retina_truth.mdf --geometry DATA/lhcb/geometry";
const PIXELS: &str = "sim:timepix,hits=1000000,seed=5,preset=";
/// Sequence, presets, and input.
const WORK: [(&str, &[&str], &str); 7] = [
    ("velo", &["best", "fast", "two-pass", "paper"], "DATA/velo/public200.ndjson.zst"),
    ("velo-ut", &["best", "fast", "hlt1"], SEVEN),
    ("scifi", &["best", "fast", "hlt1"], SEVEN),
    ("long", &["best", "fast", "hlt1"], SEVEN),
    ("long-ut", &["best", "fast", "hlt1"], SEVEN),
    ("cylinder", &["default"], "sim:cylinder,tracks=1000,events=20"),
    ("timepix", &["am241", "pion45", "lead0"], PIXELS),
];

/// Measures the times, which takes minutes, and writes the page.
pub fn write() -> Result<()> {
    let isa = peloton("isa")?;
    let levels: Vec<&str> =
        isa.lines().filter_map(|line| Some(line.split_once("yes       yes")?.0.trim())).collect();
    let commit = Command::new("git").args(["log", "-1", "--format=%h"]).current_dir(root()).output();
    let commit = commit
        .map_or_else(|_| "unknown".into(), |run| String::from_utf8_lossy(&run.stdout).trim().to_string());
    let mut page = format!(
        "# Performance: one CPU\n\nMade by `cargo xtask performance` on {}, commit {commit}: `peloton throughput --threads 1 --seconds 0.3 --sequence S\n\
         --preset P --isa I INPUT`, the least of {TURNS} turns for each stage. Times are in µs per event, for `timepix` in ns\n\
         per hit; its presets are presets of the simulated stream. The input is the 200 public events for `velo`, the seven public events for UT, SciFi and long tracks, and 1,000 tracks per event for `cylinder`.\n\n\
         | sequence | preset | instruction set | sum | stages |\n|---|---|---|---|---|\n",
        isa.lines().next().unwrap_or("unknown CPU")
    );
    for (sequence, preset, input) in
        WORK.iter().flat_map(|(s, presets, i)| presets.iter().map(move |p| (*s, *p, *i)))
    {
        let (key, scale) = if input == PIXELS { ("ns_per_hit", 1.0) } else { ("ns_per_event", 1e-3) };
        let what = match preset {
            "default" => input.into(),
            name if input == PIXELS => format!("{input}{name}"),
            name => format!("--preset {name} {input}"),
        };
        let mut least: Vec<Vec<(String, f64)>> = vec![Vec::new(); levels.len()];
        for turn in 0..TURNS * levels.len() {
            let level = turn % levels.len();
            let text = peloton(&format!(
                "throughput --threads 1 --seconds 0.3 --json - --isa {} --sequence {sequence} {what}",
                levels[level]
            ))?;
            let now = stages(&text, key, scale);
            least[level] = if turn < levels.len() {
                now
            } else {
                least[level].iter().zip(now).map(|(a, b)| (b.0, a.1.min(b.1))).collect()
            };
        }
        for (level, stages) in levels.iter().zip(least) {
            let sum: f64 = stages.iter().map(|stage| stage.1).sum();
            let list: Vec<_> = stages
                .iter()
                .filter(|stage| stage.1 > 0.005)
                .map(|(name, time)| format!("{name} {time:.2}"))
                .collect();
            page += &format!("| {sequence} | {preset} | {level} | {sum:.1} | {} |\n", list.join(", "));
        }
    }
    std::fs::write(root().join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))
}

/// Returns names and times of the stages in a summary.
fn stages(json: &str, key: &str, scale: f64) -> Vec<(String, f64)> {
    let stages = json
        .split_once("\"stages\": [")
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or("", |(stages, _)| stages);
    let value = |stage: &str, key: &str| {
        let (_, rest) = stage.split_once(&format!("\"{key}\": "))?;
        Some(rest.split([',', '\n']).next()?.trim_matches('"').to_string())
    };
    stages
        .split('}')
        .filter_map(|stage| Some((value(stage, "name")?, value(stage, key)?.parse::<f64>().ok()? * scale)))
        .collect()
}

/// Runs the program and returns its output.
fn peloton(arguments: &str) -> Result<String> {
    eprintln!("peloton {arguments}");
    let data = std::env::var("PELOTON_DATA").unwrap_or("../shared/data".into());
    let arguments = arguments.split(' ').map(|argument| argument.replace("DATA", &data));
    let run = Command::new("target/release/peloton").args(arguments).current_dir(root()).output();
    let run = run.map_err(|error| {
        format!("target/release/peloton cannot be started ({error}): cargo build --release")
    })?;
    if run.status.success() {
        Ok(String::from_utf8_lossy(&run.stdout).into())
    } else {
        Err(String::from_utf8_lossy(&run.stderr).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_read_from_a_summary() {
        let json = "{\n \"hits\": 3,\n \"stages\": [\n {\n \"name\": \"sort\",\n \"ns_per_event\": 1500.0,\n \"ns_per_hit\": 0.5\n },\n \
                    {\n \"name\": \"fit\",\n \"ns_per_event\": 250.0,\n \"ns_per_hit\": 0.1\n }\n ],\n \"name\": \"x\"\n}";
        assert_eq!(stages(json, "ns_per_event", 1e-3), [("sort".into(), 1.5), ("fit".into(), 0.25)]);
        assert_eq!(stages("{}", "ns_per_event", 1.0), []);
    }
}
