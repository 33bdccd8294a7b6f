//! [`Paper`]: the tables and figures of a paper, read from a file `papers/*.toml` of this crate.
//!
//! An entry is one table or figure. If this program does not make it, the entry contains the reason. Otherwise it lists
//! *parts*, which [`make`](super::driver::make) measures, and tables and checks that are built from measured values.

use super::quantity::{Check, Quantity};
use super::table::{Cell, Plot};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The files, in the order of the detectors.
const FILES: [&str; 5] = [
    include_str!("../papers/triplet.toml"),
    include_str!("../papers/compass.toml"),
    include_str!("../papers/scifi.toml"),
    include_str!("../papers/matriplex.toml"),
    include_str!("../papers/pixels.toml"),
];

static PAPERS: LazyLock<Vec<Paper>> = LazyLock::new(|| FILES.map(read).into());

/// Texts that several entries share, by the words that stand for them.
static TEXTS: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| read(include_str!("../papers/texts.toml")));

/// Parses a file that is part of the program, and that tests parse, too.
fn read<T: DeserializeOwned>(text: &str) -> T {
    toml::from_str(text).unwrap_or_else(|e| panic!("papers/*.toml: {e}"))
}

/// Returns the papers whose tables and figures `peloton reproduce` knows.
pub fn papers() -> &'static [Paper] {
    &PAPERS
}

/// Returns the tables and figures of all papers.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    papers().iter().flat_map(|paper| &paper.entries)
}

/// Returns the shared text with this name, or the text itself.
pub(super) fn text(text: &str) -> &str {
    TEXTS.get(text).map_or(text, String::as_str)
}

/// One paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Short name of the paper.
    pub name: String,
    /// Citation of the paper.
    pub title: String,
    /// Tables and figures of the paper.
    #[serde(rename = "entry")]
    pub entries: Vec<Entry>,
}

/// One table or figure of a paper, or several that are made in the same way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Name of the entry on the command line.
    pub name: String,
    /// Number of the table or figure in the paper, such as `figures 1 to 4`.
    pub of: String,
    /// Content of the table or figure.
    pub what: String,
    /// The way in which the table or figure is made.
    pub made: Making,
}

impl Entry {
    /// Returns whether this program makes the entry on a CPU.
    pub fn is_run(&self) -> bool {
        matches!(self.made, Making::Run(_))
    }

    /// Returns whether the entry has a table with a chart.
    pub fn is_drawn(&self) -> bool {
        matches!(&self.made, Making::Run(run) if run.tables.iter().any(|table| table.plot.is_some()))
    }

    /// Returns the command that makes the entry on a GPU, or the reason why it cannot be made; none for other entries.
    pub fn reason(&self) -> Option<&str> {
        match &self.made {
            Making::Run(_) => None,
            Making::Device(words) | Making::Impossible(words) => Some(text(words)),
        }
    }
}

/// The way in which a table or figure is made.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Making {
    /// The entry is made by measurements.
    Run(Box<Run>),
    /// The entry needs a GPU, and is made by this command.
    Device(String),
    /// The entry cannot be made, for this reason.
    Impossible(String),
}

/// The measurements and tables of an entry.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Run {
    /// Program and machine of the paper's own numbers.
    pub(super) paper_machine: String,
    /// Text to add to the description of this machine.
    pub(super) machine: String,
    /// The measurements.
    #[serde(rename = "part")]
    pub(super) parts: Vec<Part>,
    /// The displayed tables.
    #[serde(rename = "table")]
    pub(super) tables: Vec<TableSpec>,
    /// Limits on the numbers.
    #[serde(rename = "check")]
    pub(super) checks: Vec<Check>,
    /// Number of particles that the checks need.
    pub(super) enough: Option<Enough>,
    /// Facts that readers of the tables must know.
    pub(super) notes: Vec<String>,
}

/// Smallest number of particles for which checks and percentages are shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enough {
    /// Path of their number in the first run of the first part.
    pub(super) value: String,
    /// Smallest sufficient number.
    pub(super) least: u64,
    /// Note if there are fewer particles.
    pub(super) note: Option<String>,
}

/// A measurement, for one configuration or many.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Part {
    pub(super) measure: Measure,
    /// The configuration, as in a file for `--config`. Times are measured on one thread unless it sets `threads`.
    pub(super) config: toml::Table,
    /// Variations of the configuration; the last axis varies fastest.
    pub(super) axes: Vec<Axis>,
    /// The simulated input, and the input of the short form. `{sample}` and `{threads}` are filled in.
    pub(super) input: Vec<String>,
    /// The part is measured for each of these inputs, or for each input that the user gives.
    pub(super) samples: Vec<Cell>,
    /// Whether the part is left out if the user gives inputs.
    pub(super) only_simulated: bool,
    /// Rules of a check in place of the sequence's own.
    pub(super) rules: Option<String>,
    /// Number of rounds in which the configurations take turns; the least time counts.
    pub(super) rounds: usize,
    /// Name of the part in progress reports.
    pub(super) stage: Option<String>,
    pub(super) hashes: Hashes,
}

/// The kind of a measurement.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Measure {
    /// Measures nothing; the values describe this machine.
    #[default]
    Machine,
    /// Efficiencies against the truth, as in `peloton check`.
    Check,
    /// Throughput, and times of the stages, with events in memory.
    Throughput,
    /// Throughput for several slice sizes and numbers of threads.
    Scan,
    /// Time per event for every level (instruction set and gang).
    Tune,
    /// Times of matrix products by memory layout, for these numbers of products in the full and in the short form.
    Layouts([Vec<usize>; 2]),
    /// Agreement between the clusters of two configurations, hit by hit, for each of these pairs of configurations.
    Agreement(Vec<[usize; 2]>),
    /// Shares of clusters split by borders of time windows (ns), blocks of hits, or sensor regions (number per side).
    Splitting { windows: Vec<f64>, blocks: Vec<usize>, regions: Vec<usize> },
}

