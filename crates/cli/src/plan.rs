//! `peloton plan` and `peloton manifest`: cut a job into parts, and check that all parts are complete.

use crate::console;
use crate::options::{ReportArgs, host, outcome};
use crate::text;
use clap::{Args, ValueEnum};
use peloton::Result;
use peloton_io::input::Format;
use peloton_io::output::JobFiles;
use peloton_job::MaxBad;
use peloton_plan as plan;
use peloton_plot::text::{count, grouped};
use std::path::PathBuf;
use std::process::ExitCode;

/// Cut a job into parts that many machines can run
///
/// The command scans each file once: an MDF file from header to header, any other file completely. Uncompressed MDF
/// files, folders of bank containers and simulations are cut into parts; any other file is one part. Parts of 2 to 10 s
/// each are short enough to repeat after a failure and long enough to justify the start of a program.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton plan /data/run1/*.mdf --part-events 20000 --output plan.json
  peloton run --plan plan.json --part 17 --geometry geometry/ --output tracks/
  peloton run --plan plan.json --part $SLURM_ARRAY_TASK_ID --output tracks/
  peloton manifest tracks/ --plan plan.json")]
pub struct PlanCommand {
    /// Files, folders, or one simulation (`sim:lhcb,events=N,seed=K`)
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<String>,
    /// Format of the input: auto (from the content), or another format that `peloton run` accepts
    #[arg(long, value_name = "FORMAT", default_value_t)]
    format: Format,
    /// Maximum number of events in a part
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    part_events: u64,
    /// File for the plan, as JSON
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    report: ReportArgs,
}

impl PlanCommand {
    /// Adds to `files` the files that the command reads and writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.read("input", &self.inputs);
        files.written("--output", [&self.output]);
        self.report.name_files(files);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let report = self.report.beside(Some(&self.output));
        let made = plan::make(&self.inputs, self.format, self.part_events, host(&report.terminal()))?;
        made.write(&self.output)?;
        let of = [count(made.parts.len(), "part"), count(made.inputs.len(), "input")];
        let events = made.events.map_or(String::new(), |events| format!(", {} events", grouped(events)));
        let text = format!("{} of {}{events}: {}\n", of[0], of[1], self.output.display());
        report.report(&text, &made)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// How the result file of a part is compared with the size and hash in the part's JSON file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Verify {
    Content,
    Size,
}

/// Check that every part of a plan is complete, and sum the counters of all parts
///
/// The command hashes the result file of each part and compares the hash with the part's JSON. It writes _manifest.json
/// in the folder: sums of all counters, the hash of all events (hash_events), missing parts and why they are missing.
/// The exit code is 1 when a part is missing, changed, from another job, or not in the plan.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton manifest tracks/ --plan plan.json
  peloton manifest tracks/ --plan plan.json --verify=size --json -")]
pub struct ManifestCommand {
    /// The folder with the parts
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// File of the plan, from `peloton plan`
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// How result files are compared with their JSON: by content (each file is read and hashed) or by size alone
    #[arg(long, value_name = "BY", default_value = "content", default_missing_value = "content")]
    #[arg(num_args = 0..=1, require_equals = true)]
    verify: Verify,
    /// Exit with code 1 when more than N events could not be reconstructed, or more than N pixel hits were lost. N% is
    /// a share of all events or hits; with 100% an empty result is accepted [default: the result must not be empty]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    max_bad: Option<MaxBad>,
    #[command(flatten)]
    report: ReportArgs,
}

impl ManifestCommand {
    /// Adds to `files` the files that the command reads and writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.read("--plan", [&self.plan]);
        self.report.name_files(files);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let plan = plan::Plan::read(&self.plan)?;
        let verify = self.verify == Verify::Content;
        let manifest =
            plan::manifest(&plan, &self.folder, verify, self.max_bad, host(&self.report.terminal()))?;
        for failed in &manifest.failed {
            console::warning(&format!("part {} of {}: {}", failed.part, failed.input, failed.reason));
        }
        if let Some(warning) = &manifest.warning {
            console::warning(warning);
        }
        self.report.report(&text::manifest(&manifest), &manifest)?;
        Ok(outcome(manifest.failure, true))
    }
}
