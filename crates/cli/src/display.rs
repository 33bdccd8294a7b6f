//! `peloton display`: draws events, or a frame of pixel hits.

use crate::options::{JobArgs, given, host, outcome};
use clap::Args;
use peloton::Result;
use peloton_io::output::JobFiles;
use peloton_job::{DisplayOptions, EventChoice};
use peloton_plot::event::View;
use std::path::PathBuf;
use std::process::ExitCode;

/// Draw events, or a frame of pixel hits
///
/// The extension of the output selects the format: .html is a self-contained page, with views that can be zoomed and a
/// table of tracks; .svg is one view for papers; .json is event data for HSF Phoenix (3D). If the input has truth,
/// tracks are marked as found, clones or ghosts, and missed particles are drawn, too. A frame of pixel hits is drawn as
/// a page; the first frame begins at the time of the first cluster.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton display sim:velo --output event.html
  peloton display sim:velo --event 4 --view xy --output event.svg
  peloton display sim:velo --event 0..10 --output phoenix.json

Of each sequence:
  peloton display --sequence velo events.ndjson.zst --output event.html
  peloton display --sequence velo-ut b.mdf --geometry geometry/ -o event.html
  peloton display --sequence scifi sim:lhcb --view xz --output event.svg
  peloton display --sequence long sim:lhcb,events=1,seed=3 --output event.html
  peloton display --sequence timepix hits.t3pa --frame-us 100 --output hits.html
  peloton display --sequence cylinder sim:cylinder,tracks=20 -o event.html")]
pub struct Display {
    /// Number of the event, or of the frame of pixel hits, counted from 0 over all inputs; for .json also A..B, the
    /// events from A to B - 1 [default: the first event; the frame with the most hits]
    #[arg(long, value_name = "K")]
    event: Option<EventChoice>,
    /// View in an .svg: rz, xy, xz, yz [default: the view that shows most of the detector]
    #[arg(long, value_name = "VIEW")]
    view: Option<View>,
    /// Do not compare with the truth, even if the input has it
    #[arg(long)]
    no_truth: bool,
    /// Length of a frame of pixel hits, us [default: 1000]
    #[arg(long, value_name = "US")]
    frame_us: Option<f64>,
    /// Output file: .html (page), .svg (figure) or .json (event data)
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    job: JobArgs,
}

impl Display {
    /// Adds to `files` the files that the command reads and writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.job.name_files(files);
        files.written("--output", [&self.output]);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let Self { event, view, no_truth, frame_us, output, job } = self;
        let own = given(&[
            ("--view", view.is_some()),
            ("--no-truth", *no_truth),
            ("--frame-us", frame_us.is_some()),
        ]);
        let Some(request) = job.request("display", &own)? else { return Ok(ExitCode::SUCCESS) };
        let options = DisplayOptions { events: *event, frame_us: *frame_us, view: *view, truth: !no_truth };
        let report = job.report.beside(Some(output));
        let drawn = peloton_job::display(&request, &options, output, host(&report.terminal()))?;
        report.report(&drawn.text(), &drawn)?;
        Ok(outcome(drawn.failure().map(String::from), true))
    }
}
