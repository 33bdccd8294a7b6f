//! Input of the matching: tracks in the Velo and the SciFi, and hits in the UT.

use crate::Status;
use crate::event::{SciFiTracks, UtBatch, VeloTracks};

/// Tracks and hits of the detectors.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) velo: &'a VeloTracks,
    pub(super) scifi: &'a SciFiTracks,
    pub(super) ut: Option<&'a UtBatch>,
}

impl Parts<'_> {
    /// Returns the status of an event: the status of the first detector along the beam that failed.
    pub(super) fn status(&self, event: usize) -> Status {
        let all = [
            Some(self.velo.status[event]),
            self.ut.map(|ut| ut.status[event]),
            Some(self.scifi.status[event]),
        ];
        all.into_iter().flatten().fold(Status::Ok, Status::and)
    }
}
