//! The folder that parts are written to.
//!
//! ```text
//! _owner.json              the job that the folder belongs to
//! part-00017.parquet       the results
//! part-00017.json          how they were made: the part is done
//! part-00017.failed.json   why it could not be made
//! .part-00017.begun        a line for each attempt
//! _manifest.json           the sum of all parts
//! ```

use peloton::{Error, Result};
use peloton_io::output::write_durably;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The folder that parts are written to.
#[derive(Debug, Clone, Copy)]
pub struct PartFolder<'a>(pub &'a Path);

/// The reason why a part failed, as JSON.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Failure {
    /// The reason, in words.
    pub reason: String,
}

impl PartFolder<'_> {
    /// Path of the file with the results of a part.
    pub fn results(self, part: usize) -> PathBuf {
        self.0.join(format!("part-{part:05}.parquet"))
    }

    /// Path of the report on how a part was made.
    pub fn report(self, part: usize) -> PathBuf {
        self.0.join(format!("part-{part:05}.json"))
    }

    /// Path of the report on why a part failed.
    pub fn failure(self, part: usize) -> PathBuf {
        self.0.join(format!("part-{part:05}.failed.json"))
    }

    fn begun(self, part: usize) -> PathBuf {
        self.0.join(format!(".part-{part:05}.begun"))
    }

    /// Path of the document that identifies the job to which the folder belongs.
    pub fn owner(self) -> PathBuf {
        self.0.join("_owner.json")
    }

    /// Path of the manifest, the sum of all parts.
    pub fn manifest(self) -> PathBuf {
        self.0.join("_manifest.json")
    }

    /// Creates the folder.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(self) -> Result<()> {
        fs::create_dir_all(self.0).map_err(|e| Error::io(self.0, e))
    }

    /// Records an attempt at a part.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn begin(self, part: usize) -> Result<()> {
        let path = self.begun(part);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(b"begun\n")).map_err(|e| Error::io(path, e))
    }

    /// Number of attempts at a part.
    pub fn times_begun(self, part: usize) -> u64 {
        fs::read_to_string(self.begun(part)).map_or(0, |text| text.lines().count() as u64)
    }

    /// Removes the reports that mark a part as done or failed. The file of results stays until new results replace it,
    /// but without a report the part does not count as done.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn discard(self, part: usize) -> Result<()> {
        for path in [self.report(part), self.failure(part)] {
            match fs::remove_file(&path) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(Error::io(path, e)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Names of all Parquet files of the folder, in order.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn files(self) -> Result<Vec<String>> {
        let failed = |e| Error::io(self.0, e);
        let mut files = Vec::new();
        for entry in fs::read_dir(self.0).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            // Names of unfinished files begin with a point.
            if name.ends_with(".parquet") && !name.starts_with('.') {
                files.push(name);
            }
        }
        files.sort_unstable();
        Ok(files)
    }
}

/// Reads a JSON document; none if the file does not exist or is incomplete.
pub fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Writes a JSON document and returns when it is synced to the disk.
///
/// # Errors
/// [`Error::Io`].
pub fn write(path: &Path, document: &impl Serialize) -> Result<()> {
    write_durably(path, text(path, document)?.as_bytes())
}

/// The text of a JSON document. Errors name the file by `path`.
///
/// # Errors
/// [`Error::Io`].
pub fn text(path: &Path, document: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(document).map_err(|e| Error::io(path, e.into()))?;
    Ok(text + "\n")
}
