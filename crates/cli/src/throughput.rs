//! `peloton throughput`: reconstructs events from memory repeatedly and measures the rate.

use crate::options::{JobArgs, host, outcome};
use crate::report::PageArgs;
use crate::text;
use clap::Args;
use peloton::Result;
use peloton_io::output::JobFiles;
use peloton_job::{Plan, throughput_of_jobs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Measure the rate of reconstruction, events/s, with events from memory
///
/// All events are read into memory, and then reconstructed repeatedly. The measured wall-clock time runs from hits or
/// raw banks in memory to results in memory, without reading and writing. Each thread overwrites the results of its
/// previous slice of events, like a program that passes results on at once. An untimed pass before and after the timed
/// passes must give the same hash, and each timed slice must give the same number of tracks and hits in all passes.
/// Hits of the cylinder detector are first shuffled within their layers, so that their hashes differ from the hashes of
/// `run`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton throughput sim:velo,events=1000
  peloton throughput events.ndjson.zst --threads 1
  peloton throughput events.ndjson.zst --isa avx2 --gang 16 --repetitions 100
  peloton throughput --sequence long sim:lhcb,events=100 --json speed.json
  peloton throughput sim:velo,events=1000 --scan --seconds 0.5
  peloton throughput sim:velo,events=1000 --copies 16 --device gpu
  peloton throughput events.ndjson --job tracks.parquet    from file to file
  peloton throughput sim:velo --report speed.html    stages and lanes as figures")]
pub struct Throughput {
    /// Also measure other slice sizes, and other numbers of threads up to --threads. On a device: only the slice size
    /// --slice if given, and numbers of streams up to --threads, by default up to 16 (pixel hits: 4)
    #[arg(long)]
    scan: bool,
    /// Measure repeated whole jobs of `run`, and print the fastest. Each job reads the inputs, reconstructs the events,
    /// and writes FILE in the format of its extension; with `none` it writes no file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scan", "report"])]
    job: Option<PathBuf>,
    /// Number of copies of the events in memory; for pixel hits, the stream repeats its hits N times
    #[arg(long, value_name = "N", default_value = "1", conflicts_with = "job",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    copies: usize,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    args: JobArgs,
}

/// Flags for the duration of a measurement.
#[derive(Args, Debug, Clone)]
pub struct PlanArgs {
    /// Number of passes over all events [default: as many as fill --seconds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    repetitions: Option<u64>,
    /// Total time of the passes, s [default: 3; tune: 0.5 for each instruction set and gang size]
    #[arg(long, value_name = "T", value_parser = seconds, conflicts_with = "repetitions")]
    seconds: Option<f64>,
}

impl PlanArgs {
    /// Returns the plan of the measurement; its duration is `seconds` unless a flag gives another duration.
    pub fn plan(&self, seconds: f64) -> Plan {
        let time = Duration::from_secs_f64(self.seconds.unwrap_or(seconds));
        Plan { copies: 1, passes: self.repetitions, time }
    }
}

impl Throughput {
    /// Adds to `files` the files that the command reads and writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.args.name_files(files);
        files.written("--job", self.output());
        self.page.name_files(files);
    }

    /// Returns the file that whole jobs write, if any.
    fn output(&self) -> Option<PathBuf> {
        self.job.clone().filter(|path| path != Path::new("none"))
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let Some(request) = self.args.request("throughput", &[])? else { return Ok(ExitCode::SUCCESS) };
        let terminal = self.args.report.terminal();
        if self.job.is_some() {
            let (plan, output) = (self.plan.plan(3.0), self.output());
            let measured = throughput_of_jobs(&request, output.as_deref(), plan, host(&terminal))?;
            self.args.report.report(&text::throughput_of_jobs(&measured), &measured)?;
            return Ok(outcome(measured.summary.failure, true));
        }
        let plan = Plan { copies: self.copies, ..self.plan.plan(3.0) };
        let measured = peloton_job::throughput(&request, plan, self.scan, host(&terminal))?;
        let about = peloton_job::about("throughput", &request);
        self.page.report(&self.args.report, &text::throughput(&measured), about, &measured)?;
        Ok(outcome(measured.summary.failure, true))
    }
}

/// Parses a number of seconds that a clock can represent.
pub fn seconds(text: &str) -> std::result::Result<f64, String> {
    let wrong = || format!("`{text}` is not a number of seconds from 0 to 1e6");
    text.parse().ok().filter(|seconds| (0.0..=1e6).contains(seconds)).ok_or_else(wrong)
}
