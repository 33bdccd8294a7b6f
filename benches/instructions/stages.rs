//! Costs of each stage of the sequences per event: a table of instructions and of bytes between caches.

use crate::cases::{Case, long_ut, pixels, raw_events, velo_ut};
use crate::counted::{Cost, count};
use peloton::engine::{Engine, SLICE_EVENTS, Sequence};
use peloton::event::RawBatch;
use peloton::simd::{Isa, Level};

/// Caches of a core of Zen 5: 48 KiB in 12 ways, and 1 MiB in 16 ways, which callgrind takes for the last level.
pub const CACHES: [&str; 3] = ["--cache-sim=yes", "--D1=49152,12,64", "--LL=1048576,16,64"];

/// Number of slices; a thread takes one at a time. Raw banks and results of all slices exceed its caches.
const SLICES: usize = 10;
const EVENTS: usize = SLICES * SLICE_EVENTS;
const HITS: u64 = 400_000;
const LINE: u64 = 64;

/// Stages in the order of the clock's laps, for one slice.
type Laps = Vec<&'static str>;

/// Returns the laps of a slice, given the laps of an event.
fn by_event(laps: &[&'static str]) -> Laps {
    laps.iter().copied().cycle().take(laps.len() * SLICE_EVENTS).collect()
}

/// Returns the laps of the Velo, whose preset `best` takes two events at a time.
fn velo() -> Laps {
    let pairs = [["velo sort", "velo find", "velo fit"]; SLICE_EVENTS / 2];
    [vec!["velo decode"], pairs.concat()].concat()
}

/// Returns the laps of the SciFi, whose preset `best` searches by rows in two passes, and writes the tracks after them.
fn scifi() -> Laps {
    let (find, confirm) = ("scifi find", "scifi confirm");
    [vec!["scifi decode"], by_event(&["scifi sort", find, confirm, find, confirm, confirm])].concat()
}

/// Returns the sequences on AVX2, which valgrind can run; none on a CPU without AVX2, which [`print`] reports.
pub fn all() -> Vec<Case> {
    let Ok(level) = Level::choose(Some(Isa::Avx2), None) else {
        return Vec::new();
    };
    let in_ut = by_event(&["ut windows", "ut tracklets"]);
    vec![
        case("velo-ut", level, velo_ut, [velo(), vec!["ut decode"], in_ut].concat()),
        case("long-ut", level, long_ut, [velo(), vec!["ut decode"], scifi(), by_event(&["match"])].concat()),
        pixels(level, HITS),
    ]
}

fn case(name: &str, level: Level, sequence: fn(Level) -> Sequence, stages: Laps) -> Case {
    let prepare = move || {
        let first = |slice| 5000 + slice * SLICE_EVENTS;
        let batch = |slice| raw_events(&format!("sim:lhcb,events={SLICE_EVENTS},seed={}", first(slice)));
        let batches: Vec<RawBatch> = (0..SLICES).map(batch).collect();
        let engine = Engine::new(sequence(level));
        let (mut workspace, mut results) = (engine.workspace(), engine.products());
        move || {
            for batch in &batches {
                engine.run(batch.view(), &mut workspace, &mut results).expect("raw banks");
            }
        }
    };
    Case { stages: stages.repeat(SLICES), ..Case::whole(name.into(), prepare) }
}

/// Counts and prints the table.
pub fn print() -> Result<(), String> {
    Level::choose(Some(Isa::Avx2), None).map_err(|e| e.to_string())?;
    let costs = count("stages", &all())?;
    println!(
        "preset best, AVX2, caches of 48 KiB and 1 MiB: per event, of {EVENTS} simulated ones; per pixel hit, of {HITS}"
    );
    println!(
        "| {:<24} | instructions | bytes into the first cache | from beyond the second |",
        "sequence, stage"
    );
    println!("|{0:-<26}|{0:->14}|{0:->28}|{0:->24}|", "");
    for (name, Cost { instructions, lines: [first, second] }) in costs {
        let items = if name.starts_with("timepix") { HITS } else { EVENTS as u64 };
        let [instructions, first, second] =
            [instructions, first * LINE, second * LINE].map(|sum| sum / items);
        println!("| {name:<24} | {instructions:>12} | {first:>26} | {second:>22} |");
    }
    Ok(())
}
