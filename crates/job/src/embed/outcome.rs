//! [`AnyOutcome`]: results of any sequence, as columns that say what they are.

use super::shared::{Kept, SharedResults};
use super::spares::{Lent, Spares};
use peloton::event::{ColumnInfo, Counters, Hasher, Hashes, Outcome, Results, Values};
use peloton::{Error, Result};
use peloton_io::input::EventId;
use peloton_io::output::{RecordBatch, arrow_shared};
use std::any::Any;
use std::sync::Arc;

/// Results of a batch of events, or of a piece of a stream, with the counts that belong to them.
pub struct AnyOutcome {
    held: Box<dyn Held>,
    ids: Vec<EventId>,
    sequence: &'static str,
}

trait Held: Any + Send {
    fn infos(&self) -> &'static [ColumnInfo];
    fn levels(&self) -> &'static [&'static str];
    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'static ColumnInfo, Values<'a>));
    fn items(&self, depth: usize) -> usize;
    fn tracks(&self) -> usize;
    fn hits(&self) -> usize;
    fn counters(&self) -> &Counters;
    fn hasher(&self) -> Box<dyn Hashing>;
    fn arrow(&mut self, ids: &[EventId]) -> Result<RecordBatch>;
    fn take(&mut self, home: &Spares) -> (Arc<dyn Kept>, Counters);
    fn reuse(&mut self, spares: &Spares);
    fn any(&self) -> &dyn Any;
    fn any_mut(&mut self) -> &mut dyn Any;
}

impl<R: Results> Held for Outcome<R> {
    fn infos(&self) -> &'static [ColumnInfo] {
        R::COLUMNS
    }

    fn levels(&self) -> &'static [&'static str] {
        R::LEVELS
    }

    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'static ColumnInfo, Values<'a>)) {
        self.results.for_each_column(visit);
    }

    fn items(&self, depth: usize) -> usize {
        self.results.items(depth)
    }

    fn tracks(&self) -> usize {
        self.results.tracks()
    }

    fn hits(&self) -> usize {
        self.results.hits()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn hasher(&self) -> Box<dyn Hashing> {
        Box::new(Hasher::<R>::default())
    }

    fn arrow(&mut self, ids: &[EventId]) -> Result<RecordBatch> {
        let moved = Arc::new(std::mem::take(&mut self.results));
        self.counters.clear();
        arrow_shared(ids, &moved)
    }

    fn take(&mut self, home: &Spares) -> (Arc<dyn Kept>, Counters) {
        let lent = Lent::new(std::mem::take(&mut self.results), home);
        (Arc::new(lent), std::mem::take(&mut self.counters))
    }

    fn reuse(&mut self, spares: &Spares) {
        if let Some(results) = spares.take() {
            self.results = results;
        }
    }

    fn any(&self) -> &dyn Any {
        self
    }

    fn any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl AnyOutcome {
    pub(super) fn new<R: Results>(sequence: &'static str) -> Self {
        Self { held: Box::new(Outcome::<R>::default()), ids: Vec::new(), sequence }
    }

    /// The results to write to; numbers of events count from 0 until somebody tells them.
    pub(super) fn begin<R: Results>(&mut self, sequence: &str) -> Result<&mut Outcome<R>> {
        self.ids.clear();
        let outcome = self.held.any_mut().downcast_mut::<Outcome<R>>();
        let outcome = outcome.filter(|_| sequence == self.sequence);
        outcome.ok_or_else(|| wrong_sequence("result", sequence))
    }

    /// Has results written to memory of others that nobody reads any more, where there is some.
    pub fn reuse(&mut self, spares: &Spares) {
        self.held.reuse(spares);
    }

    /// The results as nobody changes them any more, in memory that goes to `home` after the last reader; this outcome is
    /// then empty and usable again.
    pub fn share(&mut self, home: &Spares) -> SharedResults {
        let (results, counters) = self.held.take(home);
        SharedResults::new(results, std::mem::take(&mut self.ids), counters)
    }

    /// The sequence whose results these are.
    pub fn sequence(&self) -> &'static str {
        self.sequence
    }

    /// What the columns are, in their order.
    pub fn infos(&self) -> &'static [ColumnInfo] {
        self.held.infos()
    }

    /// What there is one value for at each depth, from the outside: `event`, `track`, `hit`.
    pub fn levels(&self) -> &'static [&'static str] {
        self.held.levels()
    }

    /// Number of items at a depth: of events, or clusters, at 0.
    pub fn items(&self, depth: usize) -> usize {
        self.held.items(depth)
    }

    /// Number of tracks; 0 where the sequence makes none.
    pub fn tracks(&self) -> usize {
        self.held.tracks()
    }

    /// Number of hits: on tracks, in clusters, or of the sequence that ends at hits.
    pub fn hits(&self) -> usize {
        self.held.hits()
    }

    /// Shows each column, in their order; allocates nothing.
    pub fn for_each_column<'a>(&'a self, visit: &mut dyn FnMut(&'static ColumnInfo, Values<'a>)) {
        self.held.visit(visit);
    }

    /// The results as what they are; none when they are something else.
    pub fn results<R: Results>(&self) -> Option<&R> {
        self.held.any().downcast_ref::<Outcome<R>>().map(|outcome| &outcome.results)
    }

    /// The column that `is_it` accepts first.
    pub fn find_column(
        &self,
        mut is_it: impl FnMut(usize, &'static ColumnInfo) -> bool,
    ) -> Option<(&'static ColumnInfo, Values<'_>)> {
        let (mut found, mut index) = (None, 0);
        self.held.visit(&mut |info, values| {
            if found.is_none() && is_it(index, info) {
                found = Some((info, values));
            }
            index += 1;
        });
        found
    }

    /// What happened in the run that made these results.
    pub fn counters(&self) -> &Counters {
        self.held.counters()
    }

    /// Says which events these are, one entry for each.
    pub fn set_ids(&mut self, ids: &[EventId]) {
        self.ids.clear();
        self.ids.extend_from_slice(ids);
    }

    /// Moves the columns out as an Arrow batch that lies in their memory ([`arrow_shared`]); these results are then empty
    /// and usable again.
    ///
    /// # Errors
    /// [`Error::Columns`] for lists too long for Arrow's 32-bit offsets, and then they are lost.
    pub fn take_arrow(&mut self) -> Result<RecordBatch> {
        let events = self.held.items(0) as u64;
        let told = self.ids.len() as u64;
        self.ids.extend((told..events).map(|number| EventId { number, ..EventId::default() }));
        let batch = self.held.arrow(&self.ids);
        self.ids.clear();
        batch
    }
}

