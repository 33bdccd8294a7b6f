//! [`Sequence`]: a chain of stages that turns events into results.

use crate::event::{Outcome, Product};
use crate::simd::Level;
use crate::{Error, Result};
use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;

/// One stage of a sequence: a name and what goes in and out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// Name used in results.
    pub name: &'static str,
    /// What it takes.
    pub input: &'static str,
    /// What it makes.
    pub output: &'static str,
    /// Names of the parts that some of its algorithms time apart ([`StageCounter::parts`](crate::event::StageCounter)).
    pub parts: &'static [&'static str],
}

/// The stages of a detector's sequence as two constants: `STAGES`, and `STAGES_IN_CHAIN` for sequences over several
/// detectors, where names say the detector, too.
macro_rules! detector_stages {
    (@parts) => { &[] };
    (@parts $parts:expr) => { $parts };
    ($detector:literal: $($name:literal, $input:literal => $output:literal $(, $parts:expr)?;)+) => {
        const STAGES: &[$crate::engine::Stage] =
            &[$($crate::engine::Stage {
                name: $name,
                input: $input,
                output: $output,
                parts: $crate::engine::detector_stages!(@parts $($parts)?),
            }),+];

        /// The stages as part of a sequence over several detectors.
        pub(crate) const STAGES_IN_CHAIN: &[$crate::engine::Stage] = &[$($crate::engine::Stage {
            name: concat!($detector, " ", $name),
            input: $input,
            output: $output,
            parts: $crate::engine::detector_stages!(@parts $($parts)?),
        }),+];
    };
}
pub(crate) use detector_stages;

/// Events that a sequence takes, borrowed.
pub trait Input: Copy + Sync {
    /// Number of events.
    fn events(&self) -> usize;
}

/// Events in memory of their own, as readers fill it.
pub trait Batch: Any + Debug + Send + Sync {
    /// Removes all events and keeps the memory.
    fn clear(&mut self);

    /// Numbers of the events in their source, one for each event.
    fn event_ids(&self) -> &[u64];

    /// Number of hits, where they are known before anything is decoded.
    fn hits(&self) -> Option<u64>;

    /// Hits or words of raw banks in memory, which 32-bit offsets limit.
    fn memory_items(&self) -> u64 {
        self.hits().unwrap_or(0)
    }

    /// Number of events, or of hits of an endless stream, which has no events.
    fn len(&self) -> usize {
        self.event_ids().len()
    }

    /// Whether there is no event at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl dyn Batch {
    /// The events as their own type.
    ///
    /// # Errors
    /// [`Error::Internal`] when they are events of another kind.
    pub fn of<B: Batch>(&self) -> Result<&B> {
        let any: &dyn Any = self;
        any.downcast_ref().ok_or_else(other_kind)
    }

    /// The events as their own type, to write to.
    ///
    /// # Errors
    /// [`Error::Internal`] when they are events of another kind.
    pub fn of_mut<B: Batch>(&mut self) -> Result<&mut B> {
        let any: &mut dyn Any = self;
        any.downcast_mut().ok_or_else(other_kind)
    }
}

fn other_kind() -> Error {
    Error::Internal("these are events of another kind".into())
}

/// A chain of stages that turns events into results. An [`Engine`](super::Engine) runs it.
///
/// A value of the type holds the configuration and nothing that changes, so that any number of threads may share it; what
/// changes lives in a workspace of each thread. `examples/own_detector.rs` defines one outside of this crate.
pub trait Sequence: Debug + Send + Sync + 'static {
    /// The name on the command line and in results.
    const NAME: &'static str;
    /// The stages in the order in which they run; stage i counts in [`Counters::stages`](crate::event::Counters::stages)`[i]`.
    const STAGES: &'static [Stage];

    /// Columns of events that go in.
    type Input<'a>: Input;
    /// Columns in memory of their own that can be viewed as input.
    type Batch: Batch + Default;
    /// Columns that come out.
    type Output: Product;
    /// Scratch memory of one thread. It grows to what the largest event needs and is then reused.
    type Workspace: Default + Debug + Send;

    /// The instruction set level and gang size that run.
    fn level(&self) -> Level;

    /// The events of a batch as input.
    fn view(batch: &Self::Batch) -> Self::Input<'_>;

    /// Whether these events can be reconstructed at all.
    ///
    /// # Errors
    /// Says what is missing, such as a geometry for raw banks.
    fn accept(&self, _events: Self::Input<'_>) -> Result<()> {
        Ok(())
    }

    /// Bytes of raw banks that the sequence reads of these events; none when they are hits.
    fn bank_bytes(&self, _events: Self::Input<'_>) -> Option<u64> {
        None
    }

    /// Reconstructs the events of `range`, which lies within the accepted events, and appends one entry for each to
    /// `out`, and their counts. An event that cannot be reconstructed gets a status and no items.
    fn run_range(
        &self,
        events: Self::Input<'_>,
        range: Range<usize>,
        workspace: &mut Self::Workspace,
        out: &mut Outcome<Self::Output>,
    );
}
