//! Tracks and hits of the detectors for the matching.

use crate::Status;
use crate::event::{SciFiTracks, UtBatch, VeloTracks};

/// What the detectors saw.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) velo: &'a VeloTracks,
    pub(super) scifi: &'a SciFiTracks,
    pub(super) ut: Option<&'a UtBatch>,
}

impl Parts<'_> {
    /// What became of an event: the first detector along the beam that failed says it.
    pub(super) fn status(&self, event: usize) -> Status {
        let all = [
            Some(self.velo.status[event]),
            self.ut.map(|ut| ut.status[event]),
            Some(self.scifi.status[event]),
        ];
        all.into_iter().flatten().fold(Status::Ok, Status::and)
    }
}
