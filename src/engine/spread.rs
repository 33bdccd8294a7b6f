//! [`Spread`]: threads for work other than reconstruction, such as parsing the next events.

use crate::simd::set_default_float_mode;
use crate::{Error, Result};
use rayon::prelude::*;
use std::fmt::Debug;
use std::num::NonZero;
use std::sync::{Arc, Mutex};

/// Threads that share work, which is divided into pieces.
pub trait Spread: Debug + Send + Sync {
    /// Calls `work` with the index of each piece, on any of the threads and in any order. Returns when all pieces are done.
    fn spread(&self, pieces: usize, work: &(dyn Fn(usize) + Sync));
}

/// Does all work on the calling thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThisThread;

impl Spread for ThisThread {
    fn spread(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..pieces).for_each(work);
    }
}

/// A set of threads for any work; they have no workspaces.
#[derive(Debug)]
pub struct Threads(pub(super) rayon::ThreadPool);

impl Threads {
    /// Starts `threads` threads, which compute in the default floating-point mode.
    ///
    /// # Errors
    /// Returns [`Error::System`] if the operating system cannot start the threads.
    pub fn new(threads: usize) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("peloton-{i}"))
            .start_handler(|_| set_default_float_mode())
            .build();
        pool.map(Self).map_err(|e| Error::System(format!("cannot start {threads} threads: {e}")))
    }

    /// Calls `work` with every slice in every pass. Passes overlap, so that no thread waits for the end of a pass.
    pub(super) fn repeat(&self, passes: usize, slices: usize, work: &(dyn Fn(usize) + Sync)) {
        let pass = |_| (0..slices).into_par_iter().with_max_len(1).for_each(work);
        self.0.install(|| (0..passes).into_par_iter().with_max_len(1).for_each(pass));
    }
}

impl Spread for Threads {
    fn spread(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        self.repeat(1, pieces, work);
    }
}

/// One thread for each core of the CPU; all parts of a program share these threads. A forked process starts new
/// threads, because a fork does not copy the threads of the parent.
#[derive(Debug, Clone, Copy, Default)]
pub struct CommonThreads;

impl Spread for CommonThreads {
    fn spread(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        match common_threads() {
            Some(threads) if pieces > 1 => threads.spread(pieces, work),
            _ => ThisThread.spread(pieces, work),
        }
    }
}

/// The threads of [`CommonThreads`], and the process that they belong to.
static COMMON: Mutex<Option<(u32, Arc<Threads>)>> = Mutex::new(None);

/// The common threads; none when the system cannot start threads, and while another thread holds the lock.
fn common_threads() -> Option<Arc<Threads>> {
    // Does not wait for the lock: in a forked process, the thread that held it may not exist.
    let mut common = COMMON.try_lock().ok()?;
    match &*common {
        Some((process, threads)) if *process == std::process::id() => Some(threads.clone()),
        _ => {
            let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
            let threads = Arc::new(Threads::new(cores).ok()?);
            let parents = common.replace((std::process::id(), threads.clone()));
            // Dropping them would wait for the end of threads that do not exist.
            std::mem::forget(parents);
            Some(threads)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn every_piece_is_worked_on_once() {
        for threads in [&ThisThread as &dyn Spread, &CommonThreads] {
            let counts: Vec<_> = (0..100).map(|_| AtomicU32::new(0)).collect();
            threads.spread(counts.len(), &|piece| {
                counts[piece].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1), "{threads:?}");
        }
    }
}
