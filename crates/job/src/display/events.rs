//! Reads, reconstructs and draws the events of a request.

use super::gather::Of;
use super::{DisplayOptions, Displayed, DrawnEvents, title};
use crate::run::reconstruct;
use crate::sink::unknown_format;
use crate::system::open;
use crate::threads::common_threads;
use crate::{Beside, EventRange, Host, Request};
use peloton::event::{ColumnInfo, Results, Values};
use peloton::{Error, Result, Status};
use peloton_io::Muffled;
use peloton_io::input::is_pipe;
use peloton_io::output::{is_no_file, write_whole};
use peloton_plot::event::{self, DrawnEvent, Gathered, Scene, TrackColumn, View};
use std::path::Path;

/// Size of a page above which browsers open it slowly, bytes.
const LARGE: usize = 8 << 20;

/// The form in which events are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    Svg,
    Phoenix,
}

impl Kind {
    /// Returns the form that the file's extension selects; if the output is not a file, a page.
    fn of(path: &Path) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match name.rsplit_once('.').map(|(_, end)| end) {
            Some("html" | "htm") => Ok(Self::Html),
            Some("svg") => Ok(Self::Svg),
            Some("json") => Ok(Self::Phoenix),
            _ if is_no_file(path) => Ok(Self::Html),
            _ => Err(unknown_format(path, ".html (a page), .svg (a figure) or .json (for HSF Phoenix)")),
        }
    }
}

/// Draws events of a system.
///
/// # Errors
/// Returns errors of the options, the inputs and the output.
pub fn display(
    request: &Request,
    options: &DisplayOptions,
    output: &Path,
    host: Host<'_>,
) -> Result<Displayed> {
    let kind = Kind::of(output)?;
    let events = chosen(request, options, kind)?;
    if options.view.is_some() && kind != Kind::Svg {
        return Err(Error::Config("--view is for figures, whose names end in .svg".into()));
    }
    let request = Request { events, ..request.clone() };
    let Collected { scene, failure } = collect(&request, options, host)?;
    let text = match kind {
        Kind::Html => event::page(&scene),
        Kind::Svg => event::figure(&scene, options.view.unwrap_or(View::of(&scene)[0])),
        Kind::Phoenix => event::phoenix(&scene)?,
    };
    if kind == Kind::Html && text.len() > LARGE {
        let size = text.len() >> 20;
        host.warn(&format!("{} has {size} MB: browsers open such a page slowly", output.display()));
    }
    write_whole(output, text.as_bytes())?;
    let mut drawn = DrawnEvents {
        sequence: request.config.sequence,
        event: events.first as u64,
        events: scene.events.len(),
        output: output.into(),
        hits: 0,
        tracks: 0,
        classes: Default::default(),
        failure,
    };
    for event in &scene.events {
        drawn.hits += event.hits.len();
        drawn.tracks += event.tracks.len();
        for (class, count) in event.classes().into_iter().filter(|_| event.truth.is_some()) {
            *drawn.classes.entry(class.legend()).or_insert(0) += count;
        }
    }
    Ok(Displayed::Events(drawn))
}

/// Returns the events to draw, from --event or --events; a page or a figure shows the first event of --events.
fn chosen(request: &Request, options: &DisplayOptions, kind: Kind) -> Result<EventRange> {
    let is_range = request.events != EventRange::default();
    if options.events.is_some() && is_range {
        return Err(Error::Config("--event and --events both choose events: give one of them".into()));
    }
    if let Some(events) = options.events {
        if kind != Kind::Phoenix {
            events.single("a page and a figure show one event (many fit into a .json for HSF Phoenix)")?;
        }
        return Ok(events.range());
    }
    let EventRange { first, count } = request.events;
    if kind == Kind::Phoenix && is_range {
        return Ok(EventRange { first, count });
    }
    Ok(EventRange { first, count: Some(1) })
}

/// The events to draw, and the reason why the job failed, if it did.
struct Collected {
    scene: Scene,
    failure: Option<String>,
}

/// Reads the events and their truth, if the input has it, and reconstructs the events.
fn collect(request: &Request, options: &DisplayOptions, host: Host<'_>) -> Result<Collected> {
    let muffled = Muffled::new(host.progress);
    let quiet = Host { progress: &muffled, ..host };
    let mut collected = collect_once(request, options.truth, quiet)?;
    let has_no_truth = |event: &DrawnEvent| event.status == Status::NoTruth;
    if collected.scene.events.iter().any(has_no_truth) {
        if request.inputs.iter().any(|input| input == "-" || is_pipe(Path::new(input))) {
            let message = "the input has no truth, and can be read only once: add --no-truth";
            return Err(Error::format(request.inputs.join(", "), message));
        }
        collected = collect_once(request, false, host)?;
    } else {
        muffled.tell();
    }
    match collected.scene.events.is_empty() {
        true if host.is_cancelled() => Err(Error::format("input", "interrupted before any event was read")),
        true => Err(no_event(request, host)),
        false => Ok(collected),
    }
}

