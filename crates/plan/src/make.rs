//! [`make`]: cuts the inputs of a job into parts.

use crate::document::{Plan, PlannedInput, PlannedPart};
use crate::input::Identity;
use peloton::{Error, Result};
use peloton_io::input::mdf::event_starts;
use peloton_io::input::timepix::{PixelFormat, follows};
use peloton_io::input::{
    CylinderReader, Format, Kind, RawReader, ReadOptions, Source, VeloReader, files, find_raw,
    format_of_pixels, is_named_mdf, is_pipe, kind_of,
};
use peloton_job::{Host, check_inputs, special_input};
use peloton_plot::text;
use peloton_sim::timepix::PixelSimSpec;
use peloton_sim::{CylinderSpec, SimSpec};
use std::path::{Path, PathBuf};

/// Cuts inputs into parts of at most `part_events` events. A file in which reading can begin only at the first byte
/// (compressed files, text, toy files, pixel hits) is one part.
///
/// # Errors
/// [`Error::Config`] for inputs that cannot be planned, such as a pipe, and errors of the readers.
pub fn make(names: &[String], format: Format, part_events: u64, host: Host<'_>) -> Result<Plan> {
    if part_events == 0 {
        return Err(Error::Config("--part-events must be at least 1".into()));
    }
    check_inputs(names)?;
    let mut cut = Cut { part_events, inputs: Vec::new(), parts: Vec::new(), number: 0 };
    if let Some(name) = special_input(names, &["sim:", "tcp://", "udp://"])? {
        if !name.starts_with("sim:") {
            return Err(Error::Config(format!("{name}: a live measurement cannot be planned")));
        }
        let input = PlannedInput { events: simulated_events(name)?, ..input(name.into(), Format::Auto)? };
        cut.add(input, Starts::Anywhere);
        return Ok(cut.plan());
    }
    let named = names.iter().map(|name| inputs_of(name, format)).collect::<Result<Vec<_>>>()?.concat();
    let is_other = |found: &&Found| {
        found.kind != named[0].kind || found.kind == Kind::Pixels && found.format != named[0].format
    };
    if let Some(other) = named.iter().find(is_other) {
        let [first, other] = [&named[0], other].map(|found| found.path.display());
        let message =
            format!("{first} and {other} contain different kinds of data: make a plan for each kind");
        return Err(Error::Config(message));
    }
    let goes_on = named.windows(2).filter(|pair| follows(&pair[1].path, &pair[0].path)).count();
    if goes_on > 0 {
        let files = text::count(goes_on, "file");
        host.warn(&format!(
            "{files} continue the run of the previous file, but each part begins a new run: clusters and triggers at the borders of files differ from a single job over all files"
        ));
    }
    host.begin("planning", "inputs", Some(named.len() as u64));
    for found in &named {
        if host.is_cancelled() {
            return Err(Error::System("the job ended before the plan was made".into()));
        }
        cut.add_file(found)?;
        host.progress.advance(1);
    }
    host.progress.end();
    Ok(cut.plan())
}

/// A file, or a folder of bank containers.
#[derive(Debug, Clone)]
struct Found {
    path: PathBuf,
    kind: Kind,
    format: Format,
}

/// Lists the files of an input in the order in which they are read; skips files of unknown kinds in a folder.
fn inputs_of(name: &str, format: Format) -> Result<Vec<Found>> {
    let path = Path::new(name);
    if name == "-" || is_pipe(path) {
        let message = "can be read only once, and parts are read on many machines: a plan needs files";
        return Err(Error::Config(format!("{name} {message}")));
    }
    let is_raw = matches!(format, Format::Auto | Format::Banks);
    if path.is_dir() && is_raw && find_raw(path)? == Some(Format::Banks) {
        return Ok(vec![Found { path: path.into(), kind: Kind::Raw, format: Format::Banks }]);
    }
    let known = files(path)?.into_iter().filter_map(|path| kind(&path, format).map(|kind| (path, kind)));
    let found = |(path, kind): (PathBuf, Kind)| {
        let format = match kind {
            Kind::Raw => Format::Mdf,
            // The format of every file is determined, since all files of a plan must have the same format.
            Kind::Pixels => Format::Pixels(pixel_format(&path, format)?),
            _ => format,
        };
        Ok(Found { path, kind, format })
    };
    let all = known.map(found).collect::<Result<Vec<_>>>()?;
    if all.is_empty() {
        let message =
            "unknown format: neither raw banks, Velo JSON, events of the cylinder detector nor pixel hits";
        return Err(Error::format(name, message));
    }
    Ok(all)
}

