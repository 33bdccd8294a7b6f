//! [`Made`]: version, options and geometry, which together with the plan determine the results of parts.

use crate::input::hexadecimal;
use peloton::timepix::calibration_files;
use peloton::{Error, Result};
use peloton_io::input::{ChecksumPolicy, Geometry};
use peloton_job::Request;
use serde::{Deserialize, Serialize};
use std::path::Path;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// All data that determine the results of a part, except the plan. Parts with different data do not belong together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Made {
    /// Version of the program.
    pub version: String,
    /// XXH3-64 of the configuration, without options that change only the speed, and of the options for reading inputs.
    pub config_hash: String,
    /// XXH3-64 of the files of geometry and calibration; null if the job names no such files.
    pub geometry_hash: Option<String>,
}

impl Made {
    /// The version, options and geometry of a request.
    ///
    /// # Errors
    /// Errors of the geometry and calibration files.
    pub fn of(request: &Request) -> Result<Self> {
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").into(),
            config_hash: Self::config_hash(request),
            geometry_hash: geometry_hash(request)?.map(hexadecimal),
        })
    }

    /// Hash of the configuration, without options that change only the speed, and of the options for reading inputs.
    pub fn config_hash(request: &Request) -> String {
        let Request { strict, velo_banks, pixels, config, checksum, output, .. } = request;
        let mut text = format!("{}\n{strict} {velo_banks} {pixels:?}", config.of_results().to_toml());
        // Defaults add no text, so that folders of earlier versions still belong to the same job.
        if *checksum != ChecksumPolicy::default() {
            text.push_str(&format!(" checksum {checksum}"));
        }
        if !output.columns.is_empty() {
            text.push_str(&format!(" columns {}", output.columns.join(",")));
        }
        hexadecimal(xxh3_64(text.as_bytes()))
    }
}

fn geometry_hash(request: &Request) -> Result<Option<u64>> {
    let geometry = request.geometry.as_deref().map(Geometry::named).transpose()?;
    let geometry = geometry.as_ref().map(Geometry::hash).transpose()?.flatten();
    let Some(folder) = &request.config.timepix.calibration else { return Ok(geometry) };
    let mut hasher = Xxh3::new();
    for path in calibration_files(folder)? {
        if let Some(chip) = path.strip_prefix(folder).ok().and_then(Path::parent) {
            hasher.update(chip.as_os_str().as_encoded_bytes());
        }
        let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, e))?;
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(&bytes);
    }
    Ok(Some(hasher.digest()))
}
