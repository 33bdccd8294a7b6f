//! [`Source`]: where batches come from.

use crate::Host;
use peloton::Result;
use peloton::engine::Batch;
use peloton::event::TruthEvent;
use peloton_io::input::EventId;
use peloton_truth::Rules;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What is known of the events of a batch beside the batch itself: input that no reconstruction sees.
#[derive(Debug, Default)]
pub struct Beside {
    /// The truth of each event, when it was asked for.
    pub truth: Vec<TruthEvent>,
    /// Name of the input that the hits of an endless stream came from.
    pub input: Option<Arc<str>>,
    /// Which event each one is; sources whose events have no numbers of their own leave it to [`Beside::complete`].
    pub ids: Vec<EventId>,
}

impl Beside {
    /// Forgets all events.
    pub fn clear(&mut self) {
        self.truth.clear();
        self.ids.clear();
        self.input = None;
    }

    /// Events that nobody has told of have their number in the inputs and no other.
    pub fn complete(&mut self, numbers: &[u64]) {
        let rest = numbers.get(self.ids.len()..).unwrap_or_default();
        self.ids.extend(rest.iter().map(|&number| EventId { number, run: None, event: None }));
    }
}

/// Says how many of these hits an event of a batch does not have.
pub type CountUnknown = Box<dyn Fn(&dyn Batch, usize, &mut dyn Iterator<Item = &u32>) -> u64 + Send + Sync>;

/// Where batches come from.
pub trait Source: Send {
    /// A batch without events, of the kind that [`read`](Self::read) fills.
    fn empty(&self) -> Box<dyn Batch>;

    /// Appends up to `items` events, or hits of an endless stream, and beside them the truth of each event that has one, and
    /// which event it is, where its source says more than its number; says how many. At the end it says 0.
    ///
    /// # Errors
    /// When the input cannot be read on, and for a batch of another kind.
    fn read(&mut self, items: usize, batch: &mut dyn Batch, beside: &mut Beside) -> Result<usize>;

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

/// Warns of what was wrong with the input without ending the job.
pub(crate) fn warn_of_problems(source: &dyn Source, host: Host<'_>) {
    let (problems, count) = source.problems();
    problems.iter().for_each(|problem| host.warn(problem));
    let more = count - problems.len() as u64;
    if more > 0 {
        host.warn(&format!("and {more} more like these"));
    }
}
