//! [`Pool`]: shares a batch of events out to threads, slice by slice.
//!
//! ```text
//! events   | slice 0 | slice 1 | slice 2 | ...      a few events each
//!               |         |         |               any thread takes any slice (rayon steals)
//! tracks   | slot 0  | slot 1  | slot 2  | ...      slot i belongs to slice i alone
//! ```
//! Who runs which slice is left to chance; where its results go is not, so the order in which threads
//! finish cannot be seen. A slot keeps its memory from batch to batch, a thread its workspace: once both
//! have grown, nothing is allocated.

use super::slices::Slot;
use super::{Engine, Events, Product, Sliced, Workspace};
use crate::event::Counters;
use crate::simd::set_default_float_mode;
use crate::{Error, Result};
use rayon::prelude::*;
use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Threads with a workspace each.
#[derive(Debug)]
pub struct Pool {
    threads: rayon::ThreadPool,
    // Entry i is locked by thread i alone and so never waited for: the mutex only proves it.
    seats: Vec<Mutex<Seat>>,
}

/// What a thread keeps from slice to slice.
#[derive(Debug, Default)]
struct Seat {
    workspace: Workspace,
    /// A [`Slot`] for the results of its slice, where nobody keeps them.
    slot: Option<Box<dyn Any + Send>>,
}

impl Pool {
    /// Starts `threads` threads.
    ///
    /// # Errors
    /// [`Error::Config`] for no threads at all, or more than the system gives.
    pub fn new(threads: usize) -> Result<Self> {
        if threads == 0 {
            return Err(Error::Config("threads must be at least 1".into()));
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("peloton-{i}"))
            .start_handler(|_| set_default_float_mode())
            .build()
            .map_err(|e| Error::Config(format!("cannot start {threads} threads: {e}")))?;
        Ok(Self { threads: pool, seats: (0..threads).map(|_| Mutex::default()).collect() })
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.seats.len()
    }

    /// Runs `work` on a thread of the pool. A [`Pool::run`] inside it starts without waking anybody first,
    /// which is how to run many batches one after another.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.threads.install(work)
    }

    /// Reconstructs all events; `results` is emptied and gets one entry per event, in order.
    ///
    /// # Panics
    /// As [`Engine::run`].
    pub fn run<'a, P: Product>(
        &self,
        engine: &Engine,
        events: impl Into<Events<'a>>,
        results: &mut Sliced<P>,
    ) -> Counters {
        let events = events.into();
        let slice = engine.slice_events();
        let slots = results.prepare(events.len().div_ceil(slice));
        self.threads.install(|| {
            slots.par_iter_mut().enumerate().with_max_len(1).for_each(|(i, slot)| {
                let range = i * slice..events.len().min((i + 1) * slice);
                let workspace = &mut self.seat().workspace;
                engine.run_range(events, range, workspace, &mut slot.results, &mut slot.counters);
            });
        });
        results.counters()
    }

    /// Reconstructs all events and shows each slice, its number and its results, to `visit` on the thread that
    /// made them, which then overwrites them: results that are used at once never leave the cache.
    ///
    /// # Panics
    /// As [`Engine::run`].
    pub fn for_each_slice<'a, P: Product>(
        &self,
        engine: &Engine,
        events: impl Into<Events<'a>>,
        visit: impl Fn(usize, &P) + Sync,
    ) -> Counters {
        let events = events.into();
        let slice = engine.slice_events();
        let of_slice = |i: usize| {
            let range = i * slice..events.len().min((i + 1) * slice);
            let Seat { workspace, slot } = &mut *self.seat();
            let slot = slot_for::<P>(slot);
            slot.results.clear();
            slot.counters = Counters::default();
            engine.run_range(events, range, workspace, &mut slot.results, &mut slot.counters);
            visit(i, &slot.results);
            slot.counters
        };
        let slices = (0..events.len().div_ceil(slice)).into_par_iter().with_max_len(1);
        let merge = |mut sum: Counters, more: Counters| {
            sum.merge(&more);
            sum
        };
        self.threads.install(|| slices.map(of_slice).reduce(Counters::default, merge))
    }

    /// What the running thread keeps.
    fn seat(&self) -> MutexGuard<'_, Seat> {
        let thread = rayon::current_thread_index().unwrap_or(0);
        self.seats[thread].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot, of the type that is asked for: a new one where there is none yet.
fn slot_for<P: Product>(slot: &mut Option<Box<dyn Any + Send>>) -> &mut Slot<P> {
    if !slot.as_ref().is_some_and(|slot| slot.is::<Slot<P>>()) {
        *slot = Some(Box::<Slot<P>>::default());
    }
    slot.as_mut().and_then(|slot| slot.downcast_mut()).expect("just made of this type")
}
