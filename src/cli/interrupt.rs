//! Asking for an early end: Ctrl-C (the second one ends at once), or nobody reads the output any more.

use crate::output::remove_unfinished;
use crate::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Starts to listen.
pub fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            remove_unfinished();
            std::process::exit(130);
        }
    })
    .map_err(|e| Error::Unsupported(format!("cannot listen for Ctrl-C: {e}")))
}

/// Whether an end was asked for.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Asks for an end with the statistics so far.
pub fn request() {
    REQUESTED.store(true, Ordering::Relaxed);
}
