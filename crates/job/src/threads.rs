//! Threads that look at what is in events and write results, beside those that reconstruct.

use crate::system::Runs;
use crate::{Config, Request};
use peloton::Result;
use peloton::engine::{CommonThreads, Spread, ThisThread, Threads};
use std::sync::Arc;

/// The threads of a job: those that reconstruct its events, or as many beside an endless stream, which is worked on by one.
///
/// # Errors
/// [`Error::System`](peloton::Error::System) when the system gives no more threads.
pub fn threads(request: &Request, runs: &Runs) -> Result<Arc<dyn Spread>> {
    if request.config.sequence.system().stream().is_none() {
        return Ok(runs.threads());
    }
    Ok(Arc::new(Threads::new(request.config.thread_count())?))
}

/// The threads of whoever reads events without reconstructing them: the common ones, or none beside the calling thread where one is asked for.
pub fn common_threads(config: &Config) -> &'static dyn Spread {
    if config.thread_count() == 1 { &ThisThread } else { &CommonThreads }
}
