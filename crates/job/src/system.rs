//! [`System`]: the part of a sequence that jobs need in addition to running it.

use crate::display::Gather;
use crate::embed::AnyEngine;
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

/// Open inputs, and the detector that runs their events.
pub struct Opened {
    /// The events.
    pub source: Box<dyn Source>,
    /// Information on the detector of the inputs.
    pub detector: Box<dyn Detector>,
}

/// Opens the inputs of a request after checking that its options are valid for its sequence.
///
/// # Errors
/// [`Error::Config`] for no input at all and for options of other sequences, and errors of [`System::open`].
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

/// Runs the events of a detector.
pub type Runs = Box<dyn Executor>;

/// Names and values of sizes.
pub type Sizes = &'static [(&'static str, usize)];

/// The part of a sequence that jobs need before its inputs are open.
pub trait System: Sync {
    /// The name on the command line and in results.
    fn name(&self) -> &'static str;

    /// The algorithms in the order in which they run; none for an endless stream.
    fn algorithms(&self, config: &Config) -> Vec<&'static AlgorithmInfo>;

    /// The stages in the order in which they run.
    fn stages(&self, config: &Config) -> Vec<Stage> {
        stages(&self.algorithms(config))
    }

    /// The products to write: the products that the configuration names, else the last.
    fn products(&self, config: &Config) -> Vec<Handle> {
        let all = self.algorithms(config);
        let made = |name: &String| all.iter().map(|info| info.makes).find(|made| made.name() == name);
        let written: Vec<_> = config.write.iter().filter_map(made).collect();
        // A configuration that `check_products` refuses also gets a product, which is never made.
        let last = || vec![all.last().map_or(VELO_TRACKS, |info| info.makes)];
        if written.is_empty() { last() } else { written }
    }

    /// Checks the sequence in a configuration.
    ///
    /// # Errors
    /// [`Error::Config`] for algorithms and products that do not fit together.
    fn check_products(&self, config: &Config) -> Result<()> {
        let name = self.name();
        if !config.algorithms.is_empty() {
            return Err(Error::Config(format!("the sequence {name} {OWN_ALGORITHMS}")));
        }
        check_written(name, &self.algorithms(config), &config.write)
    }

    /// The properties of the endless stream that the sequence reads; none for events.
    fn stream(&self) -> Option<&'static dyn EndlessStream> {
        None
    }

    /// Whether the gang size changes the code that runs; otherwise only the instruction set does.
    fn has_lanes(&self) -> bool {
        true
    }

    /// The presets of the sequence; none where it has one set of parameters.
    fn presets(&self) -> &'static [Preset] {
        &[]
    }

    /// Opens the inputs of a request.
    ///
    /// # Errors
    /// [`Error::Config`](peloton::Error::Config) for inputs that cannot be combined, and errors of the readers.
    fn open(&'static self, request: &Request, truth: bool, host: Host<'_>) -> Result<Opened>;

    /// Makes an engine for a program that has its own events, from the configuration and the geometry of a request.
    ///
    /// # Errors
    /// Errors of the configuration and of the geometry; [`Error::Unsupported`](peloton::Error::Unsupported) for endless
    /// streams.
    fn embed(&self, _request: &Request) -> Result<AnyEngine> {
        let words = "takes an endless stream, not events";
        Err(Error::Unsupported(format!("the sequence {} {words}", self.name())))
    }

    /// Number of events or hits to read at once for this many threads.
    fn batch_items(&self, config: &Config, threads: usize) -> usize;

    /// Whether the parameters equal the preset.
    fn is_preset(&self, config: &Config) -> bool;

    /// Applies a `KEY=VALUE` that only this system has, a part of a side of `compare`; false for unknown keys.
    ///
    /// # Errors
    /// For values that cannot be used.
    fn override_key(&self, _config: &mut Config, _key: &str, _value: &str) -> Result<bool> {
        Ok(false)
    }

    /// Sizes that `tune` tries in addition to the level, in groups: keys of the configuration and their values. Each
    /// group starts from the best sizes of the groups before it. Sizes change the speed alone.
    fn sizes(&self) -> &'static [&'static [Sizes]] {
        &[]
    }

    /// Sets a size of [`System::sizes`] if the configuration does not set it; false for unknown names.
    fn set_size(&self, _config: &mut Config, _name: &str, _value: usize) -> bool {
        false
    }

    /// The columns of files of results.
    fn columns(&self, config: &Config) -> Vec<ColumnRow> {
        column_rows(config.schema())
    }

    /// Additional keys in the summaries of this system.
    fn facts(&self, _config: &Config, _totals: &Totals) -> Map<String, Value> {
        Map::new()
    }

    /// Whether the sequence reads inputs of this format.
    fn reads(&self, format: Format) -> bool;
}

