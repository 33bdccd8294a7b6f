//! `peloton display`: pictures of an event.

use crate::options::{JobArgs, host};
use clap::Args;
use peloton::Result;
use peloton_io::output::JobFiles;
use peloton_job::Frame;
use peloton_job::text::count;
use std::path::PathBuf;
use std::process::ExitCode;

/// Draw a frame of pixel hits, where hits are, and how times, energies and sizes are distributed
///
/// The page stands alone: one HTML file with the pictures in it, which can be zoomed and saved. Frames begin with the
/// first cluster.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton display --sequence timepix hits.tpx3 --output hits.html
  peloton display --sequence timepix hits.t3pa --event 12 --frame-us 100 --output frame12.html")]
pub struct Display {
    /// Number of the frame, from 0 [default: the one with the most hits]
    #[arg(long, value_name = "K")]
    event: Option<u64>,
    /// Length of a frame, us
    #[arg(long, value_name = "US", default_value_t = 1000.0)]
    frame_us: f64,
    /// Where to write the page
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    job: JobArgs,
}

impl Display {
    /// Adds what is read and written.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.job.name_files(files);
        files.written("--output", [&self.output]);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let Some(request) = self.job.request("display", &[])? else { return Ok(ExitCode::SUCCESS) };
        let frame = Frame { number: self.event, us: self.frame_us };
        let report = self.job.report.beside(Some(&self.output));
        let drawn = peloton_job::display(&request, frame, &self.output, host(&report.terminal()))?;
        let text = format!(
            "{}: frame {} with {} in {}, of {}\n",
            drawn.output.display(),
            drawn.event,
            count(drawn.frame_hits as usize, "hit"),
            count(drawn.frame_clusters as usize, "cluster"),
            count(drawn.frames as usize, "frame")
        );
        report.report(&text, &drawn)?;
        Ok(ExitCode::SUCCESS)
    }
}
