//! [`Outcome`]: results of events, with counts.

use super::{Columns, Counters, Product};
use crate::Status;

/// Results of events as columns, with the counts of these events: the output of a stage or a sequence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome<R> {
    /// Results of the events (no unit).
    pub results: R,
    /// Counts of the events (no unit).
    pub counters: Counters,
}

impl<P: Product> Outcome<P> {
    /// Removes all events and counts, and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.results.clear();
        self.counters.clear();
    }

    /// Appends an event without items, with this status, and counts the event.
    pub fn push_failed(&mut self, status: Status) {
        self.results.push_failed(status);
        self.counters.count_event(status);
    }
}

impl Outcome<Columns> {
    /// Calls `work` with `spare`, which holds the columns during the call. The old content of `spare` is lost.
    ///
    /// # Panics
    /// Panics if the columns are not of type `P`.
    pub fn lend<P: Product>(&mut self, spare: &mut Outcome<P>, work: impl FnOnce(&mut Outcome<P>)) {
        let mut lent = Lent { from: self, to: spare };
        lent.swap();
        work(lent.to);
    }
}

/// Columns that return to their owner when the function that borrowed them ends, also by a panic.
struct Lent<'a, P: Product> {
    from: &'a mut Outcome<Columns>,
    to: &'a mut Outcome<P>,
}

impl<P: Product> Lent<'_, P> {
    fn swap(&mut self) {
        let results = self.from.results.get_mut::<P>().expect("the columns are of type P");
        std::mem::swap(results, &mut self.to.results);
        // By copies: `std::mem::swap` exchanges values of this size piece by piece, with calls for each piece.
        (self.from.counters, self.to.counters) = (self.to.counters, self.from.counters);
    }
}

impl<P: Product> Drop for Lent<'_, P> {
    fn drop(&mut self) {
        self.swap();
    }
}
