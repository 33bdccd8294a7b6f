//! SciFi hits of a batch of events, as columns.

use super::{Column, Results, Starts, results};
use crate::Status;

/// Number of zones of the SciFi: lower and upper halves of twelve layers (x, u, v, x in each station).
pub const SCIFI_ZONES: usize = 24;

/// SciFi hits of many events, sorted by zone (2 * layer, + 1 for the upper half), then `x`, then `id`.
///
/// Zone z of event e owns the hits `[zone_start[24 e + z], zone_start[24 e + z + 1])`; the table of all columns is
/// [`Product::SCHEMA`](super::Product::SCHEMA). An event with a status other than `Ok` has no hits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SciFiBatch {
    /// x where the fibre, or its extension, meets y = 0, mm.
    pub x: Column<f32>,
    /// z where the fibre, or its extension, meets y = 0, mm.
    pub z: Column<f32>,
    /// y of the fibre's end at the mirror, mm.
    pub y_end: Column<f32>,
    /// LHCbID (no unit).
    pub id: Column<u32>,
    /// Bit 0: 1 if the hit is in the right half of the channel; higher bits: width of the cluster (no unit).
    pub width: Column<u32>,
    /// First hit of each zone, 24 zones per event, then the number of hits (no unit).
    pub zone_start: Starts,
    /// Status of each event (no unit).
    pub status: Vec<Status>,
}

results! {
    SciFiBatch: "event", "hit";
    integers {
        Status 0 [status] "status" "1" "status of the event";
        Starts 0 [zone_start] * SCIFI_ZONES "zone_start" "1" "index of the first hit of each of the event's 24 zones, then the number of hits; the number of a zone is 2 * layer, plus 1 for the upper half";
        U32 1 [id] "id" "1" "LHCbID";
        U32 1 [width] "width" "1" "bit 0: 1 if the hit is in the right half of the channel; higher bits: width of the cluster as the readout gives it";
    }
    others {
        F32 1 [x] "x" "mm" "x where the fibre, or its extension, meets y = 0";
        F32 1 [z] "z" "mm" "z where the fibre, or its extension, meets y = 0";
        F32 1 [y_end] "y_end" "mm" "y of the fibre's end at the mirror, near y = 0";
    }
}

impl SciFiBatch {
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
        self.zone_start[SCIFI_ZONES * event] as usize..self.zone_start[SCIFI_ZONES * (event + 1)] as usize
    }

    /// Returns the range of the hits of one zone of an event.
    ///
    /// # Panics
    /// Panics if there is no such event or zone.
    pub fn of_zone(&self, event: usize, zone: usize) -> std::ops::Range<usize> {
        let at = SCIFI_ZONES * event + zone;
        self.zone_start[at] as usize..self.zone_start[at + 1] as usize
    }
}
