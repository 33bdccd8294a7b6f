//! UT hits of a batch of events in the order of cells, as columns.

use super::{Column, Results, Starts, results};
use crate::Status;

/// Number of cells of the UT: each of its 1048 sectors has four cells.
pub const UT_CELLS: usize = 4192;

/// UT hits of many events, sorted by cell (plane, row of sectors, x), and within a cell as in the raw bank.
///
/// Cell c of event e owns the hits `[cell_start[4192 e + c], cell_start[4192 e + c + 1])`; the table of all columns is
/// [`Product::SCHEMA`](super::Product::SCHEMA). An event with a status other than `Ok` has no hits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UtCellHits {
    /// x where the strip, or its extension, meets y = 0, mm.
    pub x: Column<f32>,
    /// z where the strip, or its extension, meets y = 0, mm.
    pub z: Column<f32>,
    /// y of the lower end of the strip, mm.
    pub y_begin: Column<f32>,
    /// y of the upper end of the strip, mm.
    pub y_end: Column<f32>,
    /// Weight: one over the variance of x, 1/mm^2.
    pub weight: Column<f32>,
    /// LHCbID (no unit).
    pub id: Column<u32>,
    /// First hit of each cell, 4192 cells per event, then the number of hits (no unit).
    pub cell_start: Starts,
    /// Status of each event (no unit).
    pub status: Vec<Status>,
}

results! {
    UtCellHits: "event", "hit";
    integers {
        Status 0 [status] "status" "1" "status of the event";
        Starts 0 [cell_start] * UT_CELLS "cell_start" "1" "index of the first hit of each of the event's 4192 cells, then the number of hits";
        U32 1 [id] "id" "1" "LHCbID";
    }
    others {
        F32 1 [x] "x" "mm" "x where the strip, or its extension, meets y = 0";
        F32 1 [z] "z" "mm" "z where the strip, or its extension, meets y = 0";
        F32 1 [y_begin] "y_begin" "mm" "y of the lower end of the strip";
        F32 1 [y_end] "y_end" "mm" "y of the upper end of the strip";
        F32 1 [weight] "weight" "1/mm^2" "12 / pitch^2: one over the variance of x";
    }
}

impl UtCellHits {
    /// Removes all events and keeps the allocated memory.
    pub fn clear(&mut self) {
        Results::clear(self);
    }

    /// Number of hits of all events.
    pub fn hits(&self) -> usize {
        self.id.len()
    }

    /// Returns the first hit of each cell of one event, then the end of the last cell.
    ///
    /// # Panics
    /// Panics if there is no such event.
    pub fn cells_of(&self, event: usize) -> &[u32] {
        &self.cell_start[UT_CELLS * event..=UT_CELLS * (event + 1)]
    }

    /// Returns the range of the hits of one event.
    ///
    /// # Panics
    /// Panics if there is no such event.
    pub fn of_event(&self, event: usize) -> std::ops::Range<usize> {
        let cells = self.cells_of(event);
        cells[0] as usize..cells[UT_CELLS] as usize
    }
}
