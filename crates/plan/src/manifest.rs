//! [`manifest`]: checks that all parts of a job exist and belong together, and adds up their results.

use crate::document::{PartSpec, Plan};
use crate::folder::{self, Failure, PartFolder};
use crate::input::hexadecimal;
use crate::made::Made;
use crate::part::{NOT_AS_WRITTEN, PartReport, WrittenFile};
use peloton::{Error, Result, Status};
use peloton_job::{Host, MaxBad};
use peloton_plot::text::{HitFlow, Verdict, bad_events_failure};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A part that is missing, or does not belong to the other parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedPart {
    /// Number of the part.
    pub part: usize,
    /// Its input.
    pub input: String,
    /// The reason why the part is missing, in words.
    pub reason: String,
    /// Number of attempts.
    pub runs: u64,
}

/// The sum of all parts of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Manifest {
    /// Whether all parts are done and belong together, and every result file belongs to a part.
    pub is_complete: bool,
    /// Number of parts in the plan.
    pub parts: usize,
    /// Number of parts that are done.
    pub parts_done: usize,
    /// Version, configuration and geometry of the parts; null when no part is done.
    #[serde(flatten)]
    pub made: Option<Made>,
    /// Name of the sequence; null when no part is done.
    pub sequence: Value,
    /// Sum of the hashes of all events with their numbers; equals the hash of one run over all inputs when complete.
    pub hash_events: String,
    /// Number of events that could not be reconstructed.
    pub bad_events: u64,
    /// For each whole number in the parts' summaries, the sum over all parts.
    #[serde(flatten)]
    pub sums: Map<String, Value>,
    /// Numbers of dropped events and hits of all parts, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// For each detector and source, the number of events that lack the source's raw bank.
    pub lacking_sources: BTreeMap<String, u64>,
    /// Sum of the wall-clock times of all parts, s.
    pub seconds: f64,
    /// Number of attempts at all parts.
    pub runs: u64,
    /// For each part with more than one attempt, the number of attempts.
    pub repeated: BTreeMap<usize, u64>,
    /// The parts that are missing or failed.
    pub failed: Vec<FailedPart>,
    /// Result files in the folder that do not belong to a part of the plan.
    pub unplanned: Vec<String>,
    /// A sentence that lists the losses of the job; null when the job lost nothing.
    pub warning: Option<String>,
    /// The reason why the whole job failed; null when it did not fail.
    pub failure: Option<String>,
}

/// Keys of whole numbers that are not counts.
const NO_COUNTS: [&str; 2] = ["gang", "threads"];

/// Checks all parts in a folder and writes their sum there as `_manifest.json`. With `verify`, every result file is
/// read and its hash is checked; otherwise only its size is checked. The job fails if it lost more events or pixel hits
/// than `max_bad` allows, or lost all.
///
/// # Errors
/// [`Error::Io`] when the folder cannot be read or the manifest cannot be written.
pub fn manifest(
    plan: &Plan,
    from: &Path,
    verify: bool,
    max_bad: Option<MaxBad>,
    host: Host<'_>,
) -> Result<Manifest> {
    manifest_after(plan, from, verify, max_bad, &BTreeMap::new(), host)
}

/// Like [`manifest`], after a run in which parts failed: `not_made` has their numbers and the reasons. These parts
/// count as failed even if the folder has their files, which an earlier run may have made with other options.
///
/// # Errors
/// Errors of [`manifest`].
pub fn manifest_after(
    plan: &Plan,
    from: &Path,
    verify: bool,
    max_bad: Option<MaxBad>,
    not_made: &BTreeMap<usize, String>,
    host: Host<'_>,
) -> Result<Manifest> {
    let folder = PartFolder(from);
    let there = folder.files()?;
    host.begin(if verify { "reading" } else { "looking" }, "parts", Some(plan.parts.len() as u64));
    let look = |part| {
        if host.is_cancelled() {
            return Err(Error::System("the job ended before all parts were checked".into()));
        }
        let found = look(plan, part, folder, verify, not_made.get(&part));
        host.progress.advance(1);
        found
    };
    let looked = (0..plan.parts.len()).map(look).collect::<Result<Vec<_>>>();
    host.progress.end();
    let looked = looked?;
    let made = usual(looked.iter().filter_map(|found| found.as_ref().ok()));
    let mut manifest = Manifest::empty(plan, made);
    for found in looked {
        match found {
            Ok(report) => manifest.add(report),
            Err(failed) => manifest.fail(failed),
        }
    }
    let name = |part| folder.results(part).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let planned: BTreeSet<_> = (0..plan.parts.len()).map(name).collect();
    manifest.unplanned = there.into_iter().filter(|name| !planned.contains(name)).collect();
    manifest.judge(max_bad);
    folder::write(&folder.manifest(), &manifest)?;
    Ok(manifest)
}

