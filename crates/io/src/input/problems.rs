//! Faults that did not end the job.

use peloton::{Error, Result};

/// Largest number of problems kept in words; all are counted.
pub const MAX_PROBLEMS: usize = 20;

/// Problems, the first [`MAX_PROBLEMS`] in words.
#[derive(Debug, Default)]
pub struct Problems {
    kept: Vec<String>,
    /// Number of the event before which each of these was found.
    places: Vec<usize>,
    count: u64,
    /// Number of the event that comes next.
    at: usize,
    /// Files and streams that could not be used at all, beside others that could, or not to their ends.
    unusable: u64,
}

impl Problems {
    /// Counts a problem, and keeps it while there is room.
    pub(super) fn add(&mut self, problem: String) {
        self.count += 1;
        if self.kept.len() < MAX_PROBLEMS {
            self.kept.push(problem);
            self.places.push(self.at);
        }
    }

    /// Says that what is added from now on was found before this event.
    pub(super) fn come_to(&mut self, event: usize) {
        self.at = event;
    }

    /// Moves what was found before an event of this number, or just before it, to others, and with the last of it what has no words.
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

    /// Passes over an input that cannot be used, where there are others.
    ///
    /// # Errors
    /// The error itself, where it is the only input or the first problem ends the job.
    pub(super) fn set_aside(&mut self, error: Error, inputs: usize, strict: bool) -> Result<()> {
        if strict || inputs < 2 {
            return Err(error);
        }
        self.unusable += 1;
        self.add(format!("{error}; this input is left out"));
        Ok(())
    }

    /// Tells of an input that is as its format has it, and holds no event.
    ///
    /// # Errors
    /// [`Error::Format`] where the first problem ends the job.
    pub(super) fn add_empty(&mut self, name: &str, strict: bool) -> Result<()> {
        let error = Error::format(name, "there is no event in it");
        if strict {
            return Err(error);
        }
        self.add(error.to_string());
        Ok(())
    }

    /// Counts an input that can be read no further; what came before is used.
    pub(super) fn break_off(&mut self, words: &str) {
        self.unusable += 1;
        self.add(format!("{words}; events before that were read"));
    }

    /// Number of inputs that could not be used at all, while others could, or not completely.
    pub fn unusable(&self) -> u64 {
        self.unusable
    }

    /// The first [`MAX_PROBLEMS`], in words.
    pub fn kept(&self) -> &[String] {
        &self.kept
    }

    /// Total number.
    pub fn count(&self) -> u64 {
        self.count
    }
}
