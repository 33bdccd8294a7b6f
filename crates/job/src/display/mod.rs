//! [`display`]: draws reconstructed events, for the browser, for papers and for HSF Phoenix.

mod choice;
mod events;
mod frames;
pub(crate) mod gather;

pub use choice::EventChoice;

use crate::about::input_name;
use crate::{Host, Request, SequenceName};
use peloton::Result;
use peloton::simd::with_default_float_mode;
use peloton_plot::event::View;
use peloton_plot::text::count;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Maximum number of inputs that a title lists by name.
const NAMED: usize = 3;

/// The events and the view to draw.
#[derive(Debug, Clone, Copy)]
pub struct DisplayOptions {
    /// The events, or the frame of a stream, to draw; by default the first event, or the frame with the most hits.
    pub events: Option<EventChoice>,
    /// Length of the frames of a stream, us; 1000 by default.
    pub frame_us: Option<f64>,
    /// The view of a figure; by default the first of the views that the events have.
    pub view: Option<View>,
    /// Whether tracks are compared with the truth, if the input has truth.
    pub truth: bool,
}

impl Default for DisplayOptions {
    fn default() -> Self {
        Self { events: None, frame_us: None, view: None, truth: true }
    }
}

/// A drawn frame of pixel hits.
#[derive(Debug, Clone, Serialize)]
pub struct Frame {
    /// Name of the sequence that ran.
    pub sequence: SequenceName,
    /// Number of the frame.
    pub event: u64,
    /// Number of frames.
    pub frames: u64,
    /// Path of the page.
    pub output: PathBuf,
    /// Number of hits in the frame.
    pub frame_hits: u64,
    /// Number of clusters in the frame.
    pub frame_clusters: u64,
    /// Number of hits in the input.
    pub hits: u64,
    /// Number of clusters in the input.
    pub clusters: u64,
    /// Number of lost hits for each reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Reason why a job that ran to its end counts as failed; none if it succeeded.
    #[serde(skip)]
    pub failure: Option<String>,
}

/// Drawn events.
#[derive(Debug, Clone, Serialize)]
pub struct DrawnEvents {
    /// Name of the sequence that ran.
    pub sequence: SequenceName,
    /// Number of the first event.
    pub event: u64,
    /// Number of drawn events.
    pub events: usize,
    /// Path of the page, figure or event data.
    pub output: PathBuf,
    /// Number of hits in these events.
    pub hits: usize,
    /// Number of tracks in these events.
    pub tracks: usize,
    /// Number of tracks of each class (found, clones, ghosts), and number of missed particles; empty without truth.
    pub classes: BTreeMap<&'static str, usize>,
    /// Reason why a job that ran to its end counts as failed; none if it succeeded.
    #[serde(skip)]
    pub failure: Option<String>,
}

/// The frame or events that were drawn.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Displayed {
    /// A frame of a stream of pixel hits.
    Frame(Frame),
    /// One or more events.
    Events(DrawnEvents),
}

impl Displayed {
    /// Returns a description of the picture, as one line.
    pub fn text(&self) -> String {
        match self {
            Self::Frame(drawn) => format!(
                "{}: frame {} with {} in {}, of {}\n",
                drawn.output.display(),
                drawn.event,
                count(drawn.frame_hits as usize, "hit"),
                count(drawn.frame_clusters as usize, "cluster"),
                count(drawn.frames as usize, "frame")
            ),
            Self::Events(drawn) => {
                let DrawnEvents { event, events, output, hits, tracks, classes, .. } = drawn;
                let which = match *events {
                    1 => format!("event {event}"),
                    _ => format!("events {event} to {}", event + *events as u64 - 1),
                };
                let mut text = format!(
                    "{}: {which} with {} and {}",
                    output.display(),
                    count(*hits, "hit"),
                    count(*tracks, "track")
                );
                for (number, (name, count)) in classes.iter().enumerate() {
                    let _ = write!(text, "{} {count} {name}", if number == 0 { ":" } else { "," });
                }
                text + "\n"
            }
        }
    }

    /// Returns the reason why the job failed although it ran to the end, if it failed.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Frame(drawn) => drawn.failure.as_deref(),
            Self::Events(drawn) => drawn.failure.as_deref(),
        }
    }
}

/// Draws events, or a frame of a stream of pixel hits; the extension of the output selects the format.
///
/// # Errors
/// Returns errors of the options, the inputs and the output.
pub fn display(
    request: &Request,
    options: &DisplayOptions,
    output: &Path,
    host: Host<'_>,
) -> Result<Displayed> {
    request.config.one_product("display")?;
    with_default_float_mode(|| match request.config.sequence.system().stream() {
        Some(_) => frames::display(request, options, output, host),
        None => events::display(request, options, output, host),
    })
}

/// Lists the inputs for a title, without the folders of files, because readers of a page must not see them.
pub(crate) fn title(inputs: &[String]) -> String {
    let name = |input: &String| input_name(input);
    match inputs {
        _ if inputs.len() > NAMED => format!("{} and {} more inputs", name(&inputs[0]), inputs.len() - 1),
        _ => inputs.iter().map(name).collect::<Vec<_>>().join(", "),
    }
}
