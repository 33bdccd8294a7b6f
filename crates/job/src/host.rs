//! [`Host`]: whom a job tells what goes on, and who may end it early.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A wish to end a job early: what was made so far is still written and summed up. Clones share the wish.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks for the end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the end was asked for.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A part of a job that may take long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// What is done, such as `reconstructing`.
    pub what: &'static str,
    /// What is counted, in the plural, such as `events`.
    pub of: &'static str,
    /// How many there are, where that is known.
    pub items: Option<u64>,
}

/// Hears how a job gets on. Calls come from several threads.
pub trait Progress: Sync {
    /// What follows is done for this part of a job, such as one of several levels.
    fn stage(&self, _name: &str) {}
    /// Work begins.
    fn begin(&self, _work: Work) {}
    /// So many more items are done.
    fn advance(&self, _items: u64) {}
    /// This part of the work, such as `writing`, is the one that the others wait for: it was at work for this share of the time so far.
    fn busiest(&self, _part: &str, _share: f64) {}
    /// The work is over.
    fn end(&self) {}
    /// Something worth knowing about work that goes on for long.
    fn note(&self, _text: &str) {}
    /// Something that may be wrong, though the job goes on.
    fn warn(&self, _text: &str) {}
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {}

/// Hears what another one hears, and keeps warnings to itself: of several jobs on the same events one tells them.
pub(crate) struct Muffled<'a> {
    progress: &'a dyn Progress,
    warnings: Mutex<Vec<String>>,
}

impl<'a> Muffled<'a> {
    /// Keeps warnings from `progress`.
    pub fn new(progress: &'a dyn Progress) -> Self {
        Self { progress, warnings: Mutex::default() }
    }

    /// Tells the warnings after all.
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

/// Whom a job tells what goes on, and who may end it.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// Hears progress and warnings.
    pub progress: &'a dyn Progress,
    /// Asked between batches.
    pub cancel: &'a Cancel,
}

impl Host<'_> {
    /// Tells that work begins; its end is told by [`Progress::end`].
    pub fn begin(&self, what: &'static str, of: &'static str, items: Option<u64>) {
        self.progress.begin(Work { what, of, items });
    }

    /// Whether an early end was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_requested()
    }

    /// Tells what may be wrong.
    pub fn warn(&self, text: &str) {
        self.progress.warn(text);
    }
}
