//! Where clusters go.

use super::PixelContext;
use super::pairing::Pairing;
use crate::Cancel;
use crate::sink::{ByteSink, Done, FileFormat, Sink, is_no_file, put_in_place, unknown_format};
use peloton::event::{Hashes, PixelClusters, Results, TriggerPairs};
use peloton::timepix::Calibration;
use peloton::{Error, Result};
use peloton_io::input::EventId;
use peloton_io::output::timepix::{
    Origin, origin_columns, origin_fields, trigger_columns, trigger_fields, write_clog, write_cluster_ndjson,
};
use peloton_io::output::{Metadata, OutputFile, ParquetWriter};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes clusters in the format of the file name, with their triggers where hits are paired.
struct ClusterSink {
    path: PathBuf,
    pairing: Option<Arc<Pairing>>,
    origin: Origin,
    writer: Writer,
}

enum Writer {
    Ndjson(ByteSink),
    /// And the number of the next frame.
    Clog(ByteSink, u64),
    Parquet(Box<ParquetWriter>),
}

/// Begins the file.
///
/// # Errors
/// [`Error::Config`] for a name whose format is unknown, and then no file is touched; [`Error::Io`] when it cannot be
/// written.
pub fn create(
    path: &Path,
    context: &PixelContext,
    metadata: &Metadata,
    cancel: &Cancel,
) -> Result<Box<dyn Sink<PixelClusters>>> {
    let pairing = context.pairing.clone();
    let folder = context.calibration.as_deref();
    let calibration = folder.map(|folder| Calibration::from_folder(&context.layout, folder)).transpose()?;
    let origin = Origin { input: String::new(), layout: context.layout.clone(), calibration };
    let writer = match FileFormat::of(path) {
        Some(FileFormat::Parquet) => {
            let triggers = pairing.as_ref().map(|_| trigger_fields()).unwrap_or_default();
            let fields = [origin_fields(), triggers].concat();
            let file = OutputFile::create(path)?;
            let writer = ParquetWriter::new(file, path, metadata, PixelClusters::COLUMNS, &fields)?;
            Writer::Parquet(Box::new(writer))
        }
        Some(FileFormat::Clog) => Writer::Clog(ByteSink::create(path, cancel)?, 0),
        Some(FileFormat::Ndjson) => Writer::Ndjson(ByteSink::create(path, cancel)?),
        None => return Err(unknown_format(path, ".parquet, .ndjson, .clog or .zst")),
    };
    if let Some(pairing) = &pairing {
        pairing.keep();
    }
    Ok(Box::new(ClusterSink { path: path.into(), pairing, origin, writer }))
}

impl ClusterSink {
    fn write_paired(&mut self, clusters: &PixelClusters, pairs: Option<&TriggerPairs>) -> Result<()> {
        if clusters.is_empty() {
            return Ok(());
        }
        let failed = |e| Error::io(&self.path, e);
        match &mut self.writer {
            Writer::Ndjson(to) => {
                write_cluster_ndjson(clusters, &self.origin, pairs, to).map_err(failed)?;
                // Whoever reads a live stream behind a pipe wants to see what there is.
                if is_no_file(&self.path) { to.flush().map_err(failed) } else { Ok(()) }
            }
            Writer::Clog(to, frame) => {
                *frame += 1;
                write_clog(*frame - 1, clusters, to).map_err(failed)
            }
            Writer::Parquet(writer) => {
                let triggers = pairs.map(|pairs| trigger_columns(clusters, pairs)).unwrap_or_default();
                writer.write(
                    &[],
                    &clusters.table(),
                    [origin_columns(clusters, &self.origin), triggers].concat(),
                )
            }
        }
    }
}

impl Sink<PixelClusters> for ClusterSink {
    fn begin_input(&mut self, name: &str) {
        if self.origin.input != name {
            self.origin.input = name.into();
        }
    }

    fn write(&mut self, _ids: &[EventId], piece: &PixelClusters) -> Result<()> {
        let Some(pairing) = self.pairing.clone() else { return self.write_paired(piece, None) };
        let pairs =
            pairing.next().ok_or_else(|| Error::Internal("clusters without their triggers".into()))?;
        self.write_paired(piece, Some(&pairs))?;
        pairing.give_back(pairs);
        Ok(())
    }

    fn finish(self: Box<Self>, hashes: Option<Hashes>, done: Done) -> Result<bool> {
        match self.writer {
            Writer::Ndjson(to) | Writer::Clog(to, _) => to.finish(done),
            Writer::Parquet(writer) => put_in_place(writer.finish(hashes)?, done),
        }
    }
}
