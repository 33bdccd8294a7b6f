//! [`TextSource`]: events of hits of the Velo, written as JSON.

use super::inputs::waits_for_faults;
use crate::{Beside, Request, Unparsed};
use peloton::Result;
use peloton::engine::{Batch, Spread};
use peloton::velo::VeloInputBatch;
use peloton_io::input::{CutTexts, Problems, VeloReader};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Events of Velo JSON.
pub struct TextSource {
    reader: VeloReader,
    problems: Arc<Mutex<Problems>>,
    /// Result of [`Source::waits_for_faults`](crate::Source::waits_for_faults).
    pub waits_for_faults: bool,
}

/// Texts of events that are not parsed yet.
struct Texts {
    cut: CutTexts,
    problems: Arc<Mutex<Problems>>,
}

fn lock(problems: &Mutex<Problems>) -> MutexGuard<'_, Problems> {
    problems.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TextSource {
    /// Makes the source of the events of a reader for the inputs of a request.
    pub fn new(reader: VeloReader, request: &Request) -> Self {
        Self { reader, problems: Arc::default(), waits_for_faults: waits_for_faults(request) }
    }

    /// Implements [`Source::cut`](crate::Source::cut).
    ///
    /// # Errors
    /// Errors of the reader.
    pub fn cut(&mut self, events: usize, beside: &mut Beside) -> Result<usize> {
        let make = || Texts { cut: CutTexts::default(), problems: self.problems.clone() };
        self.reader.cut(events, &mut beside.unparsed(make).cut)
    }

    /// Implements [`Source::bytes_read`](crate::Source::bytes_read).
    pub fn bytes_read(&self) -> u64 {
        self.reader.bytes_read()
    }

    /// Implements [`Source::problems`](crate::Source::problems).
    pub fn problems(&self) -> (Vec<String>, u64) {
        let problems = lock(&self.problems);
        (problems.kept().to_vec(), problems.count())
    }

    /// Number of inputs that could not be used at all, while others could.
    pub fn unusable_inputs(&self) -> u64 {
        lock(&self.problems).unusable()
    }
}

impl Unparsed for Texts {
    fn is_empty(&self) -> bool {
        self.cut.is_empty()
    }

    fn parse(&mut self, threads: &dyn Spread, batch: &mut dyn Batch, beside: &mut Beside) -> Result<()> {
        let batch: &mut VeloInputBatch = batch.of_mut()?;
        self.cut.parse(threads, batch.hits_mut(), &mut beside.truth, &mut lock(&self.problems))
    }
}
