//! UT hits of a batch of events, as columns.

use super::{Column, Results, Starts, results};
use crate::Status;

/// Number of planes of the UT. The first and last have vertical strips, the two between have tilted strips.
pub const UT_PLANES: usize = 4;
/// Number of groups of UT sectors with the same x: 20, 20, 22 and 22 groups in the four planes.
pub const UT_GROUPS: usize = 84;

/// UT hits of many events, sorted by group of sectors (and so by plane), then `y_begin`, then `x`, then `id`.
///
/// Group g of event e owns the hits `[group_start[84 e + g], group_start[84 e + g + 1])`; the table of all columns is
/// [`Product::SCHEMA`](super::Product::SCHEMA). An event with a status other than `Ok` has no hits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UtBatch {
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
    /// First hit of each group, 84 groups per event, then the number of hits (no unit).
    pub group_start: Starts,
    /// Status of each event (no unit).
    pub status: Vec<Status>,
}

results! {
    UtBatch: "event", "hit";
    integers {
        Status 0 [status] "status" "1" "status of the event";
        Starts 0 [group_start] * UT_GROUPS "group_start" "1" "index of the first hit of each of the event's 84 groups of sectors with the same x, then the number of hits";
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

impl UtBatch {
    /// Removes all events and keeps the allocated memory.
    pub fn clear(&mut self) {
        Results::clear(self);
    }

    /// Number of hits of all events.
    pub fn hits(&self) -> usize {
        self.id.len()
    }

    /// Returns the range of the hits of one event.
    ///
    /// # Panics
    /// Panics if there is no such event.
    pub fn of_event(&self, event: usize) -> std::ops::Range<usize> {
        self.group_start[UT_GROUPS * event] as usize..self.group_start[UT_GROUPS * (event + 1)] as usize
    }

    /// Returns the range of the hits of one group of an event.
    ///
    /// # Panics
    /// Panics if there is no such event or group.
    pub fn of_group(&self, event: usize, group: usize) -> std::ops::Range<usize> {
        let at = UT_GROUPS * event + group;
        self.group_start[at] as usize..self.group_start[at + 1] as usize
    }
}
