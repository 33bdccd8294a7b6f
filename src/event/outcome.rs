//! [`Outcome`]: results of events, and counts of what happened to them.

use super::{Columns, Counters, Product};
use crate::Status;

/// Results of some events as columns, and the counts that belong to them: what a stage, a sequence or a slice appends to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome<R> {
    /// One entry for each event (no unit).
    pub results: R,
    /// What happened to the events (no unit).
    pub counters: Counters,
}

impl<P: Product> Outcome<P> {
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

impl Outcome<Columns> {
    /// Lends the columns as their own type to `work`, by way of `spare`, whose content is lost.
    ///
    /// # Panics
    /// When they are another product.
    pub fn lend<P: Product>(&mut self, spare: &mut Outcome<P>, work: impl FnOnce(&mut Outcome<P>)) {
        let results = self.results.get_mut::<P>().expect("columns of this product");
        std::mem::swap(results, &mut spare.results);
        spare.counters = self.counters;
        work(spare);
        self.counters = spare.counters;
        std::mem::swap(results, &mut spare.results);
    }
}
