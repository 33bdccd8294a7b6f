//! Threads that parse events and write results, in addition to the threads that reconstruct.

use crate::system::Runs;
use crate::{Config, Request};
use peloton::Result;
use peloton::engine::{CommonThreads, Spread, ThisThread, Threads};
use std::sync::Arc;

/// The threads of a job: the threads that reconstruct its events, or as many in addition to the one that processes an
/// endless stream.
///
/// # Errors
/// [`Error::System`](peloton::Error::System) when the system cannot start more threads.
pub fn threads(request: &Request, runs: &Runs) -> Result<Arc<dyn Spread>> {
    if request.config.sequence.system().stream().is_none() {
        return Ok(runs.threads());
    }
    Ok(Arc::new(Threads::new(request.config.thread_count())?))
}

/// The threads of a reader of events without reconstruction: the common ones, or only the calling thread if one is requested.
pub fn common_threads(config: &Config) -> &'static dyn Spread {
    if config.thread_count() == 1 { &ThisThread } else { &CommonThreads }
}
