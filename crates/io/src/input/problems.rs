//! What went wrong without ending the job.

use peloton::{Error, Result};

/// How many problems are kept in words; all are counted.
pub const MAX_PROBLEMS: usize = 20;

/// Problems, the first [`MAX_PROBLEMS`] in words.
#[derive(Debug, Default)]
pub(super) struct Problems {
    kept: Vec<String>,
    count: u64,
    /// Files and streams that could not be used at all, beside others that could, or not to their ends.
    unusable: u64,
}

impl Problems {
    /// Counts a problem, and keeps it while there is room.
    pub fn add(&mut self, problem: String) {
        self.count += 1;
        if self.kept.len() < MAX_PROBLEMS {
            self.kept.push(problem);
        }
    }

    /// Passes over an input that cannot be used, where there are others.
    ///
    /// # Errors
    /// The error itself, where it is the only input or the first problem ends the job.
    pub fn set_aside(&mut self, error: Error, inputs: usize, strict: bool) -> Result<()> {
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
    pub fn add_empty(&mut self, name: &str, strict: bool) -> Result<()> {
        let error = Error::format(name, "there is no event in it");
        if strict {
            return Err(error);
        }
        self.add(error.to_string());
        Ok(())
    }

    /// Counts an input that can be read no further; what came before is used.
    pub fn break_off(&mut self, words: &str) {
        self.unusable += 1;
        self.add(format!("{words}; what came before that was read"));
    }

    pub fn unusable(&self) -> u64 {
        self.unusable
    }

    pub fn kept(&self) -> &[String] {
        &self.kept
    }

    pub fn count(&self) -> u64 {
        self.count
    }
}
