//! `peloton check`: compares reconstructed events, or tracks that another program found, with the truth.

use crate::options::{ConfigArgs, JobArgs, given, host, outcome};
use crate::report::PageArgs;
use clap::Args;
use peloton::{Error, Result};
use peloton_io::output::JobFiles;
use peloton_job::{CheckOptions, CheckRules, truth_files};
use std::path::PathBuf;
use std::process::ExitCode;

/// Reconstruct events and compare the tracks with the truth: efficiency, ghosts, clones
///
/// The output has a line for each category of particles: found/particles efficiency (mean over events) [68 % interval],
/// clones (rate), purity, hit efficiency. Pixel hits have no true particles: instead the command checks that all
/// algorithms find the same clusters, and that each hit is in a cluster or counted as dropped.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton check events.ndjson.zst
  peloton check sim:velo,events=1000,seed=7 --rules lhcb --json check.json
  peloton check sim:velo --losses --report check.html  a page with figures
  peloton check events.ndjson --losses                 why particles are missed
  peloton check events.ndjson --tracks tracks.ndjson   another program's tracks
  peloton check events.ndjson --against other.ndjson   two sets of tracks
  peloton check --sequence long sim:lhcb --losses      the steps that lose them

Of each sequence:
  peloton check --sequence velo events.ndjson.zst
  peloton check --sequence velo-ut sim:lhcb,events=200,signal=b --preset paper
  peloton check --sequence scifi b.mdf --geometry geometry/ --tables
  peloton check --sequence long sim:lhcb,events=200 --report long.html
  peloton check --sequence timepix hits.t3pa           do all algorithms agree?
  peloton check --sequence cylinder toy.bin.zst --builder best-hit
  peloton check --sequence cylinder-fit sim:cylinder,tracks=1000")]
pub struct Check {
    /// Rules that decide whether a particle counts as found. For Velo tracks: json (the strict validator of the public
    /// JSON events) or lhcb (LHCb's track checker). For tracks of LHCbIDs from --tracks: also lhcb-ut, lhcb-seed,
    /// lhcb-long. For tracks of the cylinder detector: cylinder [default: json for files of hits, lhcb for other Velo
    /// events, cylinder for the cylinder detector]
    #[arg(long, value_name = "RULES")]
    rules: Option<CheckRules>,
    /// Also print efficiencies by momentum, angles, origin and event size, and ghost rates by properties of tracks
    #[arg(long)]
    tables: bool,
    /// Also print why particles were lost. For velo-ut, scifi, long, long-ut and cylinder: the number lost at each step
    /// of the search, such as too few hits, cuts, or hits taken by other tracks. For velo, only with hits as input, not
    /// raw banks: the causes of missed Velo particles, ghosts and clones, by the json rules
    #[arg(long, conflicts_with = "tracks")]
    losses: bool,
    /// Check the tracks in this file instead of reconstructing events. A line is an event: an object as `run --output`
    /// writes to NDJSON, with its event number, or a list of tracks (each a list of hit ids), line i for event i
    #[arg(long, value_name = "FILE")]
    tracks: Option<PathBuf>,
    /// Also compare with a second set of tracks, from this file in the format of --tracks: count the particles found in
    /// both sets, in only one set, or in neither
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Also write two tables. NAME.parquet stands for two files: NAME.particles.parquet, all particles (key, PDG code,
    /// momentum, origin, categories, whether found, hit efficiency), and NAME.tracks.parquet, all tracks (particle,
    /// purity, ghost or clone). docs/columns.md lists the columns
    #[arg(long, value_name = "NAME.parquet")]
    truth_output: Option<PathBuf>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    job: JobArgs,
}

impl Check {
    /// Adds to `files` the files that the command reads and writes.
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
