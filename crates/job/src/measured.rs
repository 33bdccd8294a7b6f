//! [`Measured`]: the results of repeated passes.

use crate::totals::Totals;
use peloton::event::{Counters, Hashes};
use std::time::Duration;

/// Results of a measurement by repeated passes.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Sums over all timed passes.
    pub totals: Totals,
    /// Hashes of the results of one pass.
    pub hashes: Hashes,
    /// Time of one pass in the fastest round.
    pub best_pass: Duration,
    /// Sums over the passes of the fastest round.
    pub best_counters: Counters,
    /// Number of passes of the fastest round.
    pub best_passes: u64,
}
