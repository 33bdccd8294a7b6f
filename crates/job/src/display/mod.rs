//! [`display`]: pictures of what was reconstructed, as a page for the browser.

mod page;

use crate::about::input_name;
use crate::sink::is_no_file;
use crate::source::warn_of_problems;
use crate::system::open;
use crate::systems::TimepixSystem;
use crate::text::{count, grouped, rate};
use crate::{Beside, Host, Request, SequenceName, System};
use page::{About, PixelDisplay};
use peloton::engine::{Batch, Sliced};
use peloton::event::NS_PER_TICK;
use peloton::simd::with_default_float_mode;
use peloton::timepix::PixelBatch;
use peloton::{Error, Result};
use peloton_io::output::write_whole;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Inputs that a title names one by one.
const NAMED: usize = 3;

/// What to draw.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// Its number, from 0; without it the frame with the most hits.
    pub number: Option<u64>,
    /// How long frames are, us.
    pub us: f64,
}

/// What was drawn.
#[derive(Debug, Clone, Serialize)]
pub struct Displayed {
    /// What was reconstructed.
    pub sequence: SequenceName,
    /// Number of the frame.
    pub event: u64,
    /// Frames that there are.
    pub frames: u64,
    /// The page.
    pub output: PathBuf,
    /// Hits in the frame.
    pub frame_hits: u64,
    /// Clusters in the frame.
    pub frame_clusters: u64,
    /// Hits that went in.
    pub hits: u64,
    /// Clusters that were found.
    pub clusters: u64,
    /// Reasons and counts of what was lost.
    pub dropped: BTreeMap<&'static str, u64>,
}

/// Draws a frame of pixel hits, where hits are, and how times, energies and sizes are distributed, as one HTML file.
///
/// # Errors
/// [`Error::Config`] for other sequences, and those of the inputs and the output.
pub fn display(request: &Request, frame: Frame, output: &Path, host: Host<'_>) -> Result<Displayed> {
    with_default_float_mode(|| displayed(request, frame, output, host))
}

fn displayed(request: &Request, frame: Frame, output: &Path, host: Host<'_>) -> Result<Displayed> {
    if request.config.sequence != SequenceName::Timepix {
        let sequence = request.config.sequence;
        let message = format!("display draws pixel hits, and this is {sequence}: see --sequence timepix");
        return Err(Error::Config(message));
    }
    if !(frame.us > 0.0 && frame.us <= 1e12) {
        return Err(Error::Config("--frame-us must be more than 0 and at most 1e12".into()));
    }
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    if !(name.ends_with(".html") || name.ends_with(".htm") || is_no_file(output)) {
        let message = "the page is HTML: the name must end in .html, or be - for standard output";
        return Err(Error::Config(format!("--output {}: {message}", output.display())));
    }
    let mut opened = open::<TimepixSystem>(request, false, host)?;
    let mut runs = TimepixSystem::executor(request, &request.config, &opened.context)?;
    let layout = &opened.context.layout;
    let sensor = [layout.width(), layout.height()];
    let mut page = PixelDisplay::new(sensor, frame.number, frame.us);
    let (mut batch, mut results) = (PixelBatch::default(), Sliced::default());
    let (mut counters, mut hits, mut clusters) = <(peloton::event::Counters, u64, u64)>::default();
    host.begin("reconstructing", "hits", opened.source.known_items());
    loop {
        batch.clear();
        let read =
            opened.source.read(request.config.timepix.block_hits, &mut batch, &mut Beside::default())?;
        let is_over = read == 0 && batch.is_empty() || host.is_cancelled();
        batch.end |= is_over;
        counters.merge(&runs.run(&batch, &mut results)?);
        for found in results.slices() {
            page.add(found);
            clusters += found.len() as u64;
        }
        hits += read as u64;
        host.progress.advance(read as u64);
        if is_over {
            break;
        }
    }
    host.progress.end();
    warn_of_problems(&*opened.source, host);
    if page.is_empty() {
        return Err(Error::format("input", "there is no hit to display"));
    }
    page.end();
    let mut dropped: BTreeMap<_, _> = counters.dropped().collect();
    dropped.extend(opened.source.dropped().into_iter().filter(|(_, count)| *count > 0));
    let (number, [frame_hits, frame_clusters]) = page.frame();
    let drawn = Displayed {
        sequence: request.config.sequence,
        event: number,
        frames: page.frames(),
        output: output.into(),
        frame_hits,
        frame_clusters,
        hits,
        clusters,
        dropped,
    };
    if frame_hits == 0 {
        let (last, duration) = (drawn.frames - 1, page.duration());
        let message = format!(
            "frame {number} has no hits: the input lasts {duration}, its frames are 0 to {}",
            grouped(last)
        );
        host.warn(&message);
    }
    let about = About { title: title(&request.inputs), facts: facts(request, &page, &drawn, sensor) };
    write_whole(output, page.html(&about).as_bytes())?;
    Ok(drawn)
}

/// What was read, by the names of the files alone: where they lie is nobody's business who gets the page.
fn title(inputs: &[String]) -> String {
    let name = |input: &String| input_name(input);
    match inputs {
        [] => "simulated hits".into(),
        _ if inputs.len() > NAMED => format!("{} and {} more inputs", name(&inputs[0]), inputs.len() - 1),
        _ => inputs.iter().map(name).collect::<Vec<_>>().join(", "),
    }
}

/// What the page says beside its pictures.
fn facts(
    request: &Request,
    page: &PixelDisplay,
    drawn: &Displayed,
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
        ("clusters", per_second(drawn.clusters)),
        ("hits per cluster", format!("{:.2}", drawn.hits as f64 / drawn.clusters.max(1) as f64)),
        ("duration", page.duration()),
        ("frames", count(drawn.frames as usize, "frame")),
        ("sensor", format!("{width} x {height} pixels")),
        ("cluster definition", format!("{:?}, {less}{delta} ns", find.definition).to_lowercase()),
        ("energy calibration", calibration.map_or("none".into(), |name| name.to_string_lossy().into_owned())),
    ];
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
