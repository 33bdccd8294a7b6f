//! Converts keyword arguments to the request of a job.

use crate::errors::exception;
use peloton::simd::Isa;
use peloton::{Error, Result};
use peloton_io::input::Format;
use peloton_job::{
    Config, Device, EventRange, MaxBad, OutputOptions, PixelOptions, Preset, Request, SequenceName,
};
use peloton_plan::Plan;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::str::FromStr;

/// The options of a job from Python: a dictionary that has all of these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    inputs: Vec<String>,
    format: Option<String>,
    first: usize,
    count: Option<usize>,
    strict: bool,
    max_bad: Option<String>,
    geometry: Option<PathBuf>,
    velo_banks: Option<String>,
    bad_banks: Option<String>,
    checksum: Option<String>,
    sequence: Option<String>,
    preset: Option<String>,
    isa: Option<String>,
    gang: Option<usize>,
    threads: Option<usize>,
    slice_events: Option<usize>,
    config: String,
    columns: Vec<String>,
    compression: Option<String>,
    mask_hot: Option<u64>,
    trigger: Option<String>,
    time_unit: Option<String>,
    command: String,
}

impl Asked {
    /// Returns the request.
    pub fn request(self) -> PyResult<Request> {
        self.resolve().map_err(exception)
    }

    /// Returns the request for running the parts of a plan, which replaces the inputs.
    pub fn of_plan(mut self, plan: &Plan) -> PyResult<Request> {
        if let Some(first) = plan.inputs.first() {
            self.inputs = vec![first.path.clone()];
            self.format = Some(first.format.clone());
        }
        self.request()
    }

    /// Resolves the options like the command line: arguments take precedence over `PELOTON_ISA`, which takes precedence over
    /// the configuration. Without a named sequence, the input decides.
    fn resolve(self) -> Result<Request> {
        let preset = self.preset.as_deref().map(Preset::from_str).transpose()?;
        let mut config = Config::from_toml(&self.config, preset)?;
        let format: Format = parsed(self.format)?;
        let sequence = self.sequence.as_deref().map(SequenceName::from_str).transpose()?;
        let named = sequence.or_else(|| Config::names_sequence(&self.config).then_some(config.sequence));
        let found = named.or_else(|| SequenceName::of_inputs(&self.inputs, format));
        config.sequence = found.unwrap_or_default();
        config.isa = match self.isa.as_deref() {
            Some("auto") => None,
            Some(isa) => Some(isa.parse()?),
            None => Isa::from_environment()?.or(config.isa),
        };
        config.gang = self.gang.or(config.gang);
        config.threads = self.threads.or(config.threads);
        config.slice_events = self.slice_events.or(config.slice_events);
        config.bad_banks = self.bad_banks.as_deref().map_or(Ok(config.bad_banks), str::parse)?;
        config.validate()?;
        let trigger = self.trigger.as_deref().map(str::parse).transpose()?;
        let time_unit = self.time_unit.as_deref().map(str::parse).transpose()?;
        Ok(Request {
            inputs: self.inputs,
            format,
            events: EventRange { first: self.first, count: self.count },
            checksum: parsed(self.checksum)?,
            strict: self.strict,
            max_bad: max_bad(self.max_bad)?,
            geometry: self.geometry,
            velo_banks: parsed(self.velo_banks)?,
            pixels: PixelOptions { mask_hot: self.mask_hot, trigger, time_unit, ..PixelOptions::default() },
            config,
            device: Device::Cpu,
            output: OutputOptions {
                columns: self.columns,
                compression: parsed(self.compression)?,
                ..OutputOptions::default()
            },
            command: self.command,
            ..Request::default()
        })
    }
}

/// Parses `max_bad`, the largest number or share of lost events or hits.
pub fn max_bad(text: Option<String>) -> Result<Option<MaxBad>> {
    let named = |error: Error| match error {
        Error::Config(message) => Error::Config(format!("max_bad: {message}")),
        other => other,
    };
    text.map(|text| text.parse().map_err(named)).transpose()
}

/// Parses a name; without a name, returns the default.
fn parsed<T: FromStr<Err = Error> + Default>(name: Option<String>) -> Result<T> {
    name.map_or_else(|| Ok(T::default()), |name| name.parse())
}
