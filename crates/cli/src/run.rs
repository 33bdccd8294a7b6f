//! `peloton run`: reconstructs events and writes the results, for a whole job or for parts of a plan.

use crate::console;
use crate::interrupt::{self, CANCEL};
use crate::options::{JobArgs, given, host, outcome};
use crate::text;
use clap::Args;
use peloton::{Error, Result};
use peloton_io::input::Format;
use peloton_io::output::{Fields, JobFiles, TableCompression, is_no_file};
use peloton_job::{EventRange, OutputOptions, Request, Summary};
use peloton_plan::{Plan, Ran, run_part};
use peloton_plot::text::count;
use serde_json::json;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Reconstruct events and write the results
///
/// The printed rate counts the time of the reconstruction alone, from input in memory to results in memory: reading and
/// writing run at the same time. The time of the whole job is printed, too.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton run events.ndjson.zst --output tracks.parquet
  peloton run events/ --events 0:100 --output - | head -1
  peloton run events/ --output tracks.ndjson.zst --named-fields
  zcat events.gz | peloton run - --threads 4 --json summary.json
  peloton run --sequence long b.mdf --write velo_tracks,long_tracks -o t.parquet
  peloton run --plan plan.json --part 17 --output tracks/

Of each sequence:
  peloton run --sequence velo events.ndjson.zst --output tracks.parquet
  peloton run --sequence velo-ut b.mdf --geometry geometry/ --preset hlt1
  peloton run --sequence scifi b.mdf --geometry geometry/ --output t.parquet
  peloton run --sequence long sim:lhcb,events=100 --output tracks.ndjson
  peloton run --sequence long-ut sim:lhcb,events=100 --output t.parquet
  peloton run --sequence ut b.mdf --geometry geometry/ --output hits.parquet
  peloton run --sequence scifi-hits sim:lhcb,events=9 --output - | head -1
  peloton run --sequence timepix hits.tpx3 --output clusters.parquet
  peloton run --sequence own --config own.toml sim:lhcb,events=9
  peloton run --sequence cylinder toy.bin.zst --builder standard
  peloton run --sequence cylinder-fit toy.bin.zst --output fits.parquet")]
pub struct Run {
    /// Write the results to this file. The ending gives the format: .parquet (all columns; a row per event, or per
    /// cluster of pixels); .ndjson or .ndjson.zst (a JSON object per line: a cluster, or an event with its numbers, its
    /// status, and its tracks as lists of hit ids or its hits as columns); .clog (clusters only). `-` writes NDJSON to
    /// standard output instead of the text. docs/columns.md lists all columns. The file appears under its name when it
    /// is complete. With --plan, name a folder: part 17 writes part-00017.parquet, then part-00017.json when complete
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// In NDJSON, write each track as an object instead of a list of hit ids (in the sequences ut and scifi-hits each
    /// hit as an object): all its columns, by the names that `peloton describe --sequence S` lists
    #[arg(long, requires = "output", conflicts_with = "plan")]
    named_fields: bool,
    /// In .parquet, write only these columns, by the names that `peloton describe --sequence S` lists [default: all]
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',', requires = "output")]
    columns: Vec<String>,
    /// Compression of the columns of .parquet: zstd[:N] (N from 1 to 22), lz4, none
    #[arg(long, value_name = "METHOD", default_value_t, requires = "output")]
    compression: TableCompression,
    /// Run parts of this plan, which `peloton plan` made, instead of inputs from the command line
    #[arg(long, value_name = "FILE", requires_all = ["part", "output"])]
    plan: Option<PathBuf>,
    /// Number of the part, counted from 0, or FIRST:COUNT for several parts, one after the other (`:` for all parts).
    /// Completed parts are skipped
    #[arg(long, value_name = "K", requires = "plan", value_parser = parts)]
    part: Option<EventRange>,
    /// Run parts even if they are complete, and even if the folder has parts of another plan or of other options
    #[arg(long, requires = "plan")]
    force: bool,
    #[command(flatten)]
    job: JobArgs,
}

/// Parses one number, or FIRST:COUNT.
fn parts(text: &str) -> std::result::Result<EventRange, String> {
    match text.parse() {
        Ok(first) => Ok(EventRange { first, count: Some(1) }),
        Err(_) if text.contains(':') => text.parse().map_err(|e: Error| e.to_string()),
        Err(_) => Err(format!("`{text}` is neither a number from 0 nor FIRST:COUNT")),
    }
}

