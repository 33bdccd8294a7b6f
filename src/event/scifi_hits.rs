//! SciFi hits of a batch of events, as columns.

use super::Column;
use crate::Status;

/// Zones of the SciFi: twelve layers (x, u, v, x in each station), each a lower and an upper half.
pub const SCIFI_ZONES: usize = 24;

/// SciFi hits of many events, sorted by zone (2 * layer, + 1 for the upper half), then `x`, then `id`.
///
/// | column | type | length | meaning |
/// |---|---|---|---|
/// | `x`, `z` | f32, mm | hits | where the fibre, or its extension, meets y = 0 |
/// | `y_end` | f32, mm | hits | y of the fibre's end at the mirror, near y = 0 |
/// | `id` | u32 | hits | LHCbID |
/// | `width` | u32 | hits | bit 0: in the right half of the channel; bits 1 on: width as the readout tells it |
/// | `zone_start` | u32 | 24 * events + 1 | zone z of event e owns the hits `[zone_start[24 e + z], zone_start[24 e + z + 1])` |
/// | `status` | [`Status`] | events | anything but `Ok`: the event has no hits here |
#[derive(Debug, Clone, PartialEq)]
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
    pub zone_start: Column<u32>,
    /// What became of each event (no unit).
    pub status: Vec<Status>,
}

impl Default for SciFiBatch {
    fn default() -> Self {
        Self {
            x: Column::default(),
            z: Column::default(),
            y_end: Column::default(),
            id: Column::default(),
            width: Column::default(),
            zone_start: [0].into_iter().collect(),
            status: Vec::new(),
        }
    }
}

impl SciFiBatch {
    /// Forgets all events and keeps the memory.
    pub fn clear(&mut self) {
        super::Results::clear(self);
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
