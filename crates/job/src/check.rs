//! [`check`]: reconstructs events, or reads the tracks of another program, and compares the tracks with the truth.

use crate::against::warn_of_rest;
use crate::comparison::Comparison;
use crate::run::reconstruct;
use crate::source::warn_of_problems;
use crate::stream::stream;
use crate::summary::object;
use crate::system::open;
use crate::threads::common_threads;
use crate::{Check, CheckOptions, Checked, Host, Opened, Preset, Request, Source, Summary};
use peloton::Result;
use peloton::simd::with_default_float_mode;
use peloton_plot::text;
use peloton_truth::{Rules, TrackFile};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

/// Reconstructs the events of a request, or reads tracks from a file, and compares the tracks with the truth.
///
/// # Errors
/// Returns errors of the configuration and the inputs, and [`Error::Format`](peloton::Error::Format) when there is no
/// event to check.
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
        let compared = Comparison::new(request, rules, options)?;
        return check_tracks(request, path, (&mut **source, rules), host, compared);
    }
    let mut checker = detector.check(request, options, &mut **source)?;
    let runs = detector.executor(request, &request.config)?;
    let made = reconstruct(request, &mut opened, runs, host, &mut |chunk| checker.add(chunk));
    let mut summary = made?;
    summary.wall_seconds = begin.elapsed().as_secs_f64();
    // Results quoted for a preset should come from other events than the events on which its parameters were chosen.
    let preset = summary.preset.as_deref().and_then(|name| name.parse::<Preset>().ok());
    if let Some(events) = preset.and_then(|preset| preset.chosen_on(summary.sequence)) {
        summary.facts.insert("chosen_on".into(), events.into());
    }
    finish(checker, &summary, host)
}

/// Finishes a comparison, and puts the summary of the reconstruction in front of the result.
pub(crate) fn finish(checker: Box<dyn Check>, summary: &Summary, host: Host<'_>) -> Result<Checked> {
    let mut checked = checker.finish(summary, host)?;
    checked.failure = summary.failure.clone();
    checked.text = format!("{}\n{}", summary.text(), checked.text);
    let mut json = object(summary);
    json.extend(std::mem::take(&mut checked.json));
    checked.json = json;
    Ok(checked)
}

/// Compares tracks from a file with the truth, line by line.
fn check_tracks(
    request: &Request,
    path: &Path,
    (source, rules): (&mut dyn Source, Rules),
    host: Host<'_>,
    mut compared: Comparison,
) -> Result<Checked> {
    let count_unknown = source.count_unknown(rules);
    let mut file = TrackFile::open(path)?;
    let (mut repeated, mut unknown) = (0u64, 0u64);
    let threads = common_threads(&request.config);
    let done = stream::<()>((source, 256), None, threads, host, &mut |_| Ok(()), &mut |chunk| {
        for (event, (truth, id)) in chunk.beside.truth.iter().zip(&chunk.beside.ids).enumerate() {
            let tracks = file.tracks_of(id)?;
            for (track, _) in &tracks {
                let is_repeated = |(at, hit): &(usize, &u32)| track[..*at].contains(hit);
                repeated += track.iter().enumerate().filter(is_repeated).count() as u64;
            }
            let hits = &mut tracks.iter().flat_map(|(hits, _)| hits);
            unknown += count_unknown(&*chunk.batch, event, hits);
            compared
                .event(id, truth, || tracks.iter().map(|(hits, measured)| (hits.as_slice(), *measured)))?;
        }
        Ok(())
    });
    warn_of_problems(source, host);
    done?;
    let name = path.display().to_string();
    if request.events.count.is_none() {
        warn_of_rest(&mut file, &name, host)?;
    }
    for (number, what) in
        [(repeated, "named more than once in one track"), (unknown, "that no hit of the event has")]
    {
        if number > 0 {
            host.warn(&format!("{name}: {} {what}", text::count(number as usize, "hit id")));
        }
    }
    // Returns an error if there was no event, before a table is written.
    compared.report()?;
    let mut checked = compared.finish(host, |_| ())?;
    checked.text = format!("{name}\n\n{}", checked.text);
    let sequence = request.config.sequence;
    let facts = json!({ "sequence": sequence, "repeated_hit_ids": repeated, "unknown_hit_ids": unknown });
    let mut json = object(&facts);
    json.append(&mut checked.json);
    Ok(Checked { json, ..checked })
}
