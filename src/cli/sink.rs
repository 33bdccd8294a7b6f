//! Where tracks go: the file of `--output`, whose name says the format.

use super::options::ReportArgs;
use super::{console, interrupt};
use crate::event::{SciFiBatch, UtBatch, VeloTracks};
use crate::output::{NdjsonWriter, OutputFile, ParquetWriter, is_standard_output};
use crate::pipeline::Product;
use crate::{Error, Result};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that is written piece by piece.
pub type Buffered = BufWriter<OutputFile>;

/// How much of its work a job did.
#[derive(Debug, Clone, Copy)]
pub enum Done {
    /// All, or as much as was wanted before it was interrupted.
    All,
    /// Some, before an error.
    Part,
    /// Nothing, before an error.
    Nothing,
}

impl Done {
    /// By its result, and whether anything was written.
    pub fn of<T>(result: &Result<T>, wrote: bool) -> Self {
        match result {
            Ok(_) => Self::All,
            Err(_) if wrote => Self::Part,
            Err(_) => Self::Nothing,
        }
    }
}

/// Puts an output in its place: after an error what there is, where that costs no file that was there before.
pub fn put_in_place(file: OutputFile, path: &Path, done: Done, report: &ReportArgs) -> Result<()> {
    match done {
        Done::All => file.finish(),
        Done::Nothing => Ok(()),
        Done::Part => {
            if !file.keep_part()? && !report.quiet {
                let message = "left as it was, without what was made before the error";
                console::warn(&format!("{}: {message}", path.display()));
            }
            Ok(())
        }
    }
}

/// Writes what a buffer still holds.
pub fn into_file(buffered: Buffered, path: &Path) -> Result<OutputFile> {
    buffered.into_inner().map_err(|e| Error::io(path, e.into_error()))
}

/// Begins a file, or takes standard output, whose reader may leave.
pub fn open(path: &Path) -> Result<OutputFile> {
    if is_standard_output(path) {
        Ok(OutputFile::stream(path, Box::new(Stdout)))
    } else {
        OutputFile::create(path)
    }
}

/// Results that can be written.
pub trait Written: Product {
    /// Whether they can be written as Parquet.
    const PARQUET: bool = false;

    /// Writes the events of one piece as NDJSON.
    fn ndjson(&self, writer: &mut NdjsonWriter<ByteSink>) -> std::io::Result<()>;

    /// Writes the events of one piece as Parquet.
    fn parquet(&self, _event_ids: &[u64], _writer: &mut ParquetWriter<Buffered>) -> Result<()> {
        Err(no_parquet())
    }
}

fn no_parquet() -> Error {
    Error::Config("--output: hits are written as .ndjson or .ndjson.zst, not as .parquet".into())
}

impl Written for VeloTracks {
    const PARQUET: bool = true;

    fn ndjson(&self, writer: &mut NdjsonWriter<ByteSink>) -> std::io::Result<()> {
        writer.write(self)
    }

    fn parquet(&self, event_ids: &[u64], writer: &mut ParquetWriter<Buffered>) -> Result<()> {
        writer.write(event_ids, self)
    }
}

macro_rules! written_hits {
    ($($batch:ty),*) => {$(
        impl Written for $batch {
            fn ndjson(&self, writer: &mut NdjsonWriter<ByteSink>) -> std::io::Result<()> {
                writer.write_hits(self)
            }
        }
    )*};
}

written_hits!(UtBatch, SciFiBatch);

/// Writes results in the format of the file name.
pub enum Sink {
    /// `.ndjson`, `.ndjson.zst` or `-`.
    Ndjson(NdjsonWriter<ByteSink>),
    /// `.parquet`.
    Parquet(Box<ParquetWriter<Buffered>>),
}

impl Sink {
    /// Creates the file for results of this kind.
    ///
    /// # Errors
    /// [`Error::Config`] for a name whose format is unknown or cannot hold them, and then no file is touched;
    /// [`Error::Io`] when it cannot be created.
    pub fn create<P: Written>(path: &Path) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".parquet") {
            if !P::PARQUET {
                return Err(no_parquet());
            }
            return ParquetWriter::new(BufWriter::new(open(path)?), path).map(Box::new).map(Self::Parquet);
        }
        if path == Path::new("-") || name.ends_with(".ndjson") || name.ends_with(".ndjson.zst") {
            return ByteSink::create(path).map(NdjsonWriter::new).map(Self::Ndjson);
        }
        Err(Error::Config(format!(
            "--output {}: the name must end in .parquet, .ndjson or .ndjson.zst",
            path.display()
        )))
    }

    /// Writes the events of one piece.
    pub fn write(&mut self, event_ids: &[u64], results: &impl Written, path: &Path) -> Result<()> {
        match self {
            Self::Ndjson(writer) => results.ndjson(writer).map_err(|e| Error::io(path, e)),
            Self::Parquet(writer) => results.parquet(event_ids, writer),
        }
    }

    /// Writes what is still to be written; the file is to be put in its place.
    pub fn finish(self, path: &Path) -> Result<OutputFile> {
        match self {
            Self::Ndjson(writer) => writer.finish().map_err(|e| Error::io(path, e))?.finish(),
            Self::Parquet(writer) => into_file(writer.finish()?, path),
        }
    }
}

/// A file or standard output, compressed when the name ends in `.zst`.
pub struct ByteSink {
    path: PathBuf,
    to: Compression,
}

enum Compression {
    None(Buffered),
    Zstd(zstd::Encoder<'static, OutputFile>),
}

impl ByteSink {
    /// Begins the file; `-` is standard output.
    pub fn create(path: &Path) -> Result<Self> {
        let bytes = open(path)?;
        let to = if path.extension().is_some_and(|end| end == "zst") {
            Compression::Zstd(zstd::Encoder::new(bytes, 0).map_err(|e| Error::io(path, e))?)
        } else {
            Compression::None(BufWriter::with_capacity(1 << 16, bytes))
        };
        Ok(Self { path: path.into(), to })
    }

    /// Writes the end of the stream; the file is to be put in its place.
    pub fn finish(self) -> Result<OutputFile> {
        match self.to {
            Compression::None(to) => into_file(to, &self.path),
            Compression::Zstd(to) => to.finish().map_err(|e| Error::io(self.path, e)),
        }
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
struct Stdout;

impl Stdout {
    fn unless_gone<T>(result: std::io::Result<T>, gone: T) -> std::io::Result<T> {
        match result {
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {
                interrupt::request();
                Ok(gone)
            }
            other => other,
        }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Self::unless_gone(std::io::stdout().write(bytes), bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Self::unless_gone(std::io::stdout().flush(), ())
    }
}
