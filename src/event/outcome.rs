//! [`Outcome`]: results of events, and counts of what happened to them.

use super::{Counters, Results};
use crate::Status;

/// Results of some events as columns, and the counts that belong to them: what a stage, a sequence or a slice appends to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome<R> {
    /// One entry for each event (no unit).
    pub results: R,
    /// What happened to the events (no unit).
    pub counters: Counters,
}

impl<R: Results> Outcome<R> {
    /// Removes all events and counts and keeps the memory.
    pub fn clear(&mut self) {
        self.results.clear();
        self.counters.clear();
    }

    /// Appends an event without items, with this status, and counts it.
    pub fn push_failed(&mut self, status: Status) {
        self.results.push_failed(status);
        self.counters.count_event(status);
    }
}
