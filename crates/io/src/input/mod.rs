//! Readers of event files and streams. [`VeloReader`] decodes events into batches of columns, [`RawReader`] cuts events
//! into the raw banks of a detector, and [`EventBatch`] takes raw banks from memory.
//!
//! Input may be corrupt or malicious. A fault of one event (a corrupt line, wrong offsets, an absurd size) gives that
//! event a [`Status`](peloton::Status) and a line in [`VeloReader::problems`], and reading continues; with
//! [`ReadOptions::strict`] the first such problem ends the job with an [`Error::Format`]. Memory is bounded: a chunk of
//! texts has at most [`MAX_EVENT_BYTES`] bytes and one more event. A chunk of raw banks, decompressed bodies included,
//! has at most four times as many bytes. The first text of a stream is in memory twice, because it is examined before
//! it is read. A job has four chunks in memory.

mod ahead;
mod containers;
mod cut_events;
mod cut_texts;
mod cylinder;
mod digits;
mod event_batch;
mod event_note;
mod foreign;
mod geometry;
mod kind;
mod max_bad;
pub mod mdf;
mod problems;
mod raw_event;
mod raw_reader;
mod reader;
mod records;
mod source;
pub mod timepix;
mod velo_json;
mod velo_json_columns;
mod velo_json_truth;
mod velo_json_usual;
mod write;

use peloton::Error;
use std::{fmt, path::PathBuf, str::FromStr};

pub use ahead::{look_ahead, standard_input};
pub use containers::{assumed_version, read_container, write_container};
pub use cut_events::CutEvents;
pub use cut_texts::CutTexts;
pub use cylinder::{CylinderReader, write_cylinder};
pub use event_batch::{EventBatch, known_status};
pub use event_note::{EventNote, McBanks, McFormat, TruthJudge};
pub use geometry::{Geometry, NOMINAL, NOMINAL_FORCED};
pub use kind::{Kind, format_of_pixels, is_named_mdf, kind_of, kind_of_standard_input};
pub use max_bad::MaxBad;
pub use problems::{MAX_PROBLEMS, ProblemLog, Problems};
pub use raw_reader::{RawReader, find_raw, is_pipe, is_raw_stream};
pub use reader::VeloReader;
pub use source::{ByteCount, files};
pub use write::write_velo_json;

/// Longest text of one event, bytes: enough for three million hits. A longer text is skipped, and the event gets the
/// status [`Status::TooManyHits`](peloton::Status::TooManyHits).
pub const MAX_EVENT_BYTES: usize = 128 << 20;

/// Format of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Format {
    /// The format of each input is recognised from its content.
    #[default]
    Auto,
    /// Velo JSON: one object per event, one after another, with any white space.
    VeloJson,
    /// Velo NDJSON: one event per line. A corrupt line loses only its own event.
    VeloNdjson,
    /// MDF: whole events as sent by the detector.
    Mdf,
    /// Bank containers in folders `VP`, `VPRetinaCluster`, `UT` and `FTCluster`, each with one file per event.
    Banks,
    /// Events of the cylinder detector: the toy format of mkFit.
    Cylinder,
    /// Pixel hits.
    Pixels(timepix::PixelFormat),
}

impl Format {
    /// All formats with their names.
    pub const NAMES: [(&'static str, Format); 16] = [
        ("auto", Format::Auto),
        ("velo-json", Format::VeloJson),
        ("velo-ndjson", Format::VeloNdjson),
        ("mdf", Format::Mdf),
        ("banks", Format::Banks),
        ("cylinder", Format::Cylinder),
        ("t3pa", Format::Pixels(timepix::PixelFormat::T3pa)),
        ("burda", Format::Pixels(timepix::PixelFormat::Burda)),
        ("frames", Format::Pixels(timepix::PixelFormat::Frames)),
        ("pmf", Format::Pixels(timepix::PixelFormat::Pmf)),
        ("tpx3", Format::Pixels(timepix::PixelFormat::Tpx3)),
        ("tpx4", Format::Pixels(timepix::PixelFormat::Tpx4)),
        ("katherine", Format::Pixels(timepix::PixelFormat::Katherine)),
        ("hits16", Format::Pixels(timepix::PixelFormat::Hits16)),
        ("npy", Format::Pixels(timepix::PixelFormat::Npy)),
        ("parquet", Format::Pixels(timepix::PixelFormat::Parquet)),
    ];

    /// Whether events of this format are raw banks, which a [`RawReader`] reads.
    pub fn is_raw(self) -> bool {
        matches!(self, Format::Mdf | Format::Banks)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, format)| format == self).map_or("?", |(name, _)| name);
        f.pad(name)
    }
}

