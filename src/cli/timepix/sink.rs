//! Where clusters go: the file of `--output`, whose name says the format.

use crate::cli::sink::{Buffered, ByteSink, into_file, open};
use crate::event::{PixelClusters, TriggerPairs};
use crate::output::OutputFile;
use crate::output::timepix::{ClusterParquet, write_clog, write_cluster_ndjson};
use crate::{Error, Result};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Writes clusters in the format of the file name.
pub enum ClusterSink {
    /// `.ndjson`, `.ndjson.zst` or `-`.
    Ndjson(ByteSink, PathBuf),
    /// `.clog`, and the number of the next frame.
    Clog(ByteSink, PathBuf, u64),
    /// `.parquet`.
    Parquet(Box<ClusterParquet<Buffered>>, PathBuf),
}

impl ClusterSink {
    /// Creates the file.
    ///
    /// # Errors
    /// [`Error::Config`] for a name whose format is unknown, [`Error::Io`] when it cannot be created.
    pub fn create(path: &Path, with_triggers: bool) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".parquet") {
            return ClusterParquet::new(BufWriter::new(open(path)?), path, with_triggers)
                .map(Box::new)
                .map(|writer| Self::Parquet(writer, path.into()));
        }
        if name.ends_with(".clog") || name.ends_with(".clog.zst") {
            return Ok(Self::Clog(ByteSink::create(path)?, path.into(), 0));
        }
        if path == Path::new("-") || name.ends_with(".ndjson") || name.ends_with(".ndjson.zst") {
            return Ok(Self::Ndjson(ByteSink::create(path)?, path.into()));
        }
        let message =
            format!("--output {}: the name must end in .parquet, .ndjson, .clog or .zst", path.display());
        Err(Error::Config(message))
    }

    /// Writes the clusters of one block; with their triggers when the file was created for them.
    pub fn write(&mut self, clusters: &PixelClusters, pairs: Option<&TriggerPairs>) -> Result<()> {
        if clusters.is_empty() {
            return Ok(());
        }
        match self {
            Self::Ndjson(to, path) => {
                write_cluster_ndjson(clusters, pairs, to).map_err(|e| Error::io(&*path, e))
            }
            Self::Clog(to, path, frame) => {
                *frame += 1;
                write_clog(*frame - 1, clusters, to).map_err(|e| Error::io(&*path, e))
            }
            Self::Parquet(writer, _) => writer.write(clusters, pairs),
        }
    }

    /// Writes what is still to be written; the file is to be put in its place.
    pub fn finish(self) -> Result<OutputFile> {
        match self {
            Self::Ndjson(to, _) | Self::Clog(to, ..) => to.finish(),
            Self::Parquet(writer, path) => into_file(writer.finish()?, &path),
        }
    }
}
