//! [`Events`]: borrowed input of a sequence; [`Batch`]: owned input.

use super::algorithm::does_not_take;
use crate::event::{CylinderInput, RawBatch, RawEvents, VeloEvents};
use crate::{Error, Result};
use std::any::Any;
use std::fmt::Debug;

/// Borrowed events: the input of a sequence.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Events<'a> {
    /// Raw banks of LHCb.
    Banks(RawEvents<'a>),
    /// Hits of the Velo.
    VeloHits(VeloEvents<'a>),
    /// Hits of the cylinder detector.
    CylinderHits(CylinderInput<'a>),
    /// A batch whose type another crate defines; [`<dyn Batch>::of`](Batch) returns the batch as this type.
    Other(&'a dyn Batch),
}

impl<'a> Events<'a> {
    /// Number of events.
    pub fn len(&self) -> usize {
        match self {
            Self::Banks(events) => events.len(),
            Self::VeloHits(events) => events.len(),
            Self::CylinderHits(events) => events.hits.len(),
            Self::Other(batch) => batch.len(),
        }
    }

    /// Returns whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the kind of the events, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Banks(_) => "raw banks",
            Self::VeloHits(_) => "hits of the Velo",
            Self::CylinderHits(_) => "hits of the cylinder detector",
            Self::Other(_) => "events of a type that another crate defines",
        }
    }

    /// Returns the raw banks.
    ///
    /// # Errors
    /// Returns [`Error::Config`] if the events are not raw banks.
    pub fn banks(self) -> Result<RawEvents<'a>> {
        if let Self::Banks(events) = self { Ok(events) } else { Err(does_not_take(self)) }
    }

    /// Returns the hits of the cylinder detector.
    ///
    /// # Errors
    /// Returns [`Error::Config`] if the events are not hits of the cylinder detector.
    pub fn cylinder_hits(self) -> Result<CylinderInput<'a>> {
        if let Self::CylinderHits(events) = self { Ok(events) } else { Err(does_not_take(self)) }
    }

    /// Returns the batch as type `B`, a type that another crate defines.
    ///
    /// # Errors
    /// Returns [`Error::Config`] if the events are not a batch of type `B`.
    pub fn other<B: Batch>(self) -> Result<&'a B> {
        let Self::Other(batch) = self else { return Err(does_not_take(self)) };
        batch.of().map_err(|_| does_not_take(self))
    }
}

impl<'a> From<RawEvents<'a>> for Events<'a> {
    fn from(events: RawEvents<'a>) -> Self {
        Self::Banks(events)
    }
}

impl<'a> From<VeloEvents<'a>> for Events<'a> {
    fn from(events: VeloEvents<'a>) -> Self {
        Self::VeloHits(events)
    }
}

impl<'a> From<CylinderInput<'a>> for Events<'a> {
    fn from(events: CylinderInput<'a>) -> Self {
        Self::CylinderHits(events)
    }
}

/// A batch of events in memory, which a reader of files fills.
pub trait Batch: Any + Debug + Send + Sync {
    /// Returns the events as input of a sequence: [`Events::Other`] if another crate defines the type of the batch.
    fn events(&self) -> Events<'_>;

    /// Removes all events and keeps the allocated memory.
    fn clear(&mut self);

    /// Returns the number that each event has in its source, such as a file.
    fn event_ids(&self) -> &[u64];

    /// Returns the number of hits; `None` if the number is known only after decoding.
    fn hits(&self) -> Option<u64>;

    /// Returns the number of hits, or of words of raw banks, in memory. 32-bit offsets limit this number.
    fn memory_items(&self) -> u64 {
        self.hits().unwrap_or(0)
    }

    /// Returns the number of events, or of hits in the case of an endless stream, which has no events.
    fn len(&self) -> usize {
        self.event_ids().len()
    }

    /// Returns whether there are no events.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends copies of the events until the batch holds each event `copies` times. An endless stream continues with
    /// copies of its hits at later times.
    ///
    /// # Errors
    /// Returns [`Error::Config`] for too many copies, [`Error::Unsupported`] for events that cannot be repeated.
    fn repeat(&mut self, copies: usize) -> Result<()> {
        if copies == 1 { Ok(()) } else { Err(Error::Unsupported("these events cannot be repeated".into())) }
    }
}

impl dyn Batch {
    /// Returns the batch as its concrete type `B`.
    ///
    /// # Errors
    /// Returns [`Error::Internal`] if the events are not of type `B`.
    pub fn of<B: Batch>(&self) -> Result<&B> {
        let any: &dyn Any = self;
        any.downcast_ref().ok_or_else(other_kind)
    }

    /// Returns the batch as its concrete type `B`, for writing.
    ///
    /// # Errors
    /// Returns [`Error::Internal`] if the events are not of type `B`.
    pub fn of_mut<B: Batch>(&mut self) -> Result<&mut B> {
        let any: &mut dyn Any = self;
        any.downcast_mut().ok_or_else(other_kind)
    }
}

fn other_kind() -> Error {
    Error::Internal("these events are of an unexpected type".into())
}

impl Batch for RawBatch {
    fn events(&self) -> Events<'_> {
        Events::Banks(self.view())
    }

    fn clear(&mut self) {
        RawBatch::clear(self);
    }

    fn event_ids(&self) -> &[u64] {
        RawBatch::event_ids(self)
    }

    fn hits(&self) -> Option<u64> {
        None
    }

    fn memory_items(&self) -> u64 {
        self.words() as u64
    }

    fn repeat(&mut self, copies: usize) -> Result<()> {
        RawBatch::repeat(self, copies)
    }
}
