//! SciFi hits of a batch of events, as columns.

use super::{Column, Results, Starts, results};
use crate::Status;

/// Zones of the SciFi: twelve layers (x, u, v, x in each station), each a lower and an upper half.
pub const SCIFI_ZONES: usize = 24;

/// SciFi hits of many events, sorted by zone (2 * layer, + 1 for the upper half), then `x`, then `id`.
///
/// Zone z of event e owns the hits `[zone_start[24 e + z], zone_start[24 e + z + 1])`; the table of all columns is
/// [`Product::SCHEMA`](super::Product::SCHEMA). An event with a status other than `Ok` has no hits here.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SciFiBatch {
    /// x at y = 0, mm.
    pub x: Column<f32>,
    /// z at y = 0, mm.
    pub z: Column<f32>,
    /// y of the fibre's end at the mirror, mm.
    pub y_end: Column<f32>,
    /// LHCbID (no unit).
    pub id: Column<u32>,
    /// Half of the channel and width (no unit).
    pub width: Column<u32>,
    /// First hit of each zone (no unit); 24 per event and one at the end.
    pub zone_start: Starts,
    /// Status of each event (no unit).
    pub status: Vec<Status>,
}

results! {
    SciFiBatch: "event", "hit";
    integers {
        Status 0 [status] "status" "1" "status of the event";
        Starts 0 [zone_start] * SCIFI_ZONES "zone_start" "1" "first hit of each of the event's 24 zones (2 * layer, + 1 for the upper half), and the number of hits";
        U32 1 [id] "id" "1" "LHCbID";
        U32 1 [width] "width" "1" "bit 0: in the right half of the channel; bits 1 on: width of the cluster as the readout gives it";
    }
    others {
        F32 1 [x] "x" "mm" "x where the fibre, or its extension, meets y = 0";
        F32 1 [z] "z" "mm" "z where the fibre, or its extension, meets y = 0";
        F32 1 [y_end] "y_end" "mm" "y of the fibre's end at the mirror, near y = 0";
    }
}

impl SciFiBatch {
    /// Removes all events and keeps the memory.
    pub fn clear(&mut self) {
        Results::clear(self);
    }

    /// Number of hits of all events.
    pub fn hits(&self) -> usize {
        self.id.len()
    }

    /// The hits of one event.
    ///
    /// # Panics
    /// When there is no such event.
    pub fn of_event(&self, event: usize) -> std::ops::Range<usize> {
        self.zone_start[SCIFI_ZONES * event] as usize..self.zone_start[SCIFI_ZONES * (event + 1)] as usize
    }

    /// The hits of one zone of an event.
    ///
    /// # Panics
    /// When there is no such event or zone.
    pub fn of_zone(&self, event: usize, zone: usize) -> std::ops::Range<usize> {
        let at = SCIFI_ZONES * event + zone;
        self.zone_start[at] as usize..self.zone_start[at + 1] as usize
    }
}
