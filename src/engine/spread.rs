//! [`Spread`]: threads that distribute work other than an executor's own, such as parsing the next events.

use super::Threads;
use std::fmt::Debug;
use std::num::NonZero;
use std::sync::{Arc, Mutex};

/// Threads that distribute work.
pub trait Spread: Debug + Send + Sync {
    /// Calls `work` with the number of each piece, on any of the threads and in any order. Returns when all pieces are done.
    fn spread(&self, pieces: usize, work: &(dyn Fn(usize) + Sync));
}

/// The calling thread alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThisThread;

impl Spread for ThisThread {
    fn spread(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..pieces).for_each(work);
    }
}

/// One thread for each core of the CPU; all parts of a program share these threads. The threads of a parent do not exist in a
/// forked process, which therefore starts its own.
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
