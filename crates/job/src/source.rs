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

/// Information on the events of a batch that the reconstruction does not use.
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
    /// Returns errors that end the job at an event; the events before it are appended.
    fn parse(&mut self, threads: &dyn Spread, batch: &mut dyn Batch, beside: &mut Beside) -> Result<()>;
}

impl Beside {
    /// Returns the memory for cut events; makes new memory if there is none of this type.
    pub fn unparsed<T: Unparsed>(&mut self, make: impl FnOnce() -> T) -> &mut T {
        let is_same = |any: &dyn Any| any.is::<T>();
        if !self.unparsed.as_deref().is_some_and(|unparsed| is_same(unparsed)) {
            self.unparsed = Some(Box::new(make()));
        }
        let any: &mut dyn Any = &mut **self.unparsed.as_mut().expect("the memory was stored above");
        any.downcast_mut().expect("of this type")
    }

    /// Whether cut events wait to be parsed, or messages to be reported.
    pub fn has_unparsed(&self) -> bool {
        self.unparsed.as_ref().is_some_and(|unparsed| !unparsed.is_empty())
    }

    /// Parses the cut events, if any.
    ///
    /// # Errors
    /// Returns errors that end the job at an event; the events before it are in the batch.
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

    /// Gives events without an identification their number in the inputs.
    fn complete(&mut self, numbers: &[u64]) {
        let rest = numbers.get(self.ids.len()..).unwrap_or_default();
        self.ids.extend(rest.iter().map(|&number| EventId { number, run: None, event: None }));
    }
}

/// Function that counts the hits of a list that an event of a batch does not contain.
pub type CountUnknown = Box<dyn Fn(&dyn Batch, usize, &mut dyn Iterator<Item = &u32>) -> u64 + Send + Sync>;

/// A source of batches: files, a stream or a simulation.
pub trait Source: Send {
    /// Returns a batch without events, of the kind that [`cut`](Self::cut) fills.
    fn empty(&self) -> Box<dyn Batch>;

    /// Cuts up to `items` events from the input, or reads hits of an endless stream; returns their number, which is 0
    /// at the end of the input. The batch contains the events once they are [parsed](Beside::parse), together with
    /// their truth and their run and event numbers, if the input has these.
    ///
    /// # Errors
    /// Fails when reading cannot continue, and for a batch of another kind.
    fn cut(&mut self, items: usize, batch: &mut dyn Batch, beside: &mut Beside) -> Result<usize>;

    /// Whether each event is parsed before the next event is read: when the job ends at the first fault in an event,
    /// and the input is a pipe, whose writer may wait for this end.
    fn waits_for_faults(&self) -> bool {
        false
    }

    /// Returns the time that a thread of the source has spent on reading; none if [`cut`](Self::cut) reads.
    fn reading_time(&self) -> Option<Duration> {
        None
    }

    /// Returns the bytes read from the inputs so far, before decompression; none where nothing is read.
    fn bytes_read(&self) -> Option<u64> {
        None
    }

    /// Returns the total number of events or hits, if known.
    fn known_items(&self) -> Option<u64> {
        None
    }

    /// Returns the faults of the input that did not end the job, and their total number.
    fn problems(&self) -> (Vec<String>, u64) {
        (Vec::new(), 0)
    }

    /// Makes the source list, for each true particle, the hits that these rules need.
    fn check_by(&mut self, _rules: Rules) {}

    /// Returns a function that counts the hits in tracks of another program that an event does not contain, for these
    /// rules.
    fn count_unknown(&self, _rules: Rules) -> CountUnknown {
        Box::new(|_, _, _| 0)
    }

    /// Returns the reasons and counts of data that were lost before they became events.
    fn dropped(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Returns the reason why the format of the input is wrong, if no part of the input fits the format.
    fn misread(&self) -> Option<String> {
        None
    }

    /// Returns other facts about the input, as keys and values of the summary.
    fn facts(&self) -> Map<String, Value> {
        Map::new()
    }
}

impl dyn Source + '_ {
    /// Cuts up to `items` events, and lets `threads` parse them; returns the number of events: 0 at the end.
    ///
    /// # Errors
    /// Fails when reading cannot continue, and for a batch of another kind; `batch` has the events before the error.
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
