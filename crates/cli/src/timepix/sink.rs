//! Where clusters go: the file of `--output`, whose name says the format.

use crate::sink::ByteSink;
use peloton::event::{Hashes, PixelClusters, TriggerPairs};
use peloton::{Error, Result};
use peloton_io::output::timepix::{trigger_columns, trigger_fields, write_clog, write_cluster_ndjson};
use peloton_io::output::{Metadata, ParquetWriter};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Writes clusters in the format of the file name.
pub enum ClusterSink {
    /// `.ndjson`, `.ndjson.zst` or `-`.
    Ndjson(ByteSink, PathBuf),
    /// `.clog`, and the number of the next frame.
    Clog(ByteSink, PathBuf, u64),
    /// `.parquet`.
    Parquet(Box<ParquetWriter<PixelClusters, BufWriter<File>>>),
}

impl ClusterSink {
    /// Creates the file.
    ///
    /// # Errors
    /// [`Error::Config`] for a name whose format is unknown, [`Error::Io`] when it cannot be created.
    pub fn create(path: &Path, metadata: &Metadata, with_triggers: bool) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".parquet") {
            let file = File::create(path).map_err(|e| Error::io(path, e))?;
            let extra = if with_triggers { trigger_fields() } else { Vec::new() };
            let writer = ParquetWriter::new(BufWriter::new(file), path, metadata, &extra)?;
            return Ok(Self::Parquet(Box::new(writer)));
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
            Self::Parquet(writer) => {
                let extra = pairs.map_or(Vec::new(), |pairs| trigger_columns(clusters, pairs));
                writer.write(&[], clusters, extra)
            }
        }
    }

    /// Writes what is still to be written, and the hashes where the format has a place for them.
    pub fn finish(self, hashes: Hashes) -> Result<()> {
        match self {
            Self::Ndjson(to, _) | Self::Clog(to, ..) => to.finish(),
            Self::Parquet(writer) => writer.finish(Some(hashes)).map(drop),
        }
    }
}
