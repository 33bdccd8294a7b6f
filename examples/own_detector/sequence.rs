//! The calorimeter's one-stage algorithm, and its kernel, which processes a gang of cells at a time.

use crate::columns::{CellHits, Charges};
use peloton::engine::{Algorithm, AlgorithmInfo, Events, Handle, Slice, Stage};
use peloton::event::{Outcome, Results, StageClock};
use peloton::simd::varying::{F32, Mask, U32};
use peloton::simd::{Gang, Level};
use peloton::{Result, Status};

/// Number of cells of the calorimeter.
pub const CELLS: u32 = 512;

/// Converts charges to energies.
#[derive(Debug)]
pub struct Calorimeter {
    /// Instruction set and gang size of the kernel.
    pub level: Level,
    /// Energy per count of each cell, GeV.
    pub gain: Vec<f32>,
    /// Counts of each cell without energy (pedestal).
    pub pedestal: Vec<f32>,
    /// Smallest energy of an accepted cell, GeV.
    pub threshold: f32,
}

const STAGES: &[Stage] = &[Stage {
    name: "calibrate",
    input: "charges of cells",
    output: "cells above the threshold",
    parts: &[],
}];

impl Algorithm for Calorimeter {
    const INFO: &'static AlgorithmInfo = &AlgorithmInfo {
        detector: "calorimeter",
        reads: &[],
        makes: Handle::of::<CellHits>("calorimeter_cells"),
        stages: STAGES,
        stages_in_chain: STAGES,
    };

    type Output = CellHits;
    // Memory of a thread, reused from event to event: this kernel needs none.
    type Scratch = ();

    fn level(&self) -> Level {
        self.level
    }

    fn accept(&self, events: Events<'_>) -> Result<()> {
        events.other::<Charges>().map(drop)
    }

    fn run(&self, slice: Slice<'_>, _scratch: &mut (), out: &mut Outcome<CellHits>) {
        let events: &Charges = slice.events().other().expect("what was accepted");
        let Outcome { results, counters } = out;
        let mut clock = StageClock::start();
        for event in slice.range() {
            let (cells, charges) = events.of_event(event);
            let before = results.cell.len();
            let status = check(cells, charges);
            if status == Status::Ok {
                peloton::dispatch!(self.level, g => calibrate(g, self, cells, charges, results));
                results.start.push(results.cell.len() as u32);
                results.push_status(status);
            } else {
                results.push_failed(status);
            }
            counters.stages[0].items_in += cells.len() as u64;
            counters.stages[0].items_out += (results.cell.len() - before) as u64;
            counters.count_event(status);
        }
        clock.lap(&mut counters.stages[0]);
    }
}

/// Returns whether an event can be processed, as a status: no input causes a panic or a silent loss.
fn check(cells: &[u32], charges: &[f32]) -> Status {
    if !charges.iter().all(|charge| charge.is_finite()) {
        Status::NotFinite
    } else if !cells.iter().all(|cell| *cell < CELLS) {
        Status::OutOfRange
    } else {
        Status::Ok
    }
}

/// Appends the cells above the threshold. Written once for all gangs; every lane is a cell.
#[inline(always)]
fn calibrate<G: Gang>(g: G, of: &Calorimeter, cells: &[u32], charges: &[f32], out: &mut CellHits) {
    let threshold = F32::splat(g, of.threshold);
    let mut end = out.cell.len();
    // Room for all cells; unused room is removed below. A gang may always write beyond the end of a column.
    out.cell.set_len(end + cells.len());
    out.energy.set_len(end + cells.len());
    for first in (0..cells.len()).step_by(G::LANES) {
        let lanes = Mask::first(g, cells.len() - first);
        let cell = U32::load_some(&cells[first..], lanes);
        let charge = F32::load_some(&charges[first..], lanes);
        let energy = (charge - F32::gather(&of.pedestal, cell)) * F32::gather(&of.gain, cell);
        let above = lanes & threshold.lt(energy);
        cell.store_packed(&mut out.cell.padded_mut()[end..], above);
        end += energy.store_packed(&mut out.energy.padded_mut()[end..], above);
    }
    out.cell.set_len(end);
    out.energy.set_len(end);
}
