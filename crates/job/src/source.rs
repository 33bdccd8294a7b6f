//! [`Source`]: sources of batches.

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
    /// Name of the input of the hits of an endless stream.
    pub input: Option<Arc<str>>,
    /// Identification of each event; sources whose events have no numbers of their own leave it to [`Beside::complete`].
    pub ids: Vec<EventId>,
    /// Events that were cut from the input but not parsed.
    unparsed: Option<Box<dyn Unparsed>>,
}

/// Events that were cut from their input but not parsed: any number of threads parse them in parallel, while the next
/// events are cut.
pub trait Unparsed: Any + Send + Sync {
    /// Whether there are neither events nor messages.
    fn is_empty(&self) -> bool;

    /// Parses the events and appends them to their batch, and their information to the auxiliary data.
    ///
    /// # Errors
    /// Errors that end the job at an event; events before it are appended.
    fn parse(&mut self, threads: &dyn Spread, batch: &mut dyn Batch, beside: &mut Beside) -> Result<()>;
}

impl Beside {
    /// Returns the memory for cut events; it is reused if it has the same type.
    pub fn unparsed<T: Unparsed>(&mut self, make: impl FnOnce() -> T) -> &mut T {
        let is_same = |any: &dyn Any| any.is::<T>();
        if !self.unparsed.as_deref().is_some_and(|unparsed| is_same(unparsed)) {
            self.unparsed = Some(Box::new(make()));
        }
        let any: &mut dyn Any = &mut **self.unparsed.as_mut().expect("it was put there");
        any.downcast_mut().expect("of this type")
    }

    /// Whether events wait to be parsed, or messages to be reported.
    pub fn has_unparsed(&self) -> bool {
        self.unparsed.as_ref().is_some_and(|unparsed| !unparsed.is_empty())
    }

    /// Parses the cut events, if they are not parsed yet.
    ///
    /// # Errors
    /// Errors that end the job at an event; events before it are in the batch.
    pub fn parse(&mut self, threads: &dyn Spread, batch: &mut dyn Batch) -> Result<()> {
        let mut unparsed = self.unparsed.take();
        let parsed = unparsed.as_mut().map_or(Ok(()), |unparsed| unparsed.parse(threads, batch, self));
        self.unparsed = unparsed;
        self.complete(batch.event_ids());
        parsed
    }

    /// Frees the memory for cut events.
    pub fn forget_unparsed(&mut self) {
        self.unparsed = None;
    }

    /// Removes all events.
    pub fn clear(&mut self) {
        self.truth.clear();
        self.ids.clear();
        self.input = None;
    }

    /// Adds the identification of events that have none: their number in the inputs.
    fn complete(&mut self, numbers: &[u64]) {
        let rest = numbers.get(self.ids.len()..).unwrap_or_default();
        self.ids.extend(rest.iter().map(|&number| EventId { number, run: None, event: None }));
    }
}

/// Counts the hits in a list that an event of a batch does not have.
pub type CountUnknown = Box<dyn Fn(&dyn Batch, usize, &mut dyn Iterator<Item = &u32>) -> u64 + Send + Sync>;

/// A source of batches.
pub trait Source: Send {
    /// A batch without events, of the kind that [`cut`](Self::cut) fills.
    fn empty(&self) -> Box<dyn Batch>;

    /// Cuts up to `items` events from the input, or reads hits of an endless stream; returns their number, which
    /// is 0 at the end of the input. The batch contains the events once they are [parsed](Beside::parse), together with the truth
    /// of each event that has one, and its identification, if the source gives more than its number.
    ///
    /// # Errors
    /// When reading cannot continue, and for a batch of another kind.
    fn cut(&mut self, items: usize, batch: &mut dyn Batch, beside: &mut Beside) -> Result<usize>;

    /// Whether the job ends at the first fault in an event, and the input is a pipe, whose writer may wait for this
    /// end: then each event is parsed before the next one is read.
    fn waits_for_faults(&self) -> bool {
        false
    }

    /// Time of reading so far, if a thread of the source reads; otherwise the time of [`cut`](Self::cut) counts.
    fn reading_time(&self) -> Option<Duration> {
        None
    }

    /// Bytes read from the inputs so far, before decompression; none where nothing is read.
    fn bytes_read(&self) -> Option<u64> {
        None
    }

    /// Number of items, if known.
    fn known_items(&self) -> Option<u64> {
        None
    }

    /// Faults of the input that did not end the job, and their total number.
    fn problems(&self) -> (Vec<String>, u64) {
        (Vec::new(), 0)
    }

    /// Makes true particles list the hits that these rules need.
    fn check_by(&mut self, _rules: Rules) {}

    /// Prepares the count of hits that tracks made elsewhere name but an event does not have, by the rules that check
    /// these tracks.
    fn count_unknown(&self, _rules: Rules) -> CountUnknown {
        Box::new(|_, _, _| 0)
    }

    /// Reasons and counts of data lost before they became events.
    fn dropped(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// The reason why the format of the input is wrong, if no part of it fits.
    fn misread(&self) -> Option<String> {
        None
    }

    /// Other facts about the input, as keys and values of the summary.
    fn facts(&self) -> Map<String, Value> {
        Map::new()
    }
}

impl dyn Source + '_ {
    /// Cuts up to `items` events and has `threads` parse them; returns the number of events. At the end it returns 0.
    ///
    /// # Errors
    /// When reading cannot continue, and for a batch of another kind. The events before the error are in the batch.
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
        host.warn(&format!("and {more} more like these"));
    }
}
