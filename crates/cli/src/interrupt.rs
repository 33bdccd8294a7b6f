//! Asking for an early end: Ctrl-C (the second one ends at once), or nobody reads the output any more.

use peloton::{Error, Result};
use peloton_io::output::remove_unfinished;
use peloton_job::Cancel;
use std::sync::LazyLock;

/// The wish to end, shared by all jobs of this process.
pub static CANCEL: LazyLock<Cancel> = LazyLock::new(Cancel::default);

/// Starts to listen.
pub fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        if CANCEL.is_requested() {
            remove_unfinished();
            std::process::exit(130);
        }
        CANCEL.request();
    })
    .map_err(|e| Error::System(format!("cannot listen for Ctrl-C: {e}")))
}