fn collect_once(request: &Request, truth: bool, host: Host<'_>) -> Result<Collected> {
    let mut opened = open(request, truth, host)?;
    let mut gather = opened.detector.gather(request, &mut *opened.source)?;
    let runs = opened.detector.executor(request, &request.config)?;
    let sensors = gather.sensors();
    let mut events = Vec::new();
    let summary = reconstruct(request, &mut opened, runs, host, &mut |chunk| {
        for (number, ((results, event), id)) in chunk.result.events().zip(&chunk.beside.ids).enumerate() {
            let Gathered { hits, mut tracks, truth: found } =
                gather.event(&Of { chunk, number, results, event });
            let (columns, values) = track_columns(&**results, event);
            tracks.iter_mut().zip(values).for_each(|(track, values)| track.values = values);
            let status = results.statuses()[event];
            // Files of the cylinder detector always contain the truth.
            let found = found.filter(|_| truth);
            events.push(DrawnEvent { id: *id, status, hits, columns, tracks, truth: found });
        }
        Ok(())
    })?;
    let scene =
        Scene { sequence: request.config.sequence.name(), title: title(&request.inputs), sensors, events };
    Ok(Collected { scene, failure: summary.failure })
}

/// Columns of tracks that a page shows, if the sequence has them: fit quality, direction, momentum.
const SHOWN: [&str; 10] =
    ["chi2", "chi2_x", "chi2_y", "beam_tx", "beam_ty", "tx", "ty", "qop", "qpt", "theta"];

/// Returns those columns in [`SHOWN`] that a sequence has, and their values for each track of an event.
fn track_columns(results: &dyn Results, event: usize) -> (Vec<TrackColumn>, Vec<Vec<f64>>) {
    let tracks = results.table().ranges(event..event + 1)[1].clone();
    let mut rows = vec![Vec::new(); tracks.len()];
    let mut columns = Vec::new();
    if results.schema().levels.get(1) != Some(&"track") {
        return (columns, rows);
    }
    results.for_each_column(&mut |info, values| {
        let ColumnInfo { name, unit, meaning, depth, .. } = *info;
        let (1, Values::F32(values), true) = (depth, values, SHOWN.contains(&name)) else { return };
        columns.push(TrackColumn { name, unit, meaning });
        rows.iter_mut().zip(&values[tracks.clone()]).for_each(|(row, &value)| row.push(value.into()));
    });
    (columns, rows)
}

/// Makes the error for an input without any of the requested events. Its message states the number of events, if known.
fn no_event(request: &Request, host: Host<'_>) -> Error {
    let EventRange { first, count } = request.events;
    let wanted = match count {
        Some(1) => format!("event {first}"),
        Some(count) => format!("events {first} to {}", first.saturating_add(count).saturating_sub(1)),
        None => format!("events from {first} on"),
    };
    let message = match count_events(request, host) {
        Some(0) => "there is no event in the input".into(),
        Some(1) => format!("there is no {wanted}: the input has one event, number 0"),
        Some(events) => format!("there is no {wanted}: the input has {events} events, 0 to {}", events - 1),
        None => format!("there is no {wanted} in the input"),
    };
    Error::format("input", message)
}

/// Counts all events of the input; none if they cannot be counted, as in a pipe, which can be read only once.
fn count_events(request: &Request, host: Host<'_>) -> Option<u64> {
    if request.inputs.iter().any(|input| input == "-" || is_pipe(Path::new(input))) {
        return None;
    }
    let muffled = Muffled::new(host.progress);
    let all = Request { events: EventRange::default(), ..request.clone() };
    let mut opened = open(&all, false, Host { progress: &muffled, ..host }).ok()?;
    if let Some(known) = opened.source.known_items() {
        return Some(known);
    }
    let (mut batch, mut beside, mut events) = (opened.source.empty(), Beside::default(), 0);
    let threads = common_threads(&request.config);
    while !host.is_cancelled() {
        batch.clear();
        beside.clear();
        match opened.source.read(256, threads, &mut *batch, &mut beside).ok()? {
            0 => return Some(events),
            read => events += read as u64,
        }
    }
    None
}
