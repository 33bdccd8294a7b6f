//! [`check`]: reconstructs events, or takes tracks made elsewhere, and compares with the truth.

use crate::registry::Command;
use crate::run::{metadata, reconstruct};
use crate::stream::{Chunk, stream};
use crate::system::{open, warn_of_problems};
use crate::track_file::TrackFile;
use crate::truth_output::TruthOutput;
use crate::{Host, Request, Source, Summary, System, text};
use peloton::engine::Sliced;
use peloton::event::TruthEvent;
use peloton::{Error, Result};
use peloton_truth::{CheckReport, Checker, EventRows, Rules};
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
    /// Where tables of all particles and tracks go; [`truth_files`](crate::truth_files) says under which names.
    pub truth_output: Option<PathBuf>,
}

impl CheckOptions {
    /// Begins the tables, if any are wanted.
    pub(crate) fn truth_tables(&self, request: &Request) -> Result<Option<TruthOutput>> {
        let Some(path) = &self.truth_output else { return Ok(None) };
        // Tracks made elsewhere have been made on no level.
        let level = if self.tracks.is_some() { String::new() } else { request.config.level()?.to_string() };
        TruthOutput::create(path, &metadata(request, level)).map(Some)
    }
}

/// Compares results with the truth, batch by batch.
pub trait Check<S: System>: Send {
    /// Takes the results of a batch.
    ///
    /// # Errors
    /// When they cannot be checked.
    fn add(&mut self, chunk: &Chunk<S::Batch, Sliced<S::Results>>) -> Result<()>;

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
                let mut tables = options.truth_tables(request)?;
                let report = check_tracks::<S>(request, path, rules, &mut *opened.source, host, &mut tables)?;
                tables.map_or(Ok(()), TruthOutput::finish)?;
                return Ok(report.checked(path, request, options));
            }
            let mut checker = S::check(request, options, &mut opened)?;
            let runs = S::executor(request, &request.config, &opened.context)?;
            let made = reconstruct::<S>(request, &mut opened, runs, host, |chunk| checker.add(chunk));
            let mut summary = made?;
            summary.wall_seconds = begin.elapsed().as_secs_f64();
            finish(checker, &summary, host)
        }
    }
    request.config.sequence.run(Run(request, options, host))
}

/// What a comparison found, behind the summary of the reconstruction.
pub(crate) fn finish<S: System>(
    checker: Box<dyn Check<S>>,
    summary: &Summary,
    host: Host<'_>,
) -> Result<Checked> {
    let mut checked = checker.finish(summary, host)?;
    checked.failure = summary.failure.clone();
    checked.text = format!("{}\n{}", text::summary(summary), checked.text);
    let mut json = object(summary);
    json.extend(std::mem::take(&mut checked.json));
    checked.json = json;
    Ok(checked)
}

/// Checks tracks made elsewhere, line by line.
fn check_tracks<S: System>(
    request: &Request,
    path: &Path,
    rules: Rules,
    source: &mut dyn Source<S::Batch>,
    host: Host<'_>,
    tables: &mut Option<TruthOutput>,
) -> Result<TracksChecked> {
    let (mut checker, mut known) = (Checker::new(rules), KnownHits::default());
    let count_unknown = source.count_unknown(rules);
    let mut file = TrackFile::open(path)?;
    let (mut repeated, mut unknown) = (0u64, 0u64);
    let compared = stream::<S::Batch, ()>(
        source,
        256,
        None,
        host,
        |_| Ok(()),
        |chunk| {
            for (event, (truth, id)) in chunk.beside.truth.iter().zip(&chunk.beside.ids).enumerate() {
                let tracks = file.tracks_of(id)?;
                for (track, _) in &tracks {
                    let is_repeated = |(at, hit): &(usize, &u32)| track[..*at].contains(hit);
                    repeated += track.iter().enumerate().filter(is_repeated).count() as u64;
                }
                let hits = || tracks.iter().map(|(hits, _)| hits.as_slice());
                unknown += count_unknown(&chunk.batch, event, &mut hits().flatten());
                known.event(truth, hits());
                checker.measured_event(truth, tracks.iter().map(|(hits, told)| (hits.as_slice(), *told)));
                if let Some(tables) = tables {
                    tables.add(EventRows::of_event(id, truth, &checker.last_event(truth)))?;
                }
            }
            Ok(())
        },
    );
    warn_of_problems(source, host);
    compared?;
    let name = path.display();
    if request.events.count.is_none() && !host.is_cancelled() {
        let rest = file.rest()?;
        if rest > 0 {
            host.warn(&format!("{name}: {} of other events than these", text::count(rest, "line")));
        }
    }
    for (number, what) in
        [(repeated, "named more than once in one track"), (unknown, "of no hit of its event")]
    {
        if number > 0 {
            host.warn(&format!("{name}: {} {what}", text::count(number as usize, "hit id")));
        }
    }
    known.tell(host);
    Ok(TracksChecked { report: report(checker)?, repeated, unknown })
}

/// What was found of tracks made elsewhere.
struct TracksChecked {
    report: CheckReport,
    /// Hit ids that a track names more than once, and that no hit of its event has.
    repeated: u64,
    unknown: u64,
}

impl TracksChecked {
    fn checked(self, path: &Path, request: &Request, options: &CheckOptions) -> Checked {
        let Self { report, repeated, unknown } = self;
        let sequence = request.config.sequence;
        let mut json = object(
            &json!({ "sequence": sequence, "repeated_hit_ids": repeated, "unknown_hit_ids": unknown }),
        );
        json.extend(object(&report));
        let mut text = format!("{}\n\n{report}", path.display());
        if options.tables {
            text.push_str(&text::tables(&report));
        }
        text.push_str(&report.momentum.as_ref().map(text::momenta).unwrap_or_default());
        Checked { text, json, is_right: true, failure: None }
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

/// A struct as a JSON object.
pub(crate) fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// What to say where a sequence has no tracks that could be checked.
pub(crate) fn no_tracks(sequence: &str) -> Error {
    let message = "makes hits, and what is checked are tracks: give some with --tracks FILE";
    Error::Unsupported(format!("the sequence {sequence} {message}"))
}
