//! [`ReportInput`]: the results of one command, parsed and checked.

use super::check::CheckData;
use super::compare::CompareData;
use super::pixels::PixelData;
use super::soak::SoakData;
use super::throughput::ThroughputData;
use super::tune::TuneData;
use crate::About;
use peloton::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest size of a file, bytes: results are much smaller, events are larger.
const MAX_BYTES: u64 = 64 << 20;
/// Largest number: more than any count.
const MAX_NUMBER: f64 = 1e20;

/// Largest number of folders in the name of an input.
const MAX_FOLDERS: usize = 4;

/// Results of one command.
#[derive(Debug)]
pub struct ReportInput {
    name: String,
    /// The file that the results were read from, if any.
    path: Option<PathBuf>,
    pub(super) about: About,
    /// The results as written, for values that all commands have.
    pub(super) json: Value,
    results: Results,
}

#[derive(Debug)]
enum Results {
    Check(CheckData),
    Pixels(PixelData),
    Throughput(ThroughputData),
    Tune(TuneData),
    Compare(CompareData),
    Soak(SoakData),
}

/// Results of one kind, by input.
pub(super) enum Kind {
    Check(Vec<CheckData>),
    Pixels(Vec<PixelData>),
    Throughput(Vec<ThroughputData>),
    Tune(Vec<TuneData>),
    Compare(Vec<CompareData>),
    Soak(Vec<SoakData>),
}

/// Results that are drawn together.
pub(super) struct Group {
    pub heading: String,
    pub names: Vec<String>,
    pub kind: Kind,
}

impl ReportInput {
    /// Reads a file: JSON of `check`, `throughput`, `tune`, `compare` or `soak`, or the profile that `tune` writes.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be read, [`Error::Format`] when the file contains no such results.
    pub fn read(path: &Path) -> Result<Self> {
        let size = std::fs::metadata(path).map_err(|e| Error::io(path, e))?.len();
        let place = path.display().to_string();
        if size > MAX_BYTES {
            let message = format!("{} MB is too large for results: is this a file of events?", size >> 20);
            return Err(Error::format(place, message));
        }
        // Pipes and devices have no known size.
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|e| Error::io(path, e))?;
        let text =
            String::from_utf8(bytes).map_err(|_| Error::format(&place, "the file is not text: give JSON"))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|end| end == "toml") {
            let profile = toml::from_str::<toml::Table>(&text);
            let json = profile.map(|profile| json!(profile));
            let json = json.map_err(|e| Error::format(&place, format!("not TOML: {}", e.message())))?;
            return Self::of_file(path, name, json);
        }
        if text.trim().is_empty() {
            return Err(Error::format(place, "the file is empty"));
        }
        let json =
            serde_json::from_str(&text).map_err(|e| Error::format(&place, format!("not JSON: {e}")))?;
        Self::of_file(path, name, json)
    }

    fn of_file(path: &Path, name: String, json: Value) -> Result<Self> {
        let input = Self::from_json(name, json).map_err(|e| at(&path.display().to_string(), e))?;
        Ok(Self { path: Some(path.into()), ..input })
    }

    /// Parses results; `name` is their name in figures.
    ///
    /// # Errors
    /// [`Error::Format`] for results of an unknown kind, and for results with missing or impossible values.
    pub fn from_json(name: String, json: Value) -> Result<Self> {
        if let Some(number) = too_large(&json) {
            return Err(Error::format("results", format!("the number {number:e} is too large")));
        }
        let has = |key: &str| json.get(key).is_some();
        let results = if has("categories") {
            Results::Check(parse(&json)?)
        } else if has("definitions") {
            Results::Pixels(parse(&json)?)
        } else if has("measured") && has("gangs") {
            Results::Tune(parse(&json)?)
        } else if has("left") && has("right") {
            Results::Compare(parse(&json)?)
        } else if has("stages") && has("repetitions") {
            Results::Throughput(parse(&json)?)
        } else if has("rounds") {
            Results::Soak(parse(&json)?)
        } else {
            let message = "these are not results that a report can show: give a file that check, throughput, tune, compare or soak wrote with --json FILE";
            return Err(Error::format("results", message));
        };
        let valid = match &results {
            Results::Check(data) => data.validate(),
            Results::Pixels(_) | Results::Compare(_) => Ok(()),
            Results::Throughput(data) => data.validate(),
            Results::Tune(data) => data.validate(),
            Results::Soak(data) => data.validate(),
        };
        valid.map_err(|message| Error::format("results", message))?;
        let about = match json.get("about") {
            Some(about) => parse(about)?,
            None => About::default(),
        };
        Ok(Self { name, path: None, about, json, results })
    }

    /// Returns the name of the input in figures.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the heading of the results; results with the same heading are drawn together.
    fn heading(&self) -> String {
        let sequence = self.json.get("sequence").and_then(Value::as_str).unwrap_or("unknown sequence");
        let what = match &self.results {
            Results::Check(data) => return format!("Check of {sequence} by the rules {}", data.rules),
            Results::Pixels(_) => "Check",
            Results::Throughput(_) => "Throughput",
            Results::Tune(_) => "Instruction sets and gangs",
            Results::Compare(_) => "Comparison",
            Results::Soak(_) => "Soak test",
        };
        format!("{what} of {sequence}")
    }
}

