//! Threads that parse events and write results, in addition to the threads that reconstruct.

use crate::system::Runs;
use crate::{Config, Request};
use peloton::Result;
use peloton::engine::{CommonThreads, Spread, ThisThread, Threads};
use std::sync::Arc;

/// Returns the threads that a job uses for parsing and writing: the threads that reconstruct its events or, for an
/// endless stream, the same number of additional threads.
///
/// # Errors
/// Returns [`Error::System`](peloton::Error::System) when the system cannot start more threads.
pub fn threads(request: &Request, runs: &Runs) -> Result<Arc<dyn Spread>> {
    if request.config.sequence.system().stream().is_none() {
        return Ok(runs.threads());
    }
    Ok(Arc::new(Threads::new(request.config.thread_count())?))
}

/// Returns the threads for reading events without reconstruction: the common threads; if only one, the calling thread.
pub fn common_threads(config: &Config) -> &'static dyn Spread {
    if config.thread_count() == 1 { &ThisThread } else { &CommonThreads }
}
