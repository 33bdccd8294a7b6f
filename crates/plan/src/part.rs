//! [`run_part`]: runs one part of a plan, unless the part is done.

use crate::document::{PartSpec, Plan};
use crate::folder::{self, Failure, PartFolder};
use crate::input::{Identity, hexadecimal};
use crate::made::Made;
use crate::owner::{claim, refused};
use peloton::{Error, Result};
use peloton_io::input::{Format, Start};
use peloton_job::{EventRange, Host, PartOfPlan, Request, object, run};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Instant;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Report on how a part was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartReport {
    /// The part.
    #[serde(flatten)]
    pub spec: PartSpec,
    /// Version, options and geometry with which the part was made.
    #[serde(flatten)]
    pub made: Made,
    /// Instruction set and number of lanes, or the device.
    pub level: String,
    /// Name of the machine.
    pub host: String,
    /// Wall-clock time of the last attempt, s.
    pub seconds: f64,
    /// Number of attempts, including the last.
    pub runs: u64,
    /// The file of results.
    pub output: WrittenFile,
    /// Number of events that could not be reconstructed.
    pub bad_events: u64,
    /// The output of `run --json`.
    pub summary: Map<String, Value>,
}

/// A file of results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// Name of the file in the folder.
    pub name: String,
    /// Size, bytes.
    pub size: u64,
    /// XXH3-64 of the file's content.
    pub xxh3: String,
}

/// Result of running a part.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// Report on how the part was made, in this run or an earlier run.
    pub report: PartReport,
    /// Whether the part was already done.
    pub was_done: bool,
}

/// Runs a part of a plan and writes its results to the folder `to`. Does nothing if the part is done and `force` is
/// false. The request `how` gives the options; inputs and events come from the part.
///
/// # Errors
/// [`Error::Config`] for options that parts do not support and for a folder of another job ([`claim`]),
/// [`Error::Format`] when the input differs from the plan, and errors of [`run`](peloton_job::run()). If running the
/// part fails, new results are discarded, and a file in the folder gives the reason.
pub fn run_part(
    plan: &Plan,
    part: usize,
    to: &Path,
    how: &Request,
    force: bool,
    host: Host<'_>,
) -> Result<Ran> {
    check_request(how)?;
    let request = request(&plan.part(part)?, how)?;
    let work = Work { spec: plan.part(part)?, made: Made::of(how)?, folder: PartFolder(to), request };
    claim(plan, to, how, force)?;
    if !force && let Some(report) = work.folder.done(part) {
        return if (&report.spec, &report.made) == (&work.spec, &work.made) {
            Ok(Ran { report, was_done: true })
        } else {
            let why = format!("part {part} was made by another plan, version, configuration or geometry");
            Err(refused(to, &why))
        };
    }
    let ran = work.run(host);
    if let Err(error) = &ran {
        // The error itself is returned; a full disk may have no room for this file.
        let _ = folder::write(&work.folder.failure(part), &Failure { reason: error.to_string() });
    }
    ran.map(|report| Ran { report, was_done: false })
}

/// Checks that the request has no options that parts do not support, as far as this can be seen without the inputs.
///
/// # Errors
/// [`Error::Config`] for options that parts do not support.
pub fn check_request(how: &Request) -> Result<()> {
    if how.pixels.mask_hot.is_some() {
        let message = "--mask-hot uses the first hits of all inputs together, but parts are made separately";
        return Err(Error::Config(message.into()));
    }
    Ok(())
}

/// The request of a part.
fn request(spec: &PartSpec, how: &Request) -> Result<Request> {
    let PartSpec { events: of, input, .. } = spec;
    let index = |number: u64| {
        usize::try_from(number)
            .map_err(|_| Error::Config(format!("event {number}: this number is too large for this machine")))
    };
    let first = index(input.first_number.saturating_add(of.first_event))?;
    let start = match of.byte {
        Some(byte) => Start { byte, event: first },
        None => Start { byte: 0, event: index(input.first_number)? },
    };
    let events = match of.events {
        Some(count) => EventRange { first, count: Some(index(count)?) },
        None => EventRange::default(),
    };
    Ok(Request {
        inputs: vec![input.path.clone()],
        format: input.format.parse::<Format>()?,
        events,
        part: Some(PartOfPlan { start, source: of.input as u64 }),
        // The limit on losses applies to all parts together.
        max_bad: None,
        ..how.clone()
    })
}

/// A part to run.
struct Work<'a> {
    spec: PartSpec,
    made: Made,
    folder: PartFolder<'a>,
    request: Request,
}

impl Work<'_> {
    fn run(&self, host: Host<'_>) -> Result<PartReport> {
        let Self { spec, made, folder, request } = self;
        let (part, begin) = (spec.part, Instant::now());
        Identity::check(&spec.input)?;
        folder.begin(part)?;
        folder.discard(part)?;
        let path = folder.results(part);
        let summary = run(request, Some(&path), host)?;
        let report = PartReport {
            spec: spec.clone(),
            made: made.clone(),
            level: format!("{} x {}", summary.isa, summary.gang),
            host: host_name(),
            seconds: begin.elapsed().as_secs_f64(),
            runs: folder.times_begun(part).max(1),
            output: WrittenFile::of(&path)?,
            bad_events: summary.bad_events,
            summary: object(&summary),
        };
        folder::write(&folder.report(part), &report)?;
        Ok(report)
    }
}

impl PartFolder<'_> {
    /// Returns the report of a part, made with any plan and configuration, if its results exist and have the right size.
    fn done(self, part: usize) -> Option<PartReport> {
        let report: PartReport = folder::read(&self.report(part))?;
        let size = std::fs::metadata(self.results(part)).ok()?.len();
        (report.output.size == size).then_some(report)
    }
}

impl WrittenFile {
    /// The current name, size and hash of a file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn of(path: &Path) -> Result<Self> {
        let failed = |e| Error::io(path, e);
        let (mut hasher, mut size) = (Xxh3::new(), 0);
        let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed)?);
        loop {
            let bytes = file.fill_buf().map_err(failed)?;
            if bytes.is_empty() {
                break;
            }
            hasher.update(bytes);
            let read = bytes.len();
            size += read as u64;
            file.consume(read);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, size, xxh3: hexadecimal(hasher.digest()) })
    }
}

/// Checks the bytes of a result file against the hash in the JSON report next to the file.
///
/// # Errors
/// [`Error::Format`] when the bytes have changed, and for a file without a report.
pub fn check_part(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.display().to_string();
    let report: Option<PartReport> = folder::read(&path.with_extension("json"));
    let Some(PartReport { output, .. }) = report else {
        let message = "there is no JSON report next to it: it is not a completed part";
        return Err(Error::format(name, message));
    };
    if output.size == bytes.len() as u64 && output.xxh3 == hexadecimal(xxh3_64(bytes)) {
        return Ok(());
    }
    Err(Error::format(name, NOT_AS_WRITTEN))
}

/// The message for a result file that has changed since it was written.
pub const NOT_AS_WRITTEN: &str = "it has changed since it was written: remove it and run the part again";

/// Returns the name of this machine, or `unknown`.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok());
    name.map_or("unknown".into(), |name| name.trim().into())
}
