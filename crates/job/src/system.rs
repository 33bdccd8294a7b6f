//! [`System`]: what jobs need to know of a sequence beyond running it.

use crate::display::{self, Gather};
use crate::embed::AnyEngine;
use crate::measured::Measured;
use crate::sink::{FileSink, Sink};
use crate::summary::Described;
use crate::systems::inputs;
use crate::totals::{BankSource, Totals};
use crate::{
    Cancel, Check, CheckOptions, Config, DisplayOptions, Displayed, EventRange, Host, Preset, Request,
    Source, Summary,
};
use peloton::engine::{Batch, Executor, Machine, Stage};
use peloton::event::{Hashes, Results};
use peloton::{Error, Result, Status};
use peloton_io::input::{EventId, Format};
use peloton_io::output::{ColumnRow, Metadata, column_rows};
use peloton_truth::Rules;
use serde_json::{Map, Value};
use std::path::Path;

/// Inputs that are open, and what running their events needs.
pub struct Opened<S: System + ?Sized> {
    /// The events.
    pub source: Box<dyn Source<S::Batch>>,
    /// What an executor needs to know of them.
    pub context: S::Context,
}

/// Opens the inputs of a request, once it is clear that what it says of them is for this sequence.
///
/// # Errors
/// [`Error::Config`] for no input at all and for what only other sequences know, and those of [`System::open`].
pub(crate) fn open<S: System>(request: &Request, truth: bool, host: Host<'_>) -> Result<Opened<S>> {
    let name = S::NAME;
    inputs::check(&request.inputs)?;
    check_preset(&request.config)?;
    if !S::reads(request.format) {
        let known: Vec<_> = Format::NAMES.iter().filter(|(_, format)| S::reads(*format)).collect();
        let known: Vec<_> = known.into_iter().map(|(name, _)| *name).collect();
        let format = request.format;
        let message =
            format!("--format {format} is not for the sequence {name}, which reads {}", known.join(", "));
        return Err(Error::Config(message));
    }
    if S::IS_STREAM && request.events != EventRange::default() {
        let message =
            format!("--events is not for the sequence {name}: its input is an endless stream of hits");
        return Err(Error::Config(message));
    }
    S::open(request, truth, host)
}

/// What runs the events of a system.
pub type Runs<S> = Box<dyn Executor<<S as System>::Batch, <S as System>::Results>>;

/// Names and values of sizes.
pub type Sizes = &'static [(&'static str, usize)];

