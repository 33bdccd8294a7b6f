//! Writes results to files; the extension of a file selects the format.

use crate::Cancel;
use peloton::engine::Spread;
use peloton::event::{Columns, Hashes, Schema};
use peloton::{Error, Result};
use peloton_io::input::EventId;
use peloton_io::output::{
    ByteSink, Done, Fields, Metadata, NdjsonWriter, OutputFile, ParquetWriter, TableCompression,
    WriteOptions, is_standard_output,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Results, with the identification of each event; an endless stream has no identifications.
pub type Piece<'a> = (&'a [EventId], &'a Columns);

/// Options for the format of the output.
#[derive(Debug, Clone, Default)]
pub struct OutputOptions {
    /// Fields that NDJSON lines contain for tracks and hits.
    pub fields: Fields,
    /// Names of the columns to write to a Parquet file; empty for all columns.
    pub columns: Vec<String>,
    /// Compression of the columns of a Parquet file.
    pub compression: TableCompression,
}

/// The file to which results are written, and the options for writing.
pub struct Destination<'a> {
    /// The file; its extension selects the format.
    pub path: &'a Path,
    /// The options of the format.
    pub options: &'a OutputOptions,
    /// Metadata: the origin of the results.
    pub metadata: &'a Metadata,
    /// Cancels the job when the reader of standard output is gone.
    pub cancel: &'a Cancel,
    /// Threads that format and encode results.
    pub threads: Arc<dyn Spread>,
}

impl Destination<'_> {
    /// Returns the options for writing tables.
    pub fn table_options(&self) -> WriteOptions {
        let OutputOptions { columns, compression, .. } = self.options;
        let threads = self.threads.clone();
        WriteOptions { columns: columns.clone(), missing: &[], compression: *compression, threads }
    }

    /// Returns the format that the file's extension selects, if any.
    ///
    /// # Errors
    /// Returns [`Error::Config`] for options that the format does not have.
    pub fn format(&self) -> Result<Option<FileFormat>> {
        let format = FileFormat::of(self.path);
        let OutputOptions { columns, compression, .. } = self.options;
        let flag = match () {
            () if format == Some(FileFormat::Parquet) => return Ok(format),
            () if !columns.is_empty() => "--columns",
            () if *compression != TableCompression::default() => "--compression",
            () => return Ok(format),
        };
        let path = self.path.display();
        Err(Error::Config(format!("{flag} is for files that end in .parquet, and --output is {path}")))
    }
}

/// Writes the results of a job piece by piece.
pub trait Sink: Send {
    /// Sets the name of the input that the following results come from, for results that are not events.
    fn begin_input(&mut self, _name: &str) {}

    /// Writes the events of some pieces, in order.
    ///
    /// # Errors
    /// Fails when the file cannot be written.
    fn write(&mut self, pieces: &[Piece<'_>]) -> Result<()>;

    /// Writes the remaining data and ends the file as `done` requires. Returns `false` if the data are
    /// incomplete and an older file with the final name was kept.
    ///
    /// # Errors
    /// Fails when the file cannot be written.
    fn finish(self: Box<Self>, hashes: Option<Hashes>, done: Done) -> Result<bool>;
}

/// Formats of result files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// JSON lines: `.ndjson`, `.ndjson.zst` or `-`.
    Ndjson,
    /// Parquet: `.parquet`.
    Parquet,
    /// Lists of clusters: `.clog`, `.clog.zst`.
    Clog,
}

impl FileFormat {
    /// Returns the format of a file of this name, if any.
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ends = |ending: &str| name.ends_with(ending) || name.ends_with(&format!("{ending}.zst"));
        match () {
            () if name.ends_with(".parquet") => Some(Self::Parquet),
            () if ends(".clog") => Some(Self::Clog),
            () if is_standard_output(path) || ends(".ndjson") => Some(Self::Ndjson),
            () => None,
        }
    }
}

/// Makes the error for an output name of unknown format.
pub fn unknown_format(path: &Path, endings: &str) -> Error {
    Error::Config(format!("--output {}: the name must end in {endings}", path.display()))
}

/// A file to which the results of any sequence can be written.
pub struct FileSink {
    path: PathBuf,
    writer: Writer,
}

enum Writer {
    Ndjson(NdjsonWriter<ByteSink>),
    Parquet(Box<ParquetWriter>),
}

impl FileSink {
    /// Creates a file for results with this schema.
    ///
    /// # Errors
    /// Returns [`Error::Config`] for a name of unknown format, before any file is touched; [`Error::Io`] when the file
    /// cannot be written.
    pub fn create(schema: &'static Schema, to: &Destination<'_>) -> Result<Self> {
        let path = to.path;
        let writer = match to.format()? {
            Some(FileFormat::Parquet) => {
                let (file, options) = (OutputFile::create(path)?, to.table_options());
                Writer::Parquet(Box::new(ParquetWriter::new(file, path, to.metadata, schema, &[], &options)?))
            }
            Some(FileFormat::Ndjson) => {
                let bytes = ByteSink::create(path, to.cancel)?;
                Writer::Ndjson(NdjsonWriter::new(bytes, to.options.fields, to.threads.clone()))
            }
            Some(FileFormat::Clog) | None => {
                return Err(unknown_format(path, ".parquet, .ndjson or .ndjson.zst"));
            }
        };
        Ok(Self { path: path.into(), writer })
    }
}

impl Sink for FileSink {
    fn write(&mut self, pieces: &[Piece<'_>]) -> Result<()> {
        match &mut self.writer {
            Writer::Ndjson(writer) => {
                let tables: Vec<_> = pieces.iter().map(|(ids, piece)| (*ids, piece.table())).collect();
                writer.write(&tables).map_err(|e| Error::io(&self.path, e))
            }
            Writer::Parquet(writer) => {
                pieces.iter().try_for_each(|(ids, piece)| writer.write(ids, &piece.table(), Vec::new()))
            }
        }
    }

    fn finish(self: Box<Self>, hashes: Option<Hashes>, done: Done) -> Result<bool> {
        let Self { path, writer } = *self;
        match writer {
            Writer::Ndjson(writer) => writer.finish().map_err(|e| Error::io(&path, e))?.finish(done),
            Writer::Parquet(writer) => writer.finish(hashes)?.end(done),
        }
    }
}
