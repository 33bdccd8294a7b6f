//! `peloton tune`: finds the fastest instruction set level and gang size of this machine.

use crate::options::{JobArgs, host};
use crate::report::PageArgs;
use crate::text;
use crate::throughput::PlanArgs;
use clap::Args;
use peloton::{Error, Result};
use peloton_io::output::{JobFiles, write_whole};
use std::path::PathBuf;
use std::process::ExitCode;

/// Find the fastest instruction set level and gang size of this CPU
///
/// Reconstructs events in memory with every instruction set and gang size of this build that the CPU can run, on one
/// thread unless --threads gives more, and writes a profile that the other commands read with --profile. --isa and
/// --gang restrict the scan. Programs built with the cargo feature all-gangs have all gang sizes.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton tune events.ndjson.zst --output this-cpu.toml
  peloton throughput events.ndjson.zst --profile this-cpu.toml
  peloton tune sim:velo,events=1000 --isa avx2 --seconds 1
  peloton tune sim:velo --report tune.html   all levels and gangs as heat maps
  peloton tune --sequence cylinder sim:cylinder,events=2,tracks=10000")]
pub struct Tune {
    /// File for the profile [default: peloton-profile.toml, or no file if --json is given]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    job: JobArgs,
}

impl Tune {
    /// Adds to `files` the files that the command reads and writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.job.name_files(files);
        self.page.name_files(files);
        files.written("--output", self.output());
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let Some(mut request) = self.job.request("tune", &[])? else { return Ok(ExitCode::SUCCESS) };
        if self.job.config.threads.is_none() {
            request.config.threads = Some(1);
        }
        let tuned = peloton_job::tune(&request, self.plan.plan(0.5), host(&self.job.report.terminal()))?;
        let output = self.output();
        let name = output.as_ref().map_or("a profile".into(), |path| path.display().to_string());
        if !tuned.is_complete {
            let message = format!("interrupted before every level was measured: {name} was not written");
            return Err(Error::format("tune", message));
        }
        let mut text = text::tuned(&tuned);
        if let Some(path) = &output {
            write_whole(path, tuned.profile.to_toml().as_bytes())?;
            text.push_str(&format!("\nwritten to {name}\n"));
        }
        let about = peloton_job::about("tune", &request);
        self.page.report(&self.job.report.beside(output.as_ref()), &text, about, &tuned.profile)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the file for the profile; none if results are written as JSON and no file is requested.
    fn output(&self) -> Option<PathBuf> {
        let default = || self.job.report.json.is_none().then(|| "peloton-profile.toml".into());
        self.output.clone().or_else(default)
    }
}
