//! [`AnyOutcome`]: results of any sequence, as columns with their schema.

use super::shared::{SharedResults, number_rows};
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

    /// Reuses recycled buffers for the next results, if there are any.
    pub fn reuse(&mut self, spares: &Spares) {
        for columns in self.products.columns_mut() {
            if let Some(results) = spares.take(columns.schema()) {
                *columns = results;
            }
        }
    }

    /// Shares the results, which are read-only from then on; their memory goes to `home` after the last reader. This
    /// outcome is then empty and usable again.
    pub fn share(&mut self, home: &Spares) -> SharedResults {
        SharedResults::new(&mut self.products, std::mem::take(&mut self.ids), home)
    }

    /// All products that the configuration writes.
    pub fn products(&self) -> &Products {
        &self.products
    }

    /// The product with a name.
    ///
    /// # Errors
    /// [`Error::Config`] for a product that the configuration does not write.
    pub fn product(&self, name: &str) -> Result<&Columns> {
        self.products.position(name).map(|product| &self.products.columns()[product])
    }

    /// The product that the configuration writes first.
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

    /// Moves the columns of a product, by its place in [`products`](Self::products), out as an Arrow batch that uses
    /// their memory ([`arrow_shared`]); this product is then empty and usable again.
    ///
    /// # Errors
    /// [`Error::Columns`] for lists too long for Arrow's 32-bit offsets; the results are lost.
    ///
    /// # Panics
    /// When there is no product at this place.
    pub fn take_arrow(&mut self, product: usize) -> Result<RecordBatch> {
        let results = Arc::new(self.products.columns_mut()[product].take());
        number_rows(&mut self.ids, &**results);
        arrow_shared(&self.ids[..self.ids.len().min(results.items(0))], &results)
    }
}

/// Hashes one product of a sequence, over any number of runs in order, like `hash_int` and `output_hash` of a job.
#[derive(Default)]
pub struct AnyHasher(Option<Hasher>);

impl AnyHasher {
    /// Adds the results of a run.
    ///
    /// # Errors
    /// [`Error::Config`] for a product other than the one that was added first.
    pub fn add(&mut self, columns: &Columns) -> Result<()> {
        let hasher = self.0.get_or_insert_with(|| Hasher::new(columns.schema()));
        if !hasher.schema().is(columns.schema()) {
            let message = "these are results of another sequence or product than the results hashed before";
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