/// The message for a configuration that lists algorithms for another sequence than `own`.
pub(crate) const OWN_ALGORITHMS: &str =
    "has its own algorithms: leave out `algorithms`, or set sequence = \"own\"";

/// Refuses products that no algorithm of a sequence makes, and one that is named twice.
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

/// Properties of an endless stream.
pub trait EndlessStream: Sync {
    /// Whether a source ends with this piece.
    fn ends_source(&self, piece: &dyn Batch) -> bool;

    /// The piece that ends the stream.
    fn last(&self) -> Box<dyn Batch>;

    /// Appends rows of a piece to the rows that wait for comparison.
    fn keep(&self, waiting: &mut Columns, piece: &Columns, rows: Range<usize>);
}

/// The part of a sequence that jobs need after its inputs are open.
pub trait Detector: Send + Sync {
    /// Makes the runner of the events, on the CPU or a device.
    ///
    /// # Errors
    /// Errors of the configuration and of the device.
    fn executor(&self, request: &Request, config: &Config) -> Result<Runs>;

    /// Creates the file for results.
    ///
    /// # Errors
    /// [`Error::Config`](peloton::Error::Config) for a name whose format is unknown, and for options that the format does not have;
    /// then no file is touched.
    fn sink(&self, schema: &'static Schema, to: &Destination<'_>) -> Result<Box<dyn Sink>> {
        FileSink::create(schema, to).map(|sink| Box::new(sink) as Box<_>)
    }

    /// The rules by which tracks made elsewhere are checked against the truth of these inputs.
    ///
    /// # Errors
    /// When there are no such rules.
    fn track_rules(&self, request: &Request, _options: &CheckOptions) -> Result<Rules> {
        let message = "--tracks is not for this sequence, which checks its own tracks";
        Err(Error::Config(format!("sequence {}: {message}", request.config.sequence)))
    }

    /// Makes the comparison of results with the truth, and requests the necessary truth from the source.
    ///
    /// # Errors
    /// When results of this system cannot be checked with these options.
    fn check(
        &self,
        request: &Request,
        options: &CheckOptions,
        source: &mut dyn Source,
    ) -> Result<Box<dyn Check>>;

    /// Makes the collector of events for pictures.
    ///
    /// # Errors
    /// For sequences whose results are not events.
    fn gather(&self, request: &Request, _source: &mut dyn Source) -> Result<Box<dyn Gather>> {
        Err(Error::Unsupported(format!("the sequence {} has no events to draw", request.config.sequence)))
    }

    /// Reasons and counts of losses, and keys and values of the summary, that are known only after the
    /// reconstruction.
    fn outcome(&self) -> (Vec<(&'static str, u64)>, Map<String, Value>) {
        Default::default()
    }

    /// A message about requested data that the input lacks; known after the reconstruction.
    fn not_found(&self) -> Option<String> {
        None
    }

    /// Width and height of the sensor that pictures of a stream show, pixels; none for events.
    fn sensor(&self) -> Option<[usize; 2]> {
        None
    }

    /// Whether the input arrives live, so that its rate is shown.
    fn is_live(&self) -> bool {
        false
    }

    /// Changes events in memory so that measurements are realistic.
    ///
    /// # Errors
    /// For events of another kind.
    fn prepare_for_measuring(&self, _batch: &mut dyn Batch) -> Result<()> {
        Ok(())
    }

    /// Bytes of raw banks in a batch that the sequence reads; none for hits.
    fn bank_bytes(&self, _batch: &dyn Batch) -> Option<u64> {
        None
    }

    /// Additional keys of `throughput`.
    ///
    /// # Errors
    /// Errors of the configuration.
    fn measured_facts(
        &self,
        _config: &Config,
        _batch: &dyn Batch,
        _measured: &Measured,
    ) -> Result<Map<String, Value>> {
        Ok(Map::new())
    }

    /// Naive decoders of the raw banks, which find the causes of faults and the hits to draw; none for other events.
    fn decoders(&self) -> Vec<NaiveDecoder> {
        Vec::new()
    }
}

/// Refuses a preset that the sequence of a configuration does not have: its parameters would belong to another preset.
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

/// Diagnoses the first failed event, if it is in this batch and not yet diagnosed: which bank or hit caused its status.
/// Counts the sources whose banks the partial events of the batch lack.
pub(crate) fn explain(totals: &mut Totals, detector: &dyn Detector, batch: &dyn Batch, ids: &[EventId]) {
    // The search may take long, but only the first such event of a job is diagnosed.
    let diagnose = |event, status| diagnose(&detector.decoders(), batch, event, status);
    totals.explain(batch.event_ids(), ids, diagnose);
    let (events, has_damaged) = &totals.partial_here;
    if !events.is_empty() {
        let lacking = lacking(&detector.decoders(), batch, events, *has_damaged);
        totals.count_lacking(ids, &lacking);
    }
}
