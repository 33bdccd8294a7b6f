//! [`check`]: reconstructs events, or takes tracks made elsewhere, and compares with the truth.

use crate::registry::Command;
use crate::run::reconstruct;
use crate::stream::stream;
use crate::system::open;
use crate::track_file::TrackFile;
use crate::{Host, Request, Source, Summary, System, text};
use peloton::engine::Sliced;
use peloton::event::TruthEvent;
use peloton::{Error, Result};
use peloton_truth::{CheckReport, Checker, Rules};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

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
        if text == "cylinder" { Ok(Self::Cylinder) } else { text.parse().map(Self::Tracker) }
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
}

/// Compares results with the truth, batch by batch.
pub trait Check<S: System>: Send {
    /// Takes the results of a batch.
    ///
    /// # Errors
    /// When they cannot be checked.
    fn add(&mut self, batch: &S::Batch, truth: &[TruthEvent], results: &Sliced<S::Results>) -> Result<()>;

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

/// Reconstructs the events of a request, or takes tracks made elsewhere, and compares with the truth.
///
/// # Errors
/// Those of the configuration and the inputs, and [`Error::Format`] when there is no event to check.
pub fn check(request: &Request, options: &CheckOptions, host: Host<'_>) -> Result<Checked> {
    struct Run<'a>(&'a Request, &'a CheckOptions, Host<'a>);
    impl Command for Run<'_> {
        type Outcome = Result<Checked>;
        fn on<S: System>(self) -> Result<Checked> {
            let Self(request, options, host) = self;
            let begin = Instant::now();
            let mut opened = open::<S>(request, true, host)?;
            if let Some(path) = &options.tracks {
                let rules = S::track_rules(request, options, &mut opened)?;
                return check_tracks::<S>(request, path, rules, &mut *opened.source, host);
            }
            let mut checker = S::check(request, options, &mut opened)?;
            let runs = S::executor(request, &request.config, &opened.context)?;
            let made = reconstruct::<S>(request, &mut opened, runs, host, |chunk| {
                checker.add(&chunk.batch, &chunk.truth, &chunk.result)
            });
            let mut summary = made?;
            let mut checked = checker.finish(&summary, host)?;
            checked.failure = summary.failure.clone();
            summary.wall_seconds = begin.elapsed().as_secs_f64();
            checked.text = format!("{}\n{}", text::summary(&summary), checked.text);
            let mut json = object(&summary);
            json.extend(std::mem::take(&mut checked.json));
            checked.json = json;
            Ok(checked)
        }
    }
    request.config.sequence.run(Run(request, options, host))
}

/// Checks tracks made elsewhere, line by line.
fn check_tracks<S: System>(
    request: &Request,
    path: &Path,
    rules: Rules,
    source: &mut dyn Source<S::Batch>,
    host: Host<'_>,
) -> Result<Checked> {
    let (mut checker, mut known) = (Checker::new(rules), KnownHits::default());
    let mut file = TrackFile::open(path)?;
    file.skip(request.events.first)?;
    let (mut repeated, mut unknown) = (0u64, 0u64);
    let compared = stream::<S::Batch, ()>(
        source,
        256,
        None,
        host,
        |_| Ok(()),
        |chunk| {
            for (event, truth) in chunk.truth.iter().enumerate() {
                let tracks = file.next_event()?;
                for (track, _) in &tracks {
                    let is_repeated = |(at, hit): &(usize, &u32)| track[..*at].contains(hit);
                    repeated += track.iter().enumerate().filter(is_repeated).count() as u64;
                    let is_unknown = |hit: &&u32| S::is_hit(&chunk.batch, event, **hit) == Some(false);
                    unknown += track.iter().filter(is_unknown).count() as u64;
                }
                known.event(truth, tracks.iter().map(|(hits, _)| hits.as_slice()));
                checker.measured_event(truth, tracks.iter().map(|(hits, told)| (hits.as_slice(), *told)));
            }
            Ok(())
        },
    );
    crate::system::warn_of_problems(source, host);
    compared?;
    if request.events.count.is_none() && !host.is_cancelled() {
        file.expect_end()?;
    }
    let name = path.display();
    for (count, what) in [
        (repeated, "hit ids come twice in one track"),
        (unknown, "hit ids are not those of hits of their events"),
    ] {
        if count > 0 {
            host.warn(&format!("{name}: {count} {what}"));
        }
    }
    known.tell(host);
    let report = report(checker)?;
    let sequence = request.config.sequence;
    let mut json =
        object(&json!({ "sequence": sequence, "repeated_hit_ids": repeated, "unknown_hit_ids": unknown }));
    json.extend(object(&report));
    let momenta = report.momentum.as_ref().map(text::momenta).unwrap_or_default();
    Ok(Checked { text: format!("{name}\n\n{report}{momenta}"), json, is_right: true, failure: None })
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

/// A struct as a JSON object.
pub(crate) fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// What to say where a sequence has no tracks that could be checked.
pub(crate) fn no_tracks(sequence: &str) -> Error {
    let message = "makes hits and no tracks: check needs tracks, such as those of --tracks FILE";
    Error::Unsupported(format!("sequence {sequence} {message}"))
}
