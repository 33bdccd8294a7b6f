//! [`System`]: everything that jobs need of a sequence in addition to its algorithms, such as its inputs and checks.

use crate::display::gather::Gather;
use crate::embed::ConfiguredEngine;
use crate::measured::Measured;
use crate::sink::{Destination, FileSink, Sink};
use crate::systems::inputs;
use crate::systems::{NaiveDecoder, diagnose, lacking};
use crate::totals::Totals;
use crate::{Check, CheckOptions, Config, EventRange, Host, Preset, Request, Source};
use peloton::engine::{AlgorithmInfo, Batch, Executor, Handle, Stage, stages};
use peloton::event::{Columns, Schema};
use peloton::velo::VELO_TRACKS;
use peloton::{Error, Result};
use peloton_io::input::{EventId, Format};
use peloton_io::output::{ColumnRow, column_rows};
use peloton_truth::Rules;
use serde_json::{Map, Value};
use std::ops::Range;

/// Inputs that were opened, and the detector that their events come from.
pub struct Opened {
    /// The source of the events.
    pub source: Box<dyn Source>,
    /// Information on the detector of the inputs.
    pub detector: Box<dyn Detector>,
}

/// Opens the inputs of a request after checking that its options are valid for its sequence.
///
/// # Errors
/// [`Error::Config`] for a job without inputs and for options that the sequence lacks; errors of [`System::open`].
pub(crate) fn open(request: &Request, truth: bool, host: Host<'_>) -> Result<Opened> {
    let system = request.config.sequence.system();
    let name = system.name();
    inputs::check(&request.inputs)?;
    check_preset(&request.config)?;
    system.check_products(&request.config)?;
    if !system.reads(request.format) {
        let known: Vec<_> = Format::NAMES.iter().filter(|(_, format)| system.reads(*format)).collect();
        let known: Vec<_> = known.into_iter().map(|(name, _)| *name).collect();
        let format = request.format;
        let message =
            format!("--format {format} is not for the sequence {name}, which reads {}", known.join(", "));
        return Err(Error::Config(message));
    }
    if system.stream().is_some() && request.events != EventRange::default() {
        let message =
            format!("--events is not for the sequence {name}: its input is an endless stream of hits");
        return Err(Error::Config(message));
    }
    system.open(request, truth, host)
}

/// The executor that reconstructs the events of a detector.
pub type Runs = Box<dyn Executor>;

/// A set of sizes, such as the size of a block of hits: their names in the configuration, and their values.
pub type Sizes = &'static [(&'static str, usize)];

/// Functions of a sequence that a job calls before the inputs are open.
pub trait System: Sync {
    /// Returns the name of the sequence on the command line and in results.
    fn name(&self) -> &'static str;

    /// Returns the algorithms in the order in which they run; empty for an endless stream.
    fn algorithms(&self, config: &Config) -> Vec<&'static AlgorithmInfo>;

    /// Returns the stages in the order in which they run.
    fn stages(&self, config: &Config) -> Vec<Stage> {
        stages(&self.algorithms(config))
    }

    /// Returns the products to write: the products that the configuration names, else the last product.
    fn products(&self, config: &Config) -> Vec<Handle> {
        let all = self.algorithms(config);
        let made = |name: &String| all.iter().map(|info| info.makes).find(|made| made.name() == name);
        let written: Vec<_> = config.write.iter().filter_map(made).collect();
        // A configuration without algorithms, which `check_products` refuses, needs a product here, too.
        let last = || vec![all.last().map_or(VELO_TRACKS, |info| info.makes)];
        if written.is_empty() { last() } else { written }
    }

    /// Checks the algorithms and products of a configuration.
    ///
    /// # Errors
    /// [`Error::Config`] for algorithms that the sequence cannot run, and for products that none of them makes.
    fn check_products(&self, config: &Config) -> Result<()> {
        let name = self.name();
        if !config.algorithms.is_empty() {
            return Err(Error::Config(format!("the sequence {name} {OWN_ALGORITHMS}")));
        }
        check_written(name, &self.algorithms(config), &config.write)
    }

