//! Where tracks go: the file of `--output`, whose name says the format.

use crate::cli::sink::{Buffered, ByteSink, into_file, open};
use crate::event::CylinderTracks;
use crate::output::{CylinderParquet, NdjsonWriter, OutputFile};
use crate::{Error, Result};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Writes tracks in the format of the file name.
pub enum TrackSink {
    /// `.ndjson`, `.ndjson.zst` or `-`.
    Ndjson(NdjsonWriter<ByteSink>, PathBuf),
    /// `.parquet`.
    Parquet(Box<CylinderParquet<Buffered>>, PathBuf),
}

impl TrackSink {
    /// Creates the file.
    ///
    /// # Errors
    /// [`Error::Config`] for a name whose format is unknown, [`Error::Io`] when it cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".parquet") {
            return CylinderParquet::new(BufWriter::new(open(path)?), path)
                .map(Box::new)
                .map(|writer| Self::Parquet(writer, path.into()));
        }
        if path == Path::new("-") || name.ends_with(".ndjson") || name.ends_with(".ndjson.zst") {
            return Ok(Self::Ndjson(ByteSink::create(path).map(NdjsonWriter::new)?, path.into()));
        }
        let message =
            format!("--output {}: the name must end in .parquet, .ndjson or .ndjson.zst", path.display());
        Err(Error::Config(message))
    }

    /// Writes one event.
    pub fn write(&mut self, event_id: u64, tracks: &CylinderTracks) -> Result<()> {
        match self {
            Self::Ndjson(writer, path) => {
                writer.write_event(tracks.hit_lists(0)).map_err(|e| Error::io(&*path, e))
            }
            Self::Parquet(writer, _) => writer.write(&[event_id], tracks),
        }
    }

    /// Writes what is still to be written; the file is to be put in its place.
    pub fn finish(self) -> Result<OutputFile> {
        match self {
            Self::Ndjson(writer, path) => writer.finish().map_err(|e| Error::io(path, e))?.finish(),
            Self::Parquet(writer, path) => into_file(writer.finish()?, &path),
        }
    }
}