/// Returns the report of a part that is done, or the reason why it is not done.
fn look(
    plan: &Plan,
    part: usize,
    folder: PartFolder<'_>,
    verify: bool,
    not_made: Option<&String>,
) -> Result<std::result::Result<PartReport, FailedPart>> {
    let spec = plan.part(part)?;
    let report: Option<PartReport> = folder::read(&folder.report(part));
    let reason = match (not_made, &report) {
        (Some(reason), _) => reason.clone(),
        (None, None) => missing(&spec, folder),
        (None, Some(report)) if report.spec != spec => "made by another plan: run the part again".into(),
        (None, Some(report)) => match check_file(report, folder, verify) {
            None => return Ok(Ok(report.clone())),
            Some(reason) => reason,
        },
    };
    let runs = report.map_or(0, |report| report.runs).max(folder.times_begun(part));
    Ok(Err(FailedPart { part, input: spec.input.path, reason, runs }))
}

/// Returns the reason why a part has no report.
fn missing(spec: &PartSpec, folder: PartFolder<'_>) -> String {
    match folder::read::<Failure>(&folder.failure(spec.part)) {
        Some(failure) => failure.reason,
        None if folder.times_begun(spec.part) > 0 => "begun and not ended: still running, or killed".into(),
        None => "not run".into(),
    }
}

/// Returns the fault of the file of a part, if it has one.
fn check_file(report: &PartReport, folder: PartFolder<'_>, verify: bool) -> Option<String> {
    let path = folder.results(report.spec.part);
    let expected = &report.output;
    match std::fs::metadata(&path) {
        Err(e) => return Some(Error::io(&path, e).to_string()),
        Ok(kind) if kind.len() != expected.size => {
            return Some(format!("{} has {} bytes instead of {}", expected.name, kind.len(), expected.size));
        }
        Ok(_) if !verify => return None,
        Ok(_) => {}
    }
    match WrittenFile::of(&path) {
        Ok(found) if found == *expected => None,
        Ok(_) => Some(format!("{}: {NOT_AS_WRITTEN}", expected.name)),
        Err(error) => Some(error.to_string()),
    }
}

/// Returns the version, configuration and geometry of most parts.
fn usual<'a>(reports: impl Iterator<Item = &'a PartReport>) -> Option<Made> {
    let mut counts: BTreeMap<&Made, usize> = BTreeMap::new();
    reports.for_each(|report| *counts.entry(&report.made).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(made, _)| made.clone())
}

impl Manifest {
    fn empty(plan: &Plan, made: Option<Made>) -> Self {
        Self {
            is_complete: false,
            parts: plan.parts.len(),
            parts_done: 0,
            made,
            sequence: Value::Null,
            hash_events: hexadecimal(0),
            bad_events: 0,
            sums: Map::new(),
            dropped: BTreeMap::new(),
            lacking_sources: BTreeMap::new(),
            seconds: 0.0,
            runs: 0,
            repeated: BTreeMap::new(),
            failed: Vec::new(),
            unplanned: Vec::new(),
            warning: None,
            failure: None,
        }
    }

