//! `peloton tune`: which level and gang size is the fastest here.

use crate::options::{Auto, ConfigArgs, InputArgs, ReportArgs, SequenceArgs, host};
use crate::throughput::PlanArgs;
use clap::Args;
use peloton::{Error, Result};
use peloton_io::output::{JobFiles, write_whole};
use peloton_job::text;
use std::path::PathBuf;
use std::process::ExitCode;

/// Find the fastest instruction set level and gang size of this CPU
///
/// Runs the events on every level and gang size of this build, on one thread unless --threads says otherwise, and writes a
/// profile that the other commands read with --profile. --isa and --gang narrow the scan. All gang sizes are in
/// programs built with the cargo feature all-gangs.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton tune events.ndjson.zst --output this-cpu.toml
  peloton throughput events.ndjson.zst --profile this-cpu.toml
  peloton tune --isa avx2 --seconds 1
  peloton tune --sequence cylinder sim:cylinder,events=2,tracks=10000")]
pub struct Tune {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Where to write the profile
    #[arg(long, short, value_name = "FILE", default_value = "peloton-profile.toml")]
    output: PathBuf,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    sequence: SequenceArgs,
}

impl Tune {
    /// Adds what is read and written.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.input.name_files(files);
        self.config.name_files(files);
        self.sequence.name_files(files);
        self.report.name_files(files);
        files.written("--output", [&self.output]);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let mut flags = self.config.clone();
        flags.threads = flags.threads.or(Some(Auto(Some(1))));
        let Some(config) = flags.load(&self.sequence)? else { return Ok(ExitCode::SUCCESS) };
        let request = self.input.request(config, &flags, &self.sequence)?;
        let tuned = peloton_job::tune(&request, self.plan.plan(0.5), host(&self.report.terminal()))?;
        let output = self.output.display();
        if !tuned.is_complete {
            let message = format!("interrupted before every level was measured: {output} was not written");
            return Err(Error::format("tune", message));
        }
        write_whole(&self.output, tuned.profile.to_toml().as_bytes())?;
        let text = format!("{}\nwritten to {output}\n", text::tuned(&tuned.profile, tuned.threads));
        self.report.beside(Some(&self.output)).report(&text, &tuned.profile)?;
        Ok(ExitCode::SUCCESS)
    }
}
