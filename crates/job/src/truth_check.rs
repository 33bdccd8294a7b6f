//! [`Check`]: what compares results with the truth.

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

/// Which rules decide what counts as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckRules {
    /// Those of trackers.
    Tracker(Rules),
    /// Those of the cylinder detector.
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

/// What is checked, and how.
#[derive(Debug, Clone, Default)]
pub struct CheckOptions {
    /// What counts as found; the sequence's own rules without it.
    pub rules: Option<CheckRules>,
    /// Whether tables of efficiencies against momentum, angles and the like are shown as text.
    pub tables: bool,
    /// Whether to find out why particles are missed.
    pub losses: bool,
    /// Tracks made elsewhere, to check instead of own ones.
    pub tracks: Option<PathBuf>,
    /// Tracks made elsewhere, to compare with particle by particle.
    pub against: Option<PathBuf>,
    /// Where tables of all particles and tracks go; [`truth_files`](crate::truth_files) says under which names.
    pub truth_output: Option<PathBuf>,
}

impl CheckOptions {
    /// Begins the tables, if any are wanted.
    pub(crate) fn truth_tables(&self, request: &Request) -> Result<Option<TruthOutput>> {
        let Some(path) = &self.truth_output else { return Ok(None) };
        // Tracks made elsewhere have been made on no level.
        let level = if self.tracks.is_some() { String::new() } else { request.config.level()?.to_string() };
        TruthOutput::create(path, &request.metadata(level)).map(Some)
    }
}

/// Compares results with the truth, batch by batch.
pub trait Check: Send {
    /// Takes the results of a batch.
    ///
    /// # Errors
    /// When they cannot be checked, such as events of another kind.
    fn add(&mut self, chunk: &Chunk<Sliced>) -> Result<()>;

    /// What was found, given the summary of the reconstruction.
    ///
    /// # Errors
    /// When there was nothing to check.
    fn finish(self: Box<Self>, summary: &Summary, host: Host<'_>) -> Result<Checked>;
}

/// What a comparison with the truth found.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// For people.
    #[serde(skip)]
    pub text: String,
    /// For programs.
    #[serde(flatten)]
    pub json: Map<String, Value>,
    /// Whether everything that must hold does.
    #[serde(skip)]
    pub is_right: bool,
    /// Why the job as a whole has failed, although it came to its end.
    #[serde(skip)]
    pub failure: Option<String>,
}

/// Tells hits that are in the truth from others: a track without any is a ghost by any rules.
#[derive(Debug, Default)]
pub(crate) struct KnownHits {
    names: HashSet<u32>,
    hits: u64,
    true_hits: u64,
}

impl KnownHits {
    /// Takes the tracks of one event.
    pub fn event<'a>(&mut self, truth: &TruthEvent, tracks: impl Iterator<Item = &'a [u32]>) {
        // One hit that is known is enough.
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

    /// Warns when no hit of any track is one of a true particle.
    pub fn tell(&self, host: Host<'_>) {
        if self.hits > 0 && self.true_hits == 0 {
            host.warn(
                "no hit of any track is among the hits of the true particles, so that every track is a ghost: do the \
                 tracks belong to these events, and are the truth's hits of this kind (--velo-banks, --events)?",
            );
        }
    }
}

/// What a checker found.
///
/// # Errors
/// [`Error::Format`] when it has seen no event.
pub(crate) fn report(checker: Checker) -> Result<CheckReport> {
    let report = checker.report();
    if report.events == 0 {
        return Err(Error::format("input", "there is no event to check"));
    }
    Ok(report)
}

/// What to say where a sequence has no tracks that could be checked.
pub(crate) fn no_tracks(sequence: &str) -> Error {
    let message = "makes hits, and what is checked are tracks: give some with --tracks FILE";
    Error::Unsupported(format!("the sequence {sequence} {message}"))
}
