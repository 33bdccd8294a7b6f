//! [`ByteSink`]: writes bytes to a file or to standard output, compressed if the name ends in `.zst`.

use super::file::{Done, OutputFile, is_standard_output};
use crate::Cancel;
use peloton::{Error, Result};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A file or standard output, zstd-compressed if the name ends in `.zst`.
pub struct ByteSink {
    path: PathBuf,
    to: Compression,
}

enum Compression {
    None(BufWriter<OutputFile>),
    Zstd(zstd::Encoder<'static, OutputFile>),
}

impl ByteSink {
    /// Begins the output at `path`; `-` is standard output. If standard output is closed, `cancel` is requested.
    ///
    /// # Errors
    /// [`Error::Io`] when the output cannot be written.
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

    /// Writes the end of the output, and gives a file its final name.
    ///
    /// # Errors
    /// [`Error::Io`] when the output cannot be written.
    pub fn finish(self, done: Done) -> Result<bool> {
        let file = match self.to {
            Compression::None(to) => buffered(to, &self.path)?,
            Compression::Zstd(to) => to.finish().map_err(|e| Error::io(&self.path, e))?,
        };
        file.end(done)
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

/// Standard output. When its reader has seen enough and is gone, the rest goes nowhere, and the job ends.
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

/// Writes what a buffer still holds.
fn buffered(buffer: BufWriter<OutputFile>, path: &Path) -> Result<OutputFile> {
    buffer.into_inner().map_err(|e| Error::io(path, e.into_error()))
}
