//! Costs of each stage of the sequences per event: a table of instructions and of bytes between caches.

use crate::callgrind::{Cost, What, count};
use crate::cases::{Case, POLARITY, pixels, raw_events};
use peloton::chain::{UtDetector, VeloUt};
use peloton::engine::{Engine, SLICE_EVENTS, Sequence};
use peloton::event::RawBatch;
use peloton::long::{Bending, LongConfig, LongUt};
use peloton::scifi::{SciFi, SciFiConfig, SciFiGeometry};
use peloton::simd::{Isa, Level};
use peloton::ut::{UtConfig, UtGeometry, UtTables};
use peloton::velo::{Velo, VeloBanks, VeloConfig, VeloSensors};
use std::sync::Arc;

/// Caches of a core of Zen 5: 48 KiB in 12 ways, and 1 MiB in 16 ways, which callgrind takes for the last level.
pub const CACHES: What = What {
    child: "--stages-counted",
    caches: &["--cache-sim=yes", "--D1=49152,12,64", "--LL=1048576,16,64"],
};

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

/// Returns the laps of the SciFi: two passes over both halves, with a choice at the end of each, and the output of the tracks.
fn scifi() -> Laps {
    let (find, confirm) = ("scifi find", "scifi confirm");
    let pass = [find, confirm, find, confirm, confirm];
    let event = [&["scifi sort"], &pass[..], &pass[..], &[confirm]].concat();
    [vec!["scifi decode"], by_event(&event)].concat()
}

/// Returns the sequences on AVX2, which valgrind can run; none on a CPU without AVX2, which [`print`] reports.
pub fn all() -> Vec<Case> {
    let Ok(level) = Level::choose(Some(Isa::Avx2), None) else {
        return Vec::new();
    };
    let batches: Vec<RawBatch> = (0..SLICES)
        .map(|slice| {
            raw_events(&format!("sim:lhcb,events={SLICE_EVENTS},seed={}", 5000 + slice * SLICE_EVENTS))
        })
        .collect();
    let batches = Arc::new(batches);
    let velo_sequence = || {
        let velo = Velo::new(level, VeloConfig::default()).expect("a sequence");
        velo.with_sensors(Arc::new(VeloSensors::nominal()), VeloBanks::Auto)
    };
    let (geometry, tables) = (Arc::new(UtGeometry::nominal()), UtTables::nominal());
    let ut = UtDetector { geometry, tables, polarity: POLARITY };
    let fibres = Arc::new(SciFiGeometry::nominal());
    let scifi_sequence = SciFi::new(level, SciFiConfig::default(), fibres, POLARITY).expect("a sequence");
    let bending = Bending::nominal(POLARITY);
    let velo_ut = VeloUt::sequence(velo_sequence(), &ut, UtConfig::default()).expect("a sequence");
    let long_ut = LongUt::sequence(velo_sequence(), &ut, scifi_sequence, LongConfig::default(), bending);
    let in_ut = by_event(&["ut decode", "ut windows", "ut tracklets"]);
    vec![
        case(velo_ut, [velo(), vec!["ut decode"], in_ut].concat(), &batches),
        case(
            long_ut.expect("a sequence"),
            [velo(), vec!["ut decode"], scifi(), by_event(&["match"])].concat(),
            &batches,
        ),
        pixels(level, HITS),
    ]
}

fn case(sequence: Sequence, stages: Laps, batches: &Arc<Vec<RawBatch>>) -> Case {
    let name = sequence.name().to_string();
    let (engine, batches) = (Engine::new(sequence), batches.clone());
    let (mut workspace, mut results) = (engine.workspace(), engine.products());
    let work = move || {
        for batch in batches.iter() {
            engine.run(batch.view(), &mut workspace, &mut results).expect("raw banks");
        }
    };
    Case { name, stages, work: Box::new(work) }
}

/// Counts and prints the table.
pub fn print() -> Result<(), String> {
    Level::choose(Some(Isa::Avx2), None).map_err(|e| e.to_string())?;
    let costs = count(CACHES)?;
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
