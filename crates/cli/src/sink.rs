//! Where tracks go: the file of `--output`, whose name says the format.

use super::interrupt;
use peloton::event::{SciFiBatch, UtBatch, VeloTracks};
use peloton::pipeline::Product;
use peloton::{Error, Result};
use peloton_io::output::{NdjsonWriter, ParquetWriter};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A plain or compressed stream of bytes.
type Bytes = Box<dyn Write + Send>;

/// Results that can be written.
pub trait Written: Product {
    /// Whether they can be written as Parquet.
    const PARQUET: bool = false;

    /// Writes the events of one piece as NDJSON.
    fn ndjson(&self, writer: &mut NdjsonWriter<ByteSink>) -> std::io::Result<()>;

    /// Writes the events of one piece as Parquet.
    fn parquet(&self, _event_ids: &[u64], _writer: &mut ParquetWriter<BufWriter<File>>) -> Result<()> {
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

    fn parquet(&self, event_ids: &[u64], writer: &mut ParquetWriter<BufWriter<File>>) -> Result<()> {
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
    Parquet(Box<ParquetWriter<BufWriter<File>>>),
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
            let file = File::create(path).map_err(|e| Error::io(path, e))?;
            return ParquetWriter::new(BufWriter::new(file), path).map(Box::new).map(Self::Parquet);
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

    /// Writes what is still to be written.
    pub fn finish(self, path: &Path) -> Result<()> {
        match self {
            Self::Ndjson(writer) => writer.finish().map_err(|e| Error::io(path, e))?.finish(),
            Self::Parquet(writer) => writer.finish().map(drop),
        }
    }
}

/// A file or standard output, compressed when the name ends in `.zst`.
pub struct ByteSink {
    path: PathBuf,
    to: Compression,
}

enum Compression {
    None(BufWriter<Bytes>),
    Zstd(zstd::Encoder<'static, Bytes>),
}

impl ByteSink {
    /// Creates the file; `-` is standard output.
    pub fn create(path: &Path) -> Result<Self> {
        let failed = |e| Error::io(path, e);
        let bytes: Bytes = if path == Path::new("-") {
            Box::new(Stdout)
        } else {
            Box::new(File::create(path).map_err(failed)?)
        };
        let to = if path.extension().is_some_and(|end| end == "zst") {
            Compression::Zstd(zstd::Encoder::new(bytes, 0).map_err(failed)?)
        } else {
            Compression::None(BufWriter::with_capacity(1 << 16, bytes))
        };
        Ok(Self { path: path.into(), to })
    }

    /// Writes the end of the stream.
    pub fn finish(self) -> Result<()> {
        let done = match self.to {
            Compression::None(mut to) => to.flush(),
            Compression::Zstd(to) => to.finish().and_then(|mut to| to.flush()),
        };
        done.map_err(|e| Error::io(self.path, e))
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
