//! `peloton simulate`: writes simulated events with their truth.

use super::options::ReportArgs;
use super::sink::ByteSink;
use super::source::{detector, open_geometry};
use super::{console, cylinder, interrupt, timepix};
use crate::event::{RawBatch, VeloBatch};
use crate::input::write_velo_json;
use crate::output::{JobFiles, is_standard_output};
use crate::truth::simulate::{LhcbReader, SimDetector, SimReader, SimSpec};
use crate::{Error, Result};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Events that are simulated at once.
const BATCH: usize = 64;

/// Write simulated events with their truth
///
/// One seed gives the same bytes on every machine.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton simulate --detector velo --events 1000 --seed 7 --output events.ndjson.zst
  peloton simulate --detector velo --events 10 --seed 1 --output - | peloton check -
  peloton simulate --detector lhcb --events 1000 --output events.mdf
  peloton simulate --detector timepix,preset=pion45 --events 1000000 --output hits.tpx3")]
pub struct Simulate {
    /// Detector: velo, lhcb, timepix; with parameters, if any: lhcb,velo=superpixel,signal=b or what sim:timepix
    /// takes, such as timepix,preset=lead0,rate=1e6
    #[arg(long, value_name = "D", default_value = "velo")]
    detector: String,
    /// Folder of the detector's geometry files, for lhcb [default: nominal]
    #[arg(long, value_name = "DIR")]
    geometry: Option<PathBuf>,
    /// How many events, or pixel hits
    #[arg(long, value_name = "N", default_value_t = 1000)]
    events: u64,
    /// Seed: other seeds give other events
    #[arg(long, value_name = "K", default_value_t = 1)]
    seed: u64,
    /// velo: NDJSON, one event a line, .ndjson, .ndjson.zst, or `-` for standard output; lhcb: MDF, .mdf or `-`;
    /// pixel hits: .tpx3, .bin (records of 16 bytes) or .txt (burda)
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    report: ReportArgs,
}

impl Simulate {
    /// Adds what is read and written.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.read("--geometry", &self.geometry);
        self.report.name_files(files);
        files.written("--output", [&self.output]);
    }

    /// Does it.
    pub fn execute(&self) -> Result<ExitCode> {
        let Self { detector, events, seed, .. } = self;
        if detector.split(',').next() == Some("timepix") {
            let (name, rest) = detector.split_once(',').unwrap_or((detector, ""));
            // What the specification says itself goes before the flags.
            let spec = format!("sim:{name},hits={events},seed={seed},{rest}");
            return timepix::simulate(&spec.trim_end_matches(',').parse()?, &self.output, &self.report);
        }
        if detector.split(',').next() == Some("cylinder") {
            let (name, rest) = detector.split_once(',').unwrap_or((detector, ""));
            // What the specification says itself goes before the flags.
            let spec = format!("sim:{name},events={events},seed={seed},{rest}");
            return cylinder::simulate(spec.trim_end_matches(',').parse()?, &self.output, &self.report);
        }
        let spec: SimSpec = format!("sim:{detector},events={events},seed={seed}").parse()?;
        if spec.detector == SimDetector::Lhcb {
            return self.write_raw(spec);
        }
        let mut simulation = SimReader::new(spec);
        let mut sink = ByteSink::create(&self.output)?;
        let progress = console::progress(Some(*events), self.report.quiet);
        let (mut hits, mut truth) = (VeloBatch::default(), Vec::new());
        let mut written = (0u64, 0u64);
        while !interrupt::requested() && simulation.read(BATCH, &mut hits, &mut truth)? > 0 {
            for (event, truth) in truth.iter().enumerate() {
                write_velo_json(hits.view().event(event), Some(truth), &mut sink)
                    .map_err(|e| Error::io(&self.output, e))?;
            }
            progress.inc(hits.len() as u64);
            written = (written.0 + hits.len() as u64, written.1 + hits.x.len() as u64);
            hits.clear();
            truth.clear();
        }
        sink.finish()?.finish()?;
        progress.finish_and_clear();
        self.tell(written, "hits")
    }

    /// Raw events, as MDF.
    fn write_raw(&self, spec: SimSpec) -> Result<ExitCode> {
        let geometry = open_geometry(self.geometry.as_deref(), true)?;
        let mut simulation = LhcbReader::new(spec, 0, None);
        let mut sink = ByteSink::create(&self.output)?;
        let progress = console::progress(Some(self.events), self.report.quiet);
        let (mut batch, mut written) = (RawBatch::default(), (0, 0));
        while !interrupt::requested()
            && let Some(event) = simulation.next(&detector(&geometry))
        {
            event.write(&mut sink).map_err(|e| Error::io(&self.output, e))?;
            batch.clear();
            event.push(&mut batch);
            written = (written.0 + 1, written.1 + batch.words() as u64);
            progress.inc(1);
        }
        sink.finish()?.finish()?;
        progress.finish_and_clear();
        self.tell(written, "words")
    }

    /// Says how many events were written, and how many hits or words of raw banks.
    fn tell(&self, written: (u64, u64), what: &str) -> Result<ExitCode> {
        let Self { detector, seed, .. } = self;
        let json = serde_json::json!({
            "detector": detector, "events": written.0, "seed": seed, what: written.1, "output": self.output,
        });
        let text = format!("{} events, {} {what}: {}\n", written.0, written.1, self.output.display());
        let mut report = self.report.clone();
        report.quiet |= is_standard_output(&self.output);
        report.report(&text, &json)?;
        Ok(ExitCode::SUCCESS)
    }
}
