//! Runs sequences: an [`Engine`] on the calling thread, a [`Pool`] on many threads, both with the same results.
//!
//! ```text
//!  Events          Sequence: algorithms in order, each with a product of its own             Products
//!  raw banks  -->  velo_tracks --> scifi_hits --> scifi_tracks --> long_tracks  -->  long_tracks, and any other
//!  or hits              '-----------------------------^ read by name                  that is asked for
//! ```
//! A program that embeds peloton makes one [`Engine`] of a [`Sequence`], or of one [`Algorithm`] such as
//! [`Velo`](crate::velo::Velo). It gives each of its own threads a workspace, and calls [`Engine::try_run`] with
//! columns of hits or raw banks. `examples/embed.rs` is a complete example. An [`Executor`] turns batches into results:
//! a pool, or streams of a device.

mod algorithm;
mod events;
mod executor;
mod pool;
mod products;
mod sequence;
mod slices;
mod spread;
mod stage;
mod stream;

pub use algorithm::{Algorithm, AlgorithmInfo, Handle, Slice};
pub use events::{Batch, Events};
pub use executor::{DeviceMemory, Executor, Machine};
pub use pool::Pool;
pub use products::Products;
pub use sequence::{Sequence, stages};
pub use slices::Sliced;
pub use spread::{CommonThreads, Spread, ThisThread, Threads};
pub use stage::Stage;
pub(crate) use stage::detector_stages;
pub use stream::{StreamSequence, Streaming};

use crate::event::{Columns, Outcome, Product};
use crate::simd::{Level, with_default_float_mode};
use crate::{Error, Result, Status};
use std::any::Any;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Default number of events that a thread processes at once. The events are few enough to fit in the cache and to be
/// distributed evenly over threads, and enough to hide the overhead of a slice.
pub const SLICE_EVENTS: usize = 4;

/// Runs a sequence. An engine does not change, so any number of threads may share it.
///
/// ```
/// use peloton::engine::Engine;
/// use peloton::event::{Outcome, VeloBatch, VeloTracks};
/// use peloton::simd::Level;
/// use peloton::velo::{Velo, VeloConfig};
///
/// # fn main() -> peloton::Result<()> {
/// let engine = Engine::new(Velo::new(Level::choose(None, None)?, VeloConfig::default())?);
/// let (mut workspace, mut outcome) = (engine.workspace(), Outcome::<VeloTracks>::default());
/// let events = VeloBatch::default(); // columns of hits: see its fields
/// engine.try_run(events.view(), &mut workspace, &mut outcome)?;
/// assert_eq!((outcome.counters.events(), outcome.results.tracks()), (0, 0));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Engine {
    sequence: Arc<Sequence>,
}

/// Scratch memory of one thread, for the engine that made the workspace.
#[derive(Debug)]
pub struct Workspace {
    /// Scratch memory of each algorithm.
    scratch: Vec<Box<dyn Any + Send>>,
    /// The product of each algorithm.
    slots: Vec<Outcome<Columns>>,
    /// Products into which the caller's results are swapped while [`Engine::try_run`] runs.
    lent: Products,
}

impl Engine {
    /// Makes an engine that runs a sequence, or a single algorithm.
    pub fn new(sequence: impl Into<Sequence>) -> Self {
        Self { sequence: Arc::new(sequence.into()) }
    }

    /// Returns the sequence that the engine runs.
    pub fn sequence(&self) -> &Sequence {
        &self.sequence
    }

    /// Returns the instruction set level and gang size on which the sequence runs.
    pub fn level(&self) -> Level {
        self.sequence.level()
    }

    /// Makes scratch memory for one thread.
    pub fn workspace(&self) -> Workspace {
        let sequence = &*self.sequence;
        Workspace { scratch: sequence.scratch(), slots: sequence.slots(), lent: sequence.products() }
    }

