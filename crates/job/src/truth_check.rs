//! [`Check`]: comparison of results with the truth.

use crate::stream::Chunk;
use crate::{Host, Request, Summary};
use peloton::engine::Sliced;
use peloton::{Error, Result};
use peloton_truth::{Rules, TruthOutput};
use serde::Serialize;
use serde_json::{Map, Value, json};
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

impl Checked {
    /// A result that is right.
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
