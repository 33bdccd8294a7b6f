//! What went wrong without ending the job.

/// How many problems are kept in words; all are counted.
pub const MAX_PROBLEMS: usize = 20;

/// Problems, the first [`MAX_PROBLEMS`] in words.
#[derive(Debug, Default)]
pub(super) struct Problems {
    kept: Vec<String>,
    count: u64,
}

impl Problems {
    /// Counts a problem, and keeps it while there is room.
    pub fn add(&mut self, problem: String) {
        self.count += 1;
        if self.kept.len() < MAX_PROBLEMS {
            self.kept.push(problem);
        }
    }

    pub fn kept(&self) -> &[String] {
        &self.kept
    }

    pub fn count(&self) -> u64 {
        self.count
    }
}