/// What jobs need to know of a sequence: where its input comes from, what runs it, how its results are checked.
pub trait System: 'static {
    /// The name on the command line and in results.
    const NAME: &'static str;
    /// The stages in the order in which they run.
    const STAGES: &'static [Stage];
    /// Whether the input is an endless stream, cut anywhere, instead of events.
    const IS_STREAM: bool = false;

    /// Whether the gang size changes what runs; else only the instruction set does.
    const HAS_LANES: bool = true;

    /// The presets that the sequence has; none where it has one set of parameters.
    const PRESETS: &'static [Preset];

    /// Input in memory.
    type Batch: Batch;
    /// What is made of it.
    type Results: Results;
    /// What an executor needs to know of the input, such as the detector's geometry.
    type Context: Send + Sync;

    /// Opens the inputs of a request.
    ///
    /// # Errors
    /// [`Error::Config`](peloton::Error::Config) for inputs that cannot go together, and those of the readers.
    fn open(request: &Request, truth: bool, host: Host<'_>) -> Result<Opened<Self>>;

    /// Makes what runs the events, on the CPU or a device.
    ///
    /// # Errors
    /// Those of the configuration and of the device.
    fn executor(request: &Request, config: &Config, context: &Self::Context) -> Result<Runs<Self>>;

    /// Makes an engine for a program that has its own events: of the configuration and the geometry of a request.
    ///
    /// # Errors
    /// Those of the configuration and of the geometry; [`Error::Unsupported`](peloton::Error::Unsupported) for endless
    /// streams.
    fn embed(_request: &Request) -> Result<AnyEngine> {
        let words = "takes an endless stream, not events";
        Err(Error::Unsupported(format!("the sequence {} {words}", Self::NAME)))
    }

    /// How many events or hits are read at once when so many threads share them.
    fn batch_items(config: &Config, threads: usize) -> usize;

    /// Whether a source of an endless stream ends with this batch.
    fn ends_source(_batch: &Self::Batch) -> bool {
        false
    }

    /// What ends an endless stream.
    fn last() -> Option<Self::Batch> {
        None
    }

    /// Whether the parameters are those of the preset.
    fn is_preset(config: &Config) -> bool;

    /// Overrides what only this system knows of `KEY=VALUE`, a part of a side of `compare`; false for unknown keys.
    ///
    /// # Errors
    /// For values that cannot be used.
    fn override_key(_config: &mut Config, _key: &str, _value: &str) -> Result<bool> {
        Ok(false)
    }

    /// Sizes that `tune` tries beside the level, in groups of which the later begin with what was best of the earlier: of
    /// each, keys of the configuration and their values. They change the speed and nothing else.
    const SIZES: &'static [&'static [Sizes]] = &[];

    /// Sets a size of [`System::SIZES`] where the configuration leaves it open; false for names that are none.
    fn set_size(_config: &mut Config, _name: &str, _value: usize) -> bool {
        false
    }

    /// Creates the file for results.
    ///
    /// # Errors
    /// [`Error::Config`](peloton::Error::Config) for a name whose format is unknown, and then no file is touched.
    fn sink(
        path: &Path,
        request: &Request,
        _context: &Self::Context,
        metadata: &Metadata,
        cancel: &Cancel,
    ) -> Result<Box<dyn Sink<Self::Results>>> {
        let sink = FileSink::create::<Self::Results>(path, request.fields, metadata, cancel);
        sink.map(|sink| Box::new(sink) as Box<_>)
    }

    /// The columns of files of results.
    fn columns() -> Vec<ColumnRow> {
        column_rows::<Self::Results>()
    }

    /// The rules by which tracks made elsewhere are checked against the truth of these inputs.
    ///
    /// # Errors
    /// When there are no such rules.
    fn track_rules(_request: &Request, _options: &CheckOptions, _opened: &mut Opened<Self>) -> Result<Rules> {
        let message = "--tracks is not for this sequence: it checks tracks of its own";
        Err(Error::Config(format!("sequence {}: {message}", Self::NAME)))
    }

    /// Makes what compares results with the truth.
    ///
    /// # Errors
    /// When results of this system cannot be checked as asked.
    fn check(
        request: &Request,
        options: &CheckOptions,
        opened: &mut Opened<Self>,
    ) -> Result<Box<dyn Check<Self::Batch, Self::Results>>>;

    /// Makes what gathers the events of a job for pictures.
    ///
    /// # Errors
    /// Where results are not events.
    fn gather(
        _request: &Request,
        _opened: &mut Opened<Self>,
    ) -> Result<Box<dyn Gather<Self::Batch, Self::Results>>> {
        Err(Error::Unsupported(format!("the sequence {} has no events to draw", Self::NAME)))
    }

    /// Draws events, or what a stream has instead of them.
    ///
    /// # Errors
    /// Those of the options, the inputs and the output.
    fn display(
        request: &Request,
        options: &DisplayOptions,
        output: &Path,
        host: Host<'_>,
    ) -> Result<Displayed>
    where
        Self: Sized,
    {
        display::events::<Self>(request, options, output, host)
    }

    /// Reasons and counts of what was lost, and keys and values of the summary, that are known only after everything
    /// was reconstructed.
    fn outcome(_context: &Self::Context) -> (Vec<(&'static str, u64)>, Map<String, Value>) {
        Default::default()
    }

    /// What was asked for and is not in the input, in words; known after everything was reconstructed.
    fn not_found(_context: &Self::Context) -> Option<String> {
        None
    }

    /// Whether the input comes in as it is measured, so that its rate is worth telling while it lasts.
    fn is_live(_context: &Self::Context) -> bool {
        false
    }

    /// Changes events in memory so that they measure what a farm sees.
    fn prepare_for_measuring(_batch: &mut Self::Batch) {}

    /// Bytes of raw banks in a batch that the sequence reads; none for hits.
    fn bank_bytes(_context: &Self::Context, _batch: &Self::Batch) -> Option<u64> {
        None
    }

    /// What `throughput` tells beyond the keys that all systems have.
    ///
    /// # Errors
    /// Those of the configuration.
    fn measured_facts(
        _config: &Config,
        _batch: &Self::Batch,
        _measured: &Measured,
    ) -> Result<Map<String, Value>> {
        Ok(Map::new())
    }

    /// What every summary tells beyond the keys that all systems have.
    fn facts(_config: &Config, _totals: &Totals) -> Map<String, Value> {
        Map::new()
    }

    /// Whether the sequence reads inputs of this format.
    fn reads(format: Format) -> bool;

    /// Which bank or hit an event with this status failed by, in words, where one of them is to blame. Nobody is in a
    /// hurry: it is asked for the first such event of a job alone.
    fn diagnose(
        _context: &Self::Context,
        _batch: &Self::Batch,
        _event: usize,
        _status: Status,
    ) -> Option<String> {
        None
    }

    /// The sources whose banks these events, which are partial, lack: one entry for each event and source. `has_damaged` says
    /// whether any of their banks is damaged and was left out.
    fn lacking(
        _context: &Self::Context,
        _batch: &Self::Batch,
        _events: &[usize],
        _has_damaged: bool,
    ) -> Vec<BankSource> {
        Vec::new()
    }

    /// Appends all of `piece` to what waits to be compared, where two sides need not give their results batch by batch
    /// alike.
    fn keep(_waiting: &mut Self::Results, _piece: &Self::Results) {}

    /// Removes the first results of what waits to be compared.
    fn remove_first(_waiting: &mut Self::Results, _count: usize) {}
}

