//! [`SharedResults`]: read-only results, whose memory stays valid while any reader holds them.

use super::spares::Spares;
use crate::sink::{Destination, FileFormat, FileSink, Sink};
use crate::{Cancel, Request};
use peloton::engine::{CommonThreads, Products};
use peloton::event::{Columns, Counters, Hasher, Hashes, Results, Schema};
use peloton::{Error, Result};
use peloton_io::input::EventId;
use peloton_io::output::{Done, RecordBatch, arrow_shared};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// One product of the results of a sequence, as columns with their schema: the first written product, unless
/// [`product`](Self::product) chose another. Clones share the results.
#[derive(Clone)]
pub struct SharedResults(Arc<Shown>);

/// One product of shared results.
struct Shown {
    all: Arc<Lent>,
    product: usize,
}

/// Results whose memory goes to `home` when no product has a reader any more.
struct Lent {
    products: Products,
    ids: Vec<EventId>,
    home: Spares,
}

impl Shown {
    fn columns(&self) -> &Columns {
        &self.all.products.columns()[self.product]
    }
}

impl Deref for Shown {
    type Target = dyn Results;

    fn deref(&self) -> &Self::Target {
        &**self.columns()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        for mut columns in std::mem::take(&mut self.products).into_columns() {
            columns.clear();
            self.home.give_back(columns);
        }
    }
}

/// Appends an identification for each row of results that has none, if rows are events: the number of the row.
pub(super) fn number_rows(ids: &mut Vec<EventId>, results: &dyn Results) {
    let rows = if results.schema().has_events() { results.items(0) as u64 } else { 0 };
    ids.extend((ids.len() as u64..rows).map(|number| EventId { number, ..EventId::default() }));
}

impl SharedResults {
    /// Moves the products out; their memory goes to `home` when the last reader is gone.
    pub(super) fn new(products: &mut Products, mut ids: Vec<EventId>, home: &Spares) -> Self {
        number_rows(&mut ids, &**products.first());
        let all = Lent { products: products.take(), ids, home: home.clone() };
        Self(Arc::new(Shown { all: all.into(), product: 0 }))
    }

    /// Returns the names of all products of these results.
    pub fn products(&self) -> &[&'static str] {
        self.0.all.products.names()
    }

    /// Returns the product of this name.
    ///
    /// # Errors
    /// Returns [`Error::Config`] for a product that the configuration does not write.
    pub fn product(&self, name: &str) -> Result<Self> {
        let all = self.0.all.clone();
        let product = all.products.position(name)?;
        Ok(Self(Arc::new(Shown { all, product })))
    }

    /// Returns the schema: the columns, and their nesting.
    pub fn schema(&self) -> &'static Schema {
        self.0.schema()
    }

    /// Returns the number of items at a depth of the nesting: at 0 events or clusters, at 1 the items of their lists.
    pub fn items(&self, depth: usize) -> usize {
        self.0.items(depth)
    }

    /// Returns the counts of the run that made these results.
    pub fn counters(&self) -> &Counters {
        &self.0.all.products.counters
    }

    /// Returns the hashes, which equal the hashes of a job over the same events.
    pub fn hashes(&self) -> Hashes {
        Hasher::of(&**self.0)
    }

    /// Returns all columns as an Arrow batch, without a copy, see [`arrow_shared`].
    ///
    /// # Errors
    /// Returns [`Error::Columns`] for lists too long for Arrow's 32-bit offsets.
    pub fn arrow(&self) -> Result<RecordBatch> {
        arrow_shared(&self.0.all.ids, &self.0)
    }

    /// Writes the results to a file, as a job does; the name of the file selects the format.
    ///
    /// # Errors
    /// Returns [`Error::Config`] for a name of unknown format, and errors of the file.
    pub fn write(&self, path: &Path, request: &Request) -> Result<()> {
        let schema = self.schema();
        if !schema.has_events() && FileFormat::of(path) != Some(FileFormat::Parquet) {
            let words =
                "clusters in memory are written to .parquet; other formats are written while a job runs";
            return Err(Error::Config(format!("{}: {words}", path.display())));
        }
        let metadata = request.metadata(request.config.level()?.to_string());
        let (cancel, threads) = (Cancel::default(), Arc::new(CommonThreads));
        let to =
            Destination { path, options: &request.output, metadata: &metadata, cancel: &cancel, threads };
        let created = FileSink::create(schema, &to);
        let mut sink = Box::new(created?);
        sink.write(&[(&self.0.all.ids, self.0.columns())])?;
        sink.finish(Some(self.hashes()), Done::All).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::engine::Handle;
    use peloton::event::{Product, VeloTracks};

    #[test]
    fn memory_comes_back_empty_when_the_last_reader_is_gone() {
        let (spares, schema) = (Spares::default(), VeloTracks::SCHEMA);
        assert!(spares.take(schema).is_none());
        let mut products =
            Products::new(&[Handle::of::<VeloTracks>("velo_tracks"), Handle::of::<VeloTracks>("others")]);
        let tracks: &mut VeloTracks = products.get_mut().unwrap();
        tracks.push_failed(peloton::Status::Corrupt);
        tracks.chi2.reserve_total(1000);
        let memory = tracks.chi2.padded().as_ptr();
        let results = SharedResults::new(&mut products, Vec::new(), &spares);
        let others = results.product("others").unwrap();
        drop(results);
        assert!(spares.take(schema).is_none() && others.items(0) == 0);
        assert_eq!(others.product("velo_tracks").unwrap().items(0), 1);
        let error = others.product("hits").err().unwrap().to_string();
        assert!(error.contains("`hits` among velo_tracks, others"), "{error}");
        drop(others);
        assert!(spares.take(schema).is_some(), "the memory of the others");
        let again = spares.take(schema).expect("the memory");
        let again: &VeloTracks = again.get().unwrap();
        assert_eq!((again.events(), again.chi2.padded().as_ptr()), (0, memory));
    }
}
