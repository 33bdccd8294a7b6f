//! [`Request`]: input and options of a job.

use crate::totals::UNUSABLE_INPUTS;
use crate::{Config, Device, MaxBad, OutputOptions, Summary};
use peloton::event::{Edge, Layout};
use peloton::velo::VeloBanks;
use peloton::{Error, Result};
use peloton_io::input::timepix::{KatherineOptions, TimeUnit, WhenFull};
use peloton_io::input::{ChecksumPolicy, Format, Start};
use peloton_io::output::Metadata;
use std::path::PathBuf;
use std::str::FromStr;

/// A range of the input's events, `FIRST:COUNT`; both numbers are optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventRange {
    /// Number of the first event, counted from 0.
    pub first: usize,
    /// Number of events; none for all events.
    pub count: Option<usize>,
}

impl FromStr for EventRange {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::Config(format!("`{text}` is not FIRST:COUNT, such as 0:100, 50: or :20"));
        let (first, count) = text.split_once(':').ok_or_else(wrong)?;
        let number = |text: &str| match text {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| wrong()),
        };
        Ok(Self { first: number(first)?.unwrap_or(0), count: number(count)? })
    }
}

/// Options for reading streams of pixel hits.
#[derive(Debug, Clone, Default)]
pub struct PixelOptions {
    /// The layout of the sensor; by default the usual layout of the format.
    pub layout: Option<Layout>,
    /// Options of the Katherine readout's format.
    pub katherine: KatherineOptions,
    /// Number of bits of the time-of-arrival counter in t3pa files; by default found from the data.
    pub toa_bits: Option<u32>,
    /// Unit of times in NumPy and Parquet files that name no unit.
    pub time_unit: Option<TimeUnit>,
    /// All hits of a pixel are dropped if it has more than this number of the first million hits.
    pub mask_hot: Option<u64>,
    /// The kind of trigger edge with which hits are paired; none for no pairing.
    pub trigger: Option<Edge>,
    /// Treatment of hits that arrive faster than they are processed.
    pub when_full: WhenFull,
}

/// The part of a plan that a request runs. Its output must be complete and the same on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartOfPlan {
    /// Position in the input at which reading begins.
    pub start: Start,
    /// Number of the input in the plan.
    pub source: u64,
}

/// Input and options of a job.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Files, folders, `-`, `sim:...` or addresses: at least one input, except in a request for an engine.
    pub inputs: Vec<String>,
    /// Format of every input.
    pub format: Format,
    /// The events to process.
    pub events: EventRange,
    /// Treatment of the checksums of MDF records.
    pub checksum: ChecksumPolicy,
    /// Whether the first event that cannot be read or reconstructed ends the job.
    pub strict: bool,
    /// Largest number of events or pixel hits that a successful job may lose; by default the result must not be empty.
    pub max_bad: Option<MaxBad>,
    /// Folder of the detector's geometry files, or `nominal`.
    pub geometry: Option<PathBuf>,
    /// Kind of Velo banks to read if events have both kinds.
    pub velo_banks: VeloBanks,
    /// Options for reading streams of pixel hits.
    pub pixels: PixelOptions,
    /// The configuration of the reconstruction.
    pub config: Config,
    /// The device that runs the reconstruction.
    pub device: Device,
    /// Columns, details and compression of the output.
    pub output: OutputOptions,
    /// The part of the plan that this request runs; none when the request runs no plan.
    pub part: Option<PartOfPlan>,
    /// The command line, which result files contain as metadata.
    pub command: String,
}

impl Request {
    /// Whether the CPU runs the job.
    pub(crate) fn is_on_cpu(&self) -> bool {
        self.device == Device::Cpu
    }

    /// # Errors
    /// Returns [`Error::Unsupported`] when a device is requested.
    pub(crate) fn cpu_only(&self, sequence: &str) -> Result<()> {
        if self.is_on_cpu() {
            return Ok(());
        }
        let message = "a device runs the sequences velo, timepix and cylinder only";
        Err(Error::Unsupported(format!("sequence {sequence}: {message}")))
    }

    /// Returns the summary of a run, or an error if the run is an incomplete part of a plan.
    ///
    /// # Errors
    /// [`Error::System`] for a part that was ended early, [`Error::Format`] for an input with fewer events than planned.
    pub(crate) fn accept(&self, summary: Summary) -> Result<Summary> {
        if self.part.is_none() {
            return Ok(summary);
        }
        if summary.is_interrupted {
            return Err(Error::System("interrupted; the incomplete part was discarded".into()));
        }
        if summary.dropped.get(UNUSABLE_INPUTS).is_some_and(|inputs| *inputs > 0) {
            return Err(Error::format(self.inputs.join(" "), "could not be read to its end"));
        }
        match self.events.count {
            Some(count) if count as u64 != summary.events => {
                let found = summary.events;
                let message = format!(
                    "{found} events instead of {count} in the plan: the input has changed since it was planned"
                );
                Err(Error::format(self.inputs.join(" "), message))
            }
            _ => Ok(summary),
        }
    }

    /// Makes the metadata of result files; for a part of a plan, it omits values that differ between machines.
    pub(crate) fn metadata(&self, level: String) -> Metadata {
        let is_part = self.part.is_some();
        let config = if is_part { self.config.of_results() } else { self.config.clone() };
        let unless_part = |text: String| if is_part { String::new() } else { text };
        Metadata {
            sequence: self.config.sequence.name().into(),
            command: unless_part(self.command.clone()),
            configuration: config.to_toml(),
            inputs: self.inputs.join("\n"),
            geometry: unless_part(
                self.geometry.as_ref().map_or(String::new(), |path| path.display().to_string()),
            ),
            level: unless_part(level),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_ranges() {
        let range = |text: &str| text.parse::<EventRange>();
        assert_eq!(range("3:10").unwrap(), EventRange { first: 3, count: Some(10) });
        assert_eq!(range("3:").unwrap(), EventRange { first: 3, count: None });
        assert_eq!(range(":10").unwrap(), EventRange { first: 0, count: Some(10) });
        for wrong in ["", "3", "a:b", "1:2:3", "-1:5"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }
}
