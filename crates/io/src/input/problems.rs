//! Records problems of the input that did not end the job.

use peloton::{Error, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest number of problems whose messages are stored; all problems are counted.
pub const MAX_PROBLEMS: usize = 20;

/// Problems of the input: their number, and the messages of the first [`MAX_PROBLEMS`].
#[derive(Debug, Default)]
pub struct Problems {
    kept: Vec<String>,
    /// For each problem in `kept`, the number of the event before which it was found.
    places: Vec<usize>,
    count: u64,
    /// Number of the next event.
    at: usize,
    /// Number of files and streams that could not be used, or not to their ends, while others could.
    unusable: u64,
}

impl Problems {
    /// Counts a problem, and keeps it if fewer than [`MAX_PROBLEMS`] are kept.
    pub(super) fn add(&mut self, problem: String) {
        self.count += 1;
        if self.kept.len() < MAX_PROBLEMS {
            self.kept.push(problem);
            self.places.push(self.at);
        }
    }

    /// Sets the event before which further problems are found.
    pub(super) fn come_to(&mut self, event: usize) {
        self.at = event;
    }

    /// Moves the problems found up to event `event` to `to`. With `usize::MAX`, also moves the counts of problems without words.
    pub(super) fn move_before(&mut self, event: usize, to: &mut Self) {
        let moved = self.places.partition_point(|place| *place <= event);
        self.places.drain(..moved);
        self.count -= moved as u64;
        self.kept.drain(..moved).for_each(|problem| to.add(problem));
        if event == usize::MAX {
            to.count += std::mem::take(&mut self.count);
            to.unusable += std::mem::take(&mut self.unusable);
        }
    }

    /// Skips an input that cannot be used, if there are others.
    ///
    /// # Errors
    /// The error itself, if this is the only input or the first problem ends the job.
    pub(super) fn set_aside(&mut self, error: Error, inputs: usize, strict: bool) -> Result<()> {
        if strict || inputs < 2 {
            return Err(error);
        }
        self.unusable += 1;
        self.add(format!("{error}; this input is left out"));
        Ok(())
    }

    /// Records an input that follows its format but contains no event.
    ///
    /// # Errors
    /// [`Error::Format`] if the first problem ends the job.
    pub(super) fn add_empty(&mut self, name: &str, strict: bool) -> Result<()> {
        let error = Error::format(name, "there is no event in it");
        if strict {
            return Err(error);
        }
        self.add(error.to_string());
        Ok(())
    }

    /// Records an input that cannot be read to its end; its earlier events are used.
    pub(super) fn break_off(&mut self, words: &str) {
        self.unusable += 1;
        self.add(format!("{words}; events before the damage were read"));
    }

    /// Number of inputs that were skipped because they cannot be used, or not read to their ends.
    pub(super) fn unusable(&self) -> u64 {
        self.unusable
    }

    /// Messages of the first [`MAX_PROBLEMS`] problems.
    pub(super) fn kept(&self) -> &[String] {
        &self.kept
    }

    /// Total number of problems.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// The problems of a reader so far. Clones share them, so that other threads can parse the reader's events.
#[derive(Debug, Clone, Default)]
pub struct ProblemLog(Arc<Mutex<Problems>>);

impl ProblemLog {
    /// Locks the problems, to add or read some.
    pub fn lock(&self) -> MutexGuard<'_, Problems> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Messages of the first [`MAX_PROBLEMS`] problems.
    pub fn kept(&self) -> Vec<String> {
        self.lock().kept.clone()
    }

    /// Total number of problems.
    pub fn count(&self) -> u64 {
        self.lock().count
    }

    /// Number of inputs that were skipped because they cannot be used, or not read to their ends.
    pub fn unusable(&self) -> u64 {
        self.lock().unusable
    }
}
