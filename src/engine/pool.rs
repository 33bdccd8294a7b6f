//! [`Pool`]: shares a batch of events out to threads, slice by slice.
//!
//! ```text
//! events   | slice 0 | slice 1 | slice 2 | ...      a few events each
//!               |         |         |               any thread takes any slice (rayon steals)
//! results  | slot 0  | slot 1  | slot 2  | ...      slot i belongs to slice i alone
//! ```
//! Which thread runs which slice is left to chance; where its results go is not, so the order in which threads
//! finish cannot be seen. A slot keeps its memory from batch to batch, a thread its workspace: once both
//! have grown, nothing is allocated for events (the queue of rayon takes a block of memory once in some 60 calls from
//! outside).

use super::{Batch, DeviceMemory, Engine, Executor, Input, Machine, Sequence, Sliced};
use crate::event::{Counters, Outcome, Results};
use crate::simd::set_default_float_mode;
use crate::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Threads with a workspace each.
#[derive(Debug)]
pub struct Pool<S: Sequence> {
    engine: Engine<S>,
    slice_events: usize,
    threads: Threads,
    // Entry i is locked by thread i alone and so never waited for: the mutex only proves it.
    seats: Vec<Mutex<Seat<S>>>,
}

/// Threads alone. What shares the work out is compiled once, not for every sequence.
#[derive(Debug)]
struct Threads(rayon::ThreadPool);

impl Threads {
    fn new(threads: usize) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("peloton-{i}"))
            .start_handler(|_| set_default_float_mode())
            .build();
        pool.map(Self).map_err(|e| Error::System(format!("cannot start {threads} threads: {e}")))
    }

    /// Does the work on every slice in every pass. Passes overlap, so that no thread waits for the end of one.
    fn repeat(&self, passes: usize, slices: usize, work: &(dyn Fn(usize) + Sync)) {
        let pass = |_| (0..slices).into_par_iter().with_max_len(1).for_each(work);
        self.0.install(|| (0..passes).into_par_iter().with_max_len(1).for_each(pass));
    }
}

/// What a thread keeps from slice to slice.
#[derive(Debug)]
struct Seat<S: Sequence> {
    workspace: S::Workspace,
    /// Results of the slice under way; [`Pool::try_repeat`] sums the counts of all slices here.
    outcome: Outcome<S::Output>,
}

impl<S: Sequence> Pool<S> {
    /// Starts `threads` threads that take `slice_events` events at once.
    ///
    /// # Errors
    /// [`Error::Config`] for no threads or events at all, [`Error::System`] when the system gives no more threads.
    pub fn new(engine: Engine<S>, threads: usize, slice_events: usize) -> Result<Self> {
        if threads == 0 || slice_events == 0 {
            return Err(Error::Config("threads and events of a slice must be at least 1".into()));
        }
        let seat = |_| Mutex::new(Seat { workspace: S::Workspace::default(), outcome: Outcome::default() });
        let seats = (0..threads).map(seat).collect();
        Ok(Self { engine, slice_events, threads: Threads::new(threads)?, seats })
    }

    /// The engine that the threads share.
    pub fn engine(&self) -> &Engine<S> {
        &self.engine
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.seats.len()
    }

    /// Reconstructs all events; `results` is emptied and gets one entry per event, in order.
    ///
    /// # Errors
    /// As [`Engine::try_run`].
    pub fn try_run<'a>(&self, events: impl Into<S::Input<'a>>, results: &mut Sliced) -> Result<Counters> {
        let events = events.into();
        self.engine.sequence().accept(events)?;
        let slots = results.prepare::<S::Output>(events.events().div_ceil(self.slice_events));
        self.threads.0.install(|| {
            slots.par_iter_mut().enumerate().with_max_len(1).for_each(|(i, slot)| {
                let Seat { workspace, outcome } = &mut *self.seat();
                slot.lend(outcome, |slot| {
                    self.engine.run_slice(events, self.range(events, i), workspace, slot);
                });
            });
        });
        Ok(results.counters())
    }

    /// Reconstructs all events `passes` times and shows each slice, its number and its results, to `visit` on the
    /// thread that made them, which then overwrites them: results that are used at once never leave the cache.
    ///
    /// # Errors
    /// As [`Engine::try_run`].
    pub fn try_repeat<'a>(
        &mut self,
        events: impl Into<S::Input<'a>>,
        passes: u64,
        visit: impl Fn(usize, &S::Output) + Sync,
    ) -> Result<Counters> {
        let events = events.into();
        self.engine.sequence().accept(events)?;
        // Anew, as `visit` may have panicked before.
        self.take_counters();
        self.threads.repeat(passes as usize, events.events().div_ceil(self.slice_events), &|i| {
            let Seat { workspace, outcome } = &mut *self.seat();
            outcome.results.clear();
            self.engine.run_slice(events, self.range(events, i), workspace, outcome);
            visit(i, &outcome.results);
        });
        Ok(self.take_counters())
    }

    /// What all seats have counted since the last call.
    fn take_counters(&mut self) -> Counters {
        let mut sum = Counters::default();
        for seat in &mut self.seats {
            let counters = &mut seat.get_mut().unwrap_or_else(PoisonError::into_inner).outcome.counters;
            sum.merge(counters);
            counters.clear();
        }
        sum
    }

    /// The events of a slice.
    fn range(&self, events: S::Input<'_>, slice: usize) -> Range<usize> {
        slice * self.slice_events..events.events().min((slice + 1) * self.slice_events)
    }

    /// What the running thread keeps.
    fn seat(&self) -> MutexGuard<'_, Seat<S>> {
        let thread = rayon::current_thread_index().unwrap_or(0);
        self.seats[thread].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Sequence> Executor for Pool<S> {
    fn run(&mut self, batch: &dyn Batch, results: &mut Sliced) -> Result<Counters> {
        self.try_run(S::view(batch.of()?), results)
    }

    fn repeat(
        &mut self,
        batch: &dyn Batch,
        passes: u64,
        visit: &(dyn Fn(usize, &dyn Results) + Sync),
    ) -> Result<Counters> {
        self.try_repeat(S::view(batch.of()?), passes, |slice, results| visit(slice, results))
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
