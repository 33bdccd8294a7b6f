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

impl Events<'_> {
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
