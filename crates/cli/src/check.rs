//! `peloton check`: reconstructs events, or takes tracks made elsewhere, and compares with the truth.

use crate::options::{JobArgs, host, outcome};
use clap::Args;
use peloton::Result;
use peloton_io::output::JobFiles;
use peloton_job::{CheckOptions, CheckRules};
use std::path::PathBuf;
use std::process::ExitCode;

/// Reconstruct events and compare with the truth: efficiency, ghosts, clones
///
/// A line reads: found/particles efficiency (mean over events) [68 % interval], clones (rate), purity, hit
/// efficiency. Of pixel hits: whether all algorithms find the same clusters, and every hit is accounted for.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton check events.ndjson.zst
  peloton check sim:velo,events=1000,seed=7 --rules lhcb --json check.json
  peloton check --sequence cylinder toy.bin.zst --preset paper --builder best-hit
  peloton check events.ndjson --losses                  why particles are missed, what false tracks are
  peloton check events.ndjson --tracks tracks.ndjson    score tracks made elsewhere")]
pub struct Check {
    /// What counts as found: json (the public events' strict validator), lhcb (of Velo tracks), and for tracks of
    /// LHCbIDs made elsewhere lhcb-ut, lhcb-seed, lhcb-long; of the sequence cylinder cylinder [default: cylinder for
    /// that, json for files of hits, else lhcb]
    #[arg(long, value_name = "RULES")]
    rules: Option<CheckRules>,
    /// Also print efficiencies against momentum, angles, origin and event size, and ghosts against length
    #[arg(long)]
    tables: bool,
    /// Also print why Velo particles are missed, and what false tracks and clones are made of, by the json rules;
    /// of tracks made here, from events of hits
    #[arg(long, conflicts_with = "tracks")]
    losses: bool,
    /// Check these tracks instead of own ones: NDJSON, line i is event i, a list of tracks, each a list of
    /// hit ids
    #[arg(long, value_name = "FILE")]
    tracks: Option<PathBuf>,
    #[command(flatten)]
    job: JobArgs,
}

impl Check {
    /// Adds what is read and written.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.job.name_files(files);
        files.read("--tracks", &self.tracks);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let Some(request) = self.job.request()? else { return Ok(ExitCode::SUCCESS) };
        let options = CheckOptions {
            rules: self.rules,
            tables: self.tables,
            losses: self.losses,
            tracks: self.tracks.clone(),
        };
        let checked = peloton_job::check(&request, &options, host(&self.job.report.terminal()))?;
        self.job.report.report(&checked.text, &checked)?;
        Ok(outcome(checked.failure, checked.is_right))
    }
}
