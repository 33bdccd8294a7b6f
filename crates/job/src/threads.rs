//! Threads that look at what is in events and write results, beside those that reconstruct.

use crate::Request;
use crate::system::Runs;
use peloton::engine::Spread;
use peloton::simd::set_default_float_mode;
use peloton::{Error, Result};
use rayon::prelude::*;
use std::sync::Arc;

/// Threads of a job whose sequence has none to lend.
#[derive(Debug)]
struct OwnThreads(rayon::ThreadPool);

impl Spread for OwnThreads {
    fn spread(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        self.0.install(|| (0..pieces).into_par_iter().with_max_len(1).for_each(work));
    }
}

/// The threads of a job: those that reconstruct its events, or as many beside an endless stream, which is worked on by one.
///
/// # Errors
/// [`Error::System`] when the system gives no more threads.
pub fn threads(request: &Request, runs: &Runs) -> Result<Arc<dyn Spread>> {
    if request.config.sequence.system().stream().is_none() {
        return Ok(runs.threads());
    }
    let count = request.config.thread_count();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .thread_name(|i| format!("peloton-write-{i}"))
        .start_handler(|_| set_default_float_mode())
        .build();
    let failed = |e| Error::System(format!("cannot start {count} threads: {e}"));
    Ok(Arc::new(OwnThreads(pool.map_err(failed)?)))
}
