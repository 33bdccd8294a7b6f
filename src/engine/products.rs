//! [`Products`]: the products that a sequence writes for a number of events.

use super::Handle;
use crate::event::{Columns, Counters, Outcome, Product};
use crate::{Error, Result, Status};

/// The products that a sequence writes for a number of events, and the counts of the events.
#[derive(Debug, Default)]
pub struct Products {
    columns: Vec<Columns>,
    names: Vec<&'static str>,
    /// Counts of the events (no unit).
    pub counters: Counters,
}

impl Products {
    /// Makes one empty product for each handle.
    pub fn new(products: &[Handle]) -> Self {
        Self {
            columns: products.iter().map(Handle::empty).collect(),
            names: products.iter().map(Handle::name).collect(),
            counters: Counters::default(),
        }
    }

    /// Returns the product that is written first.
    ///
    /// # Panics
    /// Panics if there is no product.
    pub fn first(&self) -> &Columns {
        &self.columns[0]
    }

    /// All products, in the order in which they are written.
    pub fn columns(&self) -> &[Columns] {
        &self.columns
    }

    /// Returns all products for writing, in the order of [`columns`](Self::columns).
    pub fn columns_mut(&mut self) -> &mut [Columns] {
        &mut self.columns
    }

    /// The names of the products, in the order of [`columns`](Self::columns).
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Returns the index of the product `name` in [`columns`](Self::columns).
    ///
    /// # Errors
    /// Returns [`Error::Config`] if no product has this name.
    pub fn position(&self, name: &str) -> Result<usize> {
        let missing = || {
            let words = "choose one of these, or add the product to `write` in the configuration";
            Error::Config(format!("no product `{name}` among {}: {words}", self.names.join(", ")))
        };
        self.names.iter().position(|known| *known == name).ok_or_else(missing)
    }

    /// All products, in the order in which they are written.
    pub fn into_columns(self) -> Vec<Columns> {
        self.columns
    }

    /// Moves all events and counts into new products, and leaves these products empty.
    pub fn take(&mut self) -> Self {
        Self {
            columns: self.columns.iter_mut().map(Columns::take).collect(),
            names: self.names.clone(),
            counters: std::mem::take(&mut self.counters),
        }
    }

    /// Returns the product of type `P`; `None` if there is none.
    pub fn get<P: Product>(&self) -> Option<&P> {
        self.columns.iter().find_map(|columns| columns.get())
    }

    /// Removes all events and counts, and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.empty_columns();
        self.counters.clear();
    }

    /// Removes all events and keeps the counts and the memory.
    pub(super) fn empty_columns(&mut self) {
        self.columns.iter_mut().for_each(|columns| columns.clear());
    }

    /// Appends the products of a slice.
    ///
    /// # Errors
    /// As [`append`](crate::event::append).
    ///
    /// # Panics
    /// Panics if `self` and `piece` hold different products.
    pub fn append(&mut self, piece: &Self) -> Result<()> {
        assert_eq!(self.columns.len(), piece.columns.len(), "the products belong to different sequences");
        for (to, from) in self.columns.iter_mut().zip(&piece.columns) {
            crate::event::append(&mut **to, &**from)?;
        }
        self.counters.merge(&piece.counters);
        Ok(())
    }

    /// Whether these are the products that `handles` name.
    pub(super) fn is_of(&self, handles: &[Handle]) -> bool {
        let is_one = |(columns, handle): (&Columns, &Handle)| handle.schema().is(columns.schema());
        self.names.iter().copied().eq(handles.iter().map(Handle::name))
            && self.columns.iter().zip(handles).all(is_one)
    }

    /// Moves the product of type `P` and the counts into `spare`, calls `work` with `spare`, and moves them back. The
    /// earlier content of `spare` is lost. Returns false if there is no product of type `P`.
    pub fn lend<P: Product>(&mut self, spare: &mut Outcome<P>, work: impl FnOnce(&mut Outcome<P>)) -> bool {
        let Some(results) = self.get_mut::<P>() else { return false };
        std::mem::swap(results, &mut spare.results);
        spare.counters = self.counters;
        work(spare);
        self.counters = spare.counters;
        let results = self.get_mut::<P>().expect("as before");
        std::mem::swap(results, &mut spare.results);
        true
    }

    /// Returns the product of type `P` for writing; `None` if there is none.
    pub fn get_mut<P: Product>(&mut self) -> Option<&mut P> {
        self.columns.iter_mut().find_map(|columns| columns.get_mut())
    }

    /// Number of events; 0 when rows are not events.
    pub(super) fn events(&self) -> usize {
        self.columns.first().map_or(0, |columns| columns.events())
    }

    /// Removes the events from `events` on.
    pub(super) fn truncate(&mut self, events: usize) {
        self.columns.iter_mut().for_each(|columns| columns.truncate(events));
    }

    /// Appends an event without items to each product, and counts it.
    pub(super) fn push_failed(&mut self, status: Status) {
        self.columns.iter_mut().for_each(|columns| columns.push_failed(status));
        self.counters.count_event(status);
    }

    /// Counts the events from `first` on. The status of an event combines its statuses in all products.
    pub(super) fn count_events(&mut self, first: usize) {
        for event in first..self.events() {
            let all = self.columns.iter().map(|columns| columns.statuses()[event]);
            self.counters.count_event(all.fold(Status::Ok, Status::and));
        }
    }
}
