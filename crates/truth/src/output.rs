//! [`TruthOutput`]: writes the results for every particle and every track as two tables.

use crate::{EventRows, PARTICLE_FIELDS, TRACK_FIELDS};
use peloton::{Error, Result};
use peloton_io::output::{Done, Metadata, OutputFile, TableField, TableWriter};
use std::path::{Path, PathBuf};

/// Returns both files of a truth output `NAME.parquet`: `NAME.particles.parquet` and `NAME.tracks.parquet`.
///
/// # Errors
/// [`Error::Config`] for a name that does not end in `.parquet`.
pub fn truth_files(path: &Path) -> Result<[PathBuf; 2]> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(stem) = name.strip_suffix(".parquet").filter(|stem| !stem.is_empty()) else {
        let path = path.display();
        return Err(Error::Config(format!("--truth-output {path}: the name must end in .parquet")));
    };
    Ok(["particles", "tracks"].map(|what| path.with_file_name(format!("{stem}.{what}.parquet"))))
}

/// Writes the table of particles and the table of tracks.
pub struct TruthOutput {
    particles: Table,
    tracks: Table,
}

struct Table {
    writer: TableWriter,
}

impl Table {
    fn create(path: PathBuf, metadata: &Metadata, fields: &[TableField]) -> Result<Self> {
        let file = OutputFile::create(&path)?;
        Ok(Self { writer: TableWriter::new(file, &path, metadata, fields)? })
    }

    fn finish(self) -> Result<()> {
        self.writer.finish()?.end(Done::All).map(drop)
    }
}

impl TruthOutput {
    /// Creates both files.
    ///
    /// # Errors
    /// Errors of [`truth_files`], and [`Error::Io`] when a file cannot be written.
    pub fn create(path: &Path, metadata: &Metadata) -> Result<Self> {
        let [particles, tracks] = truth_files(path)?;
        Ok(Self {
            particles: Table::create(particles, metadata, &PARTICLE_FIELDS)?,
            tracks: Table::create(tracks, metadata, &TRACK_FIELDS)?,
        })
    }

    /// Writes the rows of an event to both tables.
    ///
    /// # Errors
    /// [`Error::Io`] when a file cannot be written.
    pub fn add(&mut self, rows: EventRows) -> Result<()> {
        rows.particles.into_iter().try_for_each(|row| self.particles.writer.push(row))?;
        rows.tracks.into_iter().try_for_each(|row| self.tracks.writer.push(row))
    }

    /// Writes the remaining rows, and renames both temporary files to their final names.
    ///
    /// # Errors
    /// [`Error::Io`] when a file cannot be written.
    pub fn finish(self) -> Result<()> {
        self.particles.finish()?;
        self.tracks.finish()
    }
}
