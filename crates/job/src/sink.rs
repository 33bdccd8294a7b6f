//! Outputs of results: files whose names give their format.

use crate::Cancel;
use peloton::engine::Spread;
use peloton::event::{Columns, Hashes, Schema};
use peloton::{Error, Result};
use peloton_io::input::{EventId, is_pipe};
use peloton_io::output::{
    Fields, Metadata, NdjsonWriter, OutputFile, ParquetWriter, TableCompression, WriteOptions,
    is_standard_output,
};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How complete the output of a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Complete, or as much as was requested before an early end.
    All,
    /// Complete and synced to the disk.
    Durable,
    /// Incomplete, because of an error.
    Part,
    /// Empty, because of an error.
    Nothing,
}

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

/// Whether the name is standard output, a pipe or a device, whose name gives no format.
pub fn is_no_file(path: &Path) -> bool {
    is_standard_output(path) || is_pipe(path)
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
            Writer::Parquet(writer) => put_in_place(writer.finish(hashes)?, done),
        }
    }
}

/// Writes what a buffer still holds.
fn buffered(buffer: BufWriter<OutputFile>, path: &Path) -> Result<OutputFile> {
    buffer.into_inner().map_err(|e| Error::io(path, e.into_error()))
}

/// Renames a file to its name, see [`Sink::finish`].
pub fn put_in_place(file: OutputFile, done: Done) -> Result<bool> {
    match done {
        Done::All => file.finish().map(|()| true),
        Done::Durable => file.finish_durably().map(|()| true),
        Done::Part => file.keep_part(),
        Done::Nothing => Ok(true),
    }
}

/// A file or standard output, compressed when the name ends in `.zst`.
pub struct ByteSink {
    path: PathBuf,
    to: Compression,
}

enum Compression {
    None(BufWriter<OutputFile>),
    Zstd(zstd::Encoder<'static, OutputFile>),
}

impl ByteSink {
    /// Begins the file; `-` is standard output. When the reader of standard output is gone, the job is asked to end.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be written.
    pub fn create(path: &Path, cancel: &Cancel) -> Result<Self> {
        let file = if is_standard_output(path) {
            OutputFile::stream(path, Box::new(Stdout(cancel.clone())))
        } else {
            OutputFile::create(path)?
        };
        let to = if path.extension().is_some_and(|end| end == "zst") {
            Compression::Zstd(zstd::Encoder::new(file, 0).map_err(|e| Error::io(path, e))?)
        } else {
            Compression::None(BufWriter::with_capacity(1 << 16, file))
        };
        let path = if is_standard_output(path) { Path::new("standard output") } else { path };
        Ok(Self { path: path.into(), to })
    }

    /// Writes the end of the stream and renames the file to its name.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be written.
    pub fn finish(self, done: Done) -> Result<bool> {
        let file = match self.to {
            Compression::None(to) => buffered(to, &self.path)?,
            Compression::Zstd(to) => to.finish().map_err(|e| Error::io(&self.path, e))?,
        };
        put_in_place(file, done)
    }
}

impl Write for ByteSink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.to {
            Compression::None(to) => to.write(bytes),
            Compression::Zstd(to) => to.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.to {
            Compression::None(to) => to.flush(),
            Compression::Zstd(to) => to.flush(),
        }
    }
}

/// Standard output. When its reader has seen enough and is gone, what is left goes nowhere, and the job is
/// asked to end.
struct Stdout(Cancel);

impl Stdout {
    fn unless_gone<T>(&self, result: std::io::Result<T>, gone: T) -> std::io::Result<T> {
        match result {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {
                self.0.request();
                Ok(gone)
            }
            other => other,
        }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.unless_gone(std::io::stdout().write(bytes), bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.unless_gone(std::io::stdout().flush(), ())
    }
}
