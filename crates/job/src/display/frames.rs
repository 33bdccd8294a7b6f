//! Draws one frame of a stream of pixel hits as an HTML page.

use super::{DisplayOptions, Displayed, Frame, title};
use crate::source::warn_of_problems;
use crate::system::open;
use crate::{Beside, Host, Request};
use peloton::engine::{Batch, Sliced, ThisThread};
use peloton::event::{NS_PER_TICK, PixelClusters};
use peloton::timepix::PixelBatch;
use peloton::{Error, Result};
use peloton_io::output::{is_no_file, write_whole};
use peloton_plot::pixels::{PixelDisplay, Texts};
use peloton_plot::text::{HitFlow, Verdict, count, grouped, outside_chips, rate};
use std::collections::BTreeMap;
use std::path::Path;

/// Default length of a frame, us.
const FRAME_US: f64 = 1000.0;

/// Draws one HTML page: a frame of pixel hits, a map of all hits, and the distributions of times, energies and sizes.
///
/// # Errors
/// Returns [`Error::Config`] for options that do not apply to frames, and errors of the inputs and the output.
pub fn display(
    request: &Request,
    options: &DisplayOptions,
    output: &Path,
    host: Host<'_>,
) -> Result<Displayed> {
    let number =
        options.events.map(|events| events.single("the page of a stream shows one frame")).transpose()?;
    let us = options.frame_us.unwrap_or(FRAME_US);
    if !(us > 0.0 && us <= 1e12) {
        return Err(Error::Config("--frame-us must be more than 0 and at most 1e12".into()));
    }
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    if !(name.ends_with(".html") || name.ends_with(".htm") || is_no_file(output)) {
        let message = "the page is HTML: the name must end in .html, or be - for standard output";
        return Err(Error::Config(format!("--output {}: {message}", output.display())));
    }
    let mut opened = open(request, false, host)?;
    let mut runs = opened.detector.executor(request, &request.config)?;
    let no_sensor = || Error::Internal("a stream without a sensor".into());
    let sensor = opened.detector.sensor().ok_or_else(no_sensor)?;
    let mut page = PixelDisplay::new(sensor, number, us);
    let (mut batch, mut results) = (PixelBatch::default(), Sliced::default());
    let (mut counters, mut hits, mut clusters) = <(peloton::event::Counters, u64, u64)>::default();
    host.begin("reconstructing", "hits", opened.source.known_items());
    loop {
        batch.clear();
        let read = opened.source.read(
            request.config.timepix.block_hits,
            &ThisThread,
            &mut batch,
            &mut Beside::default(),
        )?;
        let is_over = read == 0 && batch.is_empty() || host.is_cancelled();
        batch.end |= is_over;
        counters.merge(&runs.run(&batch, &mut results)?);
        for found in results.products::<PixelClusters>() {
            page.add(found);
            clusters += found.len() as u64;
        }
        if batch.end {
            page.end_source();
        }
        hits += read as u64;
        host.progress.advance(read as u64);
        if is_over {
            break;
        }
    }
    host.progress.end();
    warn_of_problems(&*opened.source, host);
    page.end();
    let mut dropped: BTreeMap<_, _> = counters.dropped().collect();
    dropped.extend(opened.source.dropped().into_iter().filter(|(_, count)| *count > 0));
    let Verdict { warning, failure } = HitFlow {
        read: hits,
        left: page.hits(),
        dropped: &|key| dropped.get(key).copied().unwrap_or(0),
        chips: outside_chips(&opened.source.facts()),
    }
    .judge(request.max_bad);
    if page.is_empty() {
        let nothing = "there is no hit to display".to_string();
        return Err(Error::format("input", failure.unwrap_or(nothing)));
    }
    if let Some(warning) = warning {
        host.warn(&warning);
    }
    let (number, [frame_hits, frame_clusters]) = page.frame();
    let drawn = Frame {
        sequence: request.config.sequence,
        event: number,
        frames: page.frames(),
        output: output.into(),
        frame_hits,
        frame_clusters,
        hits,
        clusters,
        dropped,
        failure,
    };
    if frame_hits == 0 {
        let (last, duration) = (drawn.frames - 1, page.duration());
        let message = format!(
            "frame {number} has no hits: the input lasts {duration}, its frames are 0 to {}",
            grouped(last)
        );
        host.warn(&message);
    }
    let texts = Texts { title: title(&request.inputs), facts: facts(request, &page, &drawn, sensor) };
    write_whole(output, page.html(&texts).as_bytes())?;
    Ok(Displayed::Frame(drawn))
}

/// Lists the facts that the page shows next to its pictures.
fn facts(
    request: &Request,
    page: &PixelDisplay,
    drawn: &Frame,
    [width, height]: [usize; 2],
) -> Vec<(String, String)> {
    let timepix = &request.config.timepix;
    let seconds = page.seconds();
    let per_second = |count: u64| match seconds > 0.0 {
        true => format!("{} ({}/s)", grouped(count), rate(count as f64 / seconds)),
        false => grouped(count),
    };
    let calibration = timepix.calibration.as_ref().and_then(|folder| folder.file_name());
    let find = &timepix.find;
    let (delta, less) = (f64::from(find.delta) * NS_PER_TICK, if find.strict { "less than " } else { "" });
    let mut facts = vec![
        ("hits", per_second(drawn.hits)),
        ("hits in clusters", per_second(page.hits())),
        ("clusters", per_second(drawn.clusters)),
        ("hits per cluster", format!("{:.2}", page.hits() as f64 / drawn.clusters.max(1) as f64)),
        ("duration", page.duration()),
        ("frames", count(drawn.frames as usize, "frame")),
        ("sensor", format!("{width} x {height} pixels")),
        ("cluster definition", format!("{:?}, {less}{delta} ns", find.definition).to_lowercase()),
        ("energy calibration", calibration.map_or("none".into(), |name| name.to_string_lossy().into_owned())),
    ];
    if page.sources() > 1 {
        facts.push(("clocks", format!("{}, joined one after another", page.sources())));
    }
    if let Some(limit) = request.pixels.mask_hot {
        facts.push(("masked", format!("pixels with more than {} hits", grouped(limit))));
    }
    let mut facts: Vec<_> = facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    let lost =
        |(reason, count): (&&str, &u64)| (format!("dropped: {}", reason.replace('_', " ")), grouped(*count));
    facts.extend(drawn.dropped.iter().map(lost));
    if drawn.dropped.is_empty() {
        facts.push(("dropped".into(), "nothing".into()));
    }
    facts.push(("made by".into(), format!("peloton {}", env!("CARGO_PKG_VERSION"))));
    facts
}
