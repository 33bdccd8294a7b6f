//! `peloton describe`: prints positions of sensors, or algorithms and columns of a sequence.

use crate::options::ReportArgs;
use clap::Args;
use peloton::{Error, Result};
use peloton_io::output::{ColumnRow, JobFiles};
use peloton_job::{AlgorithmRow, SequenceName, describe_algorithms, describe_columns};
use peloton_plot::text::table;
use peloton_plot::{Sensor, sensors_as_csv};
use std::path::PathBuf;
use std::process::ExitCode;

/// Print where the sensors of a detector are, or the algorithms and columns of a sequence
///
/// The command prints sensors as CSV, in mm: the corners of Velo sensors, UT sectors and SciFi mats, the radii of
/// cylinders. With --json it writes all output as JSON.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton describe sim:lhcb > sensors.csv
  peloton describe --geometry geometry/ --json sensors.json
  peloton describe --sequence long
  peloton describe --algorithms")]
pub struct Describe {
    /// A simulated detector: sim:lhcb, sim:velo or sim:cylinder
    #[arg(value_name = "INPUT")]
    input: Option<String>,
    /// Print the sensors of the detectors that this folder of geometry files describes; `nominal` is the ideal detector
    #[arg(long, value_name = "DIR")]
    geometry: Option<PathBuf>,
    /// Print the algorithms of this sequence, and the columns that it writes, as in docs/columns.md
    #[arg(long, value_name = "S")]
    sequence: Option<SequenceName>,
    /// Print algorithms alone: with --sequence its algorithms, without --sequence all that a configuration may list
    #[arg(long)]
    algorithms: bool,
    #[command(flatten)]
    report: ReportArgs,
}

impl Describe {
    /// Adds to `files` the files that the command reads and writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.read("--geometry", &self.geometry);
        self.report.name_files(files);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let sensors = match (&self.input, &self.geometry, self.sequence) {
            (None, None, sequence) if self.algorithms => {
                let rows = describe_algorithms(sequence);
                self.report.report(&algorithms(&rows), &rows)?;
                return Ok(ExitCode::SUCCESS);
            }
            (None, None, Some(sequence)) => {
                let rows = describe_columns(sequence);
                let chain = describe_algorithms(Some(sequence));
                let first = if chain.is_empty() { String::new() } else { algorithms(&chain) + "\n" };
                self.report.report(&format!("{first}{}", columns(&rows)), &rows)?;
                return Ok(ExitCode::SUCCESS);
            }
            (Some(input), None, None) => Sensor::of_simulation(input)?,
            (None, Some(folder), None) => Sensor::of_geometry(folder)?,
            _ => {
                let message = "give one of --sequence S, --algorithms, --geometry DIR or a simulated detector, such as sim:lhcb";
                return Err(Error::Config(format!("describe: {message}")));
            }
        };
        self.report.report(&sensors_as_csv(&sensors), &sensors)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn columns(rows: &[ColumnRow]) -> String {
    let row = |row: &ColumnRow| {
        [row.name.clone(), row.kind.clone(), row.per.into(), row.unit.clone(), row.meaning.clone()]
    };
    words(["column", "type", "per", "unit", "meaning"], rows.iter().map(row))
}

fn algorithms(rows: &[AlgorithmRow]) -> String {
    let or = |list: String, none: &str| if list.is_empty() { none.into() } else { list };
    let row = |row: &AlgorithmRow| {
        let section = if row.parameters.is_empty() { "-".into() } else { format!("[{}]", row.parameters) };
        let freed = row.freed_after.map_or("-".into(), String::from);
        [row.name.into(), or(row.reads.join(", "), "input"), row.stages.join(", "), section, freed]
    };
    words(["algorithm", "reads", "stages", "parameters", "freed after"], rows.iter().map(row))
}

/// A table of left-aligned text.
fn words(head: [&str; 5], rows: impl Iterator<Item = [String; 5]>) -> String {
    let rows: Vec<_> = [head.map(String::from)].into_iter().chain(rows).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; 4] = std::array::from_fn(width);
    let padded = |row: &[String; 5]| {
        let cells = row.iter().enumerate().map(|(at, cell)| match widths.get(at) {
            Some(width) => format!("{cell:width$}"),
            None => cell.clone(),
        });
        [cells.collect::<Vec<_>>().join("  ")]
    };
    table(&rows.iter().map(padded).collect::<Vec<_>>())
}
