//! [`Identity`]: identifies an input of a plan by its size and hashes.

use crate::document::PlannedInput;
use peloton::{Error, Result};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes at the beginning and at the end of a file that are hashed.
const HASHED: u64 = 1 << 20;

/// Size and hashes of an input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// Size, bytes.
    pub size: u64,
    /// XXH3-64 of the first MiB, or of the names and sizes of a folder's files.
    pub first: String,
    /// XXH3-64 of the last MiB; empty for a folder or a simulation.
    pub last: String,
}

/// Formats a hash as in the JSON documents: 16 hexadecimal digits.
pub fn hexadecimal(hash: u64) -> String {
    format!("{hash:016x}")
}

impl Identity {
    /// The current size and hashes of a file or folder; zero and empty for a simulation.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn of(path: &str) -> Result<Self> {
        if path.starts_with("sim:") {
            return Ok(Self::default());
        }
        let path = Path::new(path);
        let found = if path.is_dir() { Self::of_folder(path) } else { Self::of_file(path) };
        found.map_err(|e| Error::io(path, e))
    }

    fn of_file(path: &Path) -> std::io::Result<Self> {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut hash = |from: u64| -> std::io::Result<String> {
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(from))?;
            (&file).take(HASHED).read_to_end(&mut bytes)?;
            Ok(hexadecimal(xxh3_64(&bytes)))
        };
        Ok(Self { size, first: hash(0)?, last: hash(size.saturating_sub(HASHED))? })
    }

    /// The identification of a folder with folders of bank containers.
    fn of_folder(folder: &Path) -> std::io::Result<Self> {
        let mut files = Vec::new();
        let mut folders = vec![folder.to_path_buf()];
        while let Some(open) = folders.pop() {
            for entry in std::fs::read_dir(open)? {
                let path = entry?.path();
                let kind = std::fs::metadata(&path)?;
                if kind.is_file() {
                    files.push((path, kind.len()));
                } else if kind.is_dir() && path.parent() == Some(folder) {
                    folders.push(path);
                }
            }
        }
        files.sort();
        let (mut size, mut names) = (0, Xxh3::new());
        for (path, bytes) in files {
            let name = path.strip_prefix(folder).unwrap_or(&path);
            names.update(format!("{} {bytes}\n", name.display()).as_bytes());
            size += bytes;
        }
        Ok(Self { size, first: hexadecimal(names.digest()), last: String::new() })
    }

    /// # Errors
    /// [`Error::Format`] when an input differs from the plan, [`Error::Io`] when it cannot be read.
    pub fn check(input: &PlannedInput) -> Result<()> {
        let found = Self::of(&input.path)?;
        let PlannedInput { path, size, xxh3_first_mib, xxh3_last_mib, .. } = input;
        let planned = Self { size: *size, first: xxh3_first_mib.clone(), last: xxh3_last_mib.clone() };
        if found == planned {
            return Ok(());
        }
        let message = format!(
            "the input has changed since it was planned (now {} bytes, then {size}): make a new plan",
            found.size
        );
        Err(Error::format(path, message))
    }
}
