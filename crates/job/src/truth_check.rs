//! [`Check`]: comparison of results with the truth.

use crate::stream::Chunk;
use crate::truth_output::TruthOutput;
use crate::{Host, Request, Summary};
use peloton::engine::Sliced;
use peloton::event::TruthEvent;
use peloton::{Error, Result};
use peloton_truth::{CheckReport, Checker, Rules};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::path::PathBuf;
use std::str::FromStr;

/// The rules that decide which particles are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckRules {
    /// Rules of trackers.
    Tracker(Rules),
    /// Rules of the cylinder detector.
    Cylinder,
}

impl FromStr for CheckRules {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "cylinder" {
            return Ok(Self::Cylinder);
        }
        text.parse().map(Self::Tracker).map_err(|_| {
            let names = Rules::ALL.map(|rules| rules.to_string()).join(", ");
            Error::Config(format!("unknown rules `{text}`: choose one of {names}, cylinder"))
        })
    }
}

/// Options of a check.
#[derive(Debug, Clone, Default)]
pub struct CheckOptions {
    /// The rules that decide which particles are found; the default of the sequence if none.
    pub rules: Option<CheckRules>,
    /// Whether tables of efficiencies against momentum, angles and similar quantities are shown as text.
    pub tables: bool,
    /// Whether to find out why particles are missed.
    pub losses: bool,
    /// Tracks made elsewhere, to check instead of reconstructed ones.
    pub tracks: Option<PathBuf>,
    /// Tracks made elsewhere, to compare with particle by particle.
    pub against: Option<PathBuf>,
    /// Output for tables of all particles and tracks; [`truth_files`](crate::truth_files) gives the names.
    pub truth_output: Option<PathBuf>,
}

impl CheckOptions {
    /// Begins the tables, if they are requested.
    pub(crate) fn truth_tables(&self, request: &Request) -> Result<Option<TruthOutput>> {
        let Some(path) = &self.truth_output else { return Ok(None) };
        // Tracks made elsewhere have no instruction set level.
        let level = if self.tracks.is_some() { String::new() } else { request.config.level()?.to_string() };
        TruthOutput::create(path, &request.metadata(level)).map(Some)
    }
}

/// Compares results with the truth, batch by batch.
pub trait Check: Send {
    /// Adds the results of a batch.
    ///
    /// # Errors
    /// When they cannot be checked, such as events of another kind.
    fn add(&mut self, chunk: &Chunk<Sliced>) -> Result<()>;

    /// The result of the comparison, given the summary of the reconstruction.
    ///
    /// # Errors
    /// When there was nothing to check.
    fn finish(self: Box<Self>, summary: &Summary, host: Host<'_>) -> Result<Checked>;
}

/// Result of a comparison with the truth.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// The result as text.
    #[serde(skip)]
    pub text: String,
    /// The result as JSON.
    #[serde(flatten)]
    pub json: Map<String, Value>,
    /// Whether all required properties hold.
    #[serde(skip)]
    pub is_right: bool,
    /// Why the job as a whole failed, although it ran to the end.
    #[serde(skip)]
    pub failure: Option<String>,
}

/// Counts hits of tracks that are in the truth: a track without such hits is a ghost by all rules.
#[derive(Debug, Default)]
pub(crate) struct KnownHits {
    names: HashSet<u32>,
    hits: u64,
    true_hits: u64,
}

impl KnownHits {
    /// Adds the tracks of one event.
    pub fn event<'a>(&mut self, truth: &TruthEvent, tracks: impl Iterator<Item = &'a [u32]>) {
        // One hit that is in the truth is enough.
        if self.true_hits > 0 {
            return;
        }
        self.names.clear();
        self.names.extend(truth.particles.iter().flat_map(|particle| &particle.hits));
        for hit in tracks.flatten() {
            self.hits += 1;
            self.true_hits += u64::from(self.names.contains(hit));
        }
    }

    /// Warns when no hit of any track belongs to a true particle.
    pub fn tell(&self, host: Host<'_>) {
        if self.hits > 0 && self.true_hits == 0 {
            host.warn(
                "no hit of any track is among the hits of the true particles, so that every track is a ghost: check that the tracks belong to these events and that the truth's hits are of this kind (--velo-banks, --events)",
            );
        }
    }
}

/// Returns the report of a checker.
///
/// # Errors
/// [`Error::Format`] when the checker has seen no event.
pub(crate) fn report(checker: Checker) -> Result<CheckReport> {
    let report = checker.report();
    if report.events == 0 {
        return Err(Error::format("input", "there is no event to check"));
    }
    Ok(report)
}

/// Makes the error for a sequence that has no tracks to check.
pub(crate) fn no_tracks(sequence: &str) -> Error {
    let message = "makes hits, but `check` needs tracks: give a file with --tracks FILE";
    Error::Unsupported(format!("the sequence {sequence} {message}"))
}
