//! [`AnyPool`]: threads for callers that have none of their own.

use super::engine::{Events, Runner};
use super::outcome::AnyOutcome;
use peloton::engine::{Pool, Sequence, Sliced};
use peloton::event::append;
use peloton::{Error, Result};

/// Threads that run one engine. Results are joined, so that they are those of one thread, column by column.
pub struct AnyPool {
    shares: Box<dyn Shares>,
    /// Whether events must say that they are of the nominal detector.
    pub(super) only_nominal: bool,
    /// The process that the threads belong to.
    process: u32,
}

trait Shares: Send {
    fn run(&mut self, events: Events<'_>, to: &mut AnyOutcome) -> Result<()>;
}

struct Shared<S: Sequence> {
    runner: Runner<S>,
    pool: Pool<S>,
    results: Sliced,
}

impl<S: Sequence> Shares for Shared<S> {
    fn run(&mut self, events: Events<'_>, to: &mut AnyOutcome) -> Result<()> {
        let outcome = to.begin(S::NAME)?;
        outcome.counters = self.pool.try_run(self.runner.picked(events)?, &mut self.results)?;
        let joined = self.results.slices().try_for_each(|slice| append(&mut *outcome.results, &**slice));
        // Some slices are no result.
        joined.inspect_err(|_| outcome.reset())
    }
}

impl AnyPool {
    pub(super) fn new<S: Sequence>(runner: Runner<S>, threads: usize, slice_events: usize) -> Result<Self> {
        let pool = Pool::new(runner.engine.clone(), threads, slice_events)?;
        let shares = Box::new(Shared { runner, pool, results: Sliced::default() });
        Ok(Self { shares, only_nominal: false, process: std::process::id() })
    }

    /// Whether the threads are there: a child of `fork` has none.
    pub fn has_threads(&self) -> bool {
        self.process == std::process::id()
    }

    /// Reconstructs all events; `to` is emptied and gets one entry per event, in order.
    ///
    /// # Errors
    /// As [`AnyEngine::run`](super::AnyEngine::run), and [`Error::System`] in a child of `fork`.
    pub fn run(&mut self, events: Events<'_>, to: &mut AnyOutcome) -> Result<()> {
        if !self.has_threads() {
            return Err(Error::System(
                "a child of fork has no threads of its parent: make a pool in it".into(),
            ));
        }
        if self.only_nominal {
            events.check_nominal()?;
        }
        self.shares.run(events, to)
    }
}