/// An axis along which the configurations of the runs vary.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Axis {
    /// Instruction sets or numbers of threads of this machine.
    Sweep(Sweep),
    /// The keys and values of each run. `label` names the run; `"{n}"` is the number of threads from a [`Sweep`].
    Patches(Vec<toml::Table>),
}

/// Variations of a configuration that depend on the machine.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sweep {
    /// Every instruction set with its usual gang.
    Levels,
    /// Every instruction set with every gang of this build.
    EveryLevel,
    /// Powers of two as numbers of threads, and the number of all threads.
    Doubling,
    /// Every number of threads from 1 to 16, or to the number of all threads if that is smaller.
    #[serde(rename = "up-to-16")]
    UpTo16,
}

/// Which hashes of results a report lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hashes {
    /// One hash for each run.
    #[default]
    Each,
    /// Each different hash once.
    Distinct,
    /// One hash for each sample, which all runs of the sample must share.
    Same,
    None,
}

/// Specification of a table: the runs that give its rows, and the quantities in its columns.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableSpec {
    pub(super) title: String,
    /// Number of the part.
    pub(super) part: usize,
    /// Numbers of the runs in the part; none for all runs.
    pub(super) runs: Option<Vec<usize>>,
    /// Number of runs that give a row its numbers; by default one if each run is a row, otherwise all.
    pub(super) together: Option<usize>,
    pub(super) rows: Rows,
    pub(super) setting: Vec<Quantity>,
    pub(super) here: Vec<Quantity>,
    pub(super) paper: Vec<Quantity>,
    /// Published results of another program; the name of the column names the program.
    pub(super) program: Vec<Quantity>,
    /// Numbers for the columns `paper` and `program`, by the settings of the row; `*` for every row.
    pub(super) published: BTreeMap<String, Vec<Cell>>,
    /// More rows; cells at the end may be omitted.
    pub(super) more: Vec<Vec<Given>>,
    pub(super) plot: Option<Plot>,
    /// Whether percentages are left out if there are too few particles.
    pub(super) rates: bool,
    /// Title of a second table: by how much each instruction set is faster than one lane.
    pub(super) gains: Option<String>,
}

/// The rows of a table.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Rows {
    /// One row for each run, or for each group of runs.
    #[default]
    Each,
    /// One row for each of these labels, which replace `{row}` in the paths of values.
    Labels(Vec<Label>),
    /// One row for each category of particles.
    Categories,
    /// One table for each property (its name and unit), with a row for each bin of the property.
    Bins { category: String, against: Vec<[String; 2]> },
}

/// The label of a row, and the text that replaces `{row}`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Label {
    /// A label, and a different text that replaces `{row}`.
    Pair(Cell, String),
    /// A label that also replaces `{row}`.
    One(Cell),
}

/// A cell of an additional row: a given value, or a measured value.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Given {
    Cell(Cell),
    Quantity(Box<Quantity>),
}

/// Returns a list of all entries as text, paper by paper; each entry says whether this program makes it, or why not.
pub fn list_text() -> String {
    let mut out = String::new();
    for Paper { title, entries, .. } in papers() {
        let width =
            |of: fn(&Entry) -> &str| entries.iter().map(|one| of(one).chars().count()).max().unwrap_or(0);
        let (first, second) = (width(|entry| &entry.name), width(|entry| &entry.of));
        out.push_str(&format!("{title}\n"));
        for entry in entries {
            let how = match (&entry.made, entry.reason().unwrap_or_default()) {
                (Making::Run(_), _) => "yes".to_string(),
                (Making::Device(_), command) => format!("needs a GPU: {command}"),
                (Making::Impossible(_), reason) => format!("no: {reason}"),
            };
            let Entry { name, of, what, .. } = entry;
            out.push_str(&format!("  {name:first$}  {of:second$}  {what}; {how}\n"));
        }
        out.push('\n');
    }
    let (runs, all) = (entries().filter(|entry| entry.is_run()).count(), entries().count());
    out.push_str(&format!("`peloton reproduce NAME` makes the {runs} of {all} entries marked yes\n"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton_sim::timepix::PixelPreset;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_every_paper_has_some() {
        let names: HashSet<_> = entries().map(|entry| &entry.name).collect();
        assert_eq!(names.len(), entries().count());
        assert!(papers().iter().all(|paper| !paper.entries.is_empty()));
        let text = list_text();
        for Entry { name, what, .. } in entries() {
            assert!(text.contains(name) && text.contains(what), "{name}");
        }
    }

    #[test]
    fn unknown_keys_are_refused() {
        let entry = "name = 'a'\nof = 'b'\nwhat = 'c'\nmade.impossible = 'd'";
        assert!(toml::from_str::<Entry>(entry).is_ok());
        for more in ["cannot = 'e'", "made.run = { table = [] }", "made.never = 'e'"] {
            assert!(toml::from_str::<Entry>(&format!("{entry}\n{more}")).is_err(), "{more}");
        }
    }

    #[test]
    fn the_simulation_has_the_papers_cluster_sizes() {
        let entry = entries().find(|entry| entry.name == "pixels-figure3").unwrap();
        let Making::Run(run) = &entry.made else { panic!("it runs") };
        let published = &run.tables[0].published;
        assert_eq!(published.len(), PixelPreset::NAMES.len());
        for (name, preset) in PixelPreset::NAMES {
            let values: Vec<_> = published[name].iter().filter_map(Cell::value).collect();
            assert_eq!(values, [preset.mean(), preset.deviation()], "{name}");
        }
    }
}
