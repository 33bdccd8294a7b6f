//! Events of the cylinder detector on threads: one event a slice.

use super::Config;
use crate::cylinder::{CylinderConfig, CylinderInput, CylinderWorkspace, reconstruct};
use crate::event::{Counters, CylinderTracks};
use crate::simd::{Level, set_default_float_mode};
use crate::{Error, Result};
use rayon::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Threads with a workspace each. As with the Velo's [`Pool`](super::Pool), who reconstructs which event is left to
/// chance, and where its tracks go is not.
#[derive(Debug)]
pub struct CylinderPool {
    level: Level,
    config: CylinderConfig,
    threads: rayon::ThreadPool,
    // Entry i is locked by thread i alone.
    seats: Vec<Mutex<(CylinderWorkspace, CylinderSlot)>>,
}

/// The tracks of one event.
#[derive(Debug, Default)]
pub struct CylinderSlot {
    /// Its tracks.
    pub tracks: CylinderTracks,
    /// What happened.
    pub counters: Counters,
}

impl CylinderPool {
    /// Checks the configuration and starts the threads.
    ///
    /// # Errors
    /// [`Error::Config`] and [`Error::Unsupported`].
    pub fn new(config: &Config) -> Result<Self> {
        config.validate()?;
        let count = config.thread_count();
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(count)
            .start_handler(|_| set_default_float_mode())
            .build()
            .map_err(|e| Error::Config(format!("cannot start {count} threads: {e}")))?;
        let seats = (0..count).map(|_| Mutex::default()).collect();
        let level = config.level()?;
        if !level.is_usual() {
            let what = "the sequence cylinder is built for the usual gang of each instruction set alone";
            return Err(Error::Unsupported(format!("{what}, not for {level}")));
        }
        Ok(Self { level, config: config.cylinder.clone(), threads, seats })
    }

    /// The level that runs.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.seats.len()
    }

    /// Reconstructs all events, each into its own slot; slots keep their memory.
    pub fn run(&self, input: CylinderInput<'_>, slots: &mut Vec<CylinderSlot>) {
        slots.resize_with(input.hits.len(), CylinderSlot::default);
        self.threads.install(|| {
            slots.par_iter_mut().enumerate().with_max_len(1).for_each(|(event, slot)| {
                self.event(input, event, &mut self.seat().0, slot);
            });
        });
    }

    /// Reconstructs all events `passes` times; each thread writes the tracks of an event over those of its last one,
    /// and `check` says whether they are what they should be.
    pub fn repeat(
        &self,
        input: CylinderInput<'_>,
        passes: usize,
        check: impl Fn(usize, &CylinderTracks) -> bool + Sync,
    ) -> Result<Counters> {
        let events = input.hits.len();
        self.threads.install(|| {
            (0..passes * events)
                .into_par_iter()
                .with_max_len(1)
                .map(|i| {
                    let mut seat = self.seat();
                    let (workspace, slot) = &mut *seat;
                    self.event(input, i % events, workspace, slot);
                    if check(i % events, &slot.tracks) {
                        Ok(slot.counters)
                    } else {
                        Err(Error::format("a pass", "its tracks are not those of the first pass"))
                    }
                })
                .try_reduce(Counters::default, |mut sum, more| {
                    sum.merge(&more);
                    Ok(sum)
                })
        })
    }

    fn event(
        &self,
        input: CylinderInput<'_>,
        event: usize,
        workspace: &mut CylinderWorkspace,
        slot: &mut CylinderSlot,
    ) {
        slot.tracks.clear();
        slot.counters = Counters::default();
        let CylinderSlot { tracks, counters } = slot;
        reconstruct(self.level, &self.config, input, event..event + 1, workspace, tracks, counters);
    }

    fn seat(&self) -> MutexGuard<'_, (CylinderWorkspace, CylinderSlot)> {
        let seat = rayon::current_thread_index().unwrap_or(0);
        self.seats[seat].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
