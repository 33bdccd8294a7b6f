//! `peloton reproduce`: reproduces tables and figures of five published papers.

use crate::console;
use crate::options::{Auto, ReportArgs, command_line, host};
use crate::throughput::seconds;
use clap::Args;
use peloton::{Error, Result};
use peloton_io::output::{JobFiles, is_standard_output, write_whole};
use peloton_papers::{Making, Reproduction, check_drawing, list_text, papers, picture};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Reproduce tables and figures of five published papers, next to the papers' own numbers
///
/// `peloton reproduce list` names every table and figure of the papers: which can be made, which need a GPU, and which
/// cannot be made, with the reason. Events are simulated, with seeds that no tuning used, unless --input gives other
/// events. Times are measured on this machine, on one thread unless --threads gives more: compare ratios of times with
/// the papers, not the times.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton reproduce list
  peloton reproduce compass-table3
  peloton reproduce compass-table3 --quick --json table3.json --svg table3.svg
  peloton reproduce compass-table3 --input minbias.mdf --geometry geometry/")]
pub struct Reproduce {
    /// Name of the table or figure; `list` prints all names
    #[arg(value_name = "NAME")]
    name: String,
    /// Events to use instead of the simulated events: files, or sim:...; may be given several times
    #[arg(long, value_name = "INPUT")]
    input: Vec<String>,
    /// Folder of the detector's geometry files, which raw banks of --input need
    #[arg(long, value_name = "DIR", requires = "input")]
    geometry: Option<PathBuf>,
    /// Use few events and short measurements, to try the command: the numbers are too imprecise for conclusions
    #[arg(long)]
    quick: bool,
    /// Threads: auto (one per core) or a number [default: auto; 1 where times are measured]
    #[arg(long, value_name = "N")]
    threads: Option<Auto<usize>>,
    /// Time of each measurement, s [default: 1; with --quick 0.05]
    #[arg(long, value_name = "T", value_parser = seconds)]
    seconds: Option<f64>,
    /// Also draw the figure or the table to this SVG file; some tables cannot be drawn
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
}

impl Reproduce {
    /// Adds to `files` the files that the command reads and writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.read("--input", &self.input);
        files.read("--geometry", &self.geometry);
        files.written("--svg", &self.svg);
        self.report.name_files(files);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        if self.name == "list" {
            return self.list();
        }
        let options = Reproduction {
            inputs: self.input.clone(),
            geometry: self.geometry.clone(),
            quick: self.quick,
            threads: self.threads.and_then(|threads| threads.0),
            seconds: self.seconds,
            command: command_line(),
        };
        if self.svg.is_some() {
            check_drawing(&self.name)?;
        }
        let terminal = self.report.terminal();
        let report = peloton_papers::reproduce(&self.name, &options, host(&terminal))?;
        // The results may have taken minutes: they are written before the drawing, which may fail.
        self.report.beside(self.svg.as_ref()).report(&report.text(), &report)?;
        if let Some(path) = &self.svg {
            write_whole(path, picture(&report.tables)?.as_bytes())?;
            if !self.report.quiet && !is_standard_output(path) {
                console::inform(&format!("written to {}", path.display()));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Prints all entries.
    fn list(&self) -> Result<ExitCode> {
        if self.quick || self.svg.is_some() || !self.input.is_empty() {
            return Err(Error::Config(
                "list makes no table or figure: leave out --input, --quick and --svg".into(),
            ));
        }
        let all = papers().iter().flat_map(|paper| paper.entries.iter().map(move |entry| (paper, entry)));
        let all = all.map(|(paper, entry)| {
            let made = match entry.made {
                Making::Run(_) => "run",
                Making::Device(_) => "device",
                Making::Impossible(_) => "impossible",
            };
            json!({
                "name": entry.name, "paper": paper.name, "of": entry.of, "what": entry.what, "making": made,
                "how": entry.reason(),
            })
        });
        self.report.report(&list_text(), &all.collect::<Vec<_>>())?;
        Ok(ExitCode::SUCCESS)
    }
}
