//! [`ConfiguredOutcome`]: the results of any sequence, as columns with their schema.

use super::shared::{SharedResults, number_rows};
use super::spares::Spares;
use peloton::engine::Products;
use peloton::event::{Columns, Counters, Hasher, Hashes};
use peloton::{Error, Result};
use peloton_io::input::EventId;
use peloton_io::output::{RecordBatch, arrow_shared};
use std::sync::Arc;

/// Results of a batch of events, or of a piece of a stream, with their counts.
pub struct ConfiguredOutcome {
    products: Products,
    ids: Vec<EventId>,
}

impl ConfiguredOutcome {
    pub(super) fn new(products: Products) -> Self {
        Self { products, ids: Vec::new() }
    }

    /// Empties the outcome and returns its products. Events count from 0, unless [`set_ids`](Self::set_ids) is called.
    pub(super) fn begin(&mut self) -> &mut Products {
        self.ids.clear();
        self.products.clear();
        &mut self.products
    }

    /// Replaces the memory of the products by recycled memory from `spares`, if there is any.
    pub fn reuse(&mut self, spares: &Spares) {
        for columns in self.products.columns_mut() {
            if let Some(results) = spares.take(columns.schema()) {
                *columns = results;
            }
        }
    }

    /// Moves the results to a shared, read-only value; when its last reader drops it, the memory returns to `home`.
    /// This outcome is empty afterwards, and can be used again.
    pub fn share(&mut self, home: &Spares) -> SharedResults {
        SharedResults::new(&mut self.products, std::mem::take(&mut self.ids), home)
    }

    /// Returns all products that the configuration writes.
    pub fn products(&self) -> &Products {
        &self.products
    }

    /// Returns the product of this name.
    ///
    /// # Errors
    /// Returns [`Error::Config`] for a product that the configuration does not write.
    pub fn product(&self, name: &str) -> Result<&Columns> {
        self.products.position(name).map(|product| &self.products.columns()[product])
    }

    /// Returns the product that the configuration writes first.
    pub fn columns(&self) -> &Columns {
        self.products.first()
    }

    /// Returns the counts of the run that made these results.
    pub fn counters(&self) -> &Counters {
        &self.products.counters
    }

    /// Sets the run and event numbers of the events; `ids` has one entry for each event.
    pub fn set_ids(&mut self, ids: &[EventId]) {
        self.ids.clear();
        self.ids.extend_from_slice(ids);
    }

    /// Moves the columns of a product out, as an Arrow batch that uses the memory of the columns ([`arrow_shared`]).
    /// `product` is an index into [`products`](Self::products); the product is empty afterwards, and can be used again.
    ///
    /// # Errors
    /// [`Error::Columns`] for lists too long for Arrow's 32-bit offsets; then the product's results are lost.
    ///
    /// # Panics
    /// Panics when there is no product with this index.
    pub fn take_arrow(&mut self, product: usize) -> Result<RecordBatch> {
        let results = Arc::new(self.products.columns_mut()[product].take());
        number_rows(&mut self.ids, &**results);
        arrow_shared(&self.ids[..self.ids.len().min(results.items(0))], &results)
    }
}

/// Hashes one product over any number of runs; gives the same `hash_int` and `output_hash` as a job.
#[derive(Default)]
pub struct OutcomeHasher(Option<Hasher>);

impl OutcomeHasher {
    /// Adds the results of a run to the hashes.
    ///
    /// # Errors
    /// Returns [`Error::Config`] if these results are of another product than the results added first.
    pub fn add(&mut self, columns: &Columns) -> Result<()> {
        let hasher = self.0.get_or_insert_with(|| Hasher::new(columns.schema()));
        if !hasher.schema().is(columns.schema()) {
            let message = "these are results of another sequence or product than the results hashed before";
            return Err(Error::Config(message.into()));
        }
        hasher.update(&**columns);
        Ok(())
    }

    /// Returns the hashes of all added results; none when nothing was added.
    pub fn finish(&self) -> Option<Hashes> {
        self.0.as_ref().map(Hasher::finish)
    }
}
