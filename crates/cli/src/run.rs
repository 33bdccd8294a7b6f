//! `peloton run`: reconstructs events and writes the results.

use crate::options::{JobArgs, host, outcome};
use clap::Args;
use peloton::Result;
use peloton_io::output::JobFiles;
use peloton_job::text;
use std::path::PathBuf;
use std::process::ExitCode;

/// Reconstruct events and write the results
///
/// The rate that is printed is that of the reconstruction alone, from input in memory to results in memory; reading and
/// writing run beside it, and the time of the whole job is printed as well.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton run events.ndjson.zst --output tracks.parquet
  peloton run events/ --events 0:100 --output - | head -1
  peloton run --sequence cylinder toy.bin.zst --builder standard --output tracks.parquet
  zcat events.gz | peloton run - --threads 4 --json summary.json")]
pub struct Run {
    /// Write the results: .parquet (all columns: one row per event, or per cluster of pixels), .ndjson or .ndjson.zst (one
    /// object per line: an event with its numbers, status and tracks as lists of hit ids, or with the columns of its hits;
    /// or a cluster), or `-` (NDJSON to standard output, instead of the text); clusters of pixels also as .clog.
    /// docs/columns.md lists all columns. The file appears under its name when it is complete
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    job: JobArgs,
}

impl Run {
    /// Adds what is read and written.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.job.name_files(files);
        files.written("--output", &self.output);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let Some(request) = self.job.request("run", &[])? else { return Ok(ExitCode::SUCCESS) };
        let report = self.job.report.beside(self.output.as_ref());
        let summary = peloton_job::run(&request, self.output.as_deref(), host(&report.terminal()))?;
        report.report(&text::summary(&summary), &summary)?;
        Ok(outcome(summary.failure, true))
    }
}
