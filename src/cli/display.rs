//! `peloton display`: pictures of an event.

use super::options::{ConfigArgs, InputArgs, ReportArgs};
use super::timepix;
use crate::output::JobFiles;
use crate::pipeline::Sequence;
use crate::{Error, Result};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Draw a frame of pixel hits, and how times, energies and sizes are distributed
///
/// The page stands alone: one HTML file with the pictures in it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton display --sequence timepix hits.tpx3 --output hits.html
  peloton display --sequence timepix hits.t3pa --event 12 --frame-us 100 --output frame12.html")]
pub struct Display {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Number of the frame, from 0
    #[arg(long, value_name = "K", default_value_t = 0)]
    event: u64,
    /// Length of a frame, us
    #[arg(long, value_name = "US", default_value_t = 1000.0)]
    frame_us: f64,
    /// Where to write the page
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

impl Display {
    /// Adds what is read and written.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.input.name_files(files);
        self.config.name_files(files);
        self.report.name_files(files);
        files.written("--output", [&self.output]);
    }

    /// Does it.
    pub fn execute(&self) -> Result<ExitCode> {
        let Some(config) = self.config.load()? else { return Ok(ExitCode::SUCCESS) };
        if config.sequence != Sequence::Timepix {
            return Err(Error::Config("display draws pixel hits: add --sequence timepix".into()));
        }
        if !(self.frame_us > 0.0 && self.frame_us <= 1e12) {
            return Err(Error::Config("--frame-us must be more than 0 and at most 1e12".into()));
        }
        let frame = (self.event, self.frame_us);
        timepix::display(&config, &self.config, &self.input, &self.report, frame, &self.output)
    }
}