/// Returns the first number that is too large to be drawn.
fn too_large(json: &Value) -> Option<f64> {
    match json {
        Value::Number(number) => number.as_f64().filter(|number| number.abs() > MAX_NUMBER),
        Value::Array(list) => list.iter().find_map(too_large),
        Value::Object(map) => map.values().find_map(too_large),
        _ => None,
    }
}

/// Adds the place of results to an error.
fn at(place: &str, error: Error) -> Error {
    match error {
        Error::Format { message, .. } => Error::format(place, message),
        error => error,
    }
}

fn parse<T: DeserializeOwned>(json: &Value) -> Result<T> {
    T::deserialize(json).map_err(|e| Error::format("results", format!("not results from peloton: {e}")))
}

/// Makes the names of inputs different: adds as many of their folders as are necessary to distinguish inputs of the same
/// name, or a number.
pub(super) fn name_apart(inputs: &mut [ReportInput]) {
    let own: Vec<_> = inputs.iter().map(|input| input.name.clone()).collect();
    let with_folders = |number: usize, folders: usize| {
        let parents = inputs[number].path.iter().flat_map(|path| path.ancestors().skip(1)).take(folders);
        let parents = parents.filter_map(|folder| folder.file_name());
        parents.fold(own[number].clone(), |name, folder| format!("{}/{name}", folder.to_string_lossy()))
    };
    let mut names = own.clone();
    for number in 0..own.len() {
        let same: Vec<_> = (0..own.len()).filter(|other| own[*other] == own[number]).collect();
        if same.len() == 1 {
            continue;
        }
        let is_enough = |folders: &usize| {
            let different: HashSet<_> = same.iter().map(|other| with_folders(*other, *folders)).collect();
            different.len() == same.len()
        };
        names[number] = match (1..=MAX_FOLDERS).find(is_enough) {
            Some(folders) => with_folders(number, folders),
            None => {
                let numbered = |count: usize| format!("{} ({count})", own[number]);
                let is_free = |name: &String| !own.contains(name) && !names.contains(name);
                (number + 1..).map(numbered).find(is_free).unwrap_or_default()
            }
        };
    }
    for (input, name) in inputs.iter_mut().zip(names) {
        input.name = name;
    }
}

/// Groups the results that are drawn together, in the order of the first result of each group.
pub(super) fn groups(inputs: Vec<ReportInput>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for input in inputs {
        let heading = input.heading();
        let name = input.name;
        let at = match groups.iter().position(|group| group.heading == heading) {
            Some(at) => at,
            None => {
                let kind = match &input.results {
                    Results::Check(_) => Kind::Check(Vec::new()),
                    Results::Pixels(_) => Kind::Pixels(Vec::new()),
                    Results::Throughput(_) => Kind::Throughput(Vec::new()),
                    Results::Tune(_) => Kind::Tune(Vec::new()),
                    Results::Compare(_) => Kind::Compare(Vec::new()),
                    Results::Soak(_) => Kind::Soak(Vec::new()),
                };
                groups.push(Group { heading, names: Vec::new(), kind });
                groups.len() - 1
            }
        };
        groups[at].names.push(name);
        match (&mut groups[at].kind, input.results) {
            (Kind::Check(all), Results::Check(data)) => all.push(data),
            (Kind::Pixels(all), Results::Pixels(data)) => all.push(data),
            (Kind::Throughput(all), Results::Throughput(data)) => all.push(data),
            (Kind::Tune(all), Results::Tune(data)) => all.push(data),
            (Kind::Compare(all), Results::Compare(data)) => all.push(data),
            (Kind::Soak(all), Results::Soak(data)) => all.push(data),
            // Headings begin with the kind: no group mixes kinds.
            _ => {}
        }
    }
    groups
}
