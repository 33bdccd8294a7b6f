//! `peloton throughput`: events from memory, again and again.

use super::device::Device;
use super::measure::{Plan, load, measure};
use super::options::{ConfigArgs, InputArgs, ReportArgs};
use super::settings::Settings;
use super::{cylinder, describe, device_throughput, interrupt, timepix};
use crate::Result;
use crate::event::{SciFiBatch, UtBatch, VeloTracks};
use crate::output::{JobFiles, Summary};
use crate::pipeline::{Product, Sequence};
use clap::Args;
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;

/// Measure events/s, with events from memory
///
/// The wall clock runs from hit columns or raw banks in memory to output columns in memory, which each thread
/// overwrites slice by slice; reading is outside. Nothing is kept from pass to pass. Passes before and after the
/// timed ones must give the same hash, and every timed slice as many tracks and hits.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton throughput
  peloton throughput events.ndjson.zst --threads 1
  peloton throughput events.ndjson.zst --isa avx2 --gang 16 --repetitions 100 --json throughput.json")]
pub struct Throughput {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Where it runs: cpu, gpu, or emulated (the GPU's kernels on the CPU, for tests); on a device --threads is the
    /// number of streams, and --slice the events of a slice
    #[arg(long, value_name = "DEVICE", default_value_t)]
    device: Device,
    /// On a device, measure slices and numbers of streams, too
    #[arg(long)]
    scan: bool,
    /// Passes over all events [default: as many as fill --seconds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    repetitions: Option<u64>,
    /// Time to fill with passes
    #[arg(long, value_name = "T", default_value_t = 3.0, value_parser = seconds, conflicts_with = "repetitions")]
    seconds: f64,
}

/// The contract's keys, and what belongs to repeated passes alone.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    summary: Summary,
    repetitions: u64,
    seconds: f64,
    /// Rate of the fastest round of passes.
    events_per_second_best: f64,
    /// Raw banks that went in; null for hits.
    bytes_per_second: Option<f64>,
}

impl Throughput {
    /// Adds what is read and written.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.input.name_files(files);
        self.config.name_files(files);
        self.report.name_files(files);
    }

    /// Does it.
    pub fn execute(&self) -> Result<ExitCode> {
        let Some(config) = self.config.load()? else { return Ok(ExitCode::SUCCESS) };
        if config.sequence == Sequence::Timepix {
            let plan = (self.repetitions, Duration::from_secs_f64(self.seconds));
            let device = (self.device, self.scan);
            return timepix::throughput(&config, &self.config, &self.input, &self.report, plan, device);
        }
        if config.sequence == Sequence::Cylinder {
            let plan = (self.repetitions, Duration::from_secs_f64(self.seconds));
            if self.device == Device::Cpu {
                return cylinder::throughput(&config, &self.input, &self.report, plan);
            }
            let streams = self.config.threads.and_then(|threads| threads.0);
            let io = (&self.input, &self.report);
            return cylinder::device_throughput(
                self.device,
                &config,
                io,
                plan,
                (streams, self.config.slice, self.scan),
            );
        }
        let plan = Plan { passes: self.repetitions, time: Duration::from_secs_f64(self.seconds) };
        if self.device != Device::Cpu {
            let flags = (&self.config, &self.input, &self.report);
            return device_throughput::throughput(self.device, &config, flags, plan, self.scan);
        }
        let settings = Settings::new(config)?;
        match settings.config.sequence {
            Sequence::Ut => self.execute_with::<UtBatch>(settings),
            Sequence::SciFi => self.execute_with::<SciFiBatch>(settings),
            Sequence::Velo | Sequence::Timepix | Sequence::Cylinder => {
                self.execute_with::<VeloTracks>(settings)
            }
        }
    }

    /// Measures a sequence that makes this.
    fn execute_with<P: Product>(&self, settings: Settings) -> Result<ExitCode> {
        let mut source = self.input.open(&settings.config, false, &self.report)?;
        let Settings { config, engine, pool } = settings.for_source(&source);
        let events = load(&mut source, &self.report)?;
        let plan = Plan { passes: self.repetitions, time: Duration::from_secs_f64(self.seconds) };
        let measured = measure::<P>(&engine, &pool, &events, plan)?;
        let summary = Summary::new(
            &engine,
            config.preset_name(),
            pool.threads(),
            &measured.counters,
            (measured.tracks, events.hits(&measured.counters, measured.passes)),
            measured.hashes,
            (measured.passes, measured.time),
        );
        let bytes = engine.bank_bytes(events.view()).map(|bytes| (bytes * measured.passes) as f64);
        let report = Report {
            summary,
            repetitions: measured.passes,
            seconds: measured.time.as_secs_f64(),
            events_per_second_best: events.len() as f64 / measured.best_pass.as_secs_f64(),
            bytes_per_second: bytes.map(|bytes| bytes / measured.time.as_secs_f64()),
        };
        let mut text = describe::summary(&report.summary);
        text.push_str(&format!(
            "{} passes in {:.2} s, equal hashes; fastest round {:.0} events/s\n",
            report.repetitions, report.seconds, report.events_per_second_best
        ));
        if let Some(rate) = report.bytes_per_second {
            text.push_str(&format!("{:.1} million bytes/s of raw banks\n", rate / 1e6));
        }
        if interrupt::requested() {
            text.push_str("interrupted: these are the passes so far\n");
        }
        self.report.report(&text, &report)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A number of seconds that a clock can hold.
pub fn seconds(text: &str) -> std::result::Result<f64, String> {
    let wrong = || format!("`{text}` is not a number of seconds from 0 to 1e6");
    text.parse().ok().filter(|seconds| (0.0..=1e6).contains(seconds)).ok_or_else(wrong)
}
