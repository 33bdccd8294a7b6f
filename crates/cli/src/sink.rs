//! Where tracks go: the file of `--output`, whose name says the format.

use super::interrupt;
use peloton::event::{Hashes, Results};
use peloton::pipeline::Config;
use peloton::simd::Level;
use peloton::{Error, Result};
use peloton_io::output::{Metadata, NdjsonWriter, ParquetWriter};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A plain or compressed stream of bytes.
type Bytes = Box<dyn Write + Send>;

/// Writes results in the format of the file name.
pub enum Sink<P> {
    /// `.ndjson`, `.ndjson.zst` or `-`.
    Ndjson(NdjsonWriter<ByteSink>),
    /// `.parquet`.
    Parquet(Box<ParquetWriter<P, BufWriter<File>>>),
}

impl<P: Results> Sink<P> {
    /// Creates the file.
    ///
    /// # Errors
    /// [`Error::Config`] for a name whose format is unknown, and then no file is touched; [`Error::Io`] when it
    /// cannot be created.
    pub fn create(path: &Path, metadata: &Metadata) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".parquet") {
            let file = File::create(path).map_err(|e| Error::io(path, e))?;
            let writer = ParquetWriter::new(BufWriter::new(file), path, metadata, &[])?;
            return Ok(Self::Parquet(Box::new(writer)));
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
    pub fn write(&mut self, event_ids: &[u64], results: &P, path: &Path) -> Result<()> {
        match self {
            Self::Ndjson(writer) => writer.write(results).map_err(|e| Error::io(path, e)),
            Self::Parquet(writer) => writer.write(event_ids, results, Vec::new()),
        }
    }

    /// Writes what is still to be written, and the hashes of all results where the format has a place for them.
    pub fn finish(self, path: &Path, hashes: Option<Hashes>) -> Result<()> {
        match self {
            Self::Ndjson(writer) => writer.finish().map_err(|e| Error::io(path, e))?.finish(),
            Self::Parquet(writer) => writer.finish(hashes).map(drop),
        }
    }
}

/// How the results of a run come to be, for the file that holds them.
pub fn metadata(config: &Config, level: Level, inputs: &[String], geometry: Option<&Path>) -> Metadata {
    Metadata {
        sequence: config.sequence.name().into(),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        configuration: config.to_toml(),
        inputs: inputs.join("\n"),
        geometry: geometry.map(|path| path.display().to_string()).unwrap_or_default(),
        level: level.to_string(),
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