/// Returns the kind of a file's content; none if it is unknown.
fn kind(path: &Path, format: Format) -> Option<Kind> {
    match format {
        Format::Mdf | Format::Banks => Some(Kind::Raw),
        Format::VeloJson | Format::VeloNdjson => Some(Kind::Velo),
        Format::Cylinder => Some(Kind::Cylinder),
        Format::Pixels(_) => Some(Kind::Pixels),
        _ => kind_of(path).or_else(|| is_named_mdf(path).then_some(Kind::Raw)),
    }
}

/// The format of a file of pixel hits.
fn pixel_format(path: &Path, format: Format) -> Result<PixelFormat> {
    match format {
        Format::Pixels(format) => Ok(format),
        _ => format_of_pixels(path).ok_or_else(|| {
            Error::format(
                path.display().to_string(),
                "the format of pixel hits cannot be recognised from the content",
            )
        }),
    }
}

/// Makes the entry of an input, without the number of its events.
fn input(path: String, format: Format) -> Result<PlannedInput> {
    let Identity { size, first: xxh3_first_mib, last: xxh3_last_mib } = Identity::of(&path)?;
    let format = format.to_string();
    Ok(PlannedInput { path, format, size, xxh3_first_mib, xxh3_last_mib, first_number: 0, events: None })
}

/// Returns the number of events of a simulation; none for pixel hits.
fn simulated_events(name: &str) -> Result<Option<u64>> {
    if name.starts_with("sim:timepix") {
        return name.parse::<PixelSimSpec>().map(|_| None);
    }
    if name.starts_with("sim:cylinder") {
        return name.parse::<CylinderSpec>().map(|spec| Some(spec.events));
    }
    name.parse::<SimSpec>().map(|spec| Some(spec.events))
}

/// Where parts of an input can begin.
enum Starts {
    /// At its beginning alone.
    Beginning,
    /// At any event.
    Anywhere,
    /// At these bytes, where the first event of each part begins.
    Bytes(Vec<u64>),
}

/// The plan so far.
struct Cut {
    part_events: u64,
    inputs: Vec<PlannedInput>,
    parts: Vec<PlannedPart>,
    /// Number of the next event.
    number: u64,
}

impl Cut {
    fn add_file(&mut self, found: &Found) -> Result<()> {
        let Found { path, kind, format } = found;
        let sources = [Source::Path(path.clone())];
        let options = || ReadOptions { format: *format, ..ReadOptions::default() };
        let (events, starts) = match kind {
            Kind::Raw if *format == Format::Banks => {
                (Some(RawReader::open(&sources, options())?.count()?), Starts::Anywhere)
            }
            Kind::Raw => {
                let (mut bytes, mut number) = (Vec::new(), 0);
                let count = event_starts(path, |byte| {
                    if number % self.part_events == 0 {
                        bytes.push(byte);
                    }
                    number += 1;
                })?;
                match count {
                    Some(count) => (Some(count), Starts::Bytes(bytes)),
                    None => (Some(RawReader::open(&sources, options())?.count()?), Starts::Beginning),
                }
            }
            Kind::Velo => (Some(VeloReader::open(&sources, options())?.count()?), Starts::Beginning),
            Kind::Cylinder => (Some(CylinderReader::open(&sources, options())?.count()?), Starts::Beginning),
            Kind::Pixels => (None, Starts::Beginning),
        };
        if events == Some(0) {
            return Err(Error::format(path.display().to_string(), "there is no event in it"));
        }
        let absolute = std::path::absolute(path).map_err(|e| Error::io(path, e))?;
        let name = absolute.to_str().ok_or_else(|| {
            Error::Config(format!("{}: a plan needs file names in UTF-8", absolute.display()))
        })?;
        self.add(PlannedInput { events, ..input(name.into(), *format)? }, starts);
        Ok(())
    }

    fn add(&mut self, input: PlannedInput, starts: Starts) {
        let (place, first_number) = (self.inputs.len(), self.number);
        let part = |first_event, events, byte| PlannedPart { input: place, first_event, events, byte };
        match (input.events, starts) {
            (None, _) | (_, Starts::Beginning) => self.parts.push(part(0, input.events, None)),
            (Some(events), starts) => {
                let mut first = 0;
                while first < events {
                    let byte = match &starts {
                        Starts::Bytes(bytes) => bytes.get((first / self.part_events) as usize).copied(),
                        _ => None,
                    };
                    let count = self.part_events.min(events - first);
                    self.parts.push(part(first, Some(count), byte));
                    first += count;
                }
            }
        }
        self.number += input.events.unwrap_or(0);
        self.inputs.push(PlannedInput { first_number, ..input });
    }

    fn plan(self) -> Plan {
        Plan::new(self.inputs, self.parts)
    }
}
