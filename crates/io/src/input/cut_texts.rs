//! [`CutTexts`]: texts of events that were cut out of their inputs, to be parsed by any number of threads.

use super::problems::Problems;
use super::records::Cut;
use super::velo_json::decode;
use super::velo_json_columns::{Decoded, Trouble};
use peloton::engine::Spread;
use peloton::event::{TruthEvent, VeloBatch};
use peloton::{Error, Result, Status};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Texts of events that are not parsed yet.
#[derive(Debug, Default)]
pub struct CutTexts {
    /// All texts, one after another.
    pub(super) text: Vec<u8>,
    // Only the thread that parses text i locks entry i, so no thread waits. The mutex proves this to the compiler.
    events: Vec<Mutex<CutText>>,
    used: usize,
    truth: bool,
    strict: bool,
    /// Longest text, bytes.
    limit: usize,
    /// Problems of the inputs between the events.
    problems: Problems,
}

#[derive(Debug)]
struct CutText {
    number: usize,
    /// Name of the input in messages.
    input: Arc<str>,
    line: u64,
    /// Position of the text; none for a text that cannot be read.
    range: Option<Range<usize>>,
    decoded: std::result::Result<Decoded, Trouble>,
}

impl CutTexts {
    /// Whether there are neither events nor problems of the inputs.
    pub fn is_empty(&self) -> bool {
        self.used == 0 && self.problems.count() == 0
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Total length of all texts, bytes.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Removes all texts, sets the options, and keeps the memory.
    pub(super) fn begin(&mut self, truth: bool, strict: bool, limit: usize) {
        self.text.clear();
        self.used = 0;
        self.problems = Problems::default();
        (self.truth, self.strict, self.limit) = (truth, strict, limit);
    }

    /// Sets the problems of the inputs.
    pub(super) fn note_problems(&mut self, problems: Problems) {
        self.problems = problems;
    }

    /// Adds an event; its text, if it was cut, begins at this byte.
    pub(super) fn add(&mut self, number: usize, input: &Arc<str>, begin: usize, cut: Cut) {
        let mut range = None;
        let (line, decoded) = match cut {
            Cut::Record { line } => {
                range = Some(begin..self.text.len());
                (line, Ok(Decoded::default()))
            }
            Cut::Broken { line, message } => {
                (line, Err(Trouble::corrupt(format!("cannot be decompressed further: {message}"))))
            }
            Cut::TooLong { line } => {
                let message = format!("the event is longer than {} bytes", self.limit);
                (line, Err(Trouble { status: Status::TooManyHits, message, place: None }))
            }
            Cut::End => return,
        };
        let event = CutText { number, input: input.clone(), line, range, decoded };
        match self.events.get_mut(self.used) {
            Some(slot) => *slot.get_mut().unwrap_or_else(PoisonError::into_inner) = event,
            None => self.events.push(Mutex::new(event)),
        }
        self.used += 1;
    }

    /// Parses the texts on `threads`, and appends the events in their order to `batch`, their truth to `truth` if
    /// requested, and their faults to `problems`.
    ///
    /// # Errors
    /// [`Error::Format`] at the first problem in strict mode. Events before the problem are still appended.
    pub fn parse(
        &mut self,
        threads: &dyn Spread,
        batch: &mut VeloBatch,
        truth: &mut Vec<TruthEvent>,
        problems: &mut Problems,
    ) -> Result<()> {
        let used = std::mem::take(&mut self.used);
        threads.spread(used, &|number| {
            let event = &mut *self.events[number].lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(range) = event.range.take() {
                event.decoded = decode(self.text[range].trim_ascii_end(), self.truth);
            }
        });
        let mut told = std::mem::take(&mut self.problems);
        for event in &mut self.events[..used] {
            let event = event.get_mut().unwrap_or_else(PoisonError::into_inner);
            told.move_before(event.number, problems);
            let of_event = event.append(self.strict, batch, problems)?;
            if self.truth {
                truth.push(of_event);
            }
        }
        told.move_before(usize::MAX, problems);
        Ok(())
    }
}

impl CutText {
    /// Appends the event to the batch, and returns its truth.
    fn append(&mut self, strict: bool, batch: &mut VeloBatch, problems: &mut Problems) -> Result<TruthEvent> {
        match std::mem::replace(&mut self.decoded, Ok(Decoded::default())) {
            Ok(Decoded { x, y, z, module_start, truth, notes }) => {
                notes.iter().try_for_each(|note| self.problem(self.line, note, strict, problems))?;
                batch.push_event(self.number as u64, &x, &y, &z, &module_start);
                Ok(truth)
            }
            Err(Trouble { status, message, place }) => {
                let (line, message) = match place {
                    Some((down, column)) => {
                        (self.line + down as u64 - 1, format!("{message} (column {column})"))
                    }
                    None => (self.line, message),
                };
                self.problem(line, &message, strict, problems)?;
                batch.push_failed(self.number as u64, status);
                Ok(TruthEvent::default())
            }
        }
    }

    /// Records a problem; in strict mode, returns it as an error.
    fn problem(&self, line: u64, message: &str, strict: bool, problems: &mut Problems) -> Result<()> {
        let place = format!("{} line {line} (event {})", self.input, self.number);
        if strict {
            return Err(Error::format(place, message));
        }
        problems.add(format!("{place}: {message}"));
        Ok(())
    }
}
