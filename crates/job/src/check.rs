//! [`check`]: reconstructs events, or reads tracks made elsewhere, and compares them with the truth.

use crate::against::Against;
use crate::run::reconstruct;
use crate::source::warn_of_problems;
use crate::stream::stream;
use crate::summary::object;
use crate::system::open;
use crate::threads::common_threads;
use crate::truth_check::{KnownHits, report};
use crate::truth_output::TruthOutput;
use crate::{Check, CheckOptions, Checked, Host, Opened, Preset, Request, Source, Summary};
use peloton::Result;
use peloton::simd::with_default_float_mode;
use peloton_plot::text;
use peloton_truth::{CheckReport, Checker, EventRows, Rules, TrackFile};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

/// Reconstructs the events of a request, or reads tracks made elsewhere, and compares them with the truth.
///
/// # Errors
/// Errors of the configuration and the inputs, and [`Error::Format`](peloton::Error::Format) when there is no event to
/// check.
pub fn check(request: &Request, options: &CheckOptions, host: Host<'_>) -> Result<Checked> {
    with_default_float_mode(|| check_results(request, options, host))
}

fn check_results(request: &Request, options: &CheckOptions, host: Host<'_>) -> Result<Checked> {
    let begin = Instant::now();
    request.config.one_product("check")?;
    let mut opened = open(request, true, host)?;
    let Opened { source, detector } = &mut opened;
    if let Some(path) = &options.tracks {
        let rules = detector.track_rules(request, options)?;
        source.check_by(rules);
        let mut tables = options.truth_tables(request)?;
        let mut against = Against::open(options, rules)?;
        let beside = BesideTracks { rules, tables: &mut tables, against: &mut against };
        let report = check_tracks(request, path, &mut **source, host, beside)?;
        tables.map_or(Ok(()), TruthOutput::finish)?;
        let mut checked = report.checked(path, request, options);
        if let Some(against) = against {
            against.finish(host, request.events.count.is_none(), &mut checked)?;
        }
        return Ok(checked);
    }
    let mut checker = detector.check(request, options, &mut **source)?;
    let runs = detector.executor(request, &request.config)?;
    let made = reconstruct(request, &mut opened, runs, host, &mut |chunk| checker.add(chunk));
    let mut summary = made?;
    summary.wall_seconds = begin.elapsed().as_secs_f64();
    // Figures for a preset should come from other events than its parameters.
    let preset = summary.preset.as_deref().and_then(|name| name.parse::<Preset>().ok());
    if let Some(events) = preset.and_then(|preset| preset.chosen_on(summary.sequence)) {
        summary.facts.insert("chosen_on".into(), events.into());
    }
    finish(checker, &summary, host)
}

/// Finishes a comparison and puts the summary of the reconstruction before its result.
pub(crate) fn finish(checker: Box<dyn Check>, summary: &Summary, host: Host<'_>) -> Result<Checked> {
    let mut checked = checker.finish(summary, host)?;
    checked.failure = summary.failure.clone();
    checked.text = format!("{}\n{}", summary.text(), checked.text);
    let mut json = object(summary);
    json.extend(std::mem::take(&mut checked.json));
    checked.json = json;
    Ok(checked)
}

/// The rules for tracks made elsewhere, and the additional outputs of their check.
struct BesideTracks<'a> {
    rules: Rules,
    tables: &'a mut Option<TruthOutput>,
    against: &'a mut Option<Against>,
}

/// Checks tracks made elsewhere, line by line.
fn check_tracks(
    request: &Request,
    path: &Path,
    source: &mut dyn Source,
    host: Host<'_>,
    BesideTracks { rules, tables, against }: BesideTracks<'_>,
) -> Result<TracksChecked> {
    let (mut checker, mut known) = (Checker::new(rules), KnownHits::default());
    let count_unknown = source.count_unknown(rules);
    let mut file = TrackFile::open(path)?;
    let (mut repeated, mut unknown) = (0u64, 0u64);
    let compared = stream::<()>(
        (source, 256),
        None,
        common_threads(&request.config),
        host,
        &mut |_| Ok(()),
        &mut |chunk| {
            for (event, (truth, id)) in chunk.beside.truth.iter().zip(&chunk.beside.ids).enumerate() {
                let tracks = file.tracks_of(id)?;
                for (track, _) in &tracks {
                    let is_repeated = |(at, hit): &(usize, &u32)| track[..*at].contains(hit);
                    repeated += track.iter().enumerate().filter(is_repeated).count() as u64;
                }
                let hits = || tracks.iter().map(|(hits, _)| hits.as_slice());
                unknown += count_unknown(&*chunk.batch, event, &mut hits().flatten());
                known.event(truth, hits());
                checker.measured_event(truth, tracks.iter().map(|(hits, told)| (hits.as_slice(), *told)));
                if let Some(against) = against {
                    against.event(id, truth, checker.found())?;
                }
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
            host.warn(&format!(
                "{name}: {} left over, of events that are not in the input",
                text::count(rest, "line")
            ));
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

/// Result of the check of tracks made elsewhere.
struct TracksChecked {
    report: CheckReport,
    /// Number of hit ids that repeat in a track.
    repeated: u64,
    /// Number of hit ids that no hit of the event has.
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
