//! Writes clusters to files of all formats.

use super::PixelDetector;
use super::pairing::Pairing;
use crate::sink::{Destination, FileFormat, Piece, Sink, unknown_format};
use crate::systems::product;
use peloton::event::{Columns, Hashes, PixelClusters, Product, Results, TriggerPairs};
use peloton::timepix::Calibration;
use peloton::{Error, Result};
use peloton_io::output::timepix::{
    ClogWriter, Origin, WITHOUT_TIMES, frame_columns, frame_fields, origin_columns, origin_fields,
    trigger_columns, trigger_fields, write_cluster_ndjson,
};
use peloton_io::output::{ByteSink, Done, OutputFile, ParquetWriter, SideBySide, WriteOptions, is_no_file};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Writes clusters in the format that the file's extension selects, with triggers if hits are paired.
struct ClusterSink {
    path: PathBuf,
    pairing: Option<Arc<Pairing>>,
    origin: Origin,
    writer: Writer,
}

enum Writer {
    Ndjson(ByteSink, SideBySide),
    Clog(ByteSink, ClogWriter),
    Parquet(Box<ParquetWriter>),
}

/// Creates the file for clusters.
///
/// # Errors
/// Returns [`Error::Config`] for a name of unknown format, before any file is changed; [`Error::Io`] when the file
/// cannot be written.
pub fn create(detector: &PixelDetector, to: &Destination<'_>) -> Result<Box<dyn Sink>> {
    let (path, texts) = (to.path, SideBySide::new(to.threads.clone()));
    let pairing = detector.pairing.clone();
    let folder = detector.calibration.as_deref();
    let calibration = folder.map(|folder| Calibration::from_folder(&detector.layout, folder)).transpose()?;
    let is_of_frames = detector.is_of_frames;
    let origin = Origin { input: String::new(), layout: detector.layout.clone(), calibration, is_of_frames };
    let writer = match to.format()? {
        Some(FileFormat::Parquet) => {
            let triggers = pairing.as_ref().map(|_| trigger_fields()).unwrap_or_default();
            let frames = if is_of_frames { frame_fields() } else { Vec::new() };
            let missing: &[&str] = if is_of_frames { &WITHOUT_TIMES } else { &[] };
            let (fields, schema) = ([origin_fields(), triggers, frames].concat(), PixelClusters::SCHEMA);
            let file = OutputFile::create(path)?;
            let options = WriteOptions { missing, ..to.table_options() };
            let writer = ParquetWriter::new(file, path, to.metadata, schema, &fields, &options)?;
            Writer::Parquet(Box::new(writer))
        }
        Some(FileFormat::Clog) => {
            Writer::Clog(ByteSink::create(path, to.cancel)?, ClogWriter::new(is_of_frames, texts))
        }
        Some(FileFormat::Ndjson) => Writer::Ndjson(ByteSink::create(path, to.cancel)?, texts),
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
            Writer::Ndjson(to, texts) => {
                write_cluster_ndjson(clusters, &self.origin, pairs, texts, to).map_err(failed)?;
                // The program that reads a pipe must receive the clusters of a live stream at once.
                if is_no_file(&self.path) { to.flush().map_err(failed) } else { Ok(()) }
            }
            Writer::Clog(to, writer) => writer.write(clusters, to).map_err(failed),
            Writer::Parquet(writer) => {
                let triggers = pairs.map(|pairs| trigger_columns(clusters, pairs)).unwrap_or_default();
                let frames = if self.origin.is_of_frames { frame_columns(clusters) } else { Vec::new() };
                let origins = origin_columns(clusters, &self.origin, &|name| writer.writes(name))?;
                let beside = [origins, triggers, frames].concat();
                writer.write(&[], &clusters.table(), beside)
            }
        }
    }
}

impl Sink for ClusterSink {
    fn begin_input(&mut self, name: &str) {
        if self.origin.input != name {
            self.origin.input = name.into();
            if let Writer::Clog(_, writer) = &mut self.writer {
                writer.begin_input();
            }
        }
    }

    fn write(&mut self, pieces: &[Piece<'_>]) -> Result<()> {
        pieces.iter().try_for_each(|(_, piece)| self.write_piece(piece))
    }

    fn finish(self: Box<Self>, hashes: Option<Hashes>, done: Done) -> Result<bool> {
        match self.writer {
            Writer::Ndjson(to, _) => to.finish(done),
            Writer::Clog(mut to, writer) => {
                writer.finish(&mut to).map_err(|e| Error::io(&self.path, e))?;
                to.finish(done)
            }
            Writer::Parquet(writer) => writer.finish(hashes)?.end(done),
        }
    }
}

impl ClusterSink {
    fn write_piece(&mut self, piece: &Columns) -> Result<()> {
        let piece = product(piece);
        let Some(pairing) = self.pairing.clone() else { return self.write_paired(piece, None) };
        let pairs =
            pairing.next().ok_or_else(|| Error::Internal("clusters without their triggers".into()))?;
        self.write_paired(piece, Some(&pairs))?;
        pairing.give_back(pairs);
        Ok(())
    }
}
