//! [`Events`]: what an [`Engine`](super::Engine) takes: hits, or the raw banks they are decoded from.

use crate::event::{RawEvents, VeloEvents};

/// Events to reconstruct, borrowed.
#[derive(Debug, Clone, Copy)]
pub enum Events<'a> {
    /// Velo hits.
    Hits(VeloEvents<'a>),
    /// Raw banks; the engine needs a geometry for them.
    Banks(RawEvents<'a>),
}

impl<'a> Events<'a> {
    /// The raw banks.
    ///
    /// # Panics
    /// When these are hits.
    pub(super) fn banks(self) -> RawEvents<'a> {
        match self {
            Self::Banks(events) => events,
            Self::Hits(_) => panic!("this sequence takes raw banks"),
        }
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        match self {
            Self::Hits(events) => events.len(),
            Self::Banks(events) => events.len(),
        }
    }

    /// Whether there is no event at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> From<VeloEvents<'a>> for Events<'a> {
    fn from(events: VeloEvents<'a>) -> Self {
        Self::Hits(events)
    }
}

impl<'a> From<RawEvents<'a>> for Events<'a> {
    fn from(events: RawEvents<'a>) -> Self {
        Self::Banks(events)
    }
}
