//! [`Source`]: reads batches of events or hits from the inputs.

use crate::Host;
use peloton::Result;
use peloton::engine::{Batch, Spread};
use peloton::event::TruthEvent;
use peloton::simd::with_default_float_mode;
use peloton_io::input::EventId;
use peloton_truth::Rules;
use serde_json::{Map, Value};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

/// Auxiliary data of the events of a batch, which the reconstruction does not use.
#[derive(Default)]
pub struct Beside {
    /// The truth of each event, if requested.
    pub truth: Vec<TruthEvent>,
    /// Name of the input that the hits of an endless stream come from.
    pub input: Option<Arc<str>>,
    /// Identification of each event; empty for sources without event numbers, until [`Beside::complete`] adds them.
    pub ids: Vec<EventId>,
    /// Memory of events that were cut from the input but not parsed.
    unparsed: Option<Box<dyn Unparsed>>,
}

/// Events that were cut from their input but not parsed. Any number of threads parse them in parallel, while the next
/// events are cut.
pub trait Unparsed: Any + Send + Sync {
    /// Whether there are no unparsed events and no messages.
    fn is_empty(&self) -> bool;

    /// Parses the events and appends them to `batch`, and their auxiliary data to `beside`.
    ///
    /// # Errors
    /// Returns errors that end the job at an event; the events before that event are appended.
    fn parse(&mut self, threads: &dyn Spread, batch: &mut dyn Batch, beside: &mut Beside) -> Result<()>;
}

impl Beside {
    /// Returns the memory for cut events, of type `T`; makes new memory if there is none of this type.
    pub fn unparsed<T: Unparsed>(&mut self, make: impl FnOnce() -> T) -> &mut T {
        let is_same = |any: &dyn Any| any.is::<T>();
        if !self.unparsed.as_deref().is_some_and(|unparsed| is_same(unparsed)) {
            self.unparsed = Some(Box::new(make()));
        }
        let any: &mut dyn Any = &mut **self.unparsed.as_mut().expect("the memory was stored above");
        any.downcast_mut().expect("of this type")
    }

    /// Whether there are cut events to parse, or messages to report.
    pub fn has_unparsed(&self) -> bool {
        self.unparsed.as_ref().is_some_and(|unparsed| !unparsed.is_empty())
    }

    /// Parses the cut events, if any.
    ///
    /// # Errors
    /// Returns errors that end the job at an event; the events before that event are in the batch.
    pub fn parse(&mut self, threads: &dyn Spread, batch: &mut dyn Batch) -> Result<()> {
        let mut unparsed = self.unparsed.take();
        let parsed = unparsed.as_mut().map_or(Ok(()), |unparsed| unparsed.parse(threads, batch, self));
        self.unparsed = unparsed;
        self.complete(batch.event_ids());
        parsed
    }

    /// Frees the memory of the cut events.
    pub fn forget_unparsed(&mut self) {
        self.unparsed = None;
    }

    /// Removes all events.
    pub fn clear(&mut self) {
        self.truth.clear();
        self.ids.clear();
        self.input = None;
    }

    /// Identifies events that have no identification by their number in the inputs.
    fn complete(&mut self, numbers: &[u64]) {
        let rest = numbers.get(self.ids.len()..).unwrap_or_default();
        self.ids.extend(rest.iter().map(|&number| EventId { number, run: None, event: None }));
    }
}

/// Function that counts the hits of a list that a given event of a batch lacks.
pub type CountUnknown = Box<dyn Fn(&dyn Batch, usize, &mut dyn Iterator<Item = &u32>) -> u64 + Send + Sync>;

/// A source of batches: files, a stream or a simulation.
pub trait Source: Send {
    /// Returns a batch without events, of the kind that [`cut`](Self::cut) fills.
    fn empty(&self) -> Box<dyn Batch>;

    /// Cuts up to `items` events from the input, or reads hits of an endless stream. Returns the number of events or
    /// hits, 0 at the end of the input. The events are in the batch when they are [parsed](Beside::parse); then
    /// `beside` has their truth and their run and event numbers, if the input has these.
    ///
    /// # Errors
    /// Fails when reading cannot continue, and for a batch of another kind.
    fn cut(&mut self, items: usize, batch: &mut dyn Batch, beside: &mut Beside) -> Result<usize>;

    /// Whether each event is parsed before the next event is read. True if the first faulty event ends the job and the
    /// input is a pipe, since the program that writes to the pipe may wait for this end.
    fn waits_for_faults(&self) -> bool {
        false
    }

    /// Returns the time that the source's own thread has spent on reading; none if [`cut`](Self::cut) reads.
    fn reading_time(&self) -> Option<Duration> {
        None
    }

    /// Returns the bytes read from the inputs so far, before decompression; none for a source that reads nothing.
    fn bytes_read(&self) -> Option<u64> {
        None
    }

    /// Returns the total number of events or hits, if known.
    fn known_items(&self) -> Option<u64> {
        None
    }

    /// Returns messages about faults of the input that did not end the job, and the total number of these faults.
    fn problems(&self) -> (Vec<String>, u64) {
        (Vec::new(), 0)
    }

    /// Selects the hits that the truth lists for each particle: the hits of the detectors that these rules need.
    fn check_by(&mut self, _rules: Rules) {}

    /// Returns a function that counts the hits that tracks of another program list but an event lacks, in the detectors
    /// that these rules need.
    fn count_unknown(&self, _rules: Rules) -> CountUnknown {
        Box::new(|_, _, _| 0)
    }

    /// Returns the data that were lost before they became events, as pairs of reason and count.
    fn dropped(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Returns the reason why the format of the input is wrong, if no part of the input fits the format.
    fn misread(&self) -> Option<String> {
        None
    }

    /// Returns further facts about the input, as keys and values for the summary.
    fn facts(&self) -> Map<String, Value> {
        Map::new()
    }
}

impl dyn Source + '_ {
    /// Cuts up to `items` events, and lets `threads` parse them; returns the number of events: 0 at the end.
    ///
    /// # Errors
    /// Fails if reading cannot continue or `batch` is of another kind. The events before the error are in `batch`.
    pub fn read(
        &mut self,
        items: usize,
        threads: &dyn Spread,
        batch: &mut dyn Batch,
        beside: &mut Beside,
    ) -> Result<usize> {
        let before = batch.len();
        let cut = self.cut(items, batch, beside);
        // Parsing numbers takes floating-point arithmetic.
        let parsed = with_default_float_mode(|| beside.parse(threads, batch));
        parsed.and(cut).map(|_| batch.len() - before)
    }
}

/// Warns of faults of the input that did not end the job.
pub(crate) fn warn_of_problems(source: &dyn Source, host: Host<'_>) {
    let (problems, count) = source.problems();
    problems.iter().for_each(|problem| host.warn(problem));
    let more = count - problems.len() as u64;
    if more > 0 {
        host.warn(&format!("and {more} more faults like these"));
    }
}
