//! [`System`]: what jobs need to know of a sequence beyond running it.

use crate::measure::Measured;
use crate::sink::{FileSink, Sink};
use crate::summary::Totals;
use crate::{Beside, Cancel, Check, CheckOptions, Config, EventRange, Host, Request};
use peloton::engine::{Batch, Executor, Stage};
use peloton::event::Results;
use peloton::{Error, Result, Status};
use peloton_io::input::Format;
use peloton_io::output::Metadata;
use peloton_truth::Rules;
use serde_json::{Map, Value};
use std::path::Path;

/// Says how many of these hits an event of a batch does not have.
pub type CountUnknown<B> = Box<dyn Fn(&B, usize, &mut dyn Iterator<Item = &u32>) -> u64 + Send + Sync>;

/// Where batches come from.
pub trait Source<B>: Send {
    /// Appends up to `items` events, or hits of an endless stream, and beside them the truth of each event that has one, and
    /// which event it is, where its source says more than its number; says how many. At the end it says 0.
    ///
    /// # Errors
    /// When the input cannot be read on.
    fn read(&mut self, items: usize, batch: &mut B, beside: &mut Beside) -> Result<usize>;

    /// How many there will be, where that is known.
    fn known_items(&self) -> Option<u64> {
        None
    }

    /// What was wrong with the input without ending the job, and how often in all.
    fn problems(&self) -> (&[String], u64) {
        (&[], 0)
    }

    /// Has true particles list the hits that these rules ask for.
    fn check_by(&mut self, _rules: Rules) {}

    /// What counts, of hits that tracks made elsewhere name, those that an event does not have; by the rules that these
    /// tracks are checked by.
    fn count_unknown(&self, _rules: Rules) -> CountUnknown<B> {
        Box::new(|_, _, _| 0)
    }

    /// Reasons and counts of what was lost before it could become an event.
    fn dropped(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// What else is told of the input, as keys and values of the summary.
    fn facts(&self) -> Map<String, Value> {
        Map::new()
    }
}

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
/// [`Error::Config`] for what only other sequences know, and those of [`System::open`].
pub(crate) fn open<S: System>(request: &Request, truth: bool, host: Host<'_>) -> Result<Opened<S>> {
    let name = S::NAME;
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

    /// Input in memory.
    type Batch: Batch;
    /// What is made of it.
    type Results: Results;
    /// What an executor needs to know of the input, such as the detector's geometry.
    type Context: Send + Sync;

    /// Opens the inputs of a request; without any, the system's own simulation.
    ///
    /// # Errors
    /// [`Error::Config`](peloton::Error::Config) for inputs that cannot go together, and those of the readers.
    fn open(request: &Request, truth: bool, host: Host<'_>) -> Result<Opened<Self>>;

    /// Makes what runs the events, on the CPU or a device.
    ///
    /// # Errors
    /// Those of the configuration and of the device.
    fn executor(request: &Request, config: &Config, context: &Self::Context) -> Result<Runs<Self>>;

    /// How many events or hits are read at once when so many threads share them.
    fn batch_items(config: &Config, threads: usize) -> usize;

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

    /// Creates the file for results.
    ///
    /// # Errors
    /// [`Error::Config`](peloton::Error::Config) for a name whose format is unknown, and then no file is touched.
    fn sink(
        path: &Path,
        _context: &Self::Context,
        metadata: &Metadata,
        cancel: &Cancel,
    ) -> Result<Box<dyn Sink<Self::Results>>> {
        FileSink::create(path, metadata, cancel).map(|sink| Box::new(sink) as Box<_>)
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
    ) -> Result<Box<dyn Check<Self>>>;

    /// Reasons and counts of what was lost, and keys and values of the summary, that are known only after everything
    /// was reconstructed.
    fn outcome(_context: &Self::Context) -> (Vec<(&'static str, u64)>, Map<String, Value>) {
        Default::default()
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

    /// Appends all of `piece` to what waits to be compared, where two sides need not give their results batch by batch
    /// alike.
    fn keep(_waiting: &mut Self::Results, _piece: &Self::Results) {}

    /// Removes the first results of what waits to be compared.
    fn remove_first(_waiting: &mut Self::Results, _count: usize) {}
}

/// Warns of what was wrong with the input without ending the job.
pub(crate) fn warn_of_problems<B>(source: &dyn Source<B>, host: Host<'_>) {
    let (problems, count) = source.problems();
    problems.iter().for_each(|problem| host.warn(problem));
    let more = count - problems.len() as u64;
    if more > 0 {
        host.warn(&format!("and {more} more like these"));
    }
}
