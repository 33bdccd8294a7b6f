//! [`Source`]: where batches come from.

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

/// What is known of the events of a batch beside the batch itself: input that no reconstruction sees.
#[derive(Default)]
pub struct Beside {
    /// The truth of each event, when it was asked for.
    pub truth: Vec<TruthEvent>,
    /// Name of the input that the hits of an endless stream came from.
    pub input: Option<Arc<str>>,
    /// Which event each one is; sources whose events have no numbers of their own leave it to [`Beside::complete`].
    pub ids: Vec<EventId>,
    /// What of the events was cut from the input and is still to be looked at.
    unparsed: Option<Box<dyn Unparsed>>,
}

/// Events that were cut from their input, with what is still to be found out of them: any number of threads do that side by side,
/// while the next events are cut.
pub trait Unparsed: Any + Send + Sync {
    /// Whether there is neither an event nor anything to tell.
    fn is_empty(&self) -> bool;

    /// Finds out what is in the events and appends them to the batch that they were cut for, and to what is known beside it.
    ///
    /// # Errors
    /// Those that end the job at an event; what comes before is appended.
    fn parse(&mut self, threads: &dyn Spread, batch: &mut dyn Batch, beside: &mut Beside) -> Result<()>;
}

impl Beside {
    /// The memory for what is cut: that of the last time, if it is of the same type.
    pub fn unparsed<T: Unparsed>(&mut self, make: impl FnOnce() -> T) -> &mut T {
        let is_same = |any: &dyn Any| any.is::<T>();
        if !self.unparsed.as_deref().is_some_and(|unparsed| is_same(unparsed)) {
            self.unparsed = Some(Box::new(make()));
        }
        let any: &mut dyn Any = &mut **self.unparsed.as_mut().expect("it was put there");
        any.downcast_mut().expect("of this type")
    }

    /// Whether something is still to be looked at or told.
    pub fn has_unparsed(&self) -> bool {
        self.unparsed.as_ref().is_some_and(|unparsed| !unparsed.is_empty())
    }

    /// Finds out what is in the events that were cut, if they are not looked at yet.
    ///
    /// # Errors
    /// Those that end the job at an event; what comes before is there.
    pub fn parse(&mut self, threads: &dyn Spread, batch: &mut dyn Batch) -> Result<()> {
        let mut unparsed = self.unparsed.take();
        let parsed = unparsed.as_mut().map_or(Ok(()), |unparsed| unparsed.parse(threads, batch, self));
        self.unparsed = unparsed;
        self.complete(batch.event_ids());
        parsed
    }

    /// Gives back the memory for events that are cut.
    pub fn forget_unparsed(&mut self) {
        self.unparsed = None;
    }

    /// Forgets all events.
    pub fn clear(&mut self) {
        self.truth.clear();
        self.ids.clear();
        self.input = None;
    }

    /// Events that nobody has told of have their number in the inputs and no other.
    fn complete(&mut self, numbers: &[u64]) {
        let rest = numbers.get(self.ids.len()..).unwrap_or_default();
        self.ids.extend(rest.iter().map(|&number| EventId { number, run: None, event: None }));
    }
}

/// Says how many of these hits an event of a batch does not have.
pub type CountUnknown = Box<dyn Fn(&dyn Batch, usize, &mut dyn Iterator<Item = &u32>) -> u64 + Send + Sync>;

/// Where batches come from.
pub trait Source: Send {
    /// A batch without events, of the kind that [`cut`](Self::cut) fills.
    fn empty(&self) -> Box<dyn Batch>;

    /// Cuts up to `items` events from the input, or takes hits of an endless stream; says how many. At the end it says 0.
    /// The events are in the batch as soon as they are [parsed](Beside::parse), and beside them the truth of each event that has one, and
    /// which event it is, where its source says more than its number.
    ///
    /// # Errors
    /// When the input cannot be read on, and for a batch of another kind.
    fn cut(&mut self, items: usize, batch: &mut dyn Batch, beside: &mut Beside) -> Result<usize>;

    /// Whether the job ends at the first fault in an event, and the input is a pipe, whose other end may wait for that: then each event is
    /// looked at before the next one is read.
    fn waits_for_faults(&self) -> bool {
        false
    }

    /// How long the input was read so far, where a thread of the source's own does it; else the time of [`cut`](Self::cut) counts.
    fn reading_time(&self) -> Option<Duration> {
        None
    }

    /// Bytes that were read of the inputs so far, as they lie there; none where nothing is read.
    fn bytes_read(&self) -> Option<u64> {
        None
    }

    /// How many there will be, where that is known.
    fn known_items(&self) -> Option<u64> {
        None
    }

    /// What was wrong with the input without ending the job, and how often in all.
    fn problems(&self) -> (Vec<String>, u64) {
        (Vec::new(), 0)
    }

    /// Has true particles list the hits that these rules ask for.
    fn check_by(&mut self, _rules: Rules) {}

    /// What counts, of hits that tracks made elsewhere name, those that an event does not have; by the rules that these
    /// tracks are checked by.
    fn count_unknown(&self, _rules: Rules) -> CountUnknown {
        Box::new(|_, _, _| 0)
    }

    /// Reasons and counts of what was lost before it could become an event.
    fn dropped(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Why the input cannot be what it was read as, when nothing in it is what its format has.
    fn misread(&self) -> Option<String> {
        None
    }

    /// What else is told of the input, as keys and values of the summary.
    fn facts(&self) -> Map<String, Value> {
        Map::new()
    }
}

impl dyn Source + '_ {
    /// Cuts up to `items` events and has `threads` look at what is in them; says how many there are now. At the end it says 0.
    ///
    /// # Errors
    /// When the input cannot be read on, and for a batch of another kind. What comes before is there.
    pub fn read(
        &mut self,
        items: usize,
        threads: &dyn Spread,
        batch: &mut dyn Batch,
        beside: &mut Beside,
    ) -> Result<usize> {
        let before = batch.len();
        let cut = self.cut(items, batch, beside);
        // Numbers are read by arithmetic.
        let parsed = with_default_float_mode(|| beside.parse(threads, batch));
        parsed.and(cut).map(|_| batch.len() - before)
    }
}

/// Warns of what was wrong with the input without ending the job.
pub(crate) fn warn_of_problems(source: &dyn Source, host: Host<'_>) {
    let (problems, count) = source.problems();
    problems.iter().for_each(|problem| host.warn(problem));
    let more = count - problems.len() as u64;
    if more > 0 {
        host.warn(&format!("and {more} more like these"));
    }
}