    /// Returns the properties of the endless stream that the sequence reads; none for a sequence that reads events.
    fn stream(&self) -> Option<&'static dyn EndlessStream> {
        None
    }

    /// Whether the gang size selects the code that runs; if false, only the instruction set selects it.
    fn has_lanes(&self) -> bool {
        true
    }

    /// Returns the presets of the sequence; empty for a sequence with a single set of parameters.
    fn presets(&self) -> &'static [Preset] {
        &[]
    }

    /// Opens the inputs of a request.
    ///
    /// # Errors
    /// Returns [`Error::Config`](peloton::Error::Config) for inputs that cannot be combined, and errors of the readers.
    fn open(&'static self, request: &Request, truth: bool, host: Host<'_>) -> Result<Opened>;

    /// Makes an engine for a program that has events in memory, from the configuration and the geometry of a request.
    ///
    /// # Errors
    /// Returns errors of the configuration and of the geometry; [`Error::Unsupported`](peloton::Error::Unsupported) for
    /// endless streams.
    fn embed(&self, _request: &Request) -> Result<ConfiguredEngine> {
        let words = "takes an endless stream, not events";
        Err(Error::Unsupported(format!("the sequence {} {words}", self.name())))
    }

    /// Returns the number of events or hits to read at once for this many threads.
    fn batch_items(&self, config: &Config, threads: usize) -> usize;

    /// Whether the parameters equal the parameters of the preset.
    fn is_preset(&self, config: &Config) -> bool;

    /// Sets the key of a `KEY=VALUE` of `compare`, for keys that only this system has; returns false for unknown keys.
    ///
    /// # Errors
    /// Fails for values that cannot be used.
    fn override_key(&self, _config: &mut Config, _key: &str, _value: &str) -> Result<bool> {
        Ok(false)
    }

    /// Returns groups of sizes that `tune` tries with the fastest level: keys of the configuration and their values.
    /// Each group is tried with the best sizes of the groups before it. Sizes change only the speed.
    fn sizes(&self) -> &'static [&'static [Sizes]] {
        &[]
    }

    /// Sets a size of [`System::sizes`] if the configuration does not set it; returns false for unknown names.
    fn set_size(&self, _config: &mut Config, _name: &str, _value: usize) -> bool {
        false
    }

    /// Returns descriptions of the columns of result files.
    fn columns(&self, config: &Config) -> Vec<ColumnRow> {
        column_rows(config.schema())
    }

    /// Returns the keys and values that only summaries of this system have.
    fn facts(&self, _config: &Config, _totals: &Totals) -> Map<String, Value> {
        Map::new()
    }

    /// Whether the sequence reads inputs of this format.
    fn reads(&self, format: Format) -> bool;
}

/// The message for a configuration that lists algorithms for another sequence than `own`.
pub(crate) const OWN_ALGORITHMS: &str =
    "has its own algorithms: leave out `algorithms`, or set sequence = \"own\"";

/// Rejects a list of products with a product that no algorithm of the sequence makes, or that is named twice.
pub(crate) fn check_written(sequence: &str, algorithms: &[&AlgorithmInfo], write: &[String]) -> Result<()> {
    let made: Vec<_> = algorithms.iter().map(|info| info.name()).collect();
    let is_wrong = |(at, name): &(usize, &String)| !made.contains(&&***name) || write[..*at].contains(name);
    match write.iter().enumerate().find(is_wrong) {
        Some((_, name)) => {
            let words = match made.is_empty() {
                true => format!("the sequence {sequence} has one product: leave out `write`"),
                false => format!(
                    "the sequence {sequence} makes {}; name each of them at most once",
                    made.join(", ")
                ),
            };
            Err(Error::Config(format!("write: {name}: {words}")))
        }
        None => Ok(()),
    }
}

/// Describes an endless stream of hits to a job: where a source ends, which piece ends the stream, and how rows are
/// appended to others for a comparison.
pub trait EndlessStream: Sync {
    /// Whether this piece of the stream is the last of its source, such as a file.
    fn ends_source(&self, piece: &dyn Batch) -> bool;

    /// Returns an empty piece, which ends the stream.
    fn last(&self) -> Box<dyn Batch>;

    /// Appends the given rows of a piece to `waiting`, the rows that `compare` has not compared yet.
    fn keep(&self, waiting: &mut Columns, piece: &Columns, rows: Range<usize>);
}

