//! `peloton describe`: where sensors are, which columns a sequence writes.

use crate::options::ReportArgs;
use clap::Args;
use peloton::{Error, Result};
use peloton_io::output::{ColumnRow, JobFiles};
use peloton_job::text::table;
use peloton_job::{SequenceName, describe_columns, describe_geometry, describe_simulation, sensors_as_csv};
use std::path::PathBuf;
use std::process::ExitCode;

/// Print where the sensors of a detector are, or which columns a sequence writes
///
/// Sensors as CSV: the corners of Velo sensors, UT sectors and SciFi mats, the radii of cylinders, in mm. Both as JSON with
/// --json.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton describe sim:lhcb > sensors.csv
  peloton describe --geometry geometry/ --json sensors.json
  peloton describe --sequence velo")]
pub struct Describe {
    /// A simulated detector: sim:lhcb, sim:velo or sim:cylinder
    #[arg(value_name = "INPUT")]
    input: Option<String>,
    /// Folder of geometry files, or `nominal`: the sensors of the detectors that it has files of
    #[arg(long, value_name = "DIR")]
    geometry: Option<PathBuf>,
    /// The columns that this sequence writes, as docs/columns.md has them
    #[arg(long, value_name = "S")]
    sequence: Option<SequenceName>,
    #[command(flatten)]
    report: ReportArgs,
}

impl Describe {
    /// Adds what is read and written.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.read("--geometry", &self.geometry);
        self.report.name_files(files);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let sensors = match (&self.input, &self.geometry, self.sequence) {
            (None, None, Some(sequence)) => {
                let rows = describe_columns(sequence);
                self.report.report(&columns(&rows), &rows)?;
                return Ok(ExitCode::SUCCESS);
            }
            (Some(input), None, None) => describe_simulation(input)?,
            (None, Some(folder), None) => describe_geometry(folder)?,
            _ => {
                let message =
                    "give one of --sequence S, --geometry DIR or a simulated detector, such as sim:lhcb";
                return Err(Error::Config(format!("describe: {message}")));
            }
        };
        self.report.report(&sensors_as_csv(&sensors), &sensors)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn columns(rows: &[ColumnRow]) -> String {
    let head = ["column", "type", "per", "unit", "meaning"].map(String::from);
    let row = |row: &ColumnRow| {
        [row.name.clone(), row.kind.clone(), row.per.into(), row.unit.clone(), row.meaning.clone()]
    };
    let rows: Vec<_> = [head].into_iter().chain(rows.iter().map(row)).collect();
    // Words are read from their left ends.
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
