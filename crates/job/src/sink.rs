//! Outputs of results: files whose names give their format.

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

/// Results, and the identification of their events; no ids for an endless stream.
pub type Piece<'a> = (&'a [EventId], &'a Columns);

/// The format of the output and its options.
#[derive(Debug, Clone, Default)]
pub struct OutputOptions {
    /// Details of tracks and hits in lines of NDJSON.
    pub fields: Fields,
    /// The columns of a Parquet file, by their names; all if none is named.
    pub columns: Vec<String>,
    /// Compression of the columns of a Parquet file.
    pub compression: TableCompression,
}

/// The file to which results go.
pub struct Destination<'a> {
    /// The file, whose name gives the format.
    pub path: &'a Path,
    /// The options of the format.
    pub options: &'a OutputOptions,
    /// Metadata on the origin of the results.
    pub metadata: &'a Metadata,
    /// Ends the job when the reader of standard output is gone.
    pub cancel: &'a Cancel,
    /// Threads that format and encode.
    pub threads: Arc<dyn Spread>,
}

impl Destination<'_> {
    /// Options for writing tables.
    pub fn table_options(&self) -> WriteOptions {
        let OutputOptions { columns, compression, .. } = self.options;
        let threads = self.threads.clone();
        WriteOptions { columns: columns.clone(), missing: &[], compression: *compression, threads }
    }

    /// The format by the name of the file, if it has one.
    ///
    /// # Errors
    /// [`Error::Config`] for options that this format does not have.
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

/// Writes results piece by piece.
pub trait Sink: Send {
    /// Names the input of the following results, if these are not events.
    fn begin_input(&mut self, _name: &str) {}

    /// Writes the events of some pieces, in order.
    ///
    /// # Errors
    /// When the file cannot be written.
    fn write(&mut self, pieces: &[Piece<'_>]) -> Result<()>;

    /// Writes the remaining data and renames the file to its name; after an error it keeps the data so far, unless
    /// that would replace an older file. Then the return value is `false`.
    ///
    /// # Errors
    /// When the file cannot be written.
    fn finish(self: Box<Self>, hashes: Option<Hashes>, done: Done) -> Result<bool>;
}

/// Formats of files, by their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// `.ndjson`, `.ndjson.zst` or `-`.
    Ndjson,
    /// `.parquet`.
    Parquet,
    /// `.clog`, `.clog.zst`: clusters alone.
    Clog,
}

impl FileFormat {
    /// The format of a file of this name, if it has one.
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

/// The message for a name of unknown format.
pub fn unknown_format(path: &Path, endings: &str) -> Error {
    Error::Config(format!("--output {}: the name must end in {endings}", path.display()))
}

/// A file for results of any kind.
pub struct FileSink {
    path: PathBuf,
    writer: Writer,
}

enum Writer {
    Ndjson(NdjsonWriter<ByteSink>),
    Parquet(Box<ParquetWriter>),
}

impl FileSink {
    /// Begins the file of results with this schema.
    ///
    /// # Errors
    /// [`Error::Config`] for a name whose format is unknown, and then no file is touched; [`Error::Io`] when it
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
