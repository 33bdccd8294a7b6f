//! A user's detector: this example defines its hits, results, kernel and sequence; the library provides the engine,
//! threads, counters and hashes. Run it with `cargo run --release --example own_detector`.
//!
//! The detector is a calorimeter, a wall of cells whose charges are read out; its sequence converts charges to energies
//! and selects the cells above a threshold. `columns.rs` defines the data, `sequence.rs` the algorithm.
//!
//! To make a detector part of peloton, add the same files and:
//! - `src/DETECTOR/`: geometry, kernels, a naive reference of each kernel, the sequence; `src/event/DETECTOR.rs`: the
//!   columns; one line in `src/lib.rs` and one in `src/event/mod.rs`;
//! - `crates/io/src/input/`: a reader of the detector's files; `crates/sim`, `crates/truth`: simulated events and the
//!   check of results, if any;
//! - `crates/job/src/systems/DETECTOR.rs`: a `System`, with the source of input, the runner and the check, and a line
//!   in `crates/job/src/registry.rs`: every subcommand, file format and hash then works;
//! - `crates/job/src/config.rs`: a field for the detector's parameters, if it has any;
//! - tests: a comparison with the reference, and a line in `tests/gangs/every_isa.rs`, `tests/library/containment.rs`,
//!   `tests/no_alloc.rs`, `tests/float_mode.rs` and the table of rooms in `tests/house_rules.rs`.

mod columns;
mod sequence;

use columns::{CellHits, Charges};
use peloton::Result;
use peloton::engine::{Batch, Engine, Pool, SLICE_EVENTS, Sequence, Sliced};
use peloton::event::{Hasher, Hashes, Outcome, Product};
use peloton::simd::Level;
use sequence::{CELLS, Calorimeter};

fn main() -> Result<()> {
    let engine = engine(Level::choose(None, None)?)?;
    let charges = events(1000);
    println!("runs as {}", engine.level());

    // On the calling thread: any number of threads may do this, each with its own workspace and results.
    let (mut workspace, mut outcome) = (engine.workspace(), Outcome::<CellHits>::default());
    engine.try_run(charges.events(), &mut workspace, &mut outcome)?;
    let Outcome { results: cells, counters } = outcome;
    let stage = counters.stages[0];
    println!("{} events, {} cells in, {} out", counters.events(), stage.items_in, stage.items_out);
    for (reason, count) in counters.dropped() {
        println!("dropped {count}: {reason}");
    }
    println!("one thread:  {}", text(Hasher::of(&cells)));

    // On threads of a pool.
    println!("two threads: {}", text(on_threads(&engine, &charges)?));
    Ok(())
}

/// Returns the algorithm, with made-up constants.
fn calorimeter(level: Level) -> Calorimeter {
    let gain = (0..CELLS).map(|cell| 0.01 + 0.0001 * (cell % 7) as f32).collect();
    let pedestal = (0..CELLS).map(|cell| 50.0 + (cell % 11) as f32).collect();
    Calorimeter { level, gain, pedestal, threshold: 0.2 }
}

fn engine(level: Level) -> Result<Engine> {
    Ok(Engine::new(Sequence::new("calorimeter", calorimeter(level))?))
}

/// Returns the hashes of the results that two threads find.
fn on_threads(engine: &Engine, charges: &Charges) -> Result<Hashes> {
    let pool = Pool::new(engine.clone(), 2, SLICE_EVENTS)?;
    let mut cells = Sliced::default();
    pool.try_run(charges.events(), &mut cells)?;
    let mut hasher = Hasher::new(CellHits::SCHEMA);
    cells.slices().for_each(|slice| hasher.update(&**slice));
    Ok(hasher.finish())
}

fn text(Hashes { int, output }: Hashes) -> String {
    format!("hash_int {int:016x}, output_hash {output:016x}")
}

/// Returns made-up events of 0 to 96 cells; one in a hundred has a charge that is not a number.
fn events(count: u64) -> Charges {
    let mut charges = Charges::default();
    for event in 0..count {
        for hit in 0..event * 37 % 97 {
            let charge =
                if event % 100 == 63 && hit == 0 { f32::NAN } else { (40 + hit * event % 60) as f32 };
            charges.push_hit((hit * 13 + event) as u32 % CELLS, charge);
        }
        charges.close_event(event);
    }
    charges
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::Status;
    use peloton::event::Results;

    /// Returns the cells of each event, found one by one.
    fn naive(calorimeter: &Calorimeter, charges: &Charges) -> Vec<(Status, Vec<(u32, f32)>)> {
        let of_event = |event: usize| {
            let (cells, charges) = charges.of_event(event);
            if charges.iter().any(|charge| !charge.is_finite()) {
                return (Status::NotFinite, Vec::new());
            }
            if cells.iter().any(|cell| *cell >= CELLS) {
                return (Status::OutOfRange, Vec::new());
            }
            let Calorimeter { gain, pedestal, threshold, .. } = calorimeter;
            let energy = |cell: usize, charge: f32| (charge - pedestal[cell]) * gain[cell];
            let all = cells.iter().zip(charges).map(|(&cell, &charge)| (cell, energy(cell as usize, charge)));
            (Status::Ok, all.filter(|(_, energy)| energy > threshold).collect())
        };
        (0..charges.event_id.len()).map(of_event).collect()
    }

    #[test]
    fn every_level_finds_what_is_there() {
        main().unwrap();
        let mut charges = events(200);
        charges.push_hit(CELLS, 100.0);
        charges.close_event(200);
        let mut first = None;
        for level in Level::supported() {
            let engine = engine(level).unwrap();
            let mut outcome = Outcome::<CellHits>::default();
            engine.try_run(charges.events(), &mut engine.workspace(), &mut outcome).unwrap();
            let Outcome { results: cells, counters } = outcome;
            let found: Vec<_> = (0..cells.events()).map(|event| cells.of_event(event)).collect();
            assert!(found == naive(&calorimeter(level), &charges), "{level}");
            let dropped: Vec<_> = counters.dropped().collect();
            assert_eq!(dropped, [("not_finite", 2), ("out_of_range", 1)], "{level}");
            assert!(cells.hits() > 1000 && counters.stages[0].items_out == cells.hits() as u64);
            let hashes = Hasher::of(&cells);
            assert_eq!(*first.get_or_insert(hashes), hashes, "{level}");
            assert_eq!(on_threads(&engine, &charges).unwrap(), hashes, "{level}, two threads");
        }
    }
}