/// The name of the parameters: the preset's, or `custom` when any parameter differs from the preset; none where the
/// sequence has no presets.
pub(crate) fn preset_name<S: System>(config: &Config) -> Option<String> {
    if S::PRESETS.is_empty() {
        return None;
    }
    Some(if S::is_preset(config) { config.preset.to_string() } else { "custom".into() })
}

/// Refuses a preset that the sequence of a configuration does not have: its parameters would be those of another one.
///
/// # Errors
/// [`Error::Config`] that names the presets of the sequence.
pub(crate) fn check_preset(config: &Config) -> Result<()> {
    let Config { preset, sequence, .. } = config;
    let presets = sequence.presets();
    let message = match presets {
        [] if *preset != Preset::default() => {
            format!("preset {preset}: the sequence {sequence} has no presets")
        }
        [_, ..] if !presets.contains(preset) => {
            let names: Vec<_> = presets.iter().map(|preset| preset.name()).collect();
            format!("preset {preset}: the sequence {sequence} has {}", names.join(", "))
        }
        _ => return Ok(()),
    };
    Err(Error::Config(message))
}

/// The summary of equal passes over the same events.
pub(crate) fn summary<S: System>(
    config: &Config,
    machine: &Machine,
    totals: &Totals,
    hashes: Hashes,
) -> Summary {
    let of = Described {
        preset: preset_name::<S>(config),
        stages: S::STAGES,
        levels: S::Results::LEVELS,
        facts: S::facts(config, totals),
    };
    Summary::new(config.sequence, machine, totals, hashes, of)
}

/// Finds out which bank or hit the first event that failed failed by, if it is in this batch and nobody has looked; and which
/// sources the partial events of the batch lack.
pub(crate) fn explain<S: System>(
    totals: &mut Totals,
    context: &S::Context,
    batch: &S::Batch,
    ids: &[EventId],
) {
    totals.explain(batch.event_ids(), ids, |event, status| S::diagnose(context, batch, event, status));
    let (events, has_damaged) = &totals.partial_here;
    if !events.is_empty() {
        let lacking = S::lacking(context, batch, events, *has_damaged);
        totals.count_lacking(ids, &lacking);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systems::VeloSystem;

    #[test]
    fn parameters_off_the_preset_are_called_custom() {
        let config = Config::default();
        assert_eq!(preset_name::<VeloSystem>(&config).as_deref(), Some("best"));
        let mut table = toml::Table::try_from(&config).unwrap();
        let number = first_integer(&mut table["velo"]).expect("an integer parameter");
        *number += 1;
        assert_eq!(
            preset_name::<VeloSystem>(&Config::from_toml(&table.to_string(), None).unwrap()).as_deref(),
            Some("custom")
        );
    }

    fn first_integer(value: &mut toml::Value) -> Option<&mut i64> {
        match value {
            toml::Value::Integer(number) => Some(number),
            toml::Value::Table(table) => table.iter_mut().find_map(|(_, value)| first_integer(value)),
            _ => None,
        }
    }
}
