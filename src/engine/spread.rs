//! [`Spread`]: threads that share out work beside an executor's own, such as reading what the next events hold.

use rayon::prelude::*;
use std::fmt::Debug;

/// Threads that share out work.
pub trait Spread: Debug + Send + Sync {
    /// Does the work on each piece, by its number, on any of the threads and in any order; returns when all is done.
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

/// As many threads as the CPU has cores, which all parts of a program share.
#[derive(Debug, Clone, Copy, Default)]
pub struct CommonThreads;

impl Spread for CommonThreads {
    fn spread(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..pieces).into_par_iter().with_max_len(1).for_each(work);
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
