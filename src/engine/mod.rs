//! Runs sequences: [`Engine`] on the calling thread, [`Pool`] on many threads, both with the same results.
//!
//! A program that embeds peloton makes one [`Engine`] of a sequence, such as [`Velo`](crate::velo::Velo), gives each of
//! its own threads a workspace, and calls [`Engine::try_run`] with columns of hits or raw banks; `examples/embed.rs`
//! shows it whole. An [`Executor`] is whatever turns batches into results: a pool, or streams of a device.

mod banks;
mod executor;
mod pool;
mod sequence;
mod slices;
mod stream;

pub use executor::{DeviceMemory, Executor, Machine};
pub use pool::Pool;
pub(crate) use sequence::detector_stages;
pub use sequence::{Batch, Input, Sequence, Stage};
pub use slices::Sliced;
pub use stream::{StreamSequence, Streaming};

use crate::event::{Outcome, Results};
use crate::simd::{Level, with_default_float_mode};
use crate::{Error, Result, Status};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Events a thread takes at once by default: few enough to stay in the cache and to share out
/// evenly, enough to make the hand-over free.
pub const SLICE_EVENTS: usize = 4;

/// Runs a sequence. It holds nothing that changes, so that any number of threads may share one engine.
///
/// ```
/// use peloton::engine::Engine;
/// use peloton::event::{Outcome, VeloBatch};
/// use peloton::simd::Level;
/// use peloton::velo::{Velo, VeloConfig};
///
/// # fn main() -> peloton::Result<()> {
/// let engine = Engine::new(Velo::new(Level::choose(None, None)?, VeloConfig::default())?);
/// let (mut workspace, mut outcome) = (engine.workspace(), Outcome::default());
/// let events = VeloBatch::default(); // columns of hits: see its fields
/// engine.try_run(events.view(), &mut workspace, &mut outcome)?;
/// assert_eq!((outcome.counters.events(), outcome.results.tracks()), (0, 0));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Engine<S: Sequence> {
    sequence: Arc<S>,
}

impl<S: Sequence> Clone for Engine<S> {
    fn clone(&self) -> Self {
        Self { sequence: self.sequence.clone() }
    }
}

impl<S: Sequence> Engine<S> {
    /// Makes an engine of a sequence.
    pub fn new(sequence: S) -> Self {
        Self { sequence: Arc::new(sequence) }
    }

    /// What runs.
    pub fn sequence(&self) -> &S {
        &self.sequence
    }

    /// The instruction set level and gang size that run.
    pub fn level(&self) -> Level {
        self.sequence.level()
    }

    /// Scratch memory for one more thread.
    pub fn workspace(&self) -> S::Workspace {
        S::Workspace::default()
    }

    /// Reconstructs all events on the calling thread: `outcome` is emptied and gets one entry per event, in
    /// order, whatever became of it. Nothing is allocated once `workspace` and `outcome` have grown to the
    /// size of the data.
    ///
    /// # Errors
    /// When the sequence cannot take these events at all, see [`Sequence::accept`]. Trouble with one event is never an
    /// error: it is a [`Status`] in the results and a count.
    pub fn try_run<'a>(
        &self,
        events: impl Into<S::Input<'a>>,
        workspace: &mut S::Workspace,
        outcome: &mut Outcome<S::Output>,
    ) -> Result<()> {
        let events = events.into();
        outcome.clear();
        self.try_run_range(events, 0..events.events(), workspace, outcome)
    }

    /// Reconstructs the events of `range` and appends them to `outcome`.
    ///
    /// # Errors
    /// [`Error::Columns`] when `range` reaches beyond the events, and as [`Engine::try_run`].
    pub fn try_run_range(
        &self,
        events: S::Input<'_>,
        range: Range<usize>,
        workspace: &mut S::Workspace,
        outcome: &mut Outcome<S::Output>,
    ) -> Result<()> {
        if range.start > range.end || range.end > events.events() {
            let message = format!("events {range:?} of a batch of {} events", events.events());
            return Err(Error::Columns(message));
        }
        self.sequence.accept(events)?;
        self.run_slice(events, range, workspace, outcome);
        Ok(())
    }

    /// Reconstructs a slice. When something in it panics, its events are run again one by one, and only those that
    /// panic alone are lost: they get [`Status::InternalFault`].
    fn run_slice(
        &self,
        events: S::Input<'_>,
        range: Range<usize>,
        workspace: &mut S::Workspace,
        outcome: &mut Outcome<S::Output>,
    ) {
        if self.survives(events, range.clone(), workspace, outcome) {
            return;
        }
        for event in range {
            if !self.survives(events, event..event + 1, workspace, outcome) {
                outcome.push_failed(Status::InternalFault);
            }
        }
    }

    /// Runs events; false when they panicked, and then nothing is left of them.
    fn survives(
        &self,
        events: S::Input<'_>,
        range: Range<usize>,
        workspace: &mut S::Workspace,
        outcome: &mut Outcome<S::Output>,
    ) -> bool {
        let (events_before, counters_before) = (outcome.results.events(), outcome.counters);
        if ends(&mut || self.sequence.run_range(events, range.clone(), workspace, outcome)) {
            return true;
        }
        *workspace = S::Workspace::default();
        outcome.results.truncate(events_before);
        outcome.counters = counters_before;
        false
    }
}

/// A page of memory, so that what is called with one on the stack begins at the same place of a page every time. Kernels keep
/// values on the stack, and loads wait for stores that are whole pages away from them: without it the same decoder of the SciFi was
/// slower for some callers than for others (`throughput --sequence scifi-hits --isa avx2`).
#[repr(align(4096))]
struct Page(#[expect(dead_code, reason = "where it lies is what counts")] u8);

/// Runs in the usual mode of floating point; false when it panicked.
fn ends(run: &mut dyn FnMut()) -> bool {
    black_box(&MaybeUninit::<Page>::uninit());
    catch_unwind(AssertUnwindSafe(|| with_default_float_mode(run))).is_ok()
}