    /// Reconstructs all events on the calling thread. Empties `outcome`, then appends one entry per event in order,
    /// also for failed events. Nothing is allocated once `workspace` and `outcome` have grown to the size of the data.
    ///
    /// # Errors
    /// Returns [`Error::Config`] if the sequence does not accept these events or does not write a product of type `P`,
    /// or if the workspace belongs to another sequence. A failed event gets a [`Status`] instead and is counted.
    pub fn try_run<'a, P: Product>(
        &self,
        events: impl Into<Events<'a>>,
        workspace: &mut Workspace,
        outcome: &mut Outcome<P>,
    ) -> Result<()> {
        let events = events.into();
        outcome.clear();
        self.try_run_range(events, 0..events.len(), workspace, outcome)
    }

    /// Reconstructs the events of `range` and appends their results to `outcome`.
    ///
    /// # Errors
    /// Returns [`Error::Columns`] if `range` reaches beyond the events, and the errors of [`Engine::try_run`].
    pub fn try_run_range<'a, P: Product>(
        &self,
        events: impl Into<Events<'a>>,
        range: Range<usize>,
        workspace: &mut Workspace,
        outcome: &mut Outcome<P>,
    ) -> Result<()> {
        let mut lent = std::mem::take(&mut workspace.lent);
        lent.clear();
        std::mem::swap(&mut lent.counters, &mut outcome.counters);
        let exchange = |lent: &mut Products, outcome: &mut Outcome<P>| match lent.get_mut::<P>() {
            Some(results) => {
                std::mem::swap(results, &mut outcome.results);
                true
            }
            None => false,
        };
        let done = if exchange(&mut lent, outcome) {
            let done = self.run_range(events.into(), range, workspace, &mut lent);
            exchange(&mut lent, outcome);
            done
        } else {
            let what = format!("sequence {} does not write a product of this type", self.sequence.name());
            Err(Error::Config(what))
        };
        std::mem::swap(&mut lent.counters, &mut outcome.counters);
        workspace.lent = lent;
        done
    }

    /// Makes an empty `Products` for all products that the sequence writes.
    pub fn products(&self) -> Products {
        self.sequence.products()
    }

    /// Reconstructs all events on the calling thread. Replaces the content of `out`.
    ///
    /// # Errors
    /// As [`Engine::try_run`].
    pub fn run<'a>(
        &self,
        events: impl Into<Events<'a>>,
        workspace: &mut Workspace,
        out: &mut Products,
    ) -> Result<()> {
        let events = events.into();
        out.clear();
        self.run_range(events, 0..events.len(), workspace, out)
    }

    /// Reconstructs the events of `range` and appends their results to each product in `out`.
    ///
    /// # Errors
    /// As [`Engine::try_run_range`].
    pub fn run_range(
        &self,
        events: Events<'_>,
        range: Range<usize>,
        workspace: &mut Workspace,
        out: &mut Products,
    ) -> Result<()> {
        if range.start > range.end || range.end > events.len() {
            let message = format!("events {range:?} are not in the batch of {} events", events.len());
            return Err(Error::Columns(message));
        }
        self.accept(events, workspace, out)?;
        self.run_slice(events, range, workspace, out)
    }

    /// Checks that the sequence accepts these events, and that `workspace` and `out` belong to the sequence.
    ///
    /// # Errors
    /// [`Error::Config`].
    pub fn accept(&self, events: Events<'_>, workspace: &Workspace, out: &Products) -> Result<()> {
        self.sequence.accept(events)?;
        self.sequence.check(out)?;
        let is_own = self.sequence.owns(&workspace.scratch);
        if is_own { Ok(()) } else { Err(self.sequence.made_for_another("workspace")) }
    }

    /// Reconstructs a slice. If it panics, its events run again one by one; an event that panics again gets
    /// [`Status::InternalFault`].
    fn run_slice(
        &self,
        events: Events<'_>,
        range: Range<usize>,
        workspace: &mut Workspace,
        out: &mut Products,
    ) -> Result<()> {
        if self.survives(events, range.clone(), workspace, out)? {
            return Ok(());
        }
        for event in range {
            if !self.survives(events, event..event + 1, workspace, out)? {
                out.push_failed(Status::InternalFault);
            }
        }
        Ok(())
    }

    /// Runs events and appends their results to `out`. Returns false, and appends nothing, when they panicked.
    fn survives(
        &self,
        events: Events<'_>,
        range: Range<usize>,
        workspace: &mut Workspace,
        out: &mut Products,
    ) -> Result<bool> {
        let (sequence, first) = (&*self.sequence, out.events());
        sequence.exchange(&mut workspace.slots, out);
        let Workspace { scratch, slots, .. } = &mut *workspace;
        let is_alive = ends(&mut || sequence.run(events, range.clone(), scratch, slots));
        sequence.exchange(&mut workspace.slots, out);
        if is_alive {
            sequence.hand_over(&workspace.slots, first, out).inspect_err(|_| out.truncate(first))?;
        } else {
            workspace.scratch = sequence.scratch();
            out.truncate(first);
        }
        Ok(is_alive)
    }
}

/// An aligned value, so that the stack frames of kernels always have the same position within a page. Kernels keep values on the
/// stack, and a load waits for a store whose address differs by whole pages. Without this value, the SciFi decoder was slower for
/// some callers than for others (`throughput --sequence scifi-hits --isa avx2`).
#[repr(align(4096))]
struct Page(#[expect(dead_code, reason = "only the address of the value matters")] u8);

/// Calls `run` in the default floating-point mode. Returns false when it panicked.
fn ends(run: &mut dyn FnMut()) -> bool {
    black_box(&MaybeUninit::<Page>::uninit());
    catch_unwind(AssertUnwindSafe(|| with_default_float_mode(run))).is_ok()
}
