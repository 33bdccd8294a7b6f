//! [`SharedResults`]: read-only results, in memory that their readers keep alive.

use super::spares::Spares;
use crate::sink::{Destination, FileFormat, FileSink, Sink};
use crate::{Cancel, Request};
use peloton::engine::CommonThreads;
use peloton::event::{Columns, Counters, Hasher, Hashes, Results, Schema};
use peloton::{Error, Result};
use peloton_io::input::EventId;
use peloton_io::output::{Done, RecordBatch, arrow_shared};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// Results of any sequence, as columns with their schema. Clones are the same results.
#[derive(Clone)]
pub struct SharedResults {
    results: Arc<Lent>,
    ids: Arc<[EventId]>,
    counters: Box<Counters>,
}

/// Results whose memory goes back when the last reader is gone.
pub(super) struct Lent {
    /// `None` only during drop.
    columns: Option<Columns>,
    home: Spares,
}

impl Lent {
    pub fn new(columns: Columns, home: &Spares) -> Self {
        Self { columns: Some(columns), home: home.clone() }
    }

    fn columns(&self) -> &Columns {
        self.columns.as_ref().expect("columns until the end")
    }
}

impl Deref for Lent {
    type Target = dyn Results;

    fn deref(&self) -> &Self::Target {
        &**self.columns()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(mut columns) = self.columns.take() {
            columns.clear();
            self.home.give_back(columns);
        }
    }
}

impl SharedResults {
    pub(super) fn new(results: Lent, mut ids: Vec<EventId>, counters: Counters) -> Self {
        let rows = if results.schema().has_events() { results.items(0) as u64 } else { 0 };
        ids.extend((ids.len() as u64..rows).map(|number| EventId { number, ..EventId::default() }));
        Self { results: Arc::new(results), ids: ids.into(), counters: Box::new(counters) }
    }

    /// The schema: the columns, and their nesting.
    pub fn schema(&self) -> &'static Schema {
        self.results.schema()
    }

    /// Number of items at a depth: of events, or clusters, at 0.
    pub fn items(&self, depth: usize) -> usize {
        self.results.items(depth)
    }

    /// The counts of the run that made these results.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The hashes that a job over the same events gives.
    pub fn hashes(&self) -> Hashes {
        Hasher::of(&**self.results)
    }

    /// All columns, without a copy, see [`arrow_shared`].
    ///
    /// # Errors
    /// [`Error::Columns`] for lists too long for Arrow's 32-bit offsets.
    pub fn arrow(&self) -> Result<RecordBatch> {
        arrow_shared(&self.ids, &self.results)
    }

    /// Writes a file like the output of a job; the name gives the format.
    ///
    /// # Errors
    /// [`Error::Config`] for names of unknown formats, and errors of the file.
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
        sink.write(&[(&self.ids, self.results.columns())])?;
        sink.finish(Some(self.hashes()), Done::All).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::event::{Product, VeloTracks};

    #[test]
    fn memory_comes_back_empty_when_the_last_reader_is_gone() {
        let (spares, schema) = (Spares::default(), VeloTracks::SCHEMA);
        assert!(spares.take(schema).is_none());
        let mut tracks = VeloTracks::default();
        tracks.push_failed(peloton::Status::Corrupt);
        tracks.chi2.reserve_total(1000);
        let memory = tracks.chi2.padded().as_ptr();
        let lent = Arc::new(Lent::new(tracks.into(), &spares));
        let reader = lent.clone();
        drop(lent);
        assert!(spares.take(schema).is_none() && reader.events() == 1);
        drop(reader);
        let again = spares.take(schema).expect("the memory");
        let again: &VeloTracks = again.get().unwrap();
        assert_eq!((again.events(), again.chi2.padded().as_ptr()), (0, memory));
    }
}
