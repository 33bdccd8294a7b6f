//! [`Owner`]: records the job to which a folder of parts belongs, so that no other job overwrites its parts.

use crate::document::Plan;
use crate::folder::{self, PartFolder};
use crate::input::hexadecimal;
use crate::made::Made;
use crate::part::{PartReport, check_request};
use peloton::{Error, Result};
use peloton_io::output::OutputFile;
use peloton_job::Request;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// The job to which a folder of parts belongs, as JSON. Geometry and calibration are not included, because they are
/// files of each worker; each part records the hash of these files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// XXH3-64 of the plan.
    plan_hash: String,
    /// Version of the program.
    version: String,
    /// XXH3-64 of the configuration without options that change the speed alone, and of the options for reading inputs.
    config_hash: String,
}

/// Records that a folder belongs to the job of a plan and its options, before any part is written there. A folder that
/// belongs to another job, or contains its files, changes its owner only with `force`.
///
/// # Errors
/// [`Error::Config`] for a folder of another job, to which nothing is written; [`Error::Io`] when writing fails.
pub fn claim(plan: &Plan, to: &Path, how: &Request, force: bool) -> Result<()> {
    check_request(how)?;
    let owner = Owner::of(plan, how)?;
    let folder = PartFolder(to);
    if !folder.owner().exists() {
        // Another machine may claim the folder at the same time.
        if !force
            && let Some(why) = owner.unlike_files(plan, folder)
            && !folder.owner().exists()
        {
            return Err(refused(to, &why));
        }
        folder.create()?;
        if owner.write_first(&folder.owner())? {
            return Ok(());
        }
    }
    let why = match folder::read::<Owner>(&folder.owner()) {
        Some(other) if other == owner => return Ok(()),
        Some(other) => format!("of {}", owner.unlike(&other)),
        None => format!("{} cannot be read", folder.owner().display()),
    };
    if !force {
        return Err(refused(to, &why));
    }
    folder::write(&folder.owner(), &owner)
}

/// The error for a folder that contains parts of another job.
pub fn refused(to: &Path, why: &str) -> Error {
    let what_to_do = "give another folder, or replace these parts with --force (in Python force=True)";
    Error::Config(format!("{}: contains parts of another job ({why}): {what_to_do}", to.display()))
}

impl Owner {
    fn of(plan: &Plan, how: &Request) -> Result<Self> {
        let text = serde_json::to_string(plan).map_err(|e| Error::Internal(e.to_string()))?;
        Ok(Self {
            plan_hash: hexadecimal(xxh3_64(text.as_bytes())),
            version: env!("CARGO_PKG_VERSION").into(),
            config_hash: Made::config_hash(how),
        })
    }

    /// Writes the document unless there is one; returns whether it did.
    fn write_first(&self, path: &Path) -> Result<bool> {
        let text = folder::text(path, self)?;
        let mut file = OutputFile::create(path)?;
        file.write_all(text.as_bytes()).map_err(|e| Error::io(path, e))?;
        file.keep_part()
    }

    /// Lists the differences from another job.
    fn unlike(&self, other: &Self) -> String {
        let differ = [
            ("another plan", self.plan_hash != other.plan_hash),
            ("another version", self.version != other.version),
            ("other options", self.config_hash != other.config_hash),
        ];
        let names: Vec<_> = differ.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect();
        names.join(", ")
    }

    /// Returns the reason why files of a folder without an owner are not from this job. Earlier versions of the program
    /// wrote reports but no owner.
    fn unlike_files(&self, plan: &Plan, folder: PartFolder<'_>) -> Option<String> {
        // An absent folder has no files; an unreadable one gives an error when it is written to.
        let files = folder.files().ok()?;
        files.iter().find_map(|name| {
            let report = folder.0.join(name).with_extension("json");
            let Some(report) = folder::read::<PartReport>(&report) else {
                return Some(format!("{name} does not belong to this job"));
            };
            let Made { version, config_hash, .. } = &report.made;
            let is_same = plan.part(report.spec.part).is_ok_and(|spec| spec == report.spec)
                && (version, config_hash) == (&self.version, &self.config_hash);
            (!is_same).then(|| format!("{name} was made by another plan or version, or with other options"))
        })
    }
}
