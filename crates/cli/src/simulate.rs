//! `peloton simulate`: writes simulated events with their truth.

use crate::interrupt::{self, CANCEL};
use crate::options::{Auto, ReportArgs, host};
use clap::Args;
use peloton::{Error, Result};
use peloton_io::output::JobFiles;
use peloton_job::{Config, Simulation};
use peloton_plot::text;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write simulated events with their truth
///
/// The same seed gives the same bytes on every machine.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton simulate --events 1000 --seed 7 --output events.ndjson.zst
  peloton simulate --detector velo --events 10 --output - | peloton check -
  peloton simulate --detector lhcb --events 1000 --output events.mdf
  peloton simulate --detector cylinder,tracks=5000 --output toy.bin.zst
  peloton simulate --detector timepix,preset=pion45 --output hits.tpx3")]
pub struct Simulate {
    /// Detector: velo, lhcb, cylinder or timepix. The parameters of a `sim:` input may follow and take precedence over
    /// --events and --seed: lhcb,velo=superpixel,signal=b or timepix,preset=lead0,rate=1e6. With lhcb,realism=1 the
    /// SciFi lacks as many hits as in LHCb's full simulation
    #[arg(long, value_name = "D", default_value = "velo")]
    detector: String,
    /// Folder of the detector's geometry files, for lhcb [default: nominal]
    #[arg(long, value_name = "DIR")]
    geometry: Option<PathBuf>,
    /// Number of events, or of pixel hits for timepix
    #[arg(long, value_name = "N", default_value_t = 1000)]
    events: u64,
    /// Seed of the random numbers; for lhcb its low 32 bits are the run number
    #[arg(long, value_name = "K", default_value_t = 1)]
    seed: u64,
    /// Threads: auto (one per core) or a number; the number does not change the output. Pixel hits use one thread
    #[arg(long, value_name = "N", default_value = "auto")]
    threads: Auto<usize>,
    /// Output file; its extension selects the format. velo: .ndjson or .ndjson.zst, an event per line; lhcb: .mdf or
    /// .mdf.zst; cylinder: .bin or .bin.zst; pixel hits: .tpx3, .bin (records of 16 bytes), .parquet, .txt (burda) or,
    /// for frames, .frames. `-` writes to standard output
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    report: ReportArgs,
}

impl Simulate {
    /// Adds to `files` the files that the command reads and writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.read("--geometry", &self.geometry);
        files.written("--output", [&self.output]);
        self.report.name_files(files);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let detector = self.detector.split(',').next().unwrap_or_default();
        if self.geometry.is_some() && detector != "lhcb" {
            return Err(Error::Config(format!("--geometry is for the detector lhcb, not for {detector}")));
        }
        if self.threads.0.is_some() && detector == "timepix" {
            let message = "--threads is for events: one thread simulates the stream of pixel hits";
            return Err(Error::Config(message.into()));
        }
        let config = Config { threads: self.threads.0, ..Config::default() };
        config.validate()?;
        let what = Simulation {
            detector: self.detector.clone(),
            events: self.events,
            seed: self.seed,
            geometry: self.geometry.clone(),
            threads: config.thread_count(),
        };
        let report = self.report.beside(Some(&self.output));
        let made = peloton_job::simulate(&what, &self.output, host(&report.terminal()))?;
        if CANCEL.is_requested() {
            let events = text::count(made.events as usize, "event");
            interrupt::keep(format!("{} holds the first {events}", self.output.display()));
        }
        let (items, what) = match (made.hits, made.words) {
            (Some(hits), _) => (hits, "hits"),
            (None, words) => (words.unwrap_or(0), "words"),
        };
        let seconds = made.wall_seconds;
        let rate = made.events as f64 / seconds;
        let text = format!(
            "{} events, {items} {what}: {}\nsimulated and written in {seconds:.2} s, {rate:.0} events/s\n",
            made.events,
            made.output.display()
        );
        report.report(&text, &made)?;
        Ok(ExitCode::SUCCESS)
    }
}
