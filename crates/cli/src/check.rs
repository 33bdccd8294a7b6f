//! `peloton check`: reconstructs events, or reads tracks made elsewhere, and compares them with the truth.

use crate::options::{ConfigArgs, JobArgs, given, host, outcome};
use crate::report::PageArgs;
use clap::Args;
use peloton::{Error, Result};
use peloton_io::output::JobFiles;
use peloton_job::{CheckOptions, CheckRules, truth_files};
use std::path::PathBuf;
use std::process::ExitCode;

/// Reconstruct events and compare with the truth: efficiency, ghosts, clones
///
/// Each category of particles has a line: found/particles efficiency (mean over events) [68 % interval], clones
/// (rate), purity, hit efficiency. Pixel hits have no true particles: the check is whether all algorithms find the
/// same clusters, and whether every hit is in a cluster or counted as dropped.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton check events.ndjson.zst
  peloton check sim:velo,events=1000,seed=7 --rules lhcb --json check.json
  peloton check sim:velo --losses --report check.html  a page with figures
  peloton check events.ndjson --losses                 why particles are missed
  peloton check events.ndjson --tracks tracks.ndjson   tracks made elsewhere
  peloton check events.ndjson --against other.ndjson   beside other tracks
  peloton check --sequence long sim:lhcb --losses      at which step they are

Of each sequence:
  peloton check --sequence velo events.ndjson.zst
  peloton check --sequence velo-ut sim:lhcb,events=200,signal=b --preset paper
  peloton check --sequence scifi b.mdf --geometry geometry/ --tables
  peloton check --sequence long sim:lhcb,events=200 --report long.html
  peloton check --sequence timepix hits.t3pa           do all algorithms agree?
  peloton check --sequence cylinder toy.bin.zst --builder best-hit
  peloton check --sequence cylinder-fit sim:cylinder,tracks=1000")]
pub struct Check {
    /// Rules that decide which particles are found. Velo tracks: json (the strict validator of the public JSON
    /// events) or lhcb (LHCb's track checker). Tracks of LHCbIDs made elsewhere (--tracks): also lhcb-ut, lhcb-seed,
    /// lhcb-long. Tracks of the cylinder detector: cylinder [default: json for files of hits, lhcb for other Velo
    /// events, cylinder for the cylinder detector]
    #[arg(long, value_name = "RULES")]
    rules: Option<CheckRules>,
    /// Also print efficiencies against momentum, angles, origin and event size, and ghosts against length
    #[arg(long)]
    tables: bool,
    /// Also print where particles were lost. For velo-ut, scifi, long, long-ut and cylinder: at which step, from hits
    /// in too few layers to other tracks that took their place. For velo, with events of hits and not of raw banks:
    /// why Velo particles are missed, and the causes of ghosts and clones, by the json rules
    #[arg(long, conflicts_with = "tracks")]
    losses: bool,
    /// Check these tracks instead of reconstructing: NDJSON as `run --output` writes it, matched by the numbers of
    /// the events, or bare lists of tracks, each a list of hit ids, where line i is event i
    #[arg(long, value_name = "FILE")]
    tracks: Option<PathBuf>,
    /// Also compare with the tracks of this file, in the format of --tracks, particle by particle: found by both, by
    /// one alone, by neither
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Also write the result for every particle and every track: for NAME.parquet, NAME.particles.parquet (key, PDG
    /// code, momentum, origin, categories, whether it was found, hit efficiency) and NAME.tracks.parquet (its
    /// particle, purity, ghost or clone); docs/columns.md lists the columns
    #[arg(long, value_name = "NAME.parquet")]
    truth_output: Option<PathBuf>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    job: JobArgs,
}

impl Check {
    /// Adds the files that the command reads and writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.job.name_files(files);
        self.page.name_files(files);
        files.read("--tracks", &self.tracks);
        files.read("--against", &self.against);
        let tables = self.truth_output.as_deref().map(truth_files).and_then(Result::ok);
        files.written("--truth-output", tables.into_iter().flatten());
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let own = given(&[
            ("--rules", self.rules.is_some()),
            ("--tables", self.tables),
            ("--losses", self.losses),
            ("--tracks", self.tracks.is_some()),
            ("--against", self.against.is_some()),
            ("--truth-output", self.truth_output.is_some()),
        ]);
        let Some(request) = self.job.request("check", &own)? else { return Ok(ExitCode::SUCCESS) };
        let ConfigArgs { preset, isa, gang, slice, profile, .. } = &self.job.config;
        let of_reconstruction = given(&[
            ("--preset", preset.is_some()),
            ("--isa", isa.is_some()),
            ("--gang", gang.is_some()),
            ("--slice", slice.is_some()),
            ("--profile", profile.is_some()),
        ]);
        if let (Some(_), Some(flag)) = (&self.tracks, of_reconstruction.first()) {
            let message = format!("{flag} has no effect with --tracks: nothing is reconstructed");
            return Err(Error::Config(message));
        }
        let options = CheckOptions {
            rules: self.rules,
            tables: self.tables,
            losses: self.losses,
            tracks: self.tracks.clone(),
            against: self.against.clone(),
            truth_output: self.truth_output.clone(),
        };
        let checked = peloton_job::check(&request, &options, host(&self.job.report.terminal()))?;
        let about = peloton_job::about("check", &request);
        self.page.report(&self.job.report, &checked.text, about, &checked)?;
        Ok(outcome(checked.failure, checked.is_right))
    }
}
