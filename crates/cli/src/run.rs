//! `peloton run`: reconstructs events and writes the tracks.

use super::options::{ConfigArgs, InputArgs, ReportArgs};
use super::reconstruct::reconstruct;
use super::settings::Settings;
use super::sink::{Sink, metadata};
use super::{cylinder, describe, interrupt, timepix};
use clap::Args;
use peloton::Result;
use peloton::event::{SciFiBatch, UtBatch, VeloTracks};
use peloton::pipeline::{Product, Sequence};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Reconstruct events and write the tracks
///
/// The rate is that of the reconstruction, from hits in memory to tracks in memory; reading and writing run
/// beside it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton run events.ndjson.zst --output tracks.parquet
  peloton run events/ --events 0:100 --output - --quiet | head -1
  peloton run --sequence cylinder toy.bin.zst --builder standard --output tracks.parquet
  zcat events.gz | peloton run - --threads 4 --json summary.json")]
pub struct Run {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Write the results: .parquet (one row an event or cluster, all columns: see docs/columns.md), .ndjson or .ndjson.zst,
    /// or `-` (NDJSON to standard output, instead of the text). NDJSON has one line an event: of tracks a list of tracks,
    /// each a list of hit ids; of hits (sequences ut and scifi) their columns; or one line a cluster. Clusters of pixels also
    /// as .clog
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Run {
    /// Does it.
    pub fn execute(&self) -> Result<ExitCode> {
        if let Some(config) = self.config.pixels()? {
            return timepix::run(&config, &self.config, &self.input, &self.report, self.output.as_deref());
        }
        if let Some(config) = self.config.cylinder()? {
            return cylinder::run(&config, &self.input, &self.report, self.output.as_deref());
        }
        let Some(settings) = self.config.settings()? else { return Ok(ExitCode::SUCCESS) };
        match settings.config.sequence {
            Sequence::Ut => self.execute_with::<UtBatch>(settings),
            Sequence::SciFi => self.execute_with::<SciFiBatch>(settings),
            Sequence::Velo | Sequence::Timepix | Sequence::Cylinder => {
                self.execute_with::<VeloTracks>(settings)
            }
        }
    }

    /// Runs a sequence that makes this.
    fn execute_with<P: Product>(&self, settings: Settings) -> Result<ExitCode> {
        let mut source = self.input.open(&settings.config, false, &self.report)?;
        let settings = settings.for_source(&source);
        let output = self.output.as_deref();
        let (inputs, geometry) = (&self.input.inputs, self.input.geometry.as_deref());
        let metadata = metadata(&settings.config, settings.engine.level(), inputs, geometry);
        let mut sink = output.map(|path| Ok((path, Sink::create(path, &metadata)?))).transpose()?;
        let mut report = self.report.clone();
        report.quiet |= output == Some(Path::new("-"));

        let made = reconstruct::<P>(&settings, &mut source, (self.input.strict, report.quiet), |chunk| {
            let Some((path, sink)) = &mut sink else { return Ok(()) };
            let mut event_ids = chunk.events.event_ids();
            for piece in chunk.result.slices() {
                let (these, rest) = event_ids.split_at(piece.statuses().len());
                sink.write(these, piece, path)?;
                event_ids = rest;
            }
            Ok(())
        });
        // What was made before an error is written, and what was seen told.
        let hashes = made.as_ref().ok().map(|summary| summary.hashes);
        let written = sink.map_or(Ok(()), |(path, sink)| sink.finish(path, hashes));
        source.say_problems(&self.report);
        let summary = made?;
        written?;
        self.input.say_if_beyond(summary.events, &self.report);
        let mut text = describe::summary(&summary);
        if interrupt::requested() {
            text.push_str("interrupted: these are the events so far\n");
        }
        report.report(&text, &summary)?;
        Ok(ExitCode::SUCCESS)
    }
}
