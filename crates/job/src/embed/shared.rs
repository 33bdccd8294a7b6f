//! [`SharedResults`]: results that nobody changes any more, in memory that whoever reads them keeps.

use crate::sink::{Done, FileFormat, FileSink, Sink};
use crate::{Cancel, Request};
use peloton::event::{ColumnInfo, Counters, Hasher, Hashes, Results};
use peloton::{Error, Result};
use peloton_io::input::EventId;
use peloton_io::output::{Fields, RecordBatch, arrow_shared};
use std::path::Path;
use std::sync::Arc;

/// Results of any sequence, as columns that say what they are. Clones are the same results.
#[derive(Clone)]
pub struct SharedResults {
    results: Arc<dyn Kept>,
    ids: Arc<[EventId]>,
    counters: Box<Counters>,
}

/// What is called through a table of functions, once per call from outside.
pub(super) trait Kept: Send + Sync {
    fn infos(&self) -> &'static [ColumnInfo];
    fn levels(&self) -> &'static [&'static str];
    fn count(&self, depth: usize) -> usize;
    fn hashes(&self) -> Hashes;
    fn arrow(self: Arc<Self>, ids: &[EventId]) -> Result<RecordBatch>;
    fn write(&self, ids: &[EventId], path: &Path, request: &Request) -> Result<()>;
}

impl<R: Results> Kept for R {
    fn infos(&self) -> &'static [ColumnInfo] {
        R::COLUMNS
    }

    fn levels(&self) -> &'static [&'static str] {
        R::LEVELS
    }

    fn count(&self, depth: usize) -> usize {
        self.items(depth)
    }

    fn hashes(&self) -> Hashes {
        Hasher::of(self)
    }

    fn arrow(self: Arc<Self>, ids: &[EventId]) -> Result<RecordBatch> {
        arrow_shared(ids, &self)
    }

    fn write(&self, ids: &[EventId], path: &Path, request: &Request) -> Result<()> {
        if !R::has_events() && FileFormat::of(path) != Some(FileFormat::Parquet) {
            let words =
                "clusters in memory are written to .parquet; other formats are written while a job runs";
            return Err(Error::Config(format!("{}: {words}", path.display())));
        }
        let metadata = request.metadata(request.config.level()?.to_string());
        let created = FileSink::create::<R>(path, Fields::default(), &metadata, &Cancel::default());
        let mut sink: Box<dyn Sink<R>> = Box::new(created?);
        sink.write(ids, self)?;
        sink.finish(Some(self.hashes()), Done::All).map(drop)
    }
}

impl SharedResults {
    pub(super) fn new(results: Arc<dyn Kept>, mut ids: Vec<EventId>, counters: Counters) -> Self {
        let rows = if results.levels()[0] == "event" { results.count(0) as u64 } else { 0 };
        ids.extend((ids.len() as u64..rows).map(|number| EventId { number, ..EventId::default() }));
        Self { results, ids: ids.into(), counters: Box::new(counters) }
    }

    /// What the columns are, in their order.
    pub fn infos(&self) -> &'static [ColumnInfo] {
        self.results.infos()
    }

    /// What there is one value for at each depth, from the outside: `event`, `track`, `hit`.
    pub fn levels(&self) -> &'static [&'static str] {
        self.results.levels()
    }

    /// Number of items at a depth: of events, or clusters, at 0.
    pub fn items(&self, depth: usize) -> usize {
        self.results.count(depth)
    }

    /// What happened in the run that made these results.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The hashes that a job over the same events gives.
    pub fn hashes(&self) -> Hashes {
        self.results.hashes()
    }

    /// All columns in the memory where they lie, see [`arrow_shared`].
    ///
    /// # Errors
    /// [`Error::Columns`] for lists too long for Arrow's 32-bit offsets.
    pub fn arrow(&self) -> Result<RecordBatch> {
        self.results.clone().arrow(&self.ids)
    }

    /// Writes a file as a job does whose output it is; the name says the format.
    ///
    /// # Errors
    /// [`Error::Config`] for names of unknown formats, and those of the file.
    pub fn write(&self, path: &Path, request: &Request) -> Result<()> {
        self.results.write(&self.ids, path, request)
    }
}
