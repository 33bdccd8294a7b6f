//! [`Events`]: borrowed input of a sequence; [`Batch`]: owned input.

use super::algorithm::does_not_take;
use crate::event::{CylinderInput, RawBatch, RawEvents, VeloEvents};
use crate::{Error, Result};
use std::any::Any;
use std::fmt::Debug;

/// Events that a sequence takes, borrowed.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Events<'a> {
    /// Raw banks of LHCb.
    Banks(RawEvents<'a>),
    /// Hits of the Velo.
    VeloHits(VeloEvents<'a>),
    /// Hits of the cylinder detector.
    CylinderHits(CylinderInput<'a>),
    /// A batch of another kind, which [`<dyn Batch>::of`](Batch) converts to its own type.
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

    /// Whether there is no event at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The kind of the events, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Banks(_) => "raw banks",
            Self::VeloHits(_) => "hits of the Velo",
            Self::CylinderHits(_) => "hits of the cylinder detector",
            Self::Other(_) => "events of another kind",
        }
    }

    /// The raw banks.
    ///
    /// # Errors
    /// [`Error::Config`] for other events.
    pub fn banks(self) -> Result<RawEvents<'a>> {
        if let Self::Banks(events) = self { Ok(events) } else { Err(does_not_take(self)) }
    }

    /// The hits of the cylinder detector.
    ///
    /// # Errors
    /// [`Error::Config`] for other events.
    pub fn cylinder_hits(self) -> Result<CylinderInput<'a>> {
        if let Self::CylinderHits(events) = self { Ok(events) } else { Err(does_not_take(self)) }
    }

    /// A batch of a type that this library does not know.
    ///
    /// # Errors
    /// [`Error::Config`] for other events.
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

/// Owned events, as readers fill them.
pub trait Batch: Any + Debug + Send + Sync {
    /// The events as input of a sequence; [`Events::Other`] for a type that this library does not know.
    fn events(&self) -> Events<'_>;

    /// Removes all events and keeps the memory.
    fn clear(&mut self);

    /// Numbers of the events in their source, one for each event.
    fn event_ids(&self) -> &[u64];

    /// Number of hits, if known before decoding.
    fn hits(&self) -> Option<u64>;

    /// Number of hits or words of raw banks in memory, which 32-bit offsets limit.
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

    /// Appends copies of the events until there are `copies` of each; an endless stream continues with the same hits at
    /// later times.
    ///
    /// # Errors
    /// [`Error::Config`] for more than offsets and times can count, [`Error::Unsupported`] for a type without this.
    fn repeat(&mut self, copies: usize) -> Result<()> {
        if copies == 1 { Ok(()) } else { Err(Error::Unsupported("these events cannot be repeated".into())) }
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