/// Hashes results of one sequence, over any number of runs in order, as `hash_int` and `output_hash` of a job do.
#[derive(Default)]
pub struct AnyHasher(Option<Box<dyn Hashing>>);

trait Hashing: Send {
    /// Adds results; false for those of another type.
    fn add(&mut self, results: &dyn Any) -> bool;
    fn finish(&self) -> Hashes;
}

impl<R: Results> Hashing for Hasher<R> {
    fn add(&mut self, results: &dyn Any) -> bool {
        results.downcast_ref::<Outcome<R>>().map(|outcome| self.update(&outcome.results)).is_some()
    }

    fn finish(&self) -> Hashes {
        Hasher::finish(self)
    }
}

impl AnyHasher {
    /// Adds the results of a run.
    ///
    /// # Errors
    /// [`Error::Config`] for results of another sequence than the first.
    pub fn add(&mut self, outcome: &AnyOutcome) -> Result<()> {
        let hasher = self.0.get_or_insert_with(|| outcome.held.hasher());
        if hasher.add(outcome.held.any()) {
            return Ok(());
        }
        Err(Error::Config("these are results of another sequence than those hashed before".into()))
    }

    /// The hashes of everything so far; none when nothing was added.
    pub fn finish(&self) -> Option<Hashes> {
        self.0.as_ref().map(|hasher| hasher.finish())
    }
}

/// Says that something was made for another sequence.
pub(super) fn wrong_sequence(what: &str, sequence: &str) -> Error {
    Error::Config(format!(
        "this {what} was made for another sequence than {sequence}: make one of this engine"
    ))
}
