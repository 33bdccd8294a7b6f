//! [`ConfiguredPool`]: threads for programs that have no threads of their own.

use super::engine::CheckEvents;
use super::outcome::ConfiguredOutcome;
use peloton::engine::{Engine, Events, Pool, Sliced};
use peloton::{Error, Result};

/// Threads that run one engine. The results of all threads are joined, and equal the results of one thread.
pub struct ConfiguredPool {
    pool: Pool,
    results: Sliced,
    checks: Vec<CheckEvents>,
    /// Number of the process that started the threads.
    process: u32,
}

impl ConfiguredPool {
    pub(super) fn new(
        engine: Engine,
        checks: Vec<CheckEvents>,
        threads: usize,
        slice_events: usize,
    ) -> Result<Self> {
        let pool = Pool::new(engine, threads, slice_events)?;
        Ok(Self { pool, results: Sliced::default(), checks, process: std::process::id() })
    }

    /// Whether this process has the threads: after `fork`, the child has none.
    pub fn has_threads(&self) -> bool {
        self.process == std::process::id()
    }

    /// Reconstructs all events. `to` is emptied and then receives one entry per event, in order.
    ///
    /// # Errors
    /// [`Error::System`] in a child of `fork`, and errors of [`ConfiguredEngine::run`](super::ConfiguredEngine::run).
    pub fn run(&mut self, events: Events<'_>, to: &mut ConfiguredOutcome) -> Result<()> {
        if !self.has_threads() {
            return Err(Error::System(
                "a child of fork has no threads of its parent: make a pool in the child".into(),
            ));
        }
        self.checks.iter().try_for_each(|check| check(events))?;
        let out = to.begin();
        self.pool.engine().sequence().check(out)?;
        self.pool.try_run(events, &mut self.results)?;
        let joined = self.results.pieces().iter().try_for_each(|piece| out.append(piece));
        // After an error, the results of some slices are missing: all are removed.
        joined.inspect_err(|_| out.clear())
    }
}
