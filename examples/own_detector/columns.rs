//! Columns of the calorimeter's sequence: charges as input, cells with energies as output.

use peloton::Status;
use peloton::engine::{Batch, Events};
use peloton::event::{Column, Starts};

/// Charges that a calorimeter measured. Event e has the hits `start[e]..start[e + 1]`.
#[derive(Debug, Default)]
pub struct Charges {
    /// Number of the cell.
    pub cell: Column<u32>,
    /// Charge of the hit, counts of the analogue-to-digital converter.
    pub charge: Column<f32>,
    /// Index of the first hit of each event, and the number of hits.
    pub start: Starts,
    /// Number of each event, from its input.
    pub event_id: Vec<u64>,
}

impl Charges {
    /// Appends a hit to the event that the next `close_event` ends.
    pub fn push_hit(&mut self, cell: u32, charge: f32) {
        self.cell.push(cell);
        self.charge.push(charge);
    }

    /// Ends an event: it contains the hits since the previous event.
    pub fn close_event(&mut self, event_id: u64) {
        self.start.push(self.cell.len() as u32);
        self.event_id.push(event_id);
    }

    /// Returns the cells and charges of an event.
    pub fn of_event(&self, event: usize) -> (&[u32], &[f32]) {
        let range = self.start[event] as usize..self.start[event + 1] as usize;
        (&self.cell[range.clone()], &self.charge[range])
    }
}

/// The input, which a reader would fill.
impl Batch for Charges {
    fn events(&self) -> Events<'_> {
        Events::Other(self)
    }

    fn clear(&mut self) {
        self.cell.clear();
        self.charge.clear();
        self.start = Starts::default();
        self.event_id.clear();
    }

    fn event_ids(&self) -> &[u64] {
        &self.event_id
    }

    fn hits(&self) -> Option<u64> {
        Some(self.cell.len() as u64)
    }
}

/// Cells above the threshold. Clearing, hashing, comparing and files use the table `results!` below.
#[derive(Debug, Default)]
pub struct CellHits {
    /// Status of each event.
    pub status: Vec<Status>,
    /// Index of the first cell of each event, and the number of cells.
    pub start: Starts,
    /// Number of the cell.
    pub cell: Column<u32>,
    /// Energy, GeV.
    pub energy: Column<f32>,
}

peloton::results! {
    CellHits: "event", "hit";
    integers {
        Status 0 [status] "status" "1" "status of the event";
        Starts 0 [start] "start" "1" "first cell of the event";
        U32 1 [cell] "cell" "1" "number of the cell";
    }
    others {
        F32 1 [energy] "energy" "GeV" "energy in the cell";
    }
}

#[cfg(test)]
impl CellHits {
    /// Returns the status and the cells of an event.
    pub fn of_event(&self, event: usize) -> (Status, Vec<(u32, f32)>) {
        let range = self.start[event] as usize..self.start[event + 1] as usize;
        (self.status[event], range.map(|hit| (self.cell[hit], self.energy[hit])).collect())
    }
}
