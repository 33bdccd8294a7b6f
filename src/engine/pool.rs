//! [`Pool`]: distributes a batch of events over threads, slice by slice.
//!
//! ```text
//! events   | slice 0 | slice 1 | slice 2 | ...      a few events each
//!               |         |         |               any thread takes any slice (rayon steals)
//! results  | slot 0  | slot 1  | slot 2  | ...      slot i belongs to slice i alone
//! ```
//! Any thread may process a slice, but the results of slice i always go to slot i, so the order in which threads finish
//! does not matter. Slots and the workspaces of threads keep their memory from batch to batch: once they have grown,
//! events cause no allocations. (The task queue of rayon allocates memory in about one of 60 calls from threads outside
//! the pool.)

use super::{
    Batch, DeviceMemory, Engine, Events, Executor, Machine, Products, Sliced, Spread, Threads, Workspace,
};
use crate::event::{Counters, Results};
use crate::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Threads that run an engine, each with a workspace.
#[derive(Debug)]
pub struct Pool {
    engine: Engine,
    slice_events: usize,
    threads: Arc<Threads>,
    // Only thread i locks entry i, so no thread ever waits for a lock. The mutex proves this to the compiler.
    seats: Vec<Mutex<Seat>>,
}

/// Memory that a thread keeps from slice to slice.
#[derive(Debug)]
struct Seat {
    workspace: Workspace,
    /// Results of the current slice of [`Pool::try_repeat`], with the counts of all slices.
    products: Products,
    /// The last error of [`Pool::try_repeat`].
    failed: Result<()>,
}

impl Pool {
    /// Starts `threads` threads, each of which processes `slice_events` events at once.
    ///
    /// # Errors
    /// Returns [`Error::Config`] if `threads` or `slice_events` is 0, [`Error::System`] if threads cannot be started.
    pub fn new(engine: Engine, threads: usize, slice_events: usize) -> Result<Self> {
        if threads == 0 || slice_events == 0 {
            return Err(Error::Config("a pool needs at least 1 thread and 1 event per slice".into()));
        }
        let seat = |_| {
            let products = engine.sequence().products();
            Mutex::new(Seat { workspace: engine.workspace(), products, failed: Ok(()) })
        };
        let seats = (0..threads).map(seat).collect();
        Ok(Self { engine, slice_events, threads: Threads::new(threads)?.into(), seats })
    }

    /// The engine that the threads share.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.seats.len()
    }

    /// Reconstructs all events. Empties `results`, then adds one entry per event, in the order of the events.
    ///
    /// # Errors
    /// As [`Engine::try_run`].
    pub fn try_run<'a>(&self, events: impl Into<Events<'a>>, results: &mut Sliced) -> Result<Counters> {
        let (events, sequence) = (events.into(), self.engine.sequence());
        sequence.accept(events)?;
        let slots = results.prepare(events.len().div_ceil(self.slice_events), sequence.written());
        self.threads.0.install(|| {
            slots.par_iter_mut().enumerate().with_max_len(1).try_for_each(|(i, slot)| {
                self.engine.run_slice(events, self.range(events, i), &mut self.seat().workspace, slot)
            })
        })?;
        Ok(results.counters())
    }

    /// Reconstructs all events `passes` times and calls `visit` with the index and the results of each slice, on the
    /// thread that made the results. The thread then overwrites the results, so that they never leave its cache.
    ///
    /// # Errors
    /// As [`Engine::try_run`].
    pub fn try_repeat<'a>(
        &mut self,
        events: impl Into<Events<'a>>,
        passes: u64,
        visit: impl Fn(usize, &dyn Results) + Sync,
    ) -> Result<Counters> {
        let events = events.into();
        self.engine.sequence().accept(events)?;
        // Counts of an earlier call may remain if its `visit` panicked.
        let _ = self.take_counters();
        self.threads.repeat(passes as usize, events.len().div_ceil(self.slice_events), &|i| {
            let Seat { workspace, products, failed } = &mut *self.seat();
            products.empty_columns();
            match self.engine.run_slice(events, self.range(events, i), workspace, products) {
                Ok(()) => visit(i, &**products.first()),
                Err(error) => *failed = Err(error),
            }
        });
        self.take_counters()
    }

    /// The counts of all threads since the last call.
    fn take_counters(&mut self) -> Result<Counters> {
        let (mut sum, mut done) = (Counters::default(), Ok(()));
        for seat in &mut self.seats {
            let Seat { products, failed, .. } = seat.get_mut().unwrap_or_else(PoisonError::into_inner);
            sum.merge(&products.counters);
            products.counters.clear();
            done = done.and(std::mem::replace(failed, Ok(())));
        }
        done.map(|()| sum)
    }

    /// The events of a slice.
    fn range(&self, events: Events<'_>, slice: usize) -> Range<usize> {
        slice * self.slice_events..events.len().min((slice + 1) * self.slice_events)
    }

    /// The memory of the running thread.
    fn seat(&self) -> MutexGuard<'_, Seat> {
        let thread = rayon::current_thread_index().unwrap_or(0);
        self.seats[thread].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Executor for Pool {
    fn run(&mut self, batch: &dyn Batch, results: &mut Sliced) -> Result<Counters> {
        self.try_run(batch.events(), results)
    }

    fn repeat(
        &mut self,
        batch: &dyn Batch,
        passes: u64,
        visit: &(dyn Fn(usize, &dyn Results) + Sync),
    ) -> Result<Counters> {
        self.try_repeat(batch.events(), passes, visit)
    }

    fn threads(&self) -> Arc<dyn Spread> {
        self.threads.clone()
    }

    fn machine(&self) -> Machine {
        let level = self.engine.level();
        Machine {
            isa: level.isa().name(),
            gang: level.gang(),
            threads: self.threads(),
            slice: self.slice_events,
            device: None,
            memory: DeviceMemory::default(),
        }
    }
}
