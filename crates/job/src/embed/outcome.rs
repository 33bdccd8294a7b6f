//! [`AnyOutcome`]: results of any sequence, as columns with their schema.

use super::shared::{Lent, SharedResults};
use super::spares::Spares;
use peloton::engine::Products;
use peloton::event::{Columns, Counters, Hasher, Hashes};
use peloton::{Error, Result};
use peloton_io::input::EventId;
use peloton_io::output::{RecordBatch, arrow_shared};
use std::sync::Arc;

/// Results of a batch of events, or of a piece of a stream, with their counts.
pub struct AnyOutcome {
    products: Products,
    ids: Vec<EventId>,
}

impl AnyOutcome {
    pub(super) fn new(products: Products) -> Self {
        Self { products, ids: Vec::new() }
    }

    /// The results to write to; numbers of events count from 0 unless [`set_ids`](Self::set_ids) says otherwise.
    pub(super) fn begin(&mut self) -> &mut Products {
        self.ids.clear();
        self.products.clear();
        &mut self.products
    }

    /// Reuses a recycled buffer for the next results, if there is one.
    pub fn reuse(&mut self, spares: &Spares) {
        let columns = self.products.first_mut();
        if let Some(results) = spares.take(columns.schema()) {
            *columns = results;
        }
    }

    /// Shares the results, which are read-only from then on; their memory goes to `home` after the last reader. This
    /// outcome is then empty and usable again.
    pub fn share(&mut self, home: &Spares) -> SharedResults {
        let lent = Lent::new(self.products.first_mut().take(), home);
        SharedResults::new(lent, std::mem::take(&mut self.ids), std::mem::take(&mut self.products.counters))
    }

    /// The results.
    pub fn columns(&self) -> &Columns {
        self.products.first()
    }

    /// The counts of the run that made these results.
    pub fn counters(&self) -> &Counters {
        &self.products.counters
    }

    /// Sets the identification of these events, one entry for each.
    pub fn set_ids(&mut self, ids: &[EventId]) {
        self.ids.clear();
        self.ids.extend_from_slice(ids);
    }

    /// Moves the columns out as an Arrow batch that uses their memory ([`arrow_shared`]); these results are then
    /// empty and usable again.
    ///
    /// # Errors
    /// [`Error::Columns`] for lists too long for Arrow's 32-bit offsets, and then they are lost.
    pub fn take_arrow(&mut self) -> Result<RecordBatch> {
        let results = Arc::new(self.products.first_mut().take());
        self.products.counters.clear();
        let (events, known) = (results.items(0) as u64, self.ids.len() as u64);
        self.ids.extend((known..events).map(|number| EventId { number, ..EventId::default() }));
        let batch = arrow_shared(&self.ids, &results);
        self.ids.clear();
        batch
    }
}

/// Hashes results of one sequence, over any number of runs in order, like `hash_int` and `output_hash` of a job.
#[derive(Default)]
pub struct AnyHasher(Option<Hasher>);

impl AnyHasher {
    /// Adds the results of a run.
    ///
    /// # Errors
    /// [`Error::Config`] for results of another sequence than the first.
    pub fn add(&mut self, outcome: &AnyOutcome) -> Result<()> {
        let columns = outcome.columns();
        let hasher = self.0.get_or_insert_with(|| Hasher::new(columns.schema()));
        if !hasher.schema().is(columns.schema()) {
            let message = "these are results of another sequence than those hashed before";
            return Err(Error::Config(message.into()));
        }
        hasher.update(&**columns);
        Ok(())
    }

    /// The hashes of everything so far; none when nothing was added.
    pub fn finish(&self) -> Option<Hashes> {
        self.0.as_ref().map(Hasher::finish)
    }
}
