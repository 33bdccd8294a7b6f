//! [`EventSource`]: the source of events in files of any format, or from a simulation.

use super::bank_notes::BankNotes;
use crate::totals::{HITS_NOT_IN_GEOMETRY, UNUSABLE_INPUTS};
use crate::{Beside, CountUnknown, Source};
use peloton::Result;
use peloton::engine::{Batch, Events};
use peloton_io::input::{ByteCount, ProblemLog};
use peloton_truth::Rules;
use serde_json::{Map, Value};

/// Function that cuts events from an input, as [`Source::cut`] does; formats and simulations differ in this function.
pub type Cut = Box<dyn FnMut(usize, &mut dyn Batch, &mut Beside) -> Result<usize> + Send>;

/// Events of files, of a pipe or of a simulation.
pub struct EventSource {
    /// Function that makes a batch without events.
    pub empty: fn() -> Box<dyn Batch>,
    /// Function that cuts events from the input.
    pub cut: Cut,
    /// Counter of the bytes read, and log of problems, for files and pipes; none for a simulation.
    pub files: Option<(ByteCount, ProblemLog)>,
    /// Number of events of a simulation.
    pub known: Option<u64>,
    /// Auxiliary data of raw banks; none for hits.
    pub banks: Option<BankNotes>,
    /// The return value of [`Source::waits_for_faults`].
    pub waits_for_faults: bool,
}

impl EventSource {
    /// Makes the source of events in files or a pipe; the reader counts bytes and logs problems.
    pub fn files(
        empty: fn() -> Box<dyn Batch>,
        bytes: ByteCount,
        problems: ProblemLog,
        cut: impl FnMut(usize, &mut dyn Batch, &mut Beside) -> Result<usize> + Send + 'static,
    ) -> Self {
        let (files, cut) = (Some((bytes, problems)), Box::new(cut));
        Self { empty, cut, files, known: None, banks: None, waits_for_faults: false }
    }

    /// Makes the source of a number of simulated events.
    pub fn simulated(
        empty: fn() -> Box<dyn Batch>,
        events: u64,
        cut: impl FnMut(usize, &mut dyn Batch, &mut Beside) -> Result<usize> + Send + 'static,
    ) -> Self {
        let (known, cut) = (Some(events), Box::new(cut));
        Self { empty, cut, files: None, known, banks: None, waits_for_faults: false }
    }
}

impl Source for EventSource {
    fn empty(&self) -> Box<dyn Batch> {
        (self.empty)()
    }

    fn cut(&mut self, events: usize, batch: &mut dyn Batch, beside: &mut Beside) -> Result<usize> {
        (self.cut)(events, batch, beside)
    }

    fn waits_for_faults(&self) -> bool {
        self.waits_for_faults
    }

    fn bytes_read(&self) -> Option<u64> {
        self.files.as_ref().map(|(bytes, _)| bytes.get())
    }

    fn known_items(&self) -> Option<u64> {
        self.known
    }

    fn problems(&self) -> (Vec<String>, u64) {
        self.files.as_ref().map(|(_, problems)| (problems.kept(), problems.count())).unwrap_or_default()
    }

    fn dropped(&self) -> Vec<(&'static str, u64)> {
        let Some((_, problems)) = &self.files else { return Vec::new() };
        let unknown = self.banks.as_ref().map(|banks| (HITS_NOT_IN_GEOMETRY, banks.unknown_hits()));
        [(UNUSABLE_INPUTS, problems.unusable())].into_iter().chain(unknown).collect()
    }

    fn facts(&self) -> Map<String, Value> {
        self.banks.as_ref().map(BankNotes::facts).unwrap_or_default()
    }

    fn count_unknown(&self, rules: Rules) -> CountUnknown {
        let names = self.banks.as_ref().map(|banks| banks.hit_names(rules.hits_of()));
        Box::new(move |batch, event, hits| match (batch.events(), &names) {
            (Events::VeloHits(events), _) => {
                let count = events.event(event).len();
                hits.filter(|hit| **hit as usize >= count).count() as u64
            }
            (Events::Banks(events), Some(names)) => names.unknown(&events.event(event), hits),
            _ => 0,
        })
    }

    fn check_by(&mut self, rules: Rules) {
        if let Some(banks) = &self.banks {
            banks.take_truth(rules.hits_of());
        }
    }
}