/// Functions of a sequence that a job calls after the inputs are open.
pub trait Detector: Send + Sync {
    /// Makes the executor that reconstructs the events, on the CPU or on a device.
    ///
    /// # Errors
    /// Returns errors of the configuration and of the device.
    fn executor(&self, request: &Request, config: &Config) -> Result<Runs>;

    /// Creates the file for results.
    ///
    /// # Errors
    /// Returns [`Error::Config`](peloton::Error::Config) for a file name of unknown format, and for options that the
    /// format does not have, before any file is changed.
    fn sink(&self, schema: &'static Schema, to: &Destination<'_>) -> Result<Box<dyn Sink>> {
        FileSink::create(schema, to).map(|sink| Box::new(sink) as Box<_>)
    }

    /// Returns the rules for checking tracks of another program against the truth of these inputs.
    ///
    /// # Errors
    /// Fails when there are no such rules.
    fn track_rules(&self, request: &Request, _options: &CheckOptions) -> Result<Rules> {
        let message = "--tracks is not for this sequence, which checks its own tracks";
        Err(Error::Config(format!("sequence {}: {message}", request.config.sequence)))
    }

    /// Makes the object that compares results with the truth, and requests the truth that it needs from the source.
    ///
    /// # Errors
    /// Fails when results of this system cannot be checked with these options.
    fn check(
        &self,
        request: &Request,
        options: &CheckOptions,
        source: &mut dyn Source,
    ) -> Result<Box<dyn Check>>;

    /// Makes the object that collects the data of the events to draw.
    ///
    /// # Errors
    /// Fails for sequences whose results are not events.
    fn gather(&self, request: &Request, _source: &mut dyn Source) -> Result<Box<dyn Gather>> {
        Err(Error::Unsupported(format!("the sequence {} has no events to draw", request.config.sequence)))
    }

    /// Returns losses (reasons and counts) and further keys and values of the summary that are known only after the
    /// reconstruction.
    fn outcome(&self) -> (Vec<(&'static str, u64)>, Map<String, Value>) {
        Default::default()
    }

    /// Returns a message if the input lacks data that the request names; known only after the reconstruction.
    fn not_found(&self) -> Option<String> {
        None
    }

    /// Returns the width and height of the sensor of an endless stream, pixels; none for detectors of events.
    fn sensor(&self) -> Option<[usize; 2]> {
        None
    }

    /// Whether the input arrives live; if so, a job shows the rate at which it arrives.
    fn is_live(&self) -> bool {
        false
    }

    /// Changes events in memory before a measurement to make it realistic, for example by shuffling hits.
    ///
    /// # Errors
    /// Fails for events of another kind.
    fn prepare_for_measuring(&self, _batch: &mut dyn Batch) -> Result<()> {
        Ok(())
    }

    /// Returns the number of bytes of a batch's raw banks that the sequence reads; none for a batch of hits.
    fn bank_bytes(&self, _batch: &dyn Batch) -> Option<u64> {
        None
    }

    /// Returns the additional keys in the results of `throughput`.
    ///
    /// # Errors
    /// Returns errors of the configuration.
    fn measured_facts(
        &self,
        _config: &Config,
        _batch: &dyn Batch,
        _measured: &Measured,
    ) -> Result<Map<String, Value>> {
        Ok(Map::new())
    }

    /// Returns simple decoders of raw banks, which find causes of faults and hits to draw; empty for input of hits.
    fn decoders(&self) -> Vec<NaiveDecoder> {
        Vec::new()
    }
}

/// Rejects a preset that the sequence does not have, instead of using the parameters of another preset.
///
/// # Errors
/// [`Error::Config`] names the presets of the sequence.
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

/// If the first failed event of a job is in this batch, finds the bank or hit that caused its status. Counts, for each
/// readout board, the partial events of the batch that lack its bank.
pub(crate) fn explain(totals: &mut Totals, detector: &dyn Detector, batch: &dyn Batch, ids: &[EventId]) {
    // The search may take long, but it runs only for the first failed event of a job.
    let diagnose = |event, status| diagnose(&detector.decoders(), batch, event, status);
    totals.explain(batch.event_ids(), ids, diagnose);
    let (events, has_damaged) = &totals.partial_here;
    if !events.is_empty() {
        let lacking = lacking(&detector.decoders(), batch, events, *has_damaged);
        totals.count_lacking(ids, &lacking);
    }
}
