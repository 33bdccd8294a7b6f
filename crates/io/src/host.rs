//! [`Host`]: progress callbacks and cancellation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A request to end a job early: the job still writes its results so far and their summary. Clones share the request.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Requests the end of the job.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the end was requested.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A step of a job that may take long, as a progress bar shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Name of the activity, such as `reconstructing`.
    pub what: &'static str,
    /// Name of the counted items, in the plural, such as `events`.
    pub of: &'static str,
    /// Number of items, if known.
    pub items: Option<u64>,
}

/// Receives the progress of a job. Several threads may call the methods at once.
pub trait Progress: Sync {
    /// The job begins its part with this name, such as the measurement of one of several instruction sets.
    fn stage(&self, _name: &str) {}
    /// Work begins.
    fn begin(&self, _work: Work) {}
    /// This many more items of the current work are done.
    fn advance(&self, _items: u64) {}
    /// The slowest stage so far is `_part`, such as `writing`: it was busy for `_share` (0 to 1) of the elapsed time.
    fn busiest(&self, _part: &str, _share: f64) {}
    /// The current work has ended.
    fn end(&self) {}
    /// A message to the user during long work.
    fn note(&self, _text: &str) {}
    /// A warning: something may be wrong, though the job continues.
    fn warn(&self, _text: &str) {}
}

/// Ignores all progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {}

/// Passes progress on, but stores warnings: when several jobs read the same events, only one job reports the warnings.
pub struct Muffled<'a> {
    progress: &'a dyn Progress,
    warnings: Mutex<Vec<String>>,
}

impl<'a> Muffled<'a> {
    /// Passes progress on to `progress`, and stores warnings.
    pub fn new(progress: &'a dyn Progress) -> Self {
        Self { progress, warnings: Mutex::default() }
    }

    /// Reports the stored warnings.
    pub fn tell(self) {
        let warnings = self.warnings.into_inner().unwrap_or_default();
        warnings.iter().for_each(|text| self.progress.warn(text));
    }
}

impl Progress for Muffled<'_> {
    fn stage(&self, name: &str) {
        self.progress.stage(name);
    }

    fn begin(&self, work: Work) {
        self.progress.begin(work);
    }

    fn advance(&self, items: u64) {
        self.progress.advance(items);
    }

    fn busiest(&self, part: &str, share: f64) {
        self.progress.busiest(part, share);
    }

    fn end(&self) {
        self.progress.end();
    }

    fn note(&self, text: &str) {
        self.progress.note(text);
    }

    fn warn(&self, text: &str) {
        if let Ok(mut warnings) = self.warnings.lock() {
            warnings.push(text.into());
        }
    }
}

/// Progress callbacks and cancellation of a job.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// Receives progress and warnings.
    pub progress: &'a dyn Progress,
    /// Request to end the job early, checked between batches.
    pub cancel: &'a Cancel,
}

impl Host<'_> {
    /// Reports the start of a step; [`Progress::end`] reports the end of the step.
    pub fn begin(&self, what: &'static str, of: &'static str, items: Option<u64>) {
        self.progress.begin(Work { what, of, items });
    }

    /// Whether an early end was requested.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_requested()
    }

    /// Reports a warning.
    pub fn warn(&self, text: &str) {
        self.progress.warn(text);
    }
}
