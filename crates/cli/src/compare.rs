//! `peloton compare`: compares the results of two ways of computing, bit by bit.

use crate::options::{JobArgs, host, outcome};
use crate::report::PageArgs;
use crate::text;
use clap::Args;
use peloton::Result;
use peloton_io::output::JobFiles;
use std::process::ExitCode;

/// Reconstruct events in two ways and show the first difference
///
/// Each side is a comma-separated list of KEY=VALUE that overrides the configuration. The keys are isa, gang, threads,
/// slice, preset; for cylinder also builder, seeds; for timepix also block, algorithm. `gpu` runs a side on the GPU:
/// then threads is the number of streams. The exit code is 0 if all output columns are equal, bit by bit, and 1 if not.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton compare sim:velo --left isa=avx2,gang=16 --right isa=scalar,gang=1
  peloton compare sim:velo --left threads=1 --right threads=8,slice=1
  peloton compare events.ndjson.zst --right gpu
  peloton compare events.ndjson.zst --right emulated:reverse,slice=8")]
pub struct Compare {
    /// First side of the comparison; by default the unchanged configuration
    #[arg(long, value_name = "SIDE", default_value = "")]
    left: String,
    /// Second side of the comparison
    #[arg(long, value_name = "SIDE", default_value = "isa=scalar,gang=1")]
    right: String,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    job: JobArgs,
}

impl Compare {
    /// Adds to `files` the files that the command reads and writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.job.name_files(files);
        self.page.name_files(files);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let Some(request) = self.job.request("compare", &[])? else { return Ok(ExitCode::SUCCESS) };
        let sides = [&self.left[..], &self.right];
        let compared = peloton_job::compare(&request, sides, host(&self.job.report.terminal()))?;
        let about = peloton_job::about("compare", &request);
        self.page.report(&self.job.report, &text::compared(&compared), about, &compared)?;
        Ok(outcome(compared.failure, compared.equal))
    }
}