impl FromStr for Format {
    type Err = Error;

    /// # Errors
    /// [`Error::Config`] that lists the formats.
    fn from_str(text: &str) -> peloton::Result<Self> {
        Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, format)| *format).ok_or_else(|| {
            let names = Self::NAMES.map(|(name, _)| name).join(", ");
            Error::Config(format!("unknown format `{text}`: choose one of {names}"))
        })
    }
}

/// Numbers that identify an event and its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventId {
    /// Number of the event over all inputs, from 0.
    pub number: u64,
    /// Number of the run, if the input has it.
    pub run: Option<u32>,
    /// Number that the detector gave the event, if the input has it.
    pub event: Option<u64>,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}", self.number)?;
        match (self.run, self.event) {
            (Some(run), Some(event)) => write!(f, " (run {run}, number {event})"),
            (Some(run), None) => write!(f, " (run {run})"),
            (None, Some(event)) => write!(f, " (number {event})"),
            (None, None) => Ok(()),
        }
    }
}

/// A source of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file, or a directory: all files in it that hold events, in natural order (9 before 10). Subdirectories and
    /// hidden files are skipped.
    Path(PathBuf),
    /// Standard input.
    Stdin,
}

/// The position at which reading begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Start {
    /// Byte of the first source at which reading begins: the beginning of an event. Must be 0 unless the source is an
    /// uncompressed MDF file.
    pub byte: u64,
    /// Number of the event that begins at `byte`, counted over all sources.
    pub event: usize,
}

/// Inputs and options of a reader.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Format of every source.
    pub format: Format,
    /// Number of the first event, counted from 0 over all sources; earlier events are not decoded.
    pub first: usize,
    /// Largest number of events to read; all events if none.
    pub count: Option<usize>,
    /// Whether the first problem ends the job.
    pub strict: bool,
    /// Whether the first event that is not marked as simulated with the nominal detector ends the job.
    pub only_nominal: bool,
    /// Whether to read simulated truth. If true, an event without truth is dropped.
    pub truth: bool,
    /// The position at which reading begins.
    pub start: Start,
    /// Treatment of the checksums of MDF records.
    pub checksum: ChecksumPolicy,
    /// Number of events that each batch gets even if they are long, so that each parsing thread gets events. A batch
    /// with this number or more ends after a few megabytes.
    pub least: usize,
    /// Counts the bytes read.
    pub bytes: ByteCount,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: Format::default(),
            first: 0,
            count: None,
            strict: false,
            only_nominal: false,
            truth: false,
            start: Start::default(),
            checksum: ChecksumPolicy::default(),
            least: 32,
            bytes: ByteCount::default(),
        }
    }
}

/// Treatment of the checksums of MDF records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChecksumPolicy {
    /// Checksums are verified; an event with a wrong checksum is dropped and gets a status.
    #[default]
    Verify,
    /// Checksums are ignored.
    Skip,
}

peloton::names!(ChecksumPolicy, "way to treat checksums", { Verify => "verify", Skip => "skip" });

/// Options for skipping all events.
fn passing(options: ReadOptions) -> ReadOptions {
    ReadOptions { first: usize::MAX, count: None, ..options }
}

impl ReadOptions {
    /// Whether the event of this number is read, or is skipped before the first event to read.
    fn reaches(&self, event: usize) -> bool {
        let count = self.count.unwrap_or(usize::MAX);
        count > 0 && event < self.first.saturating_add(count)
    }
}