    fn add(&mut self, report: PartReport) {
        let PartReport { spec, made, seconds, runs, bad_events, summary, .. } = report;
        let part = spec.part;
        let hash = |text: &Value| u64::from_str_radix(text.as_str()?, 16).ok();
        let Some(hash) = summary.get("hash_events").and_then(hash) else {
            let reason = "its JSON has no hash_events: run the part again".into();
            return self.fail(FailedPart { part, input: spec.input.path, reason, runs });
        };
        if self.made.as_ref() != Some(&made) {
            let reason =
                "made by another version, configuration or geometry than most parts: run it again".into();
            return self.fail(FailedPart { part, input: spec.input.path, reason, runs });
        }
        // `hash_events` is always a hexadecimal number.
        let sum = u64::from_str_radix(&self.hash_events, 16).unwrap_or(0).wrapping_add(hash);
        self.hash_events = hexadecimal(sum);
        self.parts_done += 1;
        self.bad_events += bad_events;
        self.seconds += seconds;
        self.note_runs(part, runs);
        for (key, value) in summary {
            match value {
                Value::Object(counts) if ["dropped", "lacking_sources"].contains(&&key[..]) => {
                    let sums = if key == "dropped" { &mut self.dropped } else { &mut self.lacking_sources };
                    for (reason, count) in counts {
                        *sums.entry(reason).or_default() += count.as_u64().unwrap_or(0);
                    }
                }
                Value::Number(count) if count.is_u64() && !NO_COUNTS.contains(&&key[..]) => {
                    let before = self.sums.get(&key).and_then(Value::as_u64).unwrap_or(0);
                    self.sums.insert(key, (before + count.as_u64().unwrap_or(0)).into());
                }
                value if key == "sequence" => self.sequence = value,
                _ => {}
            }
        }
    }

    fn fail(&mut self, failed: FailedPart) {
        self.note_runs(failed.part, failed.runs);
        self.failed.push(failed);
    }

    fn note_runs(&mut self, part: usize, runs: u64) {
        self.runs += runs;
        if runs > 1 {
            self.repeated.insert(part, runs);
        }
    }

    fn judge(&mut self, max_bad: Option<MaxBad>) {
        let Verdict { warning, failure: lost } = self.losses(max_bad);
        self.warning = warning;
        let Self { parts, parts_done, failed, unplanned, .. } = self;
        self.is_complete = parts_done == parts && unplanned.is_empty();
        self.failure = match (failed.first(), unplanned.first()) {
            (Some(FailedPart { part, input, reason, .. }), _) => {
                let count = failed.len();
                Some(format!(
                    "{count} of {parts} parts are missing; the first is part {part} of {input}: {reason}"
                ))
            }
            (None, Some(name)) => {
                Some(format!("{name} is not part of the plan: remove it, or use a separate folder"))
            }
            (None, None) => lost,
        };
    }

    /// Judges the losses of all parts that are done: events, or hits of a stream.
    fn losses(&self, max_bad: Option<MaxBad>) -> Verdict {
        let sum = |key: &str| self.sums.get(key).and_then(Value::as_u64);
        if let Some(left) = sum("hits_out") {
            let dropped = |key: &str| self.dropped.get(key).copied().unwrap_or(0);
            let read = sum("hits").unwrap_or(0);
            return HitFlow { read, left, dropped: &dropped, chips: Vec::new() }.judge(max_bad);
        }
        let (bad, events) = (self.bad_events, sum("events").unwrap_or(0));
        // The other statuses mark events that were reconstructed.
        let lost = Status::ALL.iter().filter(|status| !status.is_reconstructed()).map(|status| status.name());
        let reasons =
            lost.filter_map(|name| self.dropped.get(name).filter(|count| **count > 0).zip(Some(name)));
        let reasons: Vec<_> = reasons.map(|(count, name)| format!("{name} {count}")).collect();
        let of_bad =
            || format!("{bad} of {events} events could not be reconstructed: {}", reasons.join(", "));
        let warnings = [(bad > 0).then(of_bad), self.partial_events(events)];
        let warning = warnings.into_iter().flatten().collect::<Vec<_>>().join("; ");
        let failure = bad_events_failure(bad, events, max_bad);
        Verdict { warning: (!warning.is_empty()).then_some(warning), failure }
    }

    /// Describes the events that lack raw banks in a sentence, if there are any.
    fn partial_events(&self, events: u64) -> Option<String> {
        let partial = self.sums.get("partial_events").and_then(Value::as_u64).filter(|count| *count > 0)?;
        let most = self.lacking_sources.iter().max_by_key(|(_, count)| **count);
        let most = most.map_or(String::new(), |(source, count)| {
            format!(", most often the bank of {source} ({count} times)")
        });
        Some(format!("{partial} of {events} events lack raw banks{most}"))
    }
}
