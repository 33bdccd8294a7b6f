//! [`Check`]: compares results with the truth.

use crate::stream::Chunk;
use crate::{Host, Request, Summary};
use peloton::engine::Sliced;
use peloton::{Error, Result};
use peloton_truth::{Rules, TruthOutput};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::str::FromStr;

/// The rules that decide whether a particle counts as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckRules {
    /// Rules for tracks in LHCb's detectors.
    Tracker(Rules),
    /// Rules for tracks in the cylinder detector.
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
    /// The rules that decide whether a particle counts as found; by default the rules of the sequence.
    pub rules: Option<CheckRules>,
    /// Whether the text contains tables of efficiencies by momentum, angles and similar quantities.
    pub tables: bool,
    /// Whether to find the causes of lost particles.
    pub losses: bool,
    /// File with tracks of another program, to check instead of reconstructed tracks.
    pub tracks: Option<PathBuf>,
    /// File with tracks of another program, to compare with the checked tracks, particle by particle.
    pub against: Option<PathBuf>,
    /// Name from which [`truth_files`](crate::truth_files) makes the file names of the tables of particles and tracks.
    pub truth_output: Option<PathBuf>,
}

impl CheckOptions {
    /// Creates the files of the tables, if they are requested.
    pub(crate) fn truth_tables(&self, request: &Request) -> Result<Option<TruthOutput>> {
        let Some(path) = &self.truth_output else { return Ok(None) };
        // For tracks from another program, no instruction set level is known.
        let level = if self.tracks.is_some() { String::new() } else { request.config.level()?.to_string() };
        TruthOutput::create(path, &request.metadata(level)).map(Some)
    }
}

/// Compares results with the truth, batch by batch.
pub trait Check: Send {
    /// Adds the results of a batch.
    ///
    /// # Errors
    /// Fails when the results cannot be checked, for example because the events are of another kind.
    fn add(&mut self, chunk: &Chunk<Sliced>) -> Result<()>;

    /// Returns the result of the comparison, given the summary of the reconstruction.
    ///
    /// # Errors
    /// Fails when there was nothing to check.
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
    /// Whether all checked properties hold, such as that all algorithms find the same clusters.
    #[serde(skip)]
    pub is_right: bool,
    /// Reason why a job that ran to its end counts as failed; none if it succeeded.
    #[serde(skip)]
    pub failure: Option<String>,
}

impl Checked {
    /// Makes a result of this text and JSON, without failures.
    pub(crate) fn new(text: String, json: Map<String, Value>) -> Self {
        Self { text, json, is_right: true, failure: None }
    }

    /// Adds a part of the result as text and as JSON.
    pub(crate) fn add(&mut self, key: &str, text: &str, value: impl Serialize) {
        self.text.push_str(text);
        self.json.insert(key.into(), json!(value));
    }
}

/// Makes the error for a sequence that has no tracks to check.
pub(crate) fn no_tracks(sequence: &str) -> Error {
    let message = "makes hits, but `check` needs tracks: give a file with --tracks FILE";
    Error::Unsupported(format!("the sequence {sequence} {message}"))
}