impl Run {
    /// Adds to `files` the files that the command reads and writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.job.name_files(files);
        files.read("--plan", &self.plan);
        if self.plan.is_none() {
            files.written("--output", &self.output);
        }
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        if let (Some(plan), Some(parts), Some(output)) = (&self.plan, self.part, &self.output) {
            return self.run_parts(&Plan::read(plan)?, parts, output);
        }
        let own = given(&[("--named-fields", self.named_fields)]);
        let Some(mut request) = self.job.request("run", &own)? else { return Ok(ExitCode::SUCCESS) };
        request.output = self.output_options()?;
        let report = self.job.report.beside(self.output.as_ref());
        let summary = peloton_job::run(&request, self.output.as_deref(), host(&report.terminal()))?;
        if summary.is_interrupted {
            interrupt::keep(self.kept(&summary));
        }
        report.report(&summary.text(), &summary)?;
        Ok(outcome(summary.failure, true))
    }

    /// A description of the partial results of an interrupted run.
    fn kept(&self, summary: &Summary) -> String {
        let made = count(summary.events as usize, summary.row);
        match self.output.as_deref() {
            Some(path) if is_no_file(path) => format!("the first {made} were written"),
            Some(path) => format!("{} holds the first {made}", path.display()),
            None => format!("results of the first {made} follow"),
        }
    }

    /// The format of the output and its options.
    ///
    /// # Errors
    /// Returns [`Error::Config`] for named fields in a format that always names all columns.
    fn output_options(&self) -> Result<OutputOptions> {
        let is_parquet = |path: &PathBuf| path.extension().is_some_and(|end| end == "parquet");
        if self.named_fields && self.output.as_ref().is_some_and(is_parquet) {
            let message = "--named-fields is for NDJSON: Parquet has all columns by their names";
            return Err(Error::Config(message.into()));
        }
        let fields = if self.named_fields { Fields::Named } else { Fields::Lists };
        Ok(OutputOptions { fields, columns: self.columns.clone(), compression: self.compression })
    }

    /// Runs these parts one after the other; a part that fails does not stop the others.
    fn run_parts(&self, plan: &Plan, parts: EventRange, output: &Path) -> Result<ExitCode> {
        let Some(request) = self.request_of(plan)? else { return Ok(ExitCode::SUCCESS) };
        let terminal = self.job.report.terminal();
        let (mut done, mut failure) = (Vec::new(), None);
        let is_one = parts.count == Some(1);
        for part in numbers(plan, parts)? {
            match run_part(plan, part, output, &request, self.force, host(&terminal)) {
                Ok(ran) => done.push(ran),
                Err(error) if is_one || error.is_usage() || CANCEL.is_requested() => {
                    let whole = count(done.len(), "whole part");
                    interrupt::keep(format!("{} holds {whole}", output.display()));
                    return Err(error);
                }
                Err(error) => {
                    console::warning(&format!("part {part}: {error}"));
                    failure = Some(format!("part {part} failed; see above"));
                }
            }
        }
        let text: String = done.iter().map(text::part).collect();
        let reports: Vec<_> = done.iter().map(|Ran { report, .. }| report).collect();
        match &reports[..] {
            [report] if is_one => self.job.report.report(&text, report)?,
            reports => self.job.report.report(&text, &json!(reports))?,
        }
        Ok(outcome(failure, true))
    }

    /// Makes the request for running parts; the plan replaces the flags that name inputs.
    fn request_of(&self, plan: &Plan) -> Result<Option<Request>> {
        let input = &self.job.input;
        let given = given(&[
            ("INPUT", !input.inputs.is_empty()),
            ("--format", input.format != Format::Auto),
            ("--events", input.events != EventRange::default()),
            ("--max-bad", input.max_bad.is_some()),
        ]);
        if let Some(flag) = given.first() {
            let message = match *flag {
                "--max-bad" => "--max-bad is for all parts together: give it to `peloton manifest`".into(),
                flag => format!("{flag} cannot be combined with --plan, which gives the input of each part"),
            };
            return Err(Error::Config(message));
        }
        let mut job = self.job.clone();
        if let Some(first) = plan.inputs.first() {
            job.input.inputs = vec![first.path.clone()];
            job.input.format = first.format.parse()?;
        }
        let request = job.request("run", &[])?;
        request.map(|request| Ok(Request { output: self.output_options()?, ..request })).transpose()
    }
}

/// Returns the numbers of the parts that `--part` names.
fn numbers(plan: &Plan, parts: EventRange) -> Result<Range<usize>> {
    let all = plan.parts.len();
    let end = parts.count.map_or(all, |count| parts.first.saturating_add(count));
    if parts.first >= all || end > all {
        return Err(Error::Config(format!("--part: the plan has the parts 0 to {}", all.saturating_sub(1))));
    }
    Ok(parts.first..end)
}
