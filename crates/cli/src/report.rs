//! `peloton report`: draws results of other commands as one HTML page, as these commands do with `--report`.

use crate::options::ReportArgs;
use clap::Args;
use peloton::{Error, Result};
use peloton_io::output::{JobFiles, is_standard_output, write_whole};
use peloton_plot::{About, ReportInput, WithAbout};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Make a self-contained HTML page with figures of results
///
/// The files are results that check, throughput, tune, compare and soak write with --json FILE, or profiles of tune. To
/// compare presets or versions, give several results of one command and sequence: the figures show all of them, with
/// ratios to the first file. The page has no scripts and requests nothing over the network.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton check sim:velo,events=1000,seed=7 --json best.json
  peloton check sim:velo,events=1000,seed=7 --preset paper --json paper.json
  peloton report best.json paper.json --output presets.html
  peloton report throughput.json this-cpu.toml --output speed.html")]
pub struct Report {
    /// Results as JSON; at most eight files
    #[arg(value_name = "FILE.json", required = true)]
    files: Vec<PathBuf>,
    /// File for the page; `-` for standard output
    #[arg(long, short, value_name = "FILE.html", value_parser = page_name)]
    output: PathBuf,
}

impl Report {
    /// Adds to `files` the files that the command reads and writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.read("input", &self.files);
        files.written("--output", [&self.output]);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let inputs = self.files.iter().map(|path| ReportInput::read(path)).collect::<Result<Vec<_>>>()?;
        write_page(&self.output, inputs)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The flag of commands whose results a page can show.
#[derive(Args, Debug, Clone, Default)]
pub struct PageArgs {
    /// Also write the results as an HTML page with figures, as `peloton report` makes it
    #[arg(long, value_name = "FILE.html", value_parser = page_name)]
    report: Option<PathBuf>,
}

impl PageArgs {
    /// Adds to `files` the HTML page that the command writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.written("--report", &self.report);
    }

    /// Prints the text. If flags request it, also writes the results and their origin as JSON and as a page.
    pub fn report(&self, to: &ReportArgs, text: &str, about: About, results: &impl Serialize) -> Result<()> {
        let results = WithAbout { results, about };
        to.beside(self.report.as_ref()).report(text, &results)?;
        let Some(path) = &self.report else { return Ok(()) };
        let json = serde_json::to_value(&results).map_err(|e| Error::Internal(e.to_string()))?;
        let name = json["preset"].as_str().unwrap_or(&results.about.command).to_string();
        write_page(path, vec![ReportInput::from_json(name, json)?])
    }
}

fn write_page(path: &Path, inputs: Vec<ReportInput>) -> Result<()> {
    write_whole(path, peloton_plot::report(inputs)?.as_bytes())
}

/// Parses the name of a page: an HTML file, a device, or `-`.
fn page_name(text: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let is_html = path.extension().is_some_and(|end| end == "html" || end == "htm");
    if is_html || is_standard_output(&path) || path.starts_with("/dev") {
        return Ok(path);
    }
    Err("the page is HTML: the name must end in .html, or be - for standard output".into())
}
