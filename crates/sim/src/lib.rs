//! Simulations of detectors: from a seed, they make any number of events that resemble real events, for tests and
//! measurements without data.
//!
//! Everything is computed with IEEE arithmetic and functions in software, so that one seed gives the same
//! bytes on every machine; each event has its own random numbers, so that it does not depend on other events.
#![deny(unsafe_code, missing_docs)]

mod collisions;
mod cylinder;
mod cylinder_shuffle;
mod few;
mod flight;
mod lhcb;
mod normal;
mod pixels;
mod random;
mod simulate;
mod spec;
mod threads;
pub mod timepix;
mod transport;
mod velo;

pub use cylinder::{CylinderSim, CylinderSpec};
pub use cylinder_shuffle::cylinder_shuffle;
pub use lhcb::magnet::Track;
pub use lhcb::{Bend, LhcbDetector, LhcbReader, SimulatedEvent, TrueHit};
pub use simulate::{Simulated, Simulation, simulate};
pub use spec::{SimDetector, SimSpec};
pub use threads::in_order;
pub use velo::simulate_velo;

use peloton::Result;
use peloton::event::{TruthEvent, VeloBatch};
use std::ops::Range;

/// A reader of simulated Velo events, with the interface of readers of files.
#[derive(Debug, Clone)]
pub struct SimReader {
    spec: SimSpec,
    events: Range<u64>,
    threads: usize,
}

impl SimReader {
    /// Creates a reader of all events of the sample.
    pub fn new(spec: SimSpec) -> Self {
        let events = 0..spec.events;
        Self { spec, events, threads: 1 }
    }

    /// Sets the number of threads that simulate; the events do not depend on this number.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Limits the reader to at most `count` events, from number `first` on.
    pub fn with_range(mut self, first: u64, count: Option<u64>) -> Self {
        let end = first.saturating_add(count.unwrap_or(u64::MAX)).min(self.spec.events);
        self.events = first.min(end)..end;
        self
    }

    /// Appends up to `max_events` events and their truth; returns their number, 0 at the end of the sample.
    ///
    /// # Errors
    /// Errors of [`in_order`].
    pub fn read(
        &mut self,
        max_events: usize,
        batch: &mut VeloBatch,
        truth: &mut Vec<TruthEvent>,
    ) -> Result<usize> {
        let (spec, before) = (&self.spec, truth.len());
        let make = |(): &mut (), number| {
            let mut made = VeloBatch::default();
            let truth = simulate_velo(spec, number, &mut made);
            (made, truth)
        };
        in_order(
            threads::take_events(&mut self.events, max_events),
            self.threads,
            make,
            |(made, particles)| {
                batch.append(&made);
                truth.push(particles);
                true
            },
        )?;
        Ok(truth.len() - before)
    }
}
